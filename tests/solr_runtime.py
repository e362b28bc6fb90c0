"""A real Solr for the tests: an external one, a Docker container, or a local process.

`running` is the entry point; `make_collection` and `drop` work on any of the three.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import requests

from solr_cloud import create_collection, delete_collection
from tests import shared_server
from whorl.engine.local.jars import fetch_jars
from whorl.engine.local.server_process import find_java
from whorl.engine.local.solr import admin
from whorl.errors import EngineUnavailableError, WhorlError
from whorl.settings.settings import Settings

CONFIGSET = Path(__file__).parents[1] / "solr" / "configset"
IMAGE = "solr:9"
EXTERNAL = "WHORL_TEST_SOLR_URL"
REQUIRED = "WHORL_REQUIRE_SOLR"
_DOCKER_SOCKET = Path("/var/run/docker.sock")
_DOCKER_DEADLINE_SECONDS = 180.0

#: How to copy the configset to a core of a standalone Solr, which has no API for it: functions of the core's name, by
#: base URL.
_lay_configset: dict[str, Callable[[str], object]] = {}


class NoSolrError(Exception):
    """No Solr of this kind is available here; the message says in one line how to get one."""


@contextlib.contextmanager
def running(*, cloud: bool, folder: Path) -> Iterator[str]:
    """Yield the base URL, `http://host:port/solr`, of a standalone Solr or a SolrCloud.

    The server is the first one available: the one in WHORL_TEST_SOLR_URL; one of the version in
    WHORL_TEST_SOLR_VERSION; one in Docker, if its engine answers; or one of the newest version. Tests with the same
    folder share it.

    Raises:
        NoSolrError: No Solr is available.
    """
    external = os.environ.get(EXTERNAL, "").rstrip("/")
    if external:
        if cloud and not is_cloud(external):
            raise NoSolrError(f"{EXTERNAL} names a standalone Solr, so tests of SolrCloud do not run")
        yield external
    elif not os.environ.get(shared_server.SOLR_VERSION) and docker_answers():
        with _in_docker(cloud=cloud) as url:
            yield url
    else:
        with _shared(cloud=cloud, folder=folder) as url:
            yield url


def is_cloud(base_url: str) -> bool:
    return admin(base_url, "info/system").get("mode") == "solrcloud"


def make_collection(base_url: str, name: str, *, shards: int = 2) -> str:
    """Make an empty core or collection from whorl's configset and return its URL; `shards` is for a SolrCloud only."""
    if is_cloud(base_url):
        create_collection(base_url, name, CONFIGSET, shards=shards)
    elif base_url in _lay_configset:
        _lay_configset[base_url](name)
        admin(base_url, "cores", action="CREATE", name=name, instanceDir=name)
    else:
        # An external standalone Solr must have the configset on its disk; only this request uses it from there.
        admin(base_url, "cores", action="CREATE", name=name, configSet="whorl")
    return f"{base_url}/{name}"


def keep_vectors(url: str) -> str:
    """Store the term vectors of documents indexed from now on, to read their tokens back; return the URL."""
    field = requests.get(f"{url}/schema/fields/MINHASH", timeout=240).json()["field"]
    body = {"replace-field": {**field, "termVectors": True}}
    requests.post(f"{url}/schema", json=body, timeout=240).raise_for_status()
    return url


def drop(base_url: str, name: str) -> None:
    """Delete a core or collection with its documents and its configset."""
    if is_cloud(base_url):
        delete_collection(base_url, name)
    else:
        admin(base_url, "cores", action="UNLOAD", core=name, deleteInstanceDir="true")


def jar_cache() -> Path:
    """Return the folder with Solr's jars, and make sure that the machine has a Java to run them.

    Raises:
        NoSolrError: The jars or Java are not available.
    """
    cache = Settings.load().solr_cache
    try:
        find_java(shared_server.solr_server())
        fetch_jars(shared_server.solr_server(), cache)
    except EngineUnavailableError as error:
        raise NoSolrError(f"no Solr to test with: {error}") from error
    return cache


@contextlib.contextmanager
def _shared(*, cloud: bool, folder: Path) -> Iterator[str]:
    jar_cache()
    # From here on a failure is a defect of whorl or of its tests, not something that this machine lacks.
    with shared_server.shared("cloud" if cloud else "solr", folder) as url:
        if not cloud:
            cores = shared_server.home(folder)
            _lay_configset[url] = lambda name: shutil.copytree(CONFIGSET / "conf", cores / name / "conf")
        yield url


def docker_answers() -> bool:
    """Check that a Docker engine answers."""
    # This check comes first, because the client leaves a socket open if no engine answers.
    if not os.environ.get("DOCKER_HOST") and not _DOCKER_SOCKET.exists():
        return False
    try:
        import docker

        client = docker.from_env(timeout=5)
        try:
            return bool(client.ping())
        finally:
            client.close()
    except Exception:  # No client, no permission for the socket or no answer: all mean no Docker.
        return False


@contextlib.contextmanager
def _in_docker(*, cloud: bool) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.core.container import DockerContainer

        container = (
            DockerContainer(IMAGE)
            .with_env("SOLR_MODULES", "analysis-extras")
            .with_env("SOLR_HEAP", "768m")
            .with_volume_mapping(str(CONFIGSET), "/configset", "ro")
            .with_exposed_ports(8983)
            .with_command("solr-foreground -c" if cloud else "solr-foreground")
        )
        try:
            container.start()
        except Exception as error:  # The client raises exceptions of any type if it cannot get the image.
            raise NoSolrError(f"Docker answers but cannot start {IMAGE}: {error}") from error
    try:
        url = f"http://{container.get_container_host_ip()}:{container.get_exposed_port(8983)}/solr"
        _wait(url)
        _lay_configset[url] = lambda name: container.exec(["cp", "-r", "/configset", f"/var/solr/data/{name}"])
        yield url
    finally:
        container.stop()


def _wait(url: str) -> None:
    deadline = time.monotonic() + _DOCKER_DEADLINE_SECONDS
    while True:
        try:
            admin(url, "info/system")
            return
        except (WhorlError, requests.RequestException) as error:
            if time.monotonic() > deadline:
                raise NoSolrError(f"Solr in Docker gave no answer: {error}") from error
        time.sleep(0.5)
