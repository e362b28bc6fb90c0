"""Fixtures for all tests (Solr, OpenSearch, Chromium), and the marks of the tests that use them."""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing.process
import os
import socket
import subprocess
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests import opensearch_runtime, solr_runtime
from tests.clock import Clock
from tests.sampling import FULL
from tests.service.browser import REQUIRED as BROWSER_REQUIRED
from tests.service.browser import NoBrowserError, chromium
from whorl.engine.local.jars import Server
from whorl.engine.local.opensearch import OPENSEARCH
from whorl.fingerprint.compiled import kernel

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The duration of an example depends on the load of the machine. Each run draws other examples.
settings.register_profile("whorl", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
# `make quick` checks the same properties with fewer examples.
settings.register_profile("quick", settings.get_profile("whorl"), max_examples=15)
settings.load_profile("whorl")

# Servers and Spark run for a few minutes only: full JIT compilation would take twice as long as the work itself, and
# verifying the bytecode takes a fifth of a start.
os.environ.setdefault(
    "JDK_JAVA_OPTIONS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)

# Without a background compiler, a test of the compiled loops waits for the compilation.
kernel._start_compiler = lambda: None

#: Marks of tests, by the fixtures whose servers and processes they use, the slowest first. Tests with other needs have
#: their marks in the code.
FIXTURES_BY_MARK = {
    "spark": {"spark", "shared_spark"},
    "browser": {"browser"},
    "cloud": {"solr_cloud_url"},
    "solr": {"solr_standalone_url", "solr_cloud_url", "solr_cache"},
    "opensearch": {"opensearch_url", "opensearch_cache", "opensearch_jars"},
    "process": {"start"},
}
#: Folders whose tests all run in one process: each process would start its own Spark or Chromium, or fill its own
#: store on each engine.
UNDIVIDED = ("tests/duplicates/spark/", "tests/service/page/", "tests/conformance/")
#: Functions that start a process or listen on a socket: a test without a mark must not call them.
PROCESS_STARTERS: tuple[tuple[object, str], ...] = (
    (subprocess.Popen, "__init__"),
    (multiprocessing.process.BaseProcess, "start"),
    *((os, name) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp") if hasattr(os, name)),
    (socket.socket, "listen"),
)
_reasons = pytest.StashKey[set[str]]()

# Collection creates thousands of objects that live until the end, so garbage collection would free nothing.
gc.disable()


def pytest_collection_finish() -> None:
    """Enable garbage collection again, for objects created from now on."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Select the tests of this run, mark them by their fixtures, and sort files and undivided folders.

    The slowest come first: otherwise a worker could be left with a slow file at the end. Files whose tests wait for
    servers and processes alternate with files that need only Python and keep the processors busy.
    """
    items[:] = [item for item in items if FULL or not item.get_closest_marker("thorough")]
    kinds = [*FIXTURES_BY_MARK, "slow"]
    first: dict[str, int] = {}
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        # `get_closest_marker` searches all marks of the item for each name.
        marks = {mark.name for mark in item.iter_markers()}
        for mark, names in FIXTURES_BY_MARK.items():
            if names & fixtures or (mark == "solr" and "cloud" in marks):
                item.add_marker(mark)
                marks.add(mark)
        kind = next((at for at, mark in enumerate(kinds) if mark in marks), len(kinds))
        unit = _unit(item.nodeid)
        first[unit] = min(kind, first.get(unit, kind))
    units = sorted(first, key=lambda unit: (unit not in UNDIVIDED, first[unit]))
    waiting = [unit for unit in units if first[unit] < len(FIXTURES_BY_MARK)]
    busy = [unit for unit in units if first[unit] >= len(FIXTURES_BY_MARK)]
    alternating = itertools.chain.from_iterable(itertools.zip_longest(waiting, busy))
    places = {unit: place for place, unit in enumerate(alternating)}
    items.sort(key=lambda item: places[_unit(item.nodeid)])


def _unit(node_id: str) -> str:
    """Return the file of a test, or its folder if the folder is undivided."""
    path = node_id.partition("::")[0]
    return next((folder for folder in UNDIVIDED if path.startswith(folder)), path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Distribute tests by file, or by folder if the fixtures of a folder take long."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _unit(nodeid)

    return ByFileOrFolder(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Enforce the promise of `make quick`: a test without a mark starts no process and listens on no socket."""
    with pytest.MonkeyPatch.context() as patch:
        if not any(item.get_closest_marker(mark) for mark in (*FIXTURES_BY_MARK, "clients")):
            for owner, name in PROCESS_STARTERS:
                patch.setattr(owner, name, _refuse)
        return (yield)


def _refuse(*_: object, **__: object) -> NoReturn:
    pytest.fail("a test that starts a process or listens on a socket is marked: @pytest.mark.process")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report each missing server once instead of once per test."""
    reasons: set[str] = config.stash.get(_reasons, set())
    for reason in sorted(reasons):
        terminalreporter.write_line(f"SKIPPED tests marked {reason}", yellow=True)


def _without_solr(config: pytest.Config, error: Exception) -> BaseException:
    return _without("solr", solr_runtime.REQUIRED, config, error)


def _without(mark: str, required: str, config: pytest.Config, error: Exception) -> BaseException:
    """Return the exception for a missing server: a skip, or a failure if the server is required."""
    reason = f"{mark}: {str(error).splitlines()[0]}"
    if os.environ.get(required) == "1":
        return pytest.fail.Exception(f"{error} ({required}=1 asks for one)", pytrace=False)
    config.stash.setdefault(_reasons, set()).add(reason)
    return pytest.skip.Exception(reason)


def _shared_folder(request: pytest.FixtureRequest) -> Path:
    """Return the folder shared by all xdist workers."""
    base: Path = request.getfixturevalue("tmp_path_factory").getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Fake clock of request deadlines and of pauses between attempts."""
    made = Clock()
    for module in ("whorl.request_context", "whorl.engine.server_engine"):
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
        # A unique name leaves the other collections of an external Solr untouched.
        name = f"whorl_test_{uuid.uuid4().hex[:8]}"
        url = solr_runtime.make_collection(base_url, name, shards=2 if cloud else 1)
        try:
            yield url
        finally:
            solr_runtime.drop(base_url, name)


@pytest.fixture(scope="session")
def solr_standalone_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty core with whorl's configset, in a standalone Solr; its base URL is the part before `/NAME`."""
    with _empty_collection(request, cloud=False) as url:
        yield url


@pytest.fixture(scope="session")
def solr_cloud_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty collection of two shards with whorl's configset, in a SolrCloud of two nodes."""
    with _empty_collection(request, cloud=True) as url:
        yield url


@pytest.fixture(scope="session")
def solr_cache(request: pytest.FixtureRequest) -> Path:
    """Folder with Solr's jars, for tests that start their own Solr; the fixture also checks that Java is available."""
    try:
        return solr_runtime.jar_cache()
    except solr_runtime.NoSolrError as error:
        raise _without_solr(request.config, error) from None


@pytest.fixture(scope="session")
def opensearch_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a cluster that all tests share; each test uses its own indexes."""
    folder = _shared_folder(request) / "opensearch"
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(opensearch_runtime.running(folder))
        except opensearch_runtime.NoOpenSearchError as error:
            raise _without("opensearch", opensearch_runtime.REQUIRED, request.config, error) from None
        yield url


@pytest.fixture
def other_url(opensearch_url: str) -> Iterator[str]:
    """URL of an index that does not exist yet; the fixture deletes it at the end."""
    with opensearch_runtime.own_index(opensearch_url, is_made=False) as named:
        yield named


@pytest.fixture(scope="session")
def opensearch_jars(request: pytest.FixtureRequest) -> Callable[[Server], Path]:
    """Return the folder with a server's jars and check that Java is available, for tests that start a server."""

    def fetched(server: Server) -> Path:
        try:
            return opensearch_runtime.jar_cache(server)
        except opensearch_runtime.NoOpenSearchError as error:
            raise _without("opensearch", opensearch_runtime.REQUIRED, request.config, error) from None

    return fetched


@pytest.fixture(scope="session")
def opensearch_cache(opensearch_jars: Callable[[Server], Path]) -> Path:
    """Folder with the jars of the newest OpenSearch; the fixture also checks that Java is available."""
    return opensearch_jars(OPENSEARCH[0])


def started_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Headless Chromium. Its driver keeps an event loop running, so no other tests may run until it ends."""
    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(chromium())
        except NoBrowserError as error:
            raise _without("browser", BROWSER_REQUIRED, request.config, error) from None
        yield started


browser = pytest.fixture(started_browser, scope="module")
