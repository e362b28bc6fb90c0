"""Fixtures for all tests: a real Solr over HTTP, standalone and cloud, one of each for the whole run."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import solr_runtime

# How long an example takes depends on what else the machine does.
settings.register_profile("whorl", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("whorl")

SOLR_FIXTURES = frozenset({"solr_standalone_url", "solr_cloud_url", "solr_cache"})
_reasons = pytest.StashKey[set[str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a Solr, so that `-m "not solr"` leaves it out."""
    for item in items:
        if SOLR_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("solr")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say once what is missing, not once for each test."""
    for reason in sorted(config.stash.get(_reasons, set())):
        terminalreporter.write_line(f"SKIPPED tests marked solr: {reason}", yellow=True)


def _without_solr(config: pytest.Config, error: solr_runtime.NoSolrError) -> BaseException:
    """Return what to raise where no Solr can be had: a skip, or a failure where one is required."""
    reason = str(error).splitlines()[0]
    if os.environ.get(solr_runtime.REQUIRED) == "1":
        return pytest.fail.Exception(f"{error} ({solr_runtime.REQUIRED}=1 asks for one)", pytrace=False)
    config.stash.setdefault(_reasons, set()).add(reason)
    return pytest.skip.Exception(reason)


@contextlib.contextmanager
def _empty_collection(request: pytest.FixtureRequest, *, cloud: bool) -> Iterator[str]:
    directory = request.getfixturevalue("tmp_path_factory").mktemp("cloud" if cloud else "standalone")
    with contextlib.ExitStack() as stack:
        try:
            base_url = stack.enter_context(solr_runtime.running(cloud=cloud, directory=directory))
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
