"""A real OpenSearch over HTTP without Docker: one process on this machine, for trying whorl and for its tests.

The program that runs is the runner of the CodeLibs project, which starts OpenSearch's own nodes from the jars of a
Maven repository, so neither an installation nor a Java compiler is needed. Every socket is bound to the loopback
address.
"""

from __future__ import annotations

import contextlib
import random
import re
import socket
import sys
import uuid
from functools import partial
from pathlib import Path

import requests

from whorl.engine.local.jars import Server, fetch_jars, find_java
from whorl.engine.local.running import RunningServer, start
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


def start_opensearch(
    directory: Path,
    *,
    nodes: int = 1,
    port: int = 0,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 180.0,
) -> RunningServer:
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


def _started(directory: Path, jars: Path, nodes: int, port: int, heap: str, deadline_seconds: float) -> RunningServer:
    command = [
        *(str(find_java(OPENSEARCH)), f"-Xmx{heap}", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED"),
        *("-cp", str(jars), _MAIN, "-basePath", str(directory / "nodes"), "-numOfNode", str(nodes)),
        # Of one name, two that are started at once would join.
        *("-clusterName", f"whorl-{uuid.uuid4().hex}", "-baseHttpPort", str(port - 1), "-useLogger"),
    ]
    # The runner does not look at its standard input, so that somebody else has to: see `_WATCH`.
    watched = [sys.executable, "-c", _WATCH, *command]
    with requests.Session() as session:
        session.trust_env = False
        ready = partial(_address, session, nodes)
        return start(OPENSEARCH.name, watched, directory / _LOG_NAME, ready, deadline_seconds)


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


def _address(session: requests.Session, nodes: int, log: str) -> str | None:
    """Return the URL of the first node once all nodes are there, of which the runner's log says little."""
    if published := _PUBLISHED.search(log):
        url = f"http://{_HOST}:{published[1]}"
        # Indexes that were there are searchable then; one that lacks a node's shards is not waited for any longer.
        wanted = {"wait_for_nodes": str(nodes), "wait_for_status": "yellow", "timeout": "20s"}
        with contextlib.suppress(requests.RequestException, ValueError, KeyError):
            if session.get(f"{url}/_cluster/health", params=wanted, timeout=40).json()["number_of_nodes"] == nodes:
                return url
    return None
