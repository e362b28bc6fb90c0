"""A real OpenSearch for the tests: one that is running, one in Docker, or one that whorl starts itself.

`running` is the way in; `own_index` works on any of the three. The one that is started here has two nodes, and all
processes of a test run share it.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import requests

from tests import shared_server
from tests.solr_runtime import docker_answers
from whorl.engine.local.jars import fetch_jars, find_java
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.fields import SourceNames
from whorl.engine.opensearch.local.launcher import OPENSEARCH
from whorl.engine.opensearch.setup import create
from whorl.errors import EngineUnavailableError
from whorl.settings.settings import Settings

#: What Docker starts where no other image is named, as `docker.elastic.co/elasticsearch/elasticsearch:9.1.0`.
IMAGE, OTHER_IMAGE = "opensearchproject/opensearch:3", "WHORL_TEST_OPENSEARCH_IMAGE"
EXTERNAL = "WHORL_TEST_OPENSEARCH_URL"
REQUIRED = "WHORL_REQUIRE_OPENSEARCH"
_DEADLINE_SECONDS = 240.0


class NoOpenSearchError(Exception):
    """No OpenSearch can be had here; the message says in one line what would help."""


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """Give the URL of a cluster, `http://host:port`.

    The one that WHORL_TEST_OPENSEARCH_URL names; else Docker's, where its engine answers; else one of two nodes that
    all who name the same folder share.

    Raises:
        NoOpenSearchError: There is none.
    """
    external = os.environ.get(EXTERNAL, "").rstrip("/")
    if external:
        yield external
    elif docker_answers():
        with _in_docker() as url:
            yield url
    else:
        jar_cache()
        with shared_server.shared("opensearch", folder) as url:
            yield url


@contextlib.contextmanager
def own_index(base_url: str, *, shards: int = 2, is_made: bool = True) -> Iterator[str]:
    """Give the URL of an index of one's own, made and empty, and delete it in the end."""
    url = f"opensearch+{base_url}/whorl_test_{uuid.uuid4().hex[:8]}"
    with contextlib.closing(IndexClient(url)) as client:
        if is_made:
            create(client, SourceNames(), shards, 0)
        try:
            yield url
        finally:
            client.raw.indices.delete(index=client.index, params={"ignore_unavailable": "true"})


def jar_cache() -> Path:
    """Return the folder with OpenSearch's jars, filled, on a machine that has a Java to run them.

    Raises:
        NoOpenSearchError: One of the two cannot be had.
    """
    cache = Settings.load().opensearch_cache
    try:
        find_java(OPENSEARCH)
        fetch_jars(OPENSEARCH, cache)
    except EngineUnavailableError as error:
        raise NoOpenSearchError(f"no OpenSearch to test with: {error}") from error
    return cache


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


def environment(image: str) -> dict[str, str]:
    """Return the variables of a container: one node, of which nobody is asked who they are."""
    if "elasticsearch" in image:
        own = {"xpack.security.enabled": "false", "ES_JAVA_OPTS": "-Xmx768m"}
    else:
        flags = ("DISABLE_SECURITY_PLUGIN", "DISABLE_INSTALL_DEMO_CONFIG")
        own = {**dict.fromkeys(flags, "true"), "OPENSEARCH_JAVA_OPTS": "-Xmx768m"}
    return {"discovery.type": "single-node", **own}


@contextlib.contextmanager
def _in_docker() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.core.container import DockerContainer

        image = os.environ.get(OTHER_IMAGE, IMAGE)
        container = DockerContainer(image).with_envs(**environment(image)).with_exposed_ports(9200)
        try:
            container.start()
        except Exception as error:  # Whatever the client raises: the image cannot be had.
            raise NoOpenSearchError(f"Docker answers but cannot start {image}: {error}") from error
    try:
        url = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(9200)}"
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while not _answers(url):
            if time.monotonic() > deadline:
                raise NoOpenSearchError("OpenSearch in Docker gave no answer")
            time.sleep(0.5)
        yield url
    finally:
        container.stop()
