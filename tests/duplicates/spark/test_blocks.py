"""Documents divided over blocks, without a Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.duplicates.spark.blocked import SKETCHING, members_in
from tests.duplicates.spark.spark_runtime import QUIET
from whorl.duplicates.gathering import FILES_SCHEME
from whorl.model import Document

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


def test_rows_become_sketches_or_problems() -> None:
    """
    Each row of each batch comes out once: as a member of a block that has its sketch, or with what is wrong with it.
    """
    from whorl.duplicates.spark.blocks import _sketched
    from whorl.duplicates.spark.documents import documents_in
    from whorl.duplicates.spark.frames import Parts

    text = "one two three four five six"
    rows = [
        {"id": "a", "name": "A", "text": text, "content": None},
        {"id": None, "name": None, "text": text, "content": None},
        {"id": "wide.txt", "name": None, "text": None, "content": text.encode("utf-16")},
        {"id": "no text", "name": None, "text": None, "content": None},
        {"id": "bad\tid", "name": None, "text": text, "content": None},
        {"id": "short", "name": "", "text": "too short", "content": None},
    ]
    kinds = [("id", pa.string()), ("name", pa.string()), ("text", pa.string()), ("content", pa.binary())]
    batches = [pa.RecordBatch.from_pylist(some, pa.schema(kinds)) for some in (rows[:3], [], rows[3:])]
    told = pa.Table.from_batches(_sketched(iter(batches), documents_in, SKETCHING, Parts.so_many(3)))
    problems = [(row["problem_id"], row["problem"]) for row in told.to_pylist() if row["problem"]]
    key = {key for document_id, _, _, key in members_in(told) if document_id == "a"}.pop()
    assert {row for row in members_in(told) if row[0] != "short"} == {("a", "A", 2, key), ("wide.txt", "", 2, key)}
    assert [row[:3] for row in members_in(told) if row[0] == "short"] == [("short", "", 0)]
    expected = [(None, "has an id and a text"), ("no text", "has both"), ("bad\tid", "control")]
    assert len(problems) == 3
    for (document_id, problem), (told_id, words) in zip(problems, expected, strict=True):
        assert document_id == told_id
        assert words in problem


def test_the_largest_document_of_an_id_counts() -> None:
    """
    Wherever the others are, and though an equal document of another id stays.
    """
    from whorl.duplicates.spark.blocks import _identities, _judged, _kept, _sketched
    from whorl.duplicates.spark.frames import Parts

    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    documents = [
        Document("a", " ".join(words[:7])),
        Document("b", " ".join(words[:7]), "equal"),
        Document("a", " ".join(words)),
        Document("a", "too short"),
        Document("c", " ".join(words), "first"),
        Document("c", " ".join(words), "second"),
        Document("d", "too short"),
    ]
    parts = Parts.so_many(3)
    waiting = [pa.RecordBatch.from_pylist([{}])]
    blocks = pa.Table.from_batches(_sketched(iter(waiting), lambda batch, note: documents, SKETCHING, parts))

    def in_parts(rows: Any) -> dict[int, Any]:
        return {part: rows.filter(pa.compute.equal(rows["part"], part)) for part in parts.names.tolist()}

    told = [batch for block in in_parts(blocks).values() for batch in _identities(iter(block.to_batches()), parts)]
    verdicts = [
        batch
        for rows in in_parts(pa.Table.from_batches(told)).values()
        for batch in _judged(iter(rows.to_batches()), parts)
    ]
    verdict = pa.Table.from_batches(verdicts)
    totals = {name: sum(verdict[name].to_pylist()) for name in ("documents", "too_short", "repeated")}
    assert totals == {"documents": 4, "too_short": 1, "repeated": 2}
    assert max(verdict["largest"].to_pylist()) == 6
    losers = in_parts(verdict)
    kept = pa.Table.from_batches(
        batch for part, block in in_parts(blocks).items() for batch in _kept(block, losers[part], FILES_SCHEME)
    )
    assert {row[:3] for row in members_in(kept)} == {("a", "", 6), ("b", "equal", 3), ("c", "second", 6), ("d", "", 0)}
