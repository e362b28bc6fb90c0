"""Tests of servers as processes, on programs that are soon started."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.clock import Clock
from whorl.engine.local import server as running
from whorl.engine.local.server import start, tail
from whorl.errors import EngineUnavailableError

pytestmark = pytest.mark.process

#: Says where it is, and ends when its standard input does.
SERVER = "import sys; print('here: http://x', flush=True); sys.stdin.read(); print('gone')"


def address(log: str) -> str | None:
    return log.partition("here: ")[2].strip() or None


def test_it_stops_with_its_input(tmp_path: Path) -> None:
    """
    What it says goes to its log from the start; stopping waits for its end, and a second stop is no error.
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
    What never answers is stopped.
    """
    clock = Clock()
    # Time passes once the server says something, so that there is something to be stopped.
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=time.sleep))

    def never(log: str) -> None:
        if "here" in log:
            clock.sleep(0.2)

    with pytest.raises(EngineUnavailableError, match=r"A server did not start within 0\.3 seconds\. The end of .*log"):
        start("A server", [sys.executable, "-c", SERVER], tmp_path / "log", never, 0.3)
    assert clock.now == 0.4
    assert "gone" in (tmp_path / "log").read_text()


def test_the_end_of_a_log(tmp_path: Path) -> None:
    """
    Thirty lines, none of them a frame of a stack trace.
    """
    lines = [f"line {number}" for number in range(100)]
    log = tmp_path / "log"
    log.write_text(
        "\n".join(entry for line in lines for entry in (line, "\tat org.Frame", "... 3 more")), encoding="utf-8"
    )
    assert tail(log).splitlines() == [f"The end of {log}:", *lines[-30:]]
