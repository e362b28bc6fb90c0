"""Tests that the shared session is replaced after accidents, so that the next test has a working one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.duplicates.spark.spark_runtime import QUIET, SharedSession
from tests.sampling import thorough

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET
#: Application ids seen by tests of this module.
_application_ids: list[str] = []


@thorough
@pytest.mark.timeout(1, func_only=True)
@pytest.mark.xfail(raises=pytest.fail.Exception, reason="runs out of time, as it shall")
def test_a_test_that_exceeds_its_time(spark: SparkSession) -> None:
    """
    This test times out in a call that does not return.
    """
    _application_ids.append(spark.sparkContext.applicationId)
    spark.sparkContext._jvm.java.lang.Thread.sleep(10**9)  # type: ignore[union-attr]


@thorough
def test_a_test_after_one_that_exceeded_its_time(spark: SparkSession) -> None:
    """
    The next test gets a new session, and it works.
    """
    assert spark.sparkContext.applicationId not in _application_ids
    assert spark.range(3).count() == 3


@thorough
def test_a_killed_process_is_replaced(spark: SparkSession, shared_spark: SharedSession) -> None:
    """
    The next caller gets a new session after the process was killed, and the caller after it the same one.
    """
    before = spark.sparkContext.applicationId
    process = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    process.kill()
    process.wait()
    after = shared_spark.get()
    assert after.sparkContext.applicationId != before
    assert after.range(3).count() == 3
    assert shared_spark.get() is after
