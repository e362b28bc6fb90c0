"""A real OpenSearch over HTTP without Docker: one process on this machine, for trying whorl and for its tests.

The program that runs is the runner of the CodeLibs project, which starts OpenSearch's own nodes from the jars of a
Maven repository, so neither an installation nor a Java compiler is needed. Every socket is bound to the loopback
address.
"""

from __future__ import annotations

import random
import re
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import requests

from whorl.engine.local.jars import Server, fetch_jars, find_java
from whorl.errors import EngineUnavailableError, ParameterError

#: Its analysers are made for each index, and of Thai only where Java knows its words.
OPENSEARCH = Server("OpenSearch", "3.8.0", Path(__file__).parent / "jars.lock", 21, "opensearch", knows_thai=True)

_HOST = "127.0.0.1"
#: The runner's own limits: each node listens on the next free port behind the first one, and none beyond the last.
_PORTS = range(9201, 9300)
_MAIN = "org.codelibs.opensearch.runner.OpenSearchRunner"
_PUBLISHED = re.compile(r"HttpServerTransport\s*\] publish_address \{127\.0\.0\.1:(\d+)\}")
#: How Java says that a port is taken, and how often another one is tried.
_TAKEN, _ATTEMPTS = "BindException", 3
_LOG_NAME = "opensearch.log"
_TAIL_LINES = 30
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RunningOpenSearch:
    """An OpenSearch that this process started; it stops with this process, however that ends.

    Attributes:
        url: Base URL of its first node, `http://127.0.0.1:PORT`.
        directory: Where its indexes and its log are.
        process: What watches the JVM; it stops the JVM when its standard input ends.
    """

    url: str
    directory: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> Path:
        """The file with what it said since this start."""
        return self.directory / _LOG_NAME

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """Stop it and wait until it is gone. A second call does nothing."""
        _stop(self.process, timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_opensearch(
    directory: Path,
    *,
    nodes: int = 1,
    port: int = 0,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 180.0,
) -> RunningOpenSearch:
    """Start an OpenSearch in a folder; indexes that are there already stay.

    Args:
        directory: Made where it is missing.
        nodes: How many, at least 1; the URL is the first one's.
        port: Where the first one listens, 9201 to 9299; 0 for a free one.
        heap: The JVM's largest heap, as `-Xmx` takes it.
        cache: Folder of the downloaded jars, see `fetch_jars`.
        deadline_seconds: How long starting may take, the download not counted.

    Raises:
        ParameterError: There are no nodes, or the port is outside its range.
        EngineUnavailableError: No Java, no jars, the port is taken, or it does not start: the message shows the end of
            its log.
    """
    if nodes < 1 or (port and port not in _PORTS):
        raise ParameterError(
            f"an OpenSearch has at least 1 node, and listens on port {_PORTS.start} to {_PORTS[-1]}, or 0 for a free "
            f"one, got {nodes} nodes and port {port}"
        )
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    jars = fetch_jars(OPENSEARCH, cache)[0].parent / "*"
    for _ in range(_ATTEMPTS - 1 if port == 0 else 0):
        try:
            return _started(directory, jars, nodes, _free(0), heap, deadline_seconds)
        except EngineUnavailableError as error:
            # Another one may have taken the port since.
            if _TAKEN not in str(error):
                raise
    return _started(directory, jars, nodes, _free(port), heap, deadline_seconds)


def _started(
    directory: Path, jars: Path, nodes: int, port: int, heap: str, deadline_seconds: float
) -> RunningOpenSearch:
    command = [
        *(str(find_java(OPENSEARCH)), f"-Xmx{heap}", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED"),
        *("-cp", str(jars), _MAIN, "-basePath", str(directory / "nodes"), "-numOfNode", str(nodes)),
        # Of one name, two that are started at once would join.
        *("-clusterName", f"whorl-{uuid.uuid4().hex}", "-baseHttpPort", str(port - 1), "-useLogger"),
    ]
    log = directory / _LOG_NAME
    with log.open("wb") as output:
        # The runner does not look at its standard input, so that somebody else has to: see `_WATCH`.
        process = subprocess.Popen(
            [sys.executable, "-c", _WATCH, *command], cwd=directory, stdin=subprocess.PIPE, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=sys.platform != "win32",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )  # fmt: skip
    try:
        url = _wait_until_ready(process, log, nodes, deadline_seconds)
    except BaseException:
        _stop(process, timeout_seconds=10.0)
        raise
    return RunningOpenSearch(url, directory, process)


#: Runs a command until it ends or until standard input does, which it does with the process that writes to it.
_WATCH = """
import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
def watch():
    while os.read(0, 4096):
        pass
    child.terminate()
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        child.kill()
threading.Thread(target=watch, daemon=True).start()
sys.exit(child.wait())
"""


def _free(port: int) -> int:
    """Return a port that nothing listens on: the wanted one, or for 0 any.

    Raises:
        EngineUnavailableError: There is none.
    """
    # Any, since who starts at the same moment would find the same first one.
    for each in [port] if port else random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            if probe.connect_ex((_HOST, each)):
                return each
    wanted = f"port {port}" if port else f"ports {_PORTS.start} to {_PORTS[-1]}"
    raise EngineUnavailableError(f"OpenSearch cannot listen: {wanted} of {_HOST} are taken; choose another one")


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path, nodes: int, deadline_seconds: float) -> str:
    deadline = time.monotonic() + deadline_seconds
    # Indexes that were there are searchable then; one that lacks a node's shards is not waited for any longer.
    ready = {"wait_for_nodes": str(nodes), "wait_for_status": "yellow", "timeout": "20s"}
    with requests.Session() as session:
        session.trust_env = False
        while time.monotonic() < deadline:
            status = process.poll()
            if status is not None:
                raise EngineUnavailableError(f"OpenSearch did not start (exit status {status}). {_tail(log)}")
            # Of further nodes the runner's log says little.
            if published := _PUBLISHED.search(log.read_text(encoding="utf-8", errors="replace")):
                url = f"http://{_HOST}:{published[1]}"
                try:
                    health = session.get(f"{url}/_cluster/health", params=ready, timeout=40).json()
                    if health["number_of_nodes"] == nodes:
                        return url
                except (requests.RequestException, ValueError, KeyError):
                    pass
            time.sleep(_POLL_SECONDS)
    raise EngineUnavailableError(f"OpenSearch did not start within {deadline_seconds:g} seconds. {_tail(log)}")


def _tail(log: Path) -> str:
    """Return the log's last lines, without the frames of stack traces, which would push the causes out."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    kept = [line for line in lines if not line.lstrip().startswith(("at ", "... "))]
    return f"The end of {log}:\n" + "\n".join(kept[-_TAIL_LINES:])


def _stop(process: subprocess.Popen[bytes], timeout_seconds: float) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
