"""Tests of empty texts, as the end of a range and as a document's whole text, on every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl import Document, Store

VALUES = ["", " ", "  lead", "\x01", "!", '"', "#", "a"]


@pytest.fixture(scope="module")
def texts(store: Store) -> Iterator[Store]:
    documents = [Document(f"empty {number}", "", properties={"txt": value}) for number, value in enumerate(VALUES)]
    store.index([*documents, Document("empty named", "", name="named"), Document("empty text", "a text")])
    yield store
    store.delete([*(document.id for document in documents), "empty named", "empty text"])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('["" TO *]', VALUES),
        ('<"" TO *]', VALUES[1:]),
        ('[* TO ""]', [""]),
        ('[* TO "">', []),
        ('["" TO ""]', [""]),
        ('<"" TO ""]', []),
        ('["" TO "!"]', ["", " ", "  lead", "\x01", "!"]),
        ('<"" TO " "]', [" ", "\x01"]),
    ],
)
def test_an_empty_end_of_a_range(texts: Store, query: str, expected: list[str]) -> None:
    """
    The empty text is below every other text.
    """
    hits = texts.search(f"txt:{query}", rows=50).hits
    assert {hit.id for hit in hits} == {f"empty {VALUES.index(value)}" for value in expected}


@pytest.mark.parametrize("query", ['"*"', '="*"'])
def test_any_word(texts: Store, query: str) -> None:
    """
    A quoted star without a field finds the documents with a word in their name or text.
    """
    hits = texts.search(f"{query} AND id:empty*", rows=50).hits
    assert {hit.id for hit in hits} == {"empty named", "empty text"}
