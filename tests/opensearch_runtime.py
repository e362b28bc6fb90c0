"""A real OpenSearch for the tests: an external one, a Docker container, or a local process.

`running` is the entry point; `own_index` works on any of the three. All processes of a test run share one server. An
OpenSearch that is started here has two nodes, an Elasticsearch has one.
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
from tests.opensearch_versions import VERSION, chosen
from tests.solr_runtime import docker_answers
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.jars import Server, fetch_jars
from whorl.engine.local.opensearch import OPENSEARCH
from whorl.engine.local.server_process import find_java
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.document_fields import index_body
from whorl.errors import EngineUnavailableError
from whorl.settings.settings import Settings

#: The default image of Docker; the variable names another one, such as
#: `docker.elastic.co/elasticsearch/elasticsearch:9.1.0`.
IMAGE, OTHER_IMAGE = "opensearchproject/opensearch:3", "WHORL_TEST_OPENSEARCH_IMAGE"
EXTERNAL = "WHORL_TEST_OPENSEARCH_URL"
REQUIRED = "WHORL_REQUIRE_OPENSEARCH"
_DEADLINE_SECONDS = 240.0


class NoOpenSearchError(Exception):
    """No OpenSearch is available here; the message says in one line how to get one."""


@contextlib.contextmanager
def running(folder: Path) -> Iterator[str]:
    """Yield the URL of a cluster, `http://host:port`.

    The cluster is the first one available: the cluster in WHORL_TEST_OPENSEARCH_URL; a cluster in Docker, if its engine
    answers and WHORL_TEST_OPENSEARCH_VERSION is not set; or a cluster started by whorl, which all callers with the same
    folder share.

    Raises:
        NoOpenSearchError: No cluster is available.
    """
    external = os.environ.get(EXTERNAL, "").rstrip("/")
    if external:
        yield external
    elif not os.environ.get(VERSION) and docker_answers():
        with _in_docker() as url:
            yield url
    else:
        jar_cache(chosen())
        with shared_server.shared("opensearch", folder) as url:
            yield url


@contextlib.contextmanager
def own_index(base_url: str, *, shards: int = 2, is_made: bool = True) -> Iterator[str]:
    """Yield the URL of a new empty index (or of one yet to be created), and delete the index at the end."""
    url = f"opensearch+{base_url}/whorl_test_{uuid.uuid4().hex[:8]}"
    with contextlib.closing(IndexClient(url)) as client:
        if is_made:
            settings = {"number_of_shards": shards, "number_of_replicas": 0}
            client.create({**index_body(FieldNames()), "settings": settings})
        try:
            yield url
        finally:
            client.raw.indices.delete(index=client.index, params={"ignore_unavailable": "true"})


def jar_cache(server: Server = OPENSEARCH[0]) -> Path:
    """Return the folder with a server's jars, and make sure that the machine has a Java to run them.

    Raises:
        NoOpenSearchError: The jars or Java are not available.
    """
    cache = Settings.load().opensearch_cache
    try:
        find_java(server)
        fetch_jars(server, cache)
    except EngineUnavailableError as error:
        raise NoOpenSearchError(f"no OpenSearch to test with: {error}") from error
    return cache


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


def environment(image: str) -> dict[str, str]:
    """Return the environment variables of a container: a single node without authentication."""
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
        except Exception as error:  # The client raises exceptions of any type if it cannot get the image.
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
