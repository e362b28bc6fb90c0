"""A real Solr over HTTP without Docker: one process on this machine, for trying whorl and for its tests.

Jetty's own XML configuration is the program that runs (`jetty/*.xml`), so neither a Solr installation nor a Java
compiler is needed. Every listening socket is bound to the loopback address.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import socket
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import requests

from whorl.engine.local.jars import Server, fetch_jars, find_java
from whorl.engine.local.running import RunningServer, start, tail
from whorl.errors import EngineResponseError, EngineUnavailableError, ParameterError

_HOST = "127.0.0.1"
_JETTY = Path(__file__).parent / "jetty"
#: Solr itself runs on Java 11; its jars were tried on 17 and 25 only.
SOLR = Server("Solr", "9.9.0", _JETTY / "jars.lock", 17, "solr")
_READY = "whorl: ready at "
_LOG_NAME = "solr.log"
_CORE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def configset_directory() -> Path:
    """Return whorl's configset, a folder that holds `conf/`: in the installed package, else in the source tree.

    Raises:
        EngineUnavailableError: It is in neither place.
    """
    installed = Path(__file__).parent / "configset"
    source_tree = Path(__file__).parents[5] / "solr" / "configset"
    for directory in (installed, source_tree):
        if (directory / "conf").is_dir():
            return directory
    raise EngineUnavailableError(f"whorl's Solr configset is missing: neither {installed} nor {source_tree} exists")


def start_standalone(
    home: Path,
    cores: Mapping[str, Path],
    *,
    port: int = 0,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 120.0,
) -> RunningServer:
    """Start one Solr on a home folder; cores and documents that are there already stay.

    Args:
        home: Solr's home folder, made where it is missing.
        cores: Cores to make where they are missing, each from a configset folder (the one that holds `conf/`).
        port: Port to listen on, 0 for a free one.
        heap: The JVM's largest heap, as `-Xmx` takes it.
        cache: Folder of the downloaded jars, see `fetch_jars`.
        deadline_seconds: How long starting may take, the download not counted.

    Raises:
        EngineUnavailableError: No Java, no jars, the port is taken, or Solr does not start: the message shows the
            end of its log.
    """
    home = home.absolute()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "solr.xml").exists():
        shutil.copy(_JETTY / "solr.xml", home)
    for name, configset in cores.items():
        lay_core(home, name, configset)
    properties = {"directory": str(home), "port": str(_free_to_bind(port))}
    running = _start("standalone.xml", home, properties, heap, cache, deadline_seconds)
    with _stopped_on_error(running):
        failures = admin(running.url, "cores", action="STATUS")["initFailures"]
        if failures:
            raise EngineUnavailableError(f"Solr cannot open its cores: {failures}\n{tail(running.log)}")
    return running


def start_cloud(
    directory: Path,
    *,
    nodes: int = 2,
    collections: Mapping[str, Path] | None = None,
    shards: int = 2,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 120.0,
) -> RunningServer:
    """Start a SolrCloud, ZooKeeper and all nodes in one JVM on free ports, to try a distributed collection.

    Args:
        directory: An empty folder, or one to make: a cluster always starts empty.
        nodes: How many Solr nodes, at least 1; the URL is the first one's.
        collections: Collections to make, each from a configset folder (the one that holds `conf/`).
        shards: Shards of each of these collections, at least 1.
        heap: The JVM's largest heap, as `-Xmx` takes it.
        cache: Folder of the downloaded jars, see `fetch_jars`.
        deadline_seconds: How long starting may take, the download not counted.

    Raises:
        ParameterError: The folder is not empty, or there are no nodes.
        EngineUnavailableError: No Java, no jars, or Solr does not start: the message shows the end of its log.
    """
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise ParameterError(f"a SolrCloud starts in an empty folder, and {directory} is not empty")
    if nodes < 1:
        raise ParameterError(f"a SolrCloud needs at least 1 node, got {nodes}")
    properties = {"directory": str(directory), "nodes": str(nodes), "solrxml": str(_JETTY / "solr.xml")}
    running = _start("cloud.xml", directory, properties, heap, cache, deadline_seconds)
    with _stopped_on_error(running):
        for name, configset in (collections or {}).items():
            create_collection(running.url, name, configset, shards=shards)
    return running


def lay_core(home: Path, name: str, configset: Path) -> None:
    """Lay a core into a standalone Solr's home folder, where it is missing; Solr finds it when it starts."""
    if not _CORE_NAME.fullmatch(name):
        raise ParameterError(f"a core's name is made of letters, digits, '_', '-' and '.', got {name!r}")
    # A copy for each core, because Solr rewrites the schema when a field is added.
    core = home / name
    if not (core / "core.properties").exists():
        shutil.copytree(configset / "conf", core / "conf", dirs_exist_ok=True)
        (core / "core.properties").write_text(f"name={name}\n", encoding="utf-8")


