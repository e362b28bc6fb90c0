"""Compressed files: several frames, truncated files, and their content."""

from __future__ import annotations

import io

import pytest
import zstandard

from whorl.ingest.rows.compression import CompressedFormat, open_compressed, packing_of
from whorl.ingest.rows.row_format import RowColumns, UnreadRowsError
from whorl.ingest.rows.text_rows import JsonLinesFormat

TEXT = b"".join(b"%d\n" % (at * at) for at in range(100_000))


def test_frames_of_zstandard() -> None:
    """
    Several frames are one stream; a truncated file is an error, wherever it was cut.
    """
    packed = zstandard.compress(TEXT[:1000]) + zstandard.compress(TEXT[1000:])
    with open_compressed(io.BytesIO(packed), "zstandard") as stream:
        assert stream.read() == TEXT
    for cut in (len(packed) - 1, len(packed) // 2, 2):
        with (
            pytest.raises(UnreadRowsError, match="cannot be unpacked completely"),
            open_compressed(io.BytesIO(packed[:cut]), "zstandard") as stream,
        ):
            stream.read()
    with pytest.raises(UnreadRowsError), open_compressed(io.BytesIO(packed + b"garbage"), "zstandard") as stream:
        stream.read()


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma", "zstandard"])
def test_a_repacked_file_has_the_same_compression(module: str) -> None:
    """
    A repacked file has the same compression and the same rows.
    """
    empty = __import__(module).compress(b'{"text": "a"}\n')
    out = io.BytesIO()
    assert packing_of(empty) == module
    CompressedFormat(JsonLinesFormat(), module).rewrite(
        io.BytesIO(empty), out, RowColumns(), lambda rows: [{} for _ in rows], {}
    )
    assert packing_of(out.getvalue()) == module
    rows = CompressedFormat(JsonLinesFormat(), module).rows(io.BytesIO(out.getvalue()), RowColumns())
    assert [row.values for row in rows] == [{"text": "a"}]


@pytest.mark.parametrize("module", ["gzip", "zstandard"])
def test_rows_before_a_cut_are_read(module: str) -> None:
    """
    About half of the lines are read from the first half of a file.
    """
    packed = __import__(module).compress(b"".join(b'{"text": "%d"}\n' % hash((at, at)) for at in range(30_000)))
    rows = CompressedFormat(JsonLinesFormat(), module).rows(io.BytesIO(packed[: len(packed) // 2]), RowColumns())
    count = 0
    with pytest.raises(UnreadRowsError):
        for count, _ in enumerate(rows, start=1):  # noqa: B007 - the last one counts
            pass
    assert 9_000 < count < 18_000
