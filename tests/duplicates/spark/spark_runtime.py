"""A real Spark for the tests, in this process: two workers, small, and quiet."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REQUIRED = "WHORL_REQUIRE_SPARK"
#: For modules that use PySpark: sockets that it leaves to the garbage collector, and what it says of other libraries.
QUIET = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark"),
]
MASTER = "local[2]"
#: Few partitions, and little compiled for a handful of rows: so that a job takes a second, not ten.
SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # As in a job: else each of the workers loads the compiled loops for itself.
    "spark.python.daemon.module": "whorl.duplicates.spark.daemon",
    # Spark waits 15 seconds for Python to fetch what it asked for, which a busy machine may need for more than that.
    "spark.python.authenticate.socketTimeout": "240s",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class NoSparkError(Exception):
    """There can be no Spark here; the message says in one line what would help."""


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
