"""Tests of documents divided over blocks, without a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.duplicates.spark.made_blocks import SKETCHING, members_in
from tests.duplicates.spark.spark_runtime import QUIET
from whorl.duplicates.run import FILES_SCHEME
from whorl.model import Document

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


def test_rows_become_sketches_or_problems() -> None:
    """
    Each row appears once: as a member of a block, with a sketch if it is long enough, or with its problem.
    """
    from whorl.duplicates.spark.arrow_blocks import Partitioning
    from whorl.duplicates.spark.sketch_documents import RunNumber, _sketch_rows

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
    batches = [pa.RecordBatch.from_pylist(part, pa.schema(kinds)) for part in (rows[:3], [], rows[3:])]
    actual = pa.Table.from_batches(_sketch_rows(iter(batches), SKETCHING, Partitioning.with_count(3), RunNumber()))
    problems = [(row["problem_id"], row["problem"]) for row in actual.to_pylist() if row["problem"]]
    key = {key for document_id, _, _, key in members_in(actual) if document_id == "a"}.pop()
    assert {row for row in members_in(actual) if row[2]} == {("a", "A", 2, key), ("wide.txt", "", 2, key)}
    assert {row[:3] for row in members_in(actual) if row[0] in ("short", "no text")} == {
        ("short", "", 0),
        ("no text", "", 0),
    }
    expected = [(None, "has an id"), ("bad\tid", "control")]
    assert len(problems) == 2
    for (document_id, problem), (told_id, words) in zip(problems, expected, strict=True):
        assert document_id == told_id
        assert words in problem


def test_problems_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each partition lists the first problems of rows, and counts the others.
    """
    from whorl.duplicates.spark import sketch_documents
    from whorl.duplicates.spark.arrow_blocks import Partitioning

    monkeypatch.setattr(sketch_documents, "PROBLEMS_LISTED", 2)
    kinds = [("id", pa.string()), ("name", pa.string()), ("text", pa.string()), ("content", pa.binary())]
    rows = [{"id": f"bad\t{number}", "name": None, "text": "text", "content": None} for number in range(7)]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema(kinds))
    blocks = sketch_documents._sketch_rows(
        iter([batch]), SKETCHING, Partitioning.with_count(3), sketch_documents.RunNumber()
    )
    problems = pa.Table.from_batches(blocks).to_pylist()
    assert [(row["problem_id"], row["unlisted"]) for row in problems] == [("bad\t0", None), ("bad\t1", None), (None, 5)]
    assert [bool(row["problem"]) for row in problems] == [True, True, False]


def test_the_largest_document_of_a_repeated_id_counts() -> None:
    """
    The largest document of an id counts in any part, and an equal document of another id stays.
    """
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    documents = [
        Document("a", " ".join(words[:7])),
        Document("b", " ".join(words[:7]), "equal"),
        Document("a", " ".join(words)),
        Document("a", "too short"),
        Document("c", " ".join(words), "first"),
        Document("c", " ".join(words), "second"),
        Document("d", "too short"),
        # Ids of any part.
        *(Document(f"e{at}", text) for at in range(20) for text in ("too short", " ".join(words[:6]))),
    ]
    _, blocks, totals, _ = run_of([], documents, 1, bad_rows=[("no text", "has none"), (None, "has no id")])
    assert totals == {"documents": 24, "too_short": 1, "repeated": 22, "lost": 22, "again": 0, "largest": 6}
    actual = {row[:3] for block in blocks.values() for row in members_in(block)}
    repeated = {(f"e{at}", "", 2) for at in range(20)}
    assert actual == {("a", "", 6), ("b", "equal", 3), ("c", "second", 6), ("d", "", 0)} | repeated
    problems = [(row["problem_id"], row["problem"]) for block in blocks.values() for row in block.to_pylist()]
    assert {problem for problem in problems if problem[1]} == {("no text", "has none"), (None, "has no id")}


def test_a_new_copy_makes_its_copies_new() -> None:
    """
    In any order, a reference document is compared with all others if it equals a document that is not in the reference.
    """
    from whorl.duplicates.spark.sketch_documents import STAYS

    text = "one two three four five six seven"
    known, new = Document("known", text, properties={STAYS: True}), Document("new", text)
    for documents in ([known, new], [new, known]):
        _, blocks, _, _ = run_of([], documents, 1)
        assert runs_in(blocks) == {"known": ("", 0, True), "new": ("", 1, True)}
    _, blocks, _, _ = run_of([], [known], 1)
    assert runs_in(blocks) == {"known": ("", 0, False)}


