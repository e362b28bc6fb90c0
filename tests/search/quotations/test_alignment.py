"""The best place of a quotation, against a plain table of edit distances."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from whorl.search.quotations.alignment import align

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


def cheapest(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """Return the edit distance of two whole lists of words, and minus the most words in common at this distance.

    Source: Wagner and Fischer, "The string-to-string correction problem", 1974.
    """
    rows = [[(number, 0) for number in range(len(b) + 1)]]
    for number, word in enumerate(a, 1):
        row = [(number, 0)]
        for at, other in enumerate(b, 1):
            edits, common = rows[-1][at - 1]
            paired = (edits, common - 1) if word == other else (edits + 1, common)
            row.append(min(paired, *((edits + 1, common) for edits, common in (rows[-1][at], row[-1]))))
        rows.append(row)
    return rows[-1][-1]


@given(WORDS.filter(bool), WORDS)
def test_the_best_place(quote: list[str], document: list[str]) -> None:
    """
    No run of the document is nearer, or as near with more words in common, and the edits turn the place into the
    quotation.
    """
    alignment = align(quote, document)
    places = [(start, end) for end in range(len(document) + 1) for start in range(end + 1)]
    added = sum(edit.quote[1] - edit.quote[0] for edit in alignment.edits)
    found = alignment.distance, added - len(quote)
    assert found == min(cheapest(quote, document[start:end]) for start, end in places)
    assert found == cheapest(quote, document[alignment.start : alignment.end])
    words, at = [], alignment.start
    for edit in alignment.edits:
        words += [*document[at : edit.document[0]], *quote[slice(*edit.quote)]]
        at = edit.document[1]
    assert [*words, *document[at : alignment.end]] == quote
    sizes = [max(edit.quote[1] - edit.quote[0], edit.document[1] - edit.document[0]) for edit in alignment.edits]
    assert sum(sizes) <= alignment.distance


def test_a_word_dropped_before_the_last() -> None:
    """
    A dropped negation is shown as dropped, although the last word added after a shorter place is as near.
    """
    alignment = align(["changing", "it", "is", "allowed"], ["but", "changing", "it", "is", "not", "allowed", "here"])
    assert (alignment.start, alignment.end, alignment.distance) == (1, 6, 1)
    assert [(edit.quote, edit.document) for edit in alignment.edits] == [((3, 3), (4, 5))]


def test_a_number_changed() -> None:
    """
    A changed word is one edit of one word on each side.
    """
    document = ["pays", "a", "rent", "of", "1,450", "a", "month", "in", "advance"]
    alignment = align(["a", "rent", "of", "1,500", "a", "month"], document)
    assert (alignment.start, alignment.end, alignment.distance) == (1, 7, 1)
    assert [(edit.quote, edit.document) for edit in alignment.edits] == [((3, 4), (4, 5))]
