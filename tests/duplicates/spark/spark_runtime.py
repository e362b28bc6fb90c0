"""A real Spark session for tests, started by this process: two workers, little memory, little output."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REQUIRED = "WHORL_REQUIRE_SPARK"
#: Warning filters for modules that use PySpark: unclosed sockets, and PySpark's warnings on other libraries.
QUIET = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark"),
]
MASTER = "local[2]"
#: Few partitions and little compilation, so that a job on a handful of rows takes a second instead of ten.
SETTINGS = {
    # Compiled code fills the default code cache of 48 MB, which Java then sweeps again and again.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=192m",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # As in a job: the daemon loads the compiled loops once, instead of each worker by itself.
    "spark.python.daemon.module": "whorl.duplicates.spark.worker_daemon",
    # By default Spark waits 15 seconds for Python to fetch results, which is too short on a busy machine.
    "spark.python.authenticate.socketTimeout": "240s",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Inferring constraints of long plans takes longer than a job on a handful of rows.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    # Otherwise each small file of a state becomes a partition, and each step needs a task for it.
    "spark.sql.files.minPartitionNum": "1",
    # Each aggregation and sort allocates a page, by default of 16 MB; for a handful of rows most of it stays empty.
    "spark.buffer.pageSize": "256k",
    # The history of jobs and queries fills the heap.
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class SharedSession:
    """A session used by many tests, one after the other; replaced if it breaks.

    Args:
        new_folder: Returns a folder that a session may write to.
    """

    def __init__(self, new_folder: Callable[[], Path]) -> None:
        self._new_folder = new_folder
        self._session: SparkSession | None = None

    def get(self) -> SparkSession:
        """Return the session, or a new one if its process does not respond.

        Raises:
            NoSparkError: PySpark or Java is missing.
        """
        if self._session is not None and not _is_alive(self._session):
            self.discard()
        if self._session is None:
            with warnings.catch_warnings():
                # PySpark's imports emit warnings.
                warnings.simplefilter("ignore")
                self._session = started(self._new_folder())
        return self._session

    def discard(self) -> None:
        """Kill Spark's process with all its work, and forget the session."""
        if self._session is None:
            return
        from pyspark import SparkContext
        from pyspark.sql import SparkSession, SQLContext

        gateway, accumulators = SparkContext._gateway, self._session.sparkContext._accumulatorServer
        self._session = None
        if gateway is not None:
            gateway.proc.kill()
            gateway.proc.communicate()
            gateway.shutdown()
        if accumulators is not None:
            accumulators.shutdown()
        # Clear PySpark's references to the process; `SparkSession.stop` would call it.
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SQLContext._instantiatedContext = None

    def stop(self) -> None:
        """Stop the session."""
        if self._session is not None and _is_alive(self._session):
            self._session.stop()
        self._session = None


def _is_alive(session: SparkSession) -> bool:
    from py4j.protocol import Py4JError

    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except (Py4JError, AttributeError, OSError):
        return False


class NoSparkError(Exception):
    """Spark cannot run here; the message is one line with the remedy."""


def started(folder: Path) -> SparkSession:
    """Start Spark.

    Raises:
        NoSparkError: PySpark or Java is missing.
    """
    if not (find_spec("pyspark") and find_spec("pyarrow") and find_spec("pandas")):
        raise NoSparkError("PySpark is missing: pip install 'whorl[spark]'")
    java = shutil.which("java")
    if java is None or subprocess.run([java, "-version"], capture_output=True, check=False).returncode:
        raise NoSparkError("Spark needs Java 17 or 21")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).appName("tests").config("spark.sql.warehouse.dir", str(folder))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.sparkContext.pythonExec = sys.executable
    return session
