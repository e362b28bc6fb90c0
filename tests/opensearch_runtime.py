"""A real OpenSearch for the tests: one that is running, one in Docker, or one that whorl starts itself.

`running` is the way in; `own_index` works on any of the three. The one that is started here has two nodes, and all
processes of a test run share it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import requests

from tests.solr_runtime import docker_answers
from whorl.engine.local.jars import fetch_jars, find_java
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.fields import SourceNames
from whorl.engine.opensearch.local.launcher import OPENSEARCH, start_opensearch
from whorl.engine.opensearch.setup import create
from whorl.errors import EngineUnavailableError
from whorl.settings.settings import Settings

IMAGE = "opensearchproject/opensearch:3"
EXTERNAL = "WHORL_TEST_OPENSEARCH_URL"
REQUIRED = "WHORL_REQUIRE_OPENSEARCH"
_DEADLINE_SECONDS = 240.0


class NoOpenSearchError(Exception):
    """No OpenSearch can be had here; the message says in one line what would help."""


@contextlib.contextmanager
def running(shared: Path) -> Iterator[str]:
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
        with _shared(shared) as url:
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


@contextlib.contextmanager
def _shared(folder: Path) -> Iterator[str]:
    """Share one server: a process of its own has it, until nobody holds the writing end of its pipe any more."""
    jar_cache()
    folder.mkdir(exist_ok=True)
    address, pipe = folder / "address", folder / "pipe"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (address.exists() and _answers(address.read_text())):
            address.unlink(missing_ok=True)
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
            # Opened for both, it waits for nobody to read.
            held = os.open(pipe, os.O_RDWR)
            _start(folder, address)
        else:
            held = os.open(pipe, os.O_RDWR)
    try:
        yield address.read_text()
    finally:
        os.close(held)


def _start(folder: Path, address: Path) -> None:
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.opensearch_runtime", str(folder)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            cwd=Path(__file__).parents[1], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not address.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            # A failure is a defect of ours, not something that this machine lacks.
            raise EngineUnavailableError(f"the tests' OpenSearch did not start: {(folder / 'log').read_text()[-3000:]}")
        time.sleep(0.1)
    # It outlives this process.
    process.returncode = 0


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


@contextlib.contextmanager
def _in_docker() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.core.container import DockerContainer

        container = (
            DockerContainer(IMAGE)
            .with_env("discovery.type", "single-node")
            .with_env("DISABLE_SECURITY_PLUGIN", "true")
            .with_env("DISABLE_INSTALL_DEMO_CONFIG", "true")
            .with_env("OPENSEARCH_JAVA_OPTS", "-Xmx768m")
            .with_exposed_ports(9200)
        )
        try:
            container.start()
        except Exception as error:  # Whatever the client raises: the image cannot be had.
            raise NoOpenSearchError(f"Docker answers but cannot start {IMAGE}: {error}") from error
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


def _hold(folder: Path) -> None:
    """Have a server until nobody needs it."""
    with start_opensearch(folder / "server", nodes=2, cache=Settings.load().opensearch_cache) as server:
        unfinished = folder / "address.part"
        unfinished.write_text(server.url)
        unfinished.rename(folder / "address")
        # Whoever has started this holds the other end by now.
        with (folder / "pipe").open("rb") as pipe:
            pipe.read()


if __name__ == "__main__":
    _hold(Path(sys.argv[1]))
