"""Starts a real OpenSearch or Elasticsearch without Docker, as one local process.

All jars come from Maven repositories (see `jars`). The runner of the CodeLibs project starts OpenSearch.
Elasticsearch's own main class needs an installation, so `ElasticsearchNode.java` replaces it. ecj compiles this file at
each start, so no JDK is needed. Maven repositories lack most modules of Elasticsearch, so this Elasticsearch has no
painless scripts and no filter `min_hash`.

All ports are bound to the loopback address, so other machines cannot reach the server.
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
from itertools import islice
from pathlib import Path

import requests

from whorl.engine.local.jars import Server, fetch_jars
from whorl.engine.local.server_process import RunningServer, compile_java, find_java, java_command, start
from whorl.errors import EngineUnavailableError, ParameterError

_LOCKS = Path(__file__).parent
#: Versions of OpenSearch that can be started, the newest first. Every index loads all analysers, including the Thai
#: analyser, which needs Thai language data in Java.
OPENSEARCH = tuple(
    Server("OpenSearch", version, _LOCKS / f"opensearch-{version}.lock", java, "opensearch", needs_thai=True)
    for version, java in (("3.8.0", 21), ("2.19.1", 17), ("2.11.0", 17))
)

_SOURCE = Path(__file__).parent / "ElasticsearchNode.java"
#: Versions of Elasticsearch that can be started, the newest first.
ELASTICSEARCH = tuple(
    Server("Elasticsearch", version, _LOCKS / f"elasticsearch-{version}.lock", java, "opensearch")
    for version, java in (("9.5.3", 21), ("8.19.21", 17))
)

_READY = re.compile(r"^whorl: ready at http://127\.0\.0\.1:(\d+)$", re.MULTILINE)
_TRANSPORT = "transport-netty4"
#: Descriptor of the transport plug-in. It names no Java module, because Elasticsearch is not started as a module.
_DESCRIPTOR = f"""description=HTTP and transport
name={_TRANSPORT}
classname=org.elasticsearch.transport.netty4.Netty4Plugin
version={{version}}
elasticsearch.version={{version}}
java.version={{java}}
"""

_HOST = "127.0.0.1"
#: Ports that the runner can use; each node listens on the next free port.
_PORTS = range(9201, 9300)
_MAIN = "org.codelibs.opensearch.runner.OpenSearchRunner"
_PUBLISHED = re.compile(r"HttpServerTransport\s*\] publish_address \{127\.0\.0\.1:(\d+)\}")
#: Java's exception for a port in use, and the maximum number of attempts to start, each on other ports.
_TAKEN, _ATTEMPTS = "BindException", 3


def start_cluster(
    directory: Path,
    server: Server = OPENSEARCH[0],
    *,
    nodes: int = 1,
    port: int = 0,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 180.0,
) -> RunningServer:
    """Start a cluster in a folder, and return it with the URL of its first node; existing indexes stay.

    Args:
        server: A member of `OPENSEARCH` or `ELASTICSEARCH`.
        nodes: Number of OpenSearch nodes, at least 1; Elasticsearch always has one.
        port: Port of the first node, for OpenSearch from 9201 to 9299; 0 for a free port.
        heap: The JVM's maximum heap, as for `-Xmx`.
        cache: Folder of the downloaded jars, see `fetch_jars`.
        deadline_seconds: Maximum time to start, without the download.

    Raises:
        ParameterError: The number of nodes or the port is invalid.
        EngineUnavailableError: Java is missing, the jars cannot be downloaded, the port is taken, or the cluster does
            not start; the message shows the end of its log.
    """
    directory = directory.absolute()
    if server in ELASTICSEARCH:
        command = _elasticsearch_command(directory, server, free_port(port) if port else 0, heap, cache)
        return _wait_for_nodes(server, command, directory, _READY, 1, deadline_seconds)
    if not 1 <= nodes <= len(_PORTS) or (port and not (port in _PORTS and port + nodes - 1 in _PORTS)):
        raise ParameterError(
            f"an OpenSearch has at least 1 node, and its nodes listen on port {_PORTS.start} to {_PORTS[-1]}, from the "
            f"given one on, or 0 for free ones, got {nodes} nodes and port {port}"
        )
    directory.mkdir(parents=True, exist_ok=True)
    attempts = 1 if port else _ATTEMPTS
    while True:
        command = _opensearch_command(directory, server, nodes, free_port(port, nodes), heap, cache)
        attempts -= 1
        try:
            return _wait_for_nodes(server, command, directory, _PUBLISHED, nodes, deadline_seconds)
        except EngineUnavailableError as error:
            # Retry only if another process has taken the port since the check.
            if not attempts or _TAKEN not in str(error):
                raise


def _wait_for_nodes(
    server: Server, command: Sequence[str], directory: Path, published: re.Pattern[str], nodes: int, seconds: float
) -> RunningServer:
    """Start the command and wait until all nodes respond; `published` finds the first node's port in the log."""
    with requests.Session() as session:
        session.trust_env = False
        ready = partial(_address, session, published, nodes)
        return start(server.name, command, directory / f"{server.key}.log", ready, seconds)


