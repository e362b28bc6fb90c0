"""Tests of the daemon that forks Spark's Python workers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.duplicates.spark.spark_runtime import QUIET
from tests.sampling import thorough

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytestmark = QUIET


def test_unpacked_pyspark_is_found_next_to_its_archive(tmp_path: Path) -> None:
    """
    The folder is found next to an archive in pip's package of PySpark, but not next to another archive.
    """
    from whorl.duplicates.spark.worker_daemon import find_pyspark

    archive = tmp_path / "site-packages" / "pyspark" / "python" / "lib" / "pyspark.zip"
    paths = ["", "/somewhere", str(archive), "pyspark.zip"]
    assert find_pyspark(paths) is None
    archive.parent.mkdir(parents=True)
    assert find_pyspark(paths) is None
    (tmp_path / "site-packages" / "pyspark" / "__init__.py").touch()
    assert find_pyspark(paths) == str(tmp_path / "site-packages")


@thorough
def test_workers_read_no_archive(spark: SparkSession) -> None:
    """
    With PySpark installed by pip, a worker imports no module from the archive, and has no archive on its path.
    """
    from whorl.duplicates.spark.arrow_blocks import map_batches

    def origins(batches: Any) -> Any:
        import pyarrow as pa

        files = [module.__file__ for name, module in sys.modules.items() if name.startswith("pyspark")]
        files += [path for path in sys.path if path.endswith((".zip", ".jar")) and "pyspark" in path]
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": files})

    files = [row.file for row in map_batches(spark.range(1).coalesce(1), origins, "file string").collect()]
    assert len(files) > 20
    assert not [file for file in files if ".zip" in file or ".jar" in file]
