"""Document preparation, which is equal for new and stored documents, and the tantivy documents of index entries."""

from __future__ import annotations

import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import read_joined_words
from whorl.engine.embedded.database import NumberedDocument
from whorl.engine.embedded.prepare_documents import (
    WORDS_ANALYZER,
    DocumentPreparation,
    IndexEntry,
    fill_tantivy_document,
)
from whorl.engine.embedded.segmented_token_index import DocumentTokens
from whorl.engine.index_terms import BETWEEN_WORDS, join_terms, presence_term, value_term, word_term
from whorl.engine.protocol import MinHashPart
from whorl.fingerprint.fingerprint_texts import fingerprint, least_stored_size, text_sketch
from whorl.fingerprint.shingling import Scheme, join
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, lookup_numbers
from whorl.fingerprint.winnowing import PassageScheme, winnow
from whorl.model import Document
from whorl.query.plan.nodes import Kind

WORDS = [f"w{number}" for number in range(200)]
DOCUMENTS = [
    Document("a", " ".join(WORDS), "A", {"year": 1851}),
    Document("b", "Call me Ishmael"),
    Document("c", ""),
    Document("d", " ".join(["longer", *WORDS, *reversed(WORDS)]), "report_2024.txt and more"),
]


@pytest.mark.parametrize(
    ("passages", "minhash", "dropped_bits"),
    [(None, "whole", 0), (PassageScheme(), "whole", 0), (None, "short", 37), (PassageScheme(), "none", 64)],
)
def test_new_and_stored_documents_have_equal_tokens(
    passages: PassageScheme | None, minhash: MinHashPart, dropped_bits: int
) -> None:
    """
    A new document and a stored one have equal tokens of each kind. Only a long text has a stored sketch.
    """
    made = DocumentPreparation(Scheme(), passages, minhash)
    prepared = made.prepare(DOCUMENTS)
    (changes,) = made.changes(NumberedDocument(number, document) for number, document in enumerate(DOCUMENTS))
    for document, (record, entry), change in zip(DOCUMENTS, prepared, changes, strict=True):
        assert record.document == document
        sketch = text_sketch(document.text, Scheme(), SketchScheme())
        assert record.content == (None if sketch.size < least_stored_size(Scheme()) else sketch)
        minima = {token >> dropped_bits for token in fingerprint(document.text).tolist() if dropped_bits < 64}
        assert [kind.tolist() for kind in entry.tokens.by_kind[:2]] == [sorted(minima), lookup_numbers(sketch).tolist()]
        assert change.entry is not None
        kinds, again = entry.tokens.by_kind, change.entry.tokens.by_kind
        assert [kind.tolist() for kind in kinds] == [tokens.tolist() for tokens in again]
        assert len(kinds) == len(made.token_bits) == (2 if passages is None else 3)
        assert bool(kinds[0].size) == (minhash != "none" and bool(entry.tokens.size))
        assert (entry.values, entry.whole_values) == (change.entry.values, change.entry.whole_values)
        if passages:
            assert kinds[2].tolist() == winnow(read_joined_words(document.text, "icu74"), passages).tolist()


def test_equal_values_of_a_list() -> None:
    """
    A repeated value of a list is indexed whole once, and by its words every time, because they have positions.
    """
    made = DocumentPreparation(Scheme(), None)
    lists = (["red car", "blue"], ["red car", "blue", "red car"])
    (_, once), (_, repeated) = made.prepare([Document("a", "", properties={"k": values}) for values in lists])
    assert repeated.whole_values == once.whole_values
    assert list(repeated.values) == [*once.values, once.values[0]]


NO_TOKENS = DocumentTokens(0, ())


def filled(entry: IndexEntry) -> dict[str, list[object]]:
    document = tantivy.Document()
    fill_tantivy_document(document, "a", 7, entry)
    return dict(document.to_dict())


@given(st.text("k \N{NO-BREAK SPACE}", min_size=1), st.lists(st.text("aÄ\x1e\x1f \n\0😀"), max_size=6))
def test_words_are_split_where_they_were_joined(field: str, words: list[str]) -> None:
    """
    Joined words are split into the same words again: each is one term, also with blanks and control characters.
    """
    terms = [word_term(field, word) for word in words]
    assert WORDS_ANALYZER.analyze(BETWEEN_WORDS.join(terms)) == terms


def test_everything_is_indexed() -> None:
    """
    The number, the words and the whole values of a document go to the fields that queries use.
    """
    wholes = (("k", Kind.KEYWORD, "red"), ("n", Kind.INTEGER, 7))
    words = [(name, join_terms(name, join(own))) for name, own in (("k", ["red", "car"]), ("content", ["blue", "sky"]))]
    fields = filled(IndexEntry(NO_TOKENS, words, wholes))
    values = fields.pop("values")
    assert fields == {
        "id": ["a"],
        "number": [7],
        "words": [BETWEEN_WORDS.join([word_term("k", "red"), word_term("k", "car")])],
        "content": ["blue sky"],
    }
    present = [presence_term(*field) for field in (("k", Kind.TEXT), ("content", Kind.TEXT), ("k", Kind.KEYWORD))]
    present.append(presence_term("n", Kind.INTEGER))
    assert sorted(map(str, values)) == sorted(present + [value_term(*whole) for whole in wholes])


def test_values_without_words_are_stored() -> None:
    """
    A text of punctuation has no words, but the field counts as present in the document.
    """
    fields = filled(IndexEntry(NO_TOKENS, [("k", "")]))
    assert fields == {"id": ["a"], "number": [7], "values": [presence_term("k", Kind.TEXT)]}
