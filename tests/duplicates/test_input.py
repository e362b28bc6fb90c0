"""Tests of reading the files to compare: progress, dates, reference."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from whorl.duplicates.input import Reading
from whorl.duplicates.keep import Keep
from whorl.errors import ParameterError
from whorl.ingest.rows.columns import Columns


def written(path: Path, *rows: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_progress_goes_to_its_end(tmp_path: Path) -> None:
    """
    Progress counts the bytes of all named files, up to their total.
    """
    rows: list[dict[str, object]] = [{"text": f"text {at}"} for at in range(5000)]
    paths = [written(tmp_path / name, *rows) for name in ("a.jsonl", "b.jsonl")]
    size = sum(os.path.getsize(path) for path in paths)
    reading = Reading(paths)
    shares = [reading.share for _ in reading.documents()]
    assert shares[0] == (0, size)
    assert shares == sorted(shares)
    assert 0 < shares[2500][0] < size / 2 < shares[7500][0] < size
    assert reading.share == (size, size)
    assert reading.count == 10_000


def test_a_reference_has_ids_of_its_own(tmp_path: Path) -> None:
    """
    The ids of reference rows start with their file's name, once; a file in both inputs is reference, and a file named
    twice is read once.
    """
    reference = written(tmp_path / "r.jsonl", {"id": "1", "text": "a"}, {"text": "b"})
    looked_at = written(tmp_path / "p.jsonl", {"id": "1", "text": "c"})
    reading = Reading([str(tmp_path), looked_at], reference=[reference])
    assert [each.id for each in reading.reference()] == [f"{reference}:1", f"{reference}:2"]
    assert [each.id for each in reading.documents()] == ["1"]


def test_only_what_is_needed_becomes_a_property(tmp_path: Path) -> None:
    """
    Documents have only the needed columns as properties.
    """
    path = written(tmp_path / "a.jsonl", {"text": "t", "meta": {"a": [{}]}, "q": 1, "lang": "de"})
    (document,) = Reading([path], keep=Keep("largest", "q"), within="lang").documents()
    assert document.properties == {"q": (1,), "lang": ("de",)}


def test_a_column_to_compare_within_that_is_nowhere(tmp_path: Path) -> None:
    """
    A column to compare within that no file has is an error; a column without any values is not.
    """
    first = written(tmp_path / "a.jsonl", {"text": "t", "lang": None})
    second = written(tmp_path / "b.jsonl", {"text": "t", "topic": None})
    for within in ("lang", "topic"):
        assert len(list(Reading([first, second], within=within).documents())) == 2
    with pytest.raises(ParameterError, match=r"no document has a column 'language'.*--within-column COLUMN, of lang\)"):
        list(Reading([first, second], within="language").documents())
    parts = Reading([first, second], within="language").documents()
    for part in parts.parts():
        assert len(list(part)) == 1
        parts.note(part.report)
    with pytest.raises(ParameterError, match="'language'"):
        parts.finish()


def test_a_column_that_decides_and_is_nowhere(tmp_path: Path) -> None:
    """
    A missing column of the retention policy raises an error with the columns of the first file that has some.
    """
    (tmp_path / "0.txt").write_text("text")
    path = written(tmp_path / "a.jsonl", {"body": "t", "id": 1, "quality": 1, "made": "2020"})
    reading = Reading([str(tmp_path)], columns=Columns(text="body"), keep=Keep("largest", "made_up"))
    with pytest.raises(
        ParameterError, match=r"no document has a number .* \(--keep largest:COLUMN, of made, quality\)"
    ):
        list(reading.documents())
    (document,) = Reading([path], columns=Columns(text="body")).documents()
    with pytest.raises(ParameterError, match=r"no date of its own.*--keep newest:COLUMN"):
        Reading([path], keep=Keep("newest")).date(document)
    assert Reading([path], lasts=True).date(document) is None


def test_texts_are_read_again(tmp_path: Path) -> None:
    """
    The texts of files with one document each can be read again; those of rows cannot.
    """
    (tmp_path / "a.txt").write_text("the text")
    (tmp_path / "b.jsonl").write_text('{"id": "row", "text": "another"}\n')
    reading = Reading([str(tmp_path)])
    file = (tmp_path / "a.txt").as_posix()
    assert reading.texts([file, "row", "nowhere"]) == {file: "the text"}
