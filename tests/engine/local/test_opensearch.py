"""Launcher of OpenSearch: start, persistence, stop, and messages for failed starts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import requests

from tests.cli.running import WHORL
from tests.engine.solr.test_transport import Door
from tests.sampling import thorough
from whorl import Document, open_store
from whorl.engine.local import opensearch
from whorl.engine.local.jars import Server
from whorl.engine.local.opensearch import free_port, start_cluster
from whorl.engine.local.server_process import RunningServer
from whorl.engine.opensearch.client import IndexClient
from whorl.errors import EngineUnavailableError, ParameterError

COUNT, BATCH, DEADLINE_SECONDS = 1_500, 20, 240.0
TEXT = " ".join(f"w{number}" for number in range(600))


def cluster_at(url: str) -> str:
    """Return the name of the cluster at a URL, "" if there is none; another cluster may have taken its port."""
    try:
        return str(requests.get(url, timeout=240).json().get("cluster_name"))
    except requests.RequestException:
        return ""


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    """Listen on a port in the nodes' range and yield it; other tests may do the same at the same time."""
    for port in range(9299, 9250, -1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            yield port
            return
    raise AssertionError("all ports are taken")


def virtual_machine(running: RunningServer) -> int:
    """Return the process id of the JVM, which is the child of the watching process."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if status.read_text().rpartition(")")[2].split()[1] == str(running.process.pid):
                return int(status.parent.name)
    raise AssertionError("there is no JVM")


def is_stored(client: IndexClient, document_id: str) -> bool:
    """Check whether a document is stored; while the index is created, its shards may be unavailable."""
    try:
        return client.mapping() is not None and bool(client.documents([document_id], False))
    except EngineUnavailableError:
        return False


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not reached():
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.01)


@pytest.mark.parametrize(("nodes", "port"), [(0, 0), (100, 0), (1, 9200), (1, 9300), (1, -1), (2, 9299), (3, 9298)])
def test_invalid_numbers_of_nodes_and_ports_start_nothing(tmp_path: Path, nodes: int, port: int) -> None:
    """
    The message names the limits, and nothing is started.
    """
    with pytest.raises(ParameterError, match=rf"port 9201 to 9299.*got {nodes} nodes and port {port}"):
        start_cluster(tmp_path / "home", nodes=nodes, port=port)
    assert not (tmp_path / "home").exists()


@pytest.mark.process
def test_free_port_leaves_ports_for_all_nodes() -> None:
    """
    With 90 nodes, the first one listens on one of the first ten ports.
    """
    assert all(9201 <= free_port(0, nodes=90) <= 9210 for _ in range(20))


@pytest.mark.process
def test_a_port_without_room_for_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Other nodes skip taken ports, so a requested port is refused only if too few ports after it are free.
    """
    free = {9290, 9291, 9295, 9299}
    monkeypatch.setattr(opensearch, "_is_free", free.__contains__)
    assert free_port(9290, nodes=4) == 9290
    with pytest.raises(EngineUnavailableError, match=r"of the ports 9291 to 9299 of .*, fewer than 4 are free"):
        free_port(9291, nodes=4)
    with pytest.raises(EngineUnavailableError, match=r"port 9292 of 127\.0\.0\.1 are taken"):
        free_port(9292, nodes=2)


def test_a_port_that_is_taken(opensearch_cache: Path, tmp_path: Path) -> None:
    """
    The message names the taken port, before a JVM is started.
    """
    with taken_port() as port, pytest.raises(EngineUnavailableError, match=rf"port {port} of 127\.0\.0\.1 are taken"):
        start_cluster(tmp_path, port=port, cache=opensearch_cache)


@pytest.mark.process
def test_a_port_taken_by_another_process(
    opensearch_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    If any port will do, the next one is tried; a requested port is not replaced.
    """
    tried = list[int]()

    def lost(server: Server, command: Sequence[str], *_: object) -> RunningServer:
        tried.append(int(command[command.index("-baseHttpPort") + 1]) + 1)
        raise EngineUnavailableError("OpenSearch did not start: java.net.BindException: Address already in use")

    monkeypatch.setattr(opensearch, "_wait_for_nodes", lost)
    # Free ports are simulated, so that the test does not depend on the machine.
    monkeypatch.setattr(opensearch, "free_port", lambda port, nodes: port or 9210)
    for port, attempts in ((0, 3), (9299, 1)):
        tried.clear()
        with pytest.raises(EngineUnavailableError, match="BindException"):
            start_cluster(tmp_path, port=port, cache=opensearch_cache)
        assert len(tried) == attempts


def test_a_failed_start_shows_the_end_of_the_log(opensearch_cache: Path, tmp_path: Path) -> None:
    """
    The message contains the cause and the path of the log.
    """
    with pytest.raises(EngineUnavailableError, match="Invalid maximum heap size: -Xmxmuch") as failure:
        start_cluster(tmp_path, heap="much", cache=opensearch_cache)
    assert str(tmp_path / "opensearch.log") in str(failure.value)


@thorough
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the JVM among Linux's processes")
def test_kill_9_in_the_middle_of_indexing(opensearch_cache: Path, tmp_path: Path) -> None:
    """
    The command reports the number of acknowledged documents; after a restart on the same folder all of these exist, and
    a second run completes the set, each document once.
    """
    file, home = tmp_path / "many.jsonl", tmp_path / "home"
    rows = [{"id": f"d{number:04}", "text": f"{TEXT} {number}"} for number in range(COUNT)]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def indexing(url: str) -> subprocess.Popen[str]:
        command = [str(WHORL), "index", "--batch", str(BATCH), "--store", f"opensearch+{url}", str(file)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    # The door stalls after a part of the documents, so the kill happens in the middle at any speed.
    with (
        start_cluster(home, cache=opensearch_cache) as running,
        Door(f"{running.url}/docs", stalls_after=3_000_000, stall_seconds=None) as door,
    ):
        cluster = cluster_at(running.url)
        client = IndexClient(f"opensearch+{running.url}/docs")
        process = indexing(door.url)
        wait_until(lambda: is_stored(client, "d0020"))
        os.kill(virtual_machine(running), signal.SIGKILL)
        out, error = process.communicate(timeout=DEADLINE_SECONDS)
        client.close()
        assert (process.returncode, error[:32]) == (1, "whorl: no cluster answers at htt"), error
        stopped = re.fullmatch(r"stopped: ([\d,]+) documents stored\. Run the same command again.*\n", out)
        assert stopped, out
        acknowledged = int(stopped[1].replace(",", ""))
        assert 20 <= acknowledged < COUNT
    assert cluster_at(running.url) != cluster
    running.stop()  # a second stop has no effect

    with (
        start_cluster(home, cache=opensearch_cache) as running,
        open_store(f"opensearch+{running.url}/docs") as store,
    ):
        ids = {f"d{number:04}" for number in range(acknowledged)}
        assert store.engine.digests(ids).keys() == ids
        out, error = indexing(f"{running.url}/docs").communicate(timeout=DEADLINE_SECONDS)
        assert error.startswith("Documents like one of them: ")
        counts = re.fullmatch(r"([\d,]+) documents? stored in \S+, ([\d,]+) unchanged and left alone\.\n", out)
        assert counts, out
        stored, unchanged = (int(number.replace(",", "")) for number in counts.groups())
        assert stored + unchanged == COUNT
        # The batch under way may have arrived.
        assert acknowledged <= unchanged <= acknowledged + BATCH
        assert [hit.id for hit in store.search("*", rows=10_000).hits] == [row["id"] for row in rows]
        assert store.index([Document("last", TEXT)]).stored == 1
        assert store.search("FINGERPRINT:last_100", with_shared=True).hits[0].shared_tokens == 512


@thorough
@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL")
def test_opensearch_ends_with_its_killed_parent(opensearch_cache: Path, tmp_path: Path) -> None:
    """
    No JVM survives kill -9 of the process that started it.
    """
    program = (
        "import sys, time; from pathlib import Path\n"
        "from whorl.engine.local.opensearch import start_cluster\n"
        "running = start_cluster(Path(sys.argv[1]), cache=Path(sys.argv[2]))\n"
        "print(running.url, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, str(tmp_path), str(opensearch_cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        cluster = cluster_at(url)
        assert cluster
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: cluster_at(url) != cluster)
