"""Fixtures for a Spark session shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.duplicates.spark.spark_runtime import REQUIRED, SETTINGS, NoSparkError, SharedSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_shared = pytest.StashKey[SharedSession]()


@pytest.fixture(scope="session")
def shared_spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSession]:
    """The session shared by all tests; a test may replace it."""
    shared = request.config.stash[_shared] = SharedSession(lambda: tmp_path_factory.mktemp("spark"))
    yield shared
    shared.stop()


@pytest.fixture
def spark(shared_spark: SharedSession) -> SparkSession:
    """A session with two workers; skips the test if Spark cannot be started."""
    try:
        return shared_spark.get()
    except NoSparkError as error:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{error} ({REQUIRED}=1 asks for it)", pytrace=False)
        pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Discard the session of a test that timed out, because it still runs the test's work."""
    if call.excinfo is not None and str(call.excinfo.value).startswith("Timeout") and _shared in item.config.stash:
        item.config.stash[_shared].discard()
    return (yield)


@pytest.fixture(autouse=True)
def _as_started(request: pytest.FixtureRequest) -> None:
    """Restore the SQL settings that a job may have changed, such as adaptive plans, whose stages vary."""
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        for name, value in SETTINGS.items():
            if session.conf.isModifiable(name):
                session.conf.set(name, value)
