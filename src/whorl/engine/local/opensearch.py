"""Launchers of a real OpenSearch or Elasticsearch without Docker: one local process, from jars of Maven repositories.

OpenSearch is started by the runner of the CodeLibs project. Elasticsearch has no main class that runs without an
installation; `ElasticsearchNode.java` is one, compiled at each start by ecj, which needs no JDK. Maven repositories
lack most of Elasticsearch's modules, among them painless, the script language, and the filter `min_hash`. Every socket
is bound to the loopback address.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import socket
import sys
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import requests

from whorl.engine.local.jars import Server, fetch_jars, find_java, of_version
from whorl.engine.local.server import RunningServer, compile_java, start
from whorl.errors import EngineUnavailableError, ParameterError

_LOCKS = Path(__file__).parent
#: Newest first. An index loads all analysers; the Thai one needs a Java with a Thai dictionary.
OPENSEARCH = tuple(
    Server("OpenSearch", version, _LOCKS / f"opensearch-{version}.lock", java, "opensearch", knows_thai=True)
    for version, java in (("3.8.0", 21), ("2.19.1", 17), ("2.11.0", 17))
)

_SOURCE = Path(__file__).parent / "ElasticsearchNode.java"
#: Newest first.
ELASTICSEARCH = tuple(
    Server("Elasticsearch", version, _LOCKS / f"elasticsearch-{version}.lock", java, "opensearch")
    for version, java in (("9.5.3", 21), ("8.19.21", 17))
)

_READY = re.compile(r"^whorl: ready at http://127\.0\.0\.1:(\d+)$", re.MULTILINE)
_TRANSPORT = "transport-netty4"
#: No module name: only nodes that are Java modules themselves need one.
_DESCRIPTOR = f"""description=HTTP and transport
name={_TRANSPORT}
classname=org.elasticsearch.transport.netty4.Netty4Plugin
version={{version}}
elasticsearch.version={{version}}
java.version={{java}}
"""

_HOST = "127.0.0.1"
#: The runner's own limits: each node listens on the next free port after the first one, up to the last.
_PORTS = range(9201, 9300)
_MAIN = "org.codelibs.opensearch.runner.OpenSearchRunner"
_PUBLISHED = re.compile(r"HttpServerTransport\s*\] publish_address \{127\.0\.0\.1:(\d+)\}")
#: Java's exception for a taken port, and the number of attempts with other ports.
_TAKEN, _ATTEMPTS = "BindException", 3


def start_opensearch(
    directory: Path,
    *,
    version: str = "3",
    nodes: int = 1,
    port: int = 0,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 180.0,
) -> RunningServer:
    """Start an OpenSearch cluster in a folder; existing indexes stay.

    Args:
        directory: The folder, created if missing.
        version: A version in `OPENSEARCH`, may be shortened.
        nodes: Number of nodes, at least 1; the URL is the first one's.
        port: Port of the first node, 9201 to 9299; 0 for a free one.
        heap: The JVM's maximum heap, in the format of `-Xmx`.
        cache: Folder of the downloaded jars, see `fetch_jars`.
        deadline_seconds: Maximum time to start, without the download.

    Raises:
        ParameterError: The version is unknown, `nodes` is less than 1, or the port is outside its range.
        EngineUnavailableError: No Java, no jars, the port is taken, or it does not start: the message shows the end of
            its log.
    """
    if nodes < 1 or (port and port not in _PORTS):
        raise ParameterError(
            f"an OpenSearch has at least 1 node, and listens on port {_PORTS.start} to {_PORTS[-1]}, or 0 for a free "
            f"one, got {nodes} nodes and port {port}"
        )
    server = of_version(OPENSEARCH, version)
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    jars = fetch_jars(server, cache)[0].parent / "*"
    for _ in range(_ATTEMPTS - 1 if port == 0 else 0):
        try:
            return _started(server, directory, jars, nodes, free_port(0), heap, deadline_seconds)
        except EngineUnavailableError as error:
            # Another process may have taken the port in the meantime.
            if _TAKEN not in str(error):
                raise
    return _started(server, directory, jars, nodes, free_port(port), heap, deadline_seconds)


def _started(
    server: Server, directory: Path, jars: Path, nodes: int, port: int, heap: str, deadline_seconds: float
) -> RunningServer:
    command = [
        *(str(find_java(server)), f"-Xmx{heap}", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED"),
        *("-cp", str(jars), _MAIN, "-basePath", str(directory / "nodes"), "-numOfNode", str(nodes)),
        # Nodes of clusters with the same name would join, if two were started at once.
        *("-clusterName", f"whorl-{uuid.uuid4().hex}", "-baseHttpPort", str(port - 1), "-useLogger"),
    ]
    # The runner does not watch its standard input, so another process does: see `_WATCH`.
    watched = [sys.executable, "-c", _WATCH, *command]
    return _start_cluster(server, watched, directory, _PUBLISHED, nodes, deadline_seconds)


def _start_cluster(
    server: Server,
    command: Sequence[str],
    directory: Path,
    published: re.Pattern[str],
    nodes: int,
    deadline_seconds: float,
) -> RunningServer:
    """Run a command that starts a cluster until all nodes respond.

    Args:
        server: The server to start.
        command: The command; it stops when its standard input ends.
        directory: Working directory, also for the log.
        published: Pattern that matches the port of the first node in the log, as its only group.
        nodes: Number of nodes.
        deadline_seconds: Maximum time to start.

    Raises:
        EngineUnavailableError: It does not start: the message shows the end of its log.
    """
    with requests.Session() as session:
        session.trust_env = False
        ready = partial(_address, session, published, nodes)
        return start(server.name, command, directory / f"{server.key}.log", ready, deadline_seconds)


def start_elasticsearch(
    directory: Path,
    *,
    version: str = "9",
    port: int = 0,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 180.0,
) -> RunningServer:
    """Start an Elasticsearch of one node in a folder; existing indexes stay.

    Args:
        directory: The folder, created if missing.
        version: A version in `ELASTICSEARCH`, may be shortened.
        port: Port to listen on, 0 for a free one.
        heap: The JVM's maximum heap, in the format of `-Xmx`.
        cache: Folder of the downloaded jars, see `fetch_jars`.
        deadline_seconds: Maximum time to start, without the download.

    Raises:
        ParameterError: The version is unknown.
        EngineUnavailableError: No Java, no jars, the port is taken, or it does not start: the message shows the end of
            its log.
    """
    server = of_version(ELASTICSEARCH, version)
    directory = directory.absolute()
    java, jars = find_java(server), fetch_jars(server, cache)
    home = directory / "home"
    modules, classes = home / "modules" / _TRANSPORT, home / "classes"
    shutil.rmtree(home, ignore_errors=True)
    modules.mkdir(parents=True)
    in_module = [jar for jar in jars if jar.name.startswith((_TRANSPORT, "netty-"))]
    for jar in in_module:
        shutil.copy(jar, modules)
    descriptor = _DESCRIPTOR.format(version=server.version, java=server.minimum_java)
    (modules / "plugin-descriptor.properties").write_text(descriptor, encoding="utf-8")
    class_path = os.pathsep.join(str(jar) for jar in jars if jar not in in_module)
    compile_java(java, class_path, _SOURCE, classes)
    settings = {
        "cluster.name": "whorl",
        "node.name": "whorl",
        "path.data": directory / "data",
        "network.host": _HOST,
        "http.port": free_port(port) if port else 0,
        "transport.port": 0,
        "discovery.type": "single-node",
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    command = [
        *(str(java), f"-Xmx{heap}", "-Dfile.encoding=UTF-8", "--enable-native-access=ALL-UNNAMED"),
        *("-cp", f"{classes}{os.pathsep}{class_path}", _SOURCE.stem, str(home)),
        *(f"{name}={value}" for name, value in settings.items()),
    ]
    return _start_cluster(server, command, directory, _READY, 1, deadline_seconds)


#: Program that runs a command until it ends, or until standard input ends, which happens when the parent process ends.
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


def free_port(port: int) -> int:
    """Return a port that is not in use: the requested one, or any for 0.

    Raises:
        EngineUnavailableError: There is none.
    """
    # In random order, because processes that start at the same moment would find the same first port.
    for each in [port] if port else random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            if probe.connect_ex((_HOST, each)):
                return each
    wanted = f"port {port}" if port else f"ports {_PORTS.start} to {_PORTS[-1]}"
    raise EngineUnavailableError(f"{wanted} of {_HOST} are taken; choose another one")


def _address(session: requests.Session, published: re.Pattern[str], nodes: int, log: str) -> str | None:
    """Return the URL of the first node once all nodes have joined; the log does not show that."""
    if found := published.search(log):
        url = f"http://{_HOST}:{found[1]}"
        # Wait for existing indexes to become searchable; an index with missing shards delays this by 20 seconds at
        # most.
        wanted = {"wait_for_nodes": str(nodes), "wait_for_status": "yellow", "timeout": "20s"}
        with contextlib.suppress(requests.RequestException, ValueError, KeyError):
            if session.get(f"{url}/_cluster/health", params=wanted, timeout=40).json()["number_of_nodes"] == nodes:
                return url
    return None
