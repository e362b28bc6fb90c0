"""Test of the archive for executors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import thorough

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")


@thorough
@pytest.mark.process
def test_the_archive_is_sufficient(tmp_path: Path) -> None:
    """
    With PySpark added, the archive is enough to read and compare texts with the compiled loops; PySpark, the largest
    part of an environment, is not in it.
    """
    from whorl.duplicates.spark.pack_environment import find_files

    size = 0
    for file, name in find_files():
        assert not name.startswith(("pyspark", "py4j", "..", "/"))
        target = tmp_path / "there" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(file)
        size += file.stat().st_size
    # The compressed archive is a quarter of this size.
    assert 100_000_000 < size < 500_000_000
    (tmp_path / "spark").mkdir()
    for name in ("pyspark", "py4j"):
        (tmp_path / "spark" / name).symlink_to(Path(pyspark.__file__).parents[1] / name)
    program = (
        f"import sys; sys.path[:0] = [{str(tmp_path / 'there')!r}, {str(tmp_path / 'spark')!r}]\n"
        "import pyspark.worker, pyarrow.compute, pandas, numba\n"
        "from whorl.duplicates.spark import arrow_blocks, read_files, duplicates, worker_daemon\n"
        "from whorl.fingerprint.fingerprint_texts import text_hashes\n"
        "from whorl.fingerprint.shingling import Scheme\n"
        "assert text_hashes('one two three four five six', Scheme()).size == 2\n"
        "assert not [each for each in sys.modules.values() if 'site-packages' in (getattr(each, '__file__', 0) or '')]"
    )
    # -S hides the installed packages, -I the environment variables of Python.
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True, cwd=tmp_path)