def create_collection(url: str, name: str, configset: Path, *, shards: int = 1, replicas: int = 1) -> None:
    """Make a SolrCloud collection with a configset of its own, uploaded under the collection's name.

    Args:
        url: Base URL of any node, `http://host:8983/solr`.
        name: Of the collection and of its configset.
        configset: The folder that holds `conf/`.
        shards: How many shards, at least 1.
        replicas: Copies of each shard, at least 1.

    Raises:
        EngineUnavailableError: Solr gives no answer.
        EngineResponseError: Solr refuses, for example because the collection exists.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((configset / "conf").rglob("*")):
            archive.write(path, path.relative_to(configset / "conf"))
    admin(url, "configs", packed.getvalue(), action="UPLOAD", name=name)
    placement: dict[str, str | int | bool] = {
        "collection.configName": name,
        "numShards": shards,
        "replicationFactor": replicas,
    }
    admin(url, "collections", None, action="CREATE", name=name, **placement)


def delete_collection(url: str, name: str) -> None:
    """Delete a SolrCloud collection and its configset; arguments and errors as for `create_collection`."""
    admin(url, "collections", action="DELETE", name=name)
    admin(url, "configs", action="DELETE", name=name)


def admin(url: str, handler: str, body: bytes | None = None, **params: str | int | bool) -> dict[str, Any]:
    """Ask one of Solr's administration handlers and return its answer.

    Args:
        url: Base URL, `http://host:8983/solr`.
        handler: Its name under `/admin/`, for example `cores`.
        body: Sent as it is where given.
        params: The request's parameters.

    Raises:
        EngineUnavailableError: Solr gives no answer.
        EngineResponseError: Solr answers with an error.
    """
    address = f"{url}/admin/{handler}"
    try:
        with requests.Session() as session:
            # A proxy from the environment has no part in a talk with this machine.
            session.trust_env = False
            response = session.request(
                "GET" if body is None else "POST", address, params={**params, "wt": "json"}, data=body,
                headers={"Content-Type": "application/octet-stream"} if body is not None else None, timeout=180,
            )  # fmt: skip
    except requests.RequestException as error:
        raise EngineUnavailableError(f"{address} gives no answer: {error}") from error
    try:
        answer = response.json()
        detail = str(answer.get("error", {}).get("msg", ""))
    except (ValueError, AttributeError):
        answer, detail = None, response.text[:500]
    if not response.ok or not isinstance(answer, dict):
        raise EngineResponseError(
            f"{address} answers {response.status_code} to {params.get('action', 'the request')}: {detail}",
            status=response.status_code,
            detail=detail,
        )
    return answer


def _free_to_bind(port: int) -> int:
    """Return the port, or raise: Solr's own message about a taken port is forty lines long."""
    with socket.socket() as probe:
        if os.name == "posix":
            # Otherwise connections of a Solr that has just stopped would count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            raise EngineUnavailableError(
                f"Solr cannot listen on port {port} of {_HOST} ({error}); choose another port, or 0 for a free one."
            ) from error
    return port


def _start(
    program: str,
    directory: Path,
    properties: Mapping[str, str],
    heap: str,
    cache: Path | None,
    deadline_seconds: float,
) -> RunningServer:
    """Run one of the XML programs in the directory until it says where Solr is."""
    # `jar/*` is the JVM's own spelling of all jars of a folder: the command line stays short enough for any system.
    jars = fetch_jars(SOLR, cache)[0].parent / "*"
    command = [
        str(find_java(SOLR)),
        f"-Xmx{heap}",
        "-Dfile.encoding=UTF-8",
        "-Djava.awt.headless=true",
        # Newer Javas warn, in six lines, about what Lucene does.
        "--enable-native-access=ALL-UNNAMED",
        f"-Dlog4j2.configurationFile={(_JETTY / 'log4j2.xml').as_uri()}",
        f"-Dsolr.log.dir={directory}",
        "-cp", str(jars),
        "org.eclipse.jetty.xml.XmlConfiguration",
        *(f"whorl.{name}={value}" for name, value in properties.items()),
        str(_JETTY / program),
    ]  # fmt: skip
    return start(SOLR.name, command, directory / _LOG_NAME, _address, deadline_seconds)


def _address(log: str) -> str | None:
    """Return the URL that the program prints when Solr is up, once that URL answers."""
    for line in log.splitlines():
        if line.startswith(_READY):
            url = line.removeprefix(_READY).strip()
            with contextlib.suppress(EngineUnavailableError, EngineResponseError):
                admin(url, "info/system")
                return url
    return None


@contextlib.contextmanager
def _stopped_on_error(running: RunningServer) -> Iterator[None]:
    try:
        yield
    except EngineResponseError as error:
        running.stop()
        # Solr names the cause in its log only.
        raise EngineUnavailableError(f"{error}\n{tail(running.log)}") from error
    except BaseException:
        running.stop()
        raise
