"""Tests of splitting documents into paragraphs and lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.duplicates.options import Granularity
from whorl.duplicates.split_documents import pieces, pieces_of, remove_pieces
from whorl.errors import DocumentError
from whorl.model import Document

parts = st.lists(st.sampled_from(["a b", "x", " ", "\n", "\r\n", "\n\n", "\t", "é\u2028"]), max_size=12).map("".join)


@given(parts, st.sampled_from([Granularity.PARAGRAPH, Granularity.LINE]), st.sets(st.integers(1, 6)))
def test_pieces_cover_the_text(text: str, granularity: Granularity, numbers: set[int]) -> None:
    """
    Pieces and their separators make up the text, and a number removes the piece that was compared under this number.
    """
    cut = pieces(text, granularity)
    assert "".join(text[begin:after] for begin, _, after in cut) == text
    made = {document.id: document.text for document in pieces_of(Document("d", text), granularity)}
    assert all(made[f"d#{at}"] == text[begin:end] for at, (begin, end, _) in enumerate(cut, 1) if f"d#{at}" in made)
    left = remove_pieces(text, "d", {f"d#{number}" for number in numbers}, granularity)
    remaining_text = "".join(text[begin:after] for at, (begin, _, after) in enumerate(cut, 1) if at not in numbers)
    assert left == (text if remaining_text == text else remaining_text if remaining_text.strip() else None)


@pytest.mark.parametrize("granularity", [Granularity.DOCUMENT, Granularity.PASSAGE])
def test_whole_documents_have_no_pieces(granularity: Granularity) -> None:
    """
    A search for whole documents or passages does not divide a document.
    """
    document = Document("d", "one\n\ntwo")
    assert pieces_of(document, granularity) == [document]


def test_pieces_have_names_and_properties() -> None:
    """
    Pieces have the name and the properties of their document; an id too long for the ids of its pieces is an error.
    """
    document = Document("d", "one\n\ntwo\nthree", "the name", {"k": [1, 2]})
    assert pieces_of(document, Granularity.PARAGRAPH) == [
        Document("d#1", "one", "the name", {"k": [1, 2]}), Document("d#2", "two\nthree", "the name", {"k": [1, 2]})
    ]  # fmt: skip
    with pytest.raises(DocumentError, match="too long"):
        pieces_of(Document("d" * 999, "one"), Granularity.LINE)
