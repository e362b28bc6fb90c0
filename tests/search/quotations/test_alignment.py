"""The best place of a quotation, against a plain table of edit distances."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from whorl.search.quotations.alignment import align

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


def distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the edit distance of two whole lists of words (Wagner and Fischer, 1974)."""
    rows: list[list[int]] = [[*range(len(b) + 1)]]
    for number, word in enumerate(a, 1):
        row = [number]
        for at, other in enumerate(b, 1):
            row.append(min(rows[-1][at] + 1, row[-1] + 1, rows[-1][at - 1] + (word != other)))
        rows.append(row)
    return rows[-1][-1]


@given(WORDS.filter(bool), WORDS)
def test_the_best_place(quote: list[str], document: list[str]) -> None:
    """
    No run of the document is nearer, and the edits turn the place into the quotation.
    """
    alignment = align(quote, document)
    places = [(start, end) for end in range(len(document) + 1) for start in range(end + 1)]
    assert alignment.distance == min(distance(quote, document[start:end]) for start, end in places)
    assert alignment.distance == distance(quote, document[alignment.start : alignment.end])
    words, at = [], alignment.start
    for edit in alignment.edits:
        words += [*document[at : edit.document[0]], *quote[slice(*edit.quote)]]
        at = edit.document[1]
    assert [*words, *document[at : alignment.end]] == quote
    sizes = [max(edit.quote[1] - edit.quote[0], edit.document[1] - edit.document[0]) for edit in alignment.edits]
    assert sum(sizes) <= alignment.distance


def test_a_number_changed() -> None:
    """
    A changed word is one edit of one word on each side.
    """
    document = ["pays", "a", "rent", "of", "1,450", "a", "month", "in", "advance"]
    alignment = align(["a", "rent", "of", "1,500", "a", "month"], document)
    assert (alignment.start, alignment.end, alignment.distance) == (1, 7, 1)
    assert [(edit.quote, edit.document) for edit in alignment.edits] == [((3, 4), (4, 5))]