def _opensearch_command(
    directory: Path, server: Server, nodes: int, port: int, heap: str, cache: Path | None
) -> list[str]:
    return [
        # When the standard input ends, the runner continues. So start it through the watcher, which then stops it.
        *(sys.executable, "-c", _WATCH),
        *java_command(find_java(server), heap, str(fetch_jars(server, cache)[0].parent / "*")),
        *(_MAIN, "-basePath", str(directory / "nodes"), "-numOfNode", str(nodes)),
        # Give the cluster a unique name, because two clusters with the same name would join each other.
        *("-clusterName", f"whorl-{uuid.uuid4().hex}", "-baseHttpPort", str(port - 1), "-useLogger"),
    ]


def _elasticsearch_command(directory: Path, server: Server, port: int, heap: str, cache: Path | None) -> list[str]:
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
        "http.port": port,
        "transport.port": 0,
        "discovery.type": "single-node",
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    return [
        *java_command(java, heap, f"{classes}{os.pathsep}{class_path}"),
        *(_SOURCE.stem, str(home), *(f"{name}={value}" for name, value in settings.items())),
    ]


#: Python program (the watcher) that runs a command, and stops it when the watcher's standard input ends. The end of the
#: parent process also ends this input.
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


def free_port(port: int, nodes: int = 1) -> int:
    """Return the port (for 0, a random port), if it is free and enough ports after it are free for the other nodes.

    Otherwise, raise EngineUnavailableError. A node whose port is in use takes the next free port.
    """
    candidates = _PORTS[: max(0, len(_PORTS) + 1 - nodes)]
    # Random order makes processes that are started together choose different ports.
    for candidate in [port] if port else random.sample(candidates, len(candidates)):
        if _is_free(candidate):
            others = filter(_is_free, range(candidate + 1, _PORTS.stop))
            if sum(1 for _ in islice(others, nodes - 1)) == nodes - 1:
                return candidate
    if port and nodes > 1 and _is_free(port):
        raise EngineUnavailableError(f"of the ports {port} to {_PORTS[-1]} of {_HOST}, fewer than {nodes} are free")
    wanted = f"port {port}" if port else f"ports {_PORTS.start} to {_PORTS[-1]}"
    raise EngineUnavailableError(f"{wanted} of {_HOST} are taken; choose another one")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_HOST, port)) != 0


def _address(session: requests.Session, published: re.Pattern[str], nodes: int, log: str) -> str | None:
    """Return the URL of the first node if all nodes have joined, otherwise None."""
    if match := published.search(log):
        url = f"http://{_HOST}:{match[1]}"
        # Wait until existing indexes are searchable, but at most 20 seconds if shards are missing.
        wanted = {"wait_for_nodes": str(nodes), "wait_for_status": "yellow", "timeout": "20s"}
        with contextlib.suppress(requests.RequestException, ValueError, KeyError):
            if session.get(f"{url}/_cluster/health", params=wanted, timeout=40).json()["number_of_nodes"] == nodes:
                return url
    return None
