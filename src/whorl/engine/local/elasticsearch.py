"""Launcher of a real Elasticsearch without Docker: one node, started from the jars of a Maven repository.

Maven repositories lack most of Elasticsearch's modules, among them painless, the script language, and the filter
`min_hash`. Elasticsearch's jars have no main class that runs without an installation; `ElasticsearchNode.java` is one,
compiled at each start by ecj, which needs no JDK. Every socket is bound to the loopback address.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from whorl.engine.local.jars import Server, fetch_jars, find_java, of_version
from whorl.engine.local.opensearch import free_port, start_cluster
from whorl.engine.local.server import RunningServer, compile_java

_LOCKS = Path(__file__).parent
_SOURCE = Path(__file__).parent / "ElasticsearchNode.java"
#: Newest first.
ELASTICSEARCH = tuple(
    Server("Elasticsearch", version, _LOCKS / f"elasticsearch-{version}.lock", java, "opensearch")
    for version, java in (("9.5.3", 21), ("8.19.21", 17))
)

_PUBLISHED = re.compile(r"^whorl: ready at http://127\.0\.0\.1:(\d+)$", re.MULTILINE)
_TRANSPORT = "transport-netty4"
#: No module name: only nodes that are Java modules themselves need one.
_DESCRIPTOR = f"""description=HTTP and transport
name={_TRANSPORT}
classname=org.elasticsearch.transport.netty4.Netty4Plugin
version={{version}}
elasticsearch.version={{version}}
java.version={{java}}
"""


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
        "network.host": "127.0.0.1",
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
    return start_cluster(server, command, directory, _PUBLISHED, 1, deadline_seconds)
