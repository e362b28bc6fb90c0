"""Fixtures for all tests: a real Solr, standalone and cloud, and a real OpenSearch, over HTTP; what marks tell."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing.process
import os
import socket
import subprocess
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests import opensearch_runtime, solr_runtime
from tests.clock import Clock
from tests.service.browser import REQUIRED as BROWSER_REQUIRED
from tests.service.browser import NoBrowserError, chromium
from whorl.fingerprint.compiled import first_use

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# How long an example takes depends on what else the machine does.
settings.register_profile("whorl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# What `make quick` asks for: the same properties of fewer examples.
settings.register_profile("quick", settings.get_profile("whorl"), max_examples=15)
settings.load_profile("whorl")

# A Solr of a few minutes: compiling what it runs as well as can be takes twice the time that its work does.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A test of the compiled loops waits for them, on a machine that has not compiled them yet.
first_use._start_compiler = lambda: None

#: What a test needs beside this process, by the fixtures that bring it; what is left is marked where it is written.
#: What takes longest comes first.
BROUGHT_BY = {
    "spark": {"spark"},
    "browser": {"browser"},
    "cloud": {"solr_cloud_url"},
    "solr": {"solr_standalone_url", "solr_cloud_url", "solr_cache"},
    "opensearch": {"opensearch_url", "opensearch_cache"},
    "process": {"start"},
}
#: How processes and servers begin: what a test without a mark must not do.
BEGINNINGS: tuple[tuple[object, str], ...] = (
    (subprocess.Popen, "__init__"),
    (multiprocessing.process.BaseProcess, "start"),
    *((os, name) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp") if hasattr(os, name)),
    (socket.socket, "listen"),
)
_reasons = pytest.StashKey[set[str]]()

# Tests by the thousand are made, and stay to the end: who looks for garbage among them finds none.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, in what comes from now on."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what a test needs; files that need most come first, so that no process is left with them at the end."""
    kinds = [*BROUGHT_BY, "slow"]
    first: dict[Path, int] = {}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for mark, names in BROUGHT_BY.items():
            if names & fixtures or (mark == "solr" and item.get_closest_marker("cloud")):
                item.add_marker(mark)
        kind = next((at for at, mark in enumerate(kinds) if item.get_closest_marker(mark)), len(kinds))
        first[item.path] = min(kind, first.get(item.path, kind))
    items.sort(key=lambda item: first[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Share tests out by file, and those that need Spark as one: so one process starts it, and no other."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file.partition("/spark/")[0] if "/spark/" in file else file

    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hold a test without a mark to what `make quick` promises: no process is started, nothing listens."""
    with pytest.MonkeyPatch.context() as patch:
        if not any(item.get_closest_marker(mark) for mark in (*BROUGHT_BY, "clients")):
            for owner, name in BEGINNINGS:
                patch.setattr(owner, name, _refuse)
        return (yield)


def _refuse(*_: object, **__: object) -> NoReturn:
    pytest.fail("a test that starts a process or listens on a socket is marked: @pytest.mark.process")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say once what is missing, not once for each test."""
    reasons: set[str] = config.stash.get(_reasons, set())
    for reason in sorted(reasons):
        terminalreporter.write_line(f"SKIPPED tests marked {reason}", yellow=True)


def _without_solr(config: pytest.Config, error: Exception) -> BaseException:
    return _without("solr", solr_runtime.REQUIRED, config, error)


def _without(mark: str, required: str, config: pytest.Config, error: Exception) -> BaseException:
    """Return what to raise where no server can be had: a skip, or a failure where one is required."""
    reason = f"{mark}: {str(error).splitlines()[0]}"
    if os.environ.get(required) == "1":
        return pytest.fail.Exception(f"{error} ({required}=1 asks for one)", pytrace=False)
    config.stash.setdefault(_reasons, set()).add(reason)
    return pytest.skip.Exception(reason)


def _shared_folder(request: pytest.FixtureRequest) -> Path:
    """Return a folder that is the same in all processes that tests are shared out to."""
    base: Path = request.getfixturevalue("tmp_path_factory").getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What the time of a request goes by, and the pauses between attempts, however long the test itself takes."""
    made = Clock()
    for module in ("whorl.context", "whorl.engine.repetition"):
        monkeypatch.setattr(f"{module}.time", made)
    return made


@contextlib.contextmanager
def _empty_collection(request: pytest.FixtureRequest, *, cloud: bool) -> Iterator[str]:
    folder = _shared_folder(request) / ("cloud" if cloud else "solr")
    with contextlib.ExitStack() as stack:
        try:
            base_url = stack.enter_context(solr_runtime.running(cloud=cloud, folder=folder))
        except solr_runtime.NoSolrError as error:
            raise _without_solr(request.config, error) from None
        # Named so that a Solr which somebody else runs keeps what it has.
        name = f"whorl_test_{uuid.uuid4().hex[:8]}"
        url = solr_runtime.make_collection(base_url, name, shards=2 if cloud else 1)
        try:
            yield url
        finally:
            solr_runtime.drop(base_url, name)


@pytest.fixture(scope="session")
def solr_standalone_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty core with whorl's configset, in a standalone Solr; its base URL is what comes before `/NAME`."""
    with _empty_collection(request, cloud=False) as url:
        yield url


@pytest.fixture(scope="session")
def solr_cloud_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty collection of two shards with whorl's configset, in a SolrCloud of two nodes."""
    with _empty_collection(request, cloud=True) as url:
        yield url


@pytest.fixture(scope="session")
def solr_cache(request: pytest.FixtureRequest) -> Path:
    """Folder with Solr's jars, for tests that start a Solr of their own; there is a Java to run it with, too."""
    try:
        return solr_runtime.jar_cache()
    except solr_runtime.NoSolrError as error:
        raise _without_solr(request.config, error) from None


@pytest.fixture(scope="session")
def opensearch_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a cluster that all tests share, each with indexes of its own."""
    folder = _shared_folder(request) / "opensearch"
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(opensearch_runtime.running(folder))
        except opensearch_runtime.NoOpenSearchError as error:
            raise _without("opensearch", opensearch_runtime.REQUIRED, request.config, error) from None
        yield url


@pytest.fixture
def other_url(opensearch_url: str) -> Iterator[str]:
    """URL of an index that is not there yet, and is removed in the end."""
    with opensearch_runtime.own_index(opensearch_url, is_made=False) as named:
        yield named


@pytest.fixture(scope="session")
def opensearch_cache(request: pytest.FixtureRequest) -> Path:
    """Folder with OpenSearch's jars, for tests that start one of their own; there is a Java to run it with, too."""
    try:
        return opensearch_runtime.jar_cache()
    except opensearch_runtime.NoOpenSearchError as error:
        raise _without("opensearch", opensearch_runtime.REQUIRED, request.config, error) from None


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A Chromium without windows; not for longer than a module, since what drives it keeps an event loop running."""
    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(chromium())
        except NoBrowserError as error:
            raise _without("browser", BROWSER_REQUIRED, request.config, error) from None
        yield started
