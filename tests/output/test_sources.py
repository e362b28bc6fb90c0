"""The sources of a text as JSON and CSV, and the notes below them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np
import pytest

from whorl.fingerprint.compare_texts import CommonWords, compare, compare_words, words_of
from whorl.output.compare_documents import ReadText
from whorl.output.sources import (
    COLUMNS,
    common_line,
    notes,
    recall_line,
    report,
    sources_values,
    write_source_passages,
    write_sources,
)
from whorl.search.attribution.results import Attribution, Common, HashedPassage, Promise, TextSource, WordPlace

TEXT = "So:\nthe quick brown fox jumps over a lazy dog."
SOURCE = "The quick brown fox jumps!\n"
READ = ReadText("a.txt", "file", TEXT)


def example_attribution() -> Attribution:
    """Return a result of ten words: one document has five of them, and another the same five."""
    comparison = compare(TEXT, SOURCE)
    source = TextSource("b", "B", 5, 5, 0, comparison.shares, 1, comparison.passages, SOURCE)
    return Attribution(TEXT, 10, 5, (source,), (("c", ""),), 1, 5, 3, 2, 0, 1, Promise(Fraction(95, 100), 24))


def test_everything_that_is_known() -> None:
    """
    The values have totals, and each source with shares rounded down and positions in both texts.
    """
    assert sources_values(READ, example_attribution()) == {
        "text": {"name": "a.txt", "kind": "file", "words": 10},
        "covered_words": 5,
        "coverage": 0.5,
        "level": "low",
        "longest_passage": 5,
        "min_words": 5,
        "candidates": 3,
        "read": 2,
        "unread": 1,
        "without_text": 0,
        "recall": 0.95,
        "promised_words": 24,
        "certain_words": None,
        "crowded": 0,
        "is_complete": True,
        "common": None, "excluded_words": 0,
        "warnings": [
            "not read: 1 of 3 candidates, those that promised the least; there may be more sources among them"
        ],
        "sources": [
            {
                "id": "b", "name": "B", "words": 5, "coverage": 0.5, "new_words": 5, "only_words": 0,
                # One of six shingles.
                "jaccard": 0.166666, "a_in_b": 0.166666, "b_in_a": 1.0, "exact": True,
                "without_common": None, "shingles": 1,
                "passages": [
                    {
                        "words": 5,
                        "a": {
                            "start": 4, "end": 29, "first_line": 2, "last_line": 2,
                            "text": "the quick brown fox jumps",
                        },
                        "b": {
                            "start": 0, "end": 25, "first_line": 1, "last_line": 1,
                            "text": "The quick brown fox jumps",
                        },
                    }
                ],
            }
        ],
        "also": [{"id": "c", "name": ""}],
        "also_count": 1,
    }  # fmt: skip


def test_places_alone() -> None:
    """
    Without texts, passages have positions only.
    """
    assert "The quick" not in str(sources_values(READ, example_attribution(), with_texts=False))


def test_csv() -> None:
    """
    CSV has a row for each source and a fixed order of columns; ids with commas and line feeds are quoted.
    """
    out = io.StringIO()
    written = example_attribution()
    write_sources(replace(written, sources=(replace(written.sources[0], id="b,\n1"),)), out)
    head, row = csv.reader(io.StringIO(out.getvalue()))
    assert tuple(head) == COLUMNS
    assert row == ["b,\n1", "B", "5", "0.5", "5", "0", "0.166666", "0.166666", "1.0", "1", "1"]


def test_csv_of_passages() -> None:
    """
    CSV of passages has a row for each passage, with its place in both texts. In a store without texts, the place in B
    has words instead of characters, or is unknown.
    """
    found, out = example_attribution(), io.StringIO()
    passages = (HashedPassage((0, 9), 8), HashedPassage((0, 9), 8, WordPlace(3, 10, 99)))
    hashed = replace(found.sources[0], passages=passages, content="")
    write_source_passages(READ, replace(found, sources=(*found.sources, hashed)), out)
    exact, without_text, with_words = csv.DictReader(io.StringIO(out.getvalue()))
    assert (exact["id"], exact["words"], exact["first_line_a"]) == ("b", "5", "2")
    assert TEXT[: int(exact["start_a"])].count("\n") == 1
    for side, text in (("a", TEXT), ("b", SOURCE)):
        assert exact[f"text_{side}"] == text[int(exact[f"start_{side}"]) : int(exact[f"end_{side}"])]
    for row, numbers in ((exact, ("", "", "")), (without_text, ("", "", "")), (with_words, ("3", "10", "99"))):
        assert (row["first_word_b"], row["last_word_b"], row["document_words_b"]) == numbers
    for row in (without_text, with_words):
        assert (row["text_a"], row["start_b"], row["text_b"]) == (TEXT[:9], "", "")


def test_notes_on_the_search() -> None:
    """
    The notes are the warnings of the search and the number of candidates without a text, if any.
    """
    whole = replace(example_attribution(), candidates=2, unread=0)
    assert notes(whole) == []
    assert notes(replace(whole, candidates=3, without_text=1, warnings=("w",))) == [
        "w",
        "not compared, for want of a stored text: 1 candidate",
    ]


def test_the_recall_in_words() -> None:
    """
    The line states the recall and the passage length that it holds for, or that nothing is promised.
    """
    assert recall_line(example_attribution()) == (
        "at least 95 of 100 documents with a passage of 24 words are found, more of those with a longer one"
    )
    assert (
        recall_line(replace(example_attribution(), promise=Promise(Fraction(1), None)))
        == "best effort: nothing is promised"
    )


@pytest.mark.parametrize(
    ("crowded", "candidates", "said"),
    [
        (0, 2, ""),
        (0, 3, ", but for 1 not read"),
        (2, 2, ", but for those of 2 places of the text that are in too many documents"),
        (1, 3, ", but for 1 not read and those of 1 place of the text that are in too many documents"),
    ],
)
def test_certainty_in_words(crowded: int, candidates: int, said: str) -> None:
    """
    With indexed passages every document is found, apart from the listed exceptions.
    """
    certain = replace(example_attribution(), unread=candidates - 2, promise=Promise(Fraction(1, 2), 24, 20, crowded))
    assert recall_line(certain) == f"every document with a passage of 20 words is found{said}"


def test_common_text_in_words_and_values() -> None:
    """
    Four of ten words are common, and three of the others are in a source; a source has its shares without common text.
    """
    common = Common(50, 4, 3, is_ignored=False)
    assert common_line(common, 10) == "at least 4 of 10 words are common; of the 6 others 3 (50.0%) are in sources."
    assert common_line(replace(common, is_ignored=True), 10) == "at least 4 of 10 words are common and left out."
    assert common_line(Common(None, 3, 0, is_ignored=False), 3) == (
        "3 of 3 words are common; of the 0 others 0 are in sources."
    )
    of_text, of_source = words_of(TEXT), words_of(SOURCE)
    comparison = compare_words(of_text, of_source, common=CommonWords(np.arange(10) < 6, np.arange(5) < 5, 0))
    source = replace(example_attribution().sources[0], residual=comparison.residual)
    values = sources_values(READ, replace(example_attribution(), sources=(source,), common=common))
    assert values["common"] == {
        "above": 50, "ignored": False, "words": 4, "other_words": 6, "other_covered_words": 3
    }  # fmt: skip
    (entry,) = cast(list[dict[str, object]], values["sources"])
    assert entry["without_common"] == {"jaccard": 0.0, "a_in_b": 0.0, "b_in_a": 0.0, "shared_shingles": 0}
    written = replace(example_attribution(), sources=(source, replace(source, residual=None)), common=common)
    out = io.StringIO()
    write_sources(written, out)
    head, *rows = csv.reader(io.StringIO(out.getvalue()))
    assert head == [*COLUMNS, "jaccard_without_common", "a_in_b_without_common", "b_in_a_without_common"]
    assert [row[-3:] for row in rows] == [["0.0", "0.0", "0.0"], ["", "", ""]]
    page = report(READ, written)
    assert "<td>16.6% (0.0%)</td><td>100.0% (0.0%)</td>" in page
    assert "<td>16.6%</td><td>100.0%</td>" in page
