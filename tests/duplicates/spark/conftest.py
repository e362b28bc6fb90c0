"""One Spark for all tests of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.duplicates.spark.spark_runtime import REQUIRED, SETTINGS, NoSparkError, started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with two workers, or a skip where there can be none."""
    try:
        with warnings.catch_warnings():
            # What PySpark says of its own imports.
            warnings.simplefilter("ignore")
            session = started(tmp_path_factory.mktemp("spark"))
    except NoSparkError as error:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"{error} ({REQUIRED}=1 asks for it)", pytrace=False)
        pytest.skip(str(error))
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _as_started(request: pytest.FixtureRequest) -> None:
    """Take back what a job in this session has set, such as adaptive plans, whose stages vary."""
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        for name, value in SETTINGS.items():
            if name.startswith("spark.sql."):
                session.conf.set(name, value)
