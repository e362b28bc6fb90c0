"""The worker process for rows: it reads the same rows from a path and from its parent, and writes them again."""

from __future__ import annotations

import io
from pathlib import Path, PurePath

import pytest

from tests.ingest.rows.test_detect_row_format import MADE
from whorl.ingest.files import text_from_bytes
from whorl.ingest.rows.reader_client import ConfinedFormat
from whorl.ingest.rows.row_format import RowColumns

pytestmark = pytest.mark.process


@pytest.mark.parametrize("kind", ["parquet", "stream", "jsonl.gz"])
def test_files_on_disk_and_in_memory(kind: str, tmp_path: Path) -> None:
    """
    A file gives the same rows from a disk, from memory, and after rewriting all of its rows.
    """
    file, columns = tmp_path / f"a.{kind}", RowColumns()
    file.write_bytes(MADE[kind])
    with file.open("rb") as opened:
        on_disk = list(ConfinedFormat(opened, file, columns, text_from_bytes).rows(opened, columns))
    assert on_disk
    held, out = io.BytesIO(MADE[kind]), io.BytesIO()
    form = ConfinedFormat(held, PurePath(file.name), columns, text_from_bytes)
    assert list(form.rows(held, columns)) == on_disk
    held.seek(0)
    form.rewrite(held, out, columns, lambda rows: [{} for _ in rows], {})
    out.seek(0)
    written = ConfinedFormat(out, PurePath(file.name), columns, text_from_bytes)
    assert [row.values for row in written.rows(out, columns)] == [row.values for row in on_disk]