def test_a_later_run_replaces_changed_documents() -> None:
    """
    A document with an unchanged text keeps its first run, and takes its new name. With another text, even one of the
    same words, it counts as new. Only sketches of new documents are new, and keys without documents are reported as
    removed.
    """
    text, other = "one two three four five six seven", "one two three four five six eight"
    first = [
        *(Document(name, text) for name in ("same", "dot", "other", "equal")),
        *(Document(f"alone/{name}", f"{text} {name}") for name in ("stays", "changes", "is cut short")),
    ]
    before, after, _, _ = run_of([], first, 1)
    second = [
        *(Document("same", text, "a new name"), Document("dot", f"{text}."), Document("other", other)),
        *(
            Document("alone/changes", other),
            Document("alone/is cut short", "too short"),
            Document("new", f"{text} new"),
        ),
    ]
    for earlier in (before, after):
        _, actual, totals, gone = run_of(list(earlier.values()), second, 2)
        assert totals == {"documents": 8, "too_short": 1, "repeated": 0, "lost": 3, "again": 5, "largest": 6}
        assert runs_in(actual) == {
            "same": ("a new name", 1, True), "dot": ("", 2, True), "equal": ("", 1, True), "other": ("", 2, True),
            "alone/stays": ("", 1, False), "alone/changes": ("", 2, True), "alone/is cut short": ("", 2, None),
            "new": ("", 2, True),
        }  # fmt: skip
        keys = {document_id: key for block in before.values() for document_id, _, _, key in members_in(block)}
        assert gone == {keys["alone/changes"], keys["alone/is cut short"]}
    _, actual, _, _ = run_of(list(before.values()), second, 2, since=1)
    assert {is_new for _, _, is_new in runs_in(actual).values()} == {True, None}


def in_parts(rows: Any, parts: Any) -> dict[int, Any]:
    return {part: rows.filter(pa.compute.equal(rows["part"], part)) for part in parts.names.tolist()}


def run_of(
    earlier: list[Any],
    documents: list[Document],
    number: int,
    *,
    since: int | None = None,
    bad_rows: Sequence[tuple[str | None, str]] = (),
) -> tuple[dict[int, Any], dict[int, Any], dict[str, int], set[int]]:
    """Run the steps of Spark on documents, and on blocks of earlier runs that had another number of parts.

    Returns:
        All blocks by part; the blocks without replaced members; the totals; and the removed keys.
    """
    from whorl.duplicates.spark.arrow_blocks import Partitioning
    from whorl.duplicates.spark.sketch_documents import (
        RunNumber,
        _divide_again,
        _find_removed_keys,
        _identities,
        _resolve_ids,
        _sketch_rows,
        _without_replaced,
    )

    parts, since = Partitioning.with_count(number + 1), since or number

    def read(_: Any, note: Callable[[str | None, str], None], blank: set[str]) -> list[Document]:
        for problem in bad_rows:
            note(*problem)
        return documents

    rows = iter([pa.RecordBatch.from_pylist([{}])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whorl.duplicates.spark.sketch_documents.documents_in", read)
        made = list(_sketch_rows(rows, SKETCHING, parts, RunNumber(number, since, True)))
    batches = (batch for block in earlier for batch in block.to_batches() if batch.num_rows)
    blocks = in_parts(pa.Table.from_batches([*made, *_divide_again(batches, FILES_SCHEME, parts, since)]), parts)
    actual = [batch for block in blocks.values() for batch in _identities(iter(block.to_batches()), parts)]
    verdicts = [
        batch
        for rows in in_parts(pa.Table.from_batches(actual), parts).values()
        for batch in _resolve_ids(iter(rows.to_batches()), parts)
    ]
    verdict = pa.Table.from_batches(verdicts)
    totals = {name: sum(verdict[name].to_pylist()) for name in ("documents", "too_short", "repeated", "lost", "again")}
    losers = in_parts(verdict, parts)
    remaining = {
        part: pa.Table.from_batches(_without_replaced(block, losers[part], FILES_SCHEME, parts, since), block.schema)
        for part, block in blocks.items()
    }
    gone = {
        key
        for part in remaining
        for batch in _find_removed_keys(remaining[part], losers[part])
        for key in batch["key"].to_pylist()
    }
    return blocks, remaining, {**totals, "largest": max(verdict["largest"].to_pylist())}, gone


def runs_in(blocks: dict[int, Any]) -> dict[str, tuple[str, int, bool | None]]:
    """Return the name and run of each document, and whether its sketch is new; None without a sketch."""
    from whorl.duplicates.spark.arrow_blocks import Block, BlockMembers

    actual = {}
    for rows in blocks.values():
        members = BlockMembers.from_rows(rows)
        block = Block.from_rows(rows, FILES_SCHEME)
        is_new = dict(zip(block.keys.tolist(), block.is_new.tolist(), strict=True))
        for document_id, name, run, key in zip(members.ids, members.names, members.runs, members.keys, strict=True):
            actual[document_id] = (name, int(run), is_new.get(int(key)))
    return actual
