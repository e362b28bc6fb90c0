"""Launcher of Elasticsearch: it ends with its parent, keeps documents, and explains failed starts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.local.test_opensearch import cluster_at, taken_port, wait_until
from tests.sampling import thorough
from whorl import Document, open_store
from whorl.engine.local.jars import Server, fetch_jars
from whorl.engine.local.opensearch import ELASTICSEARCH, start_cluster
from whorl.engine.local.server_process import compile_java, find_java
from whorl.errors import EngineUnavailableError

TEXT = " ".join(f"word{number}" for number in range(100))


@pytest.fixture(scope="module")
def cache(opensearch_jars: Callable[[Server], Path]) -> Path:
    return opensearch_jars(ELASTICSEARCH[0])


def test_a_taken_port_is_an_error(cache: Path, tmp_path: Path) -> None:
    """
    The message names the port, and nothing is started.
    """
    with taken_port() as port, pytest.raises(EngineUnavailableError, match=rf"port {port} of 127\.0\.0\.1 are taken"):
        start_cluster(tmp_path, ELASTICSEARCH[0], port=port, cache=cache)
    assert not (tmp_path / "elasticsearch.log").exists()


def test_a_failed_start_shows_the_end_of_the_log(cache: Path, tmp_path: Path) -> None:
    """
    The message contains the cause and the path of the log.
    """
    with pytest.raises(EngineUnavailableError, match="Invalid maximum heap size: -Xmxmuch") as failure:
        start_cluster(tmp_path, ELASTICSEARCH[0], heap="much", cache=cache)
    assert str(tmp_path / "elasticsearch.log") in str(failure.value)


@thorough
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL")
def test_a_restart_and_a_killed_parent(cache: Path, tmp_path: Path) -> None:
    """
    A second start on a folder finds its documents; no JVM survives kill -9 of the process that started it.
    """
    with (
        start_cluster(tmp_path, ELASTICSEARCH[0], cache=cache) as running,
        open_store(f"elasticsearch+{running.url}/docs") as store,
    ):
        assert store.index([Document("a", TEXT), Document("b", TEXT)]).stored == 2
    program = (
        "import sys, time; from pathlib import Path\n"
        "from whorl import open_store\n"
        "from whorl.engine.local.opensearch import ELASTICSEARCH, start_cluster\n"
        "running = start_cluster(Path(sys.argv[1]), ELASTICSEARCH[0], cache=Path(sys.argv[2]))\n"
        "store = open_store(f'elasticsearch+{running.url}/docs')\n"
        "print(running.url, *[hit.id for hit in store.search('FINGERPRINT:b_100').hits], flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, str(tmp_path), str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url, *ids = parent.stdout.readline().split()
        assert (cluster_at(url), ids) == ("whorl", ["a", "b"])
        parent.kill()
    wait_until(lambda: not cluster_at(url))


def test_a_compiler_error_is_shown(cache: Path, tmp_path: Path) -> None:
    """
    The message contains the compiler's own output.
    """
    source = tmp_path / "Broken.java"
    source.write_text("class Broken { int number = missing; }", encoding="utf-8")
    jars = fetch_jars(ELASTICSEARCH[0], cache)
    with pytest.raises(EngineUnavailableError, match="missing cannot be resolved to a variable"):
        compile_java(find_java(ELASTICSEARCH[0]), os.pathsep.join(map(str, jars)), source, tmp_path / "classes")
