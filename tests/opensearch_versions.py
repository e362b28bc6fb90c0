"""The versions of OpenSearch and Elasticsearch that tests can start, and the version chosen for a run."""

from __future__ import annotations

import os
from pathlib import Path

from whorl.engine.local.jars import Server, find_server
from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH, start_cluster
from whorl.engine.local.server_process import RunningServer
from whorl.settings.settings import Settings

#: Environment variable of the version: `2.11` is an OpenSearch, `elasticsearch-9.5` an Elasticsearch.
VERSION = "WHORL_TEST_OPENSEARCH_VERSION"


def chosen() -> Server:
    """Return the server that WHORL_TEST_OPENSEARCH_VERSION names, by default the newest OpenSearch."""
    name, _, version = (os.environ.get(VERSION) or OPENSEARCH[0].version).rpartition("-")
    return find_server(ELASTICSEARCH if name == "elasticsearch" else OPENSEARCH, version)


def start(
    server: Server, folder: Path, *, nodes: int, heap: str = "768m", deadline_seconds: float = 240.0
) -> RunningServer:
    """Start a server; an Elasticsearch always has one node."""
    cache = Settings.load().opensearch_cache
    return start_cluster(folder, server, nodes=nodes, heap=heap, cache=cache, deadline_seconds=deadline_seconds)
