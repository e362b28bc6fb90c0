"""Starts a SolrCloud in one process, and creates and deletes its collections, for tests and benchmarks."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import requests

from whorl.engine.local.jars import find_server
from whorl.engine.local.server_process import RunningServer
from whorl.engine.local.solr import JETTY, SOLR, admin, start_jetty, stop_on_error
from whorl.errors import ParameterError


def start_cloud(
    directory: Path,
    *,
    version: str = "9",
    nodes: int = 2,
    collections: Mapping[str, Path] | None = None,
    heap: str = "768m",
    cache: Path | None = None,
    deadline_seconds: float = 120.0,
) -> RunningServer:
    """Start a SolrCloud: ZooKeeper and all nodes run in one JVM, on free ports.

    Args:
        directory: An empty folder, created if missing. A new cluster has no documents.
        version: As in `start_standalone`; the same holds for `heap`, `cache` and `deadline_seconds`.
        nodes: Number of Solr nodes, at least 1; the URL is the first node's.
        collections: Collections to create with two shards, each from a configset folder.

    Raises:
        ParameterError: The version is unknown, the folder is not empty, or `nodes` is less than 1.
        EngineUnavailableError: As in `start_standalone`.
    """
    server = find_server(SOLR, version)
    directory = directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise ParameterError(f"a SolrCloud starts in an empty folder, and {directory} is not empty")
    if nodes < 1:
        raise ParameterError(f"a SolrCloud needs at least 1 node, got {nodes}")
    properties = {"directory": str(directory), "nodes": str(nodes), "solrxml": str(JETTY / "solr.xml")}
    running = start_jetty(server, "cloud.xml", directory, properties, heap, cache, deadline_seconds)
    with stop_on_error(running):
        for name, configset in (collections or {}).items():
            create_collection(running.url, name, configset, shards=2)
    return running


def create_collection(url: str, name: str, configset: Path, *, shards: int = 1, replicas: int = 1) -> None:
    """Upload a configset under a collection's name, and create the SolrCloud collection.

    Args:
        url: Base URL of any node, `http://host:8983/solr`.
        configset: The folder that contains `conf/`.

    Raises:
        EngineUnavailableError: Solr does not respond.
        EngineResponseError: Solr refuses, for example because the collection exists.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((configset / "conf").rglob("*")):
            archive.write(path, path.relative_to(configset / "conf"))
    with requests.Session() as session:
        # Requests to this machine use no proxy.
        session.trust_env = False
        session.post(
            f"{url}/admin/configs",
            params={"action": "UPLOAD", "name": name},
            data=packed.getvalue(),
            headers={"Content-Type": "application/octet-stream"},
            timeout=180,
        ).raise_for_status()
    placement = {"collection.configName": name, "numShards": str(shards), "replicationFactor": str(replicas)}
    admin(url, "collections", action="CREATE", name=name, **placement)


def delete_collection(url: str, name: str) -> None:
    """Delete a SolrCloud collection and its configset; errors as for `create_collection`."""
    admin(url, "collections", action="DELETE", name=name)
    admin(url, "configs", action="DELETE", name=name)
