"""What is made of documents: the same for those that come and for those that are stored already."""

from __future__ import annotations

import pytest

from whorl.engine.embedded.documents import Preparation
from whorl.engine.embedded.records import Numbered
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme, winnowed
from whorl.fingerprint.words.shingles import joined_words
from whorl.model import Document

WORDS = [f"w{number}" for number in range(200)]
DOCUMENTS = [
    Document("a", " ".join(WORDS), "A", {"year": 1851}),
    Document("b", "Call me Ishmael"),
    Document("c", ""),
]


@pytest.mark.parametrize(("passages", "has_minhash"), [(None, True), (PassageScheme(), True), (PassageScheme(), False)])
def test_new_and_stored_ones_alike(passages: PassageScheme | None, has_minhash: bool) -> None:
    """
    Each kind of token, as many as there are bits for, and the sketch.
    """
    made = Preparation(Scheme(), SketchScheme(), passages, has_minhash)
    prepared = made.prepared(DOCUMENTS)
    (changes,) = made.changes(Numbered(number, document) for number, document in enumerate(DOCUMENTS))
    for document, (record, entry), change in zip(DOCUMENTS, prepared, changes, strict=True):
        assert record.document == document
        assert record.sketch == text_sketch(document.text, Scheme(), SketchScheme())
        assert change.entry is not None
        kinds, again = entry.tokens.kinds, change.entry.tokens.kinds
        assert [each.tolist() for each in kinds] == [each.tolist() for each in again]
        assert len(kinds) == len(made.token_bits) == (2 if passages is None else 3)
        assert bool(kinds[0].size) == (has_minhash and bool(entry.tokens.size))
        assert (entry.values, entry.wholes) == (change.entry.values, change.entry.wholes)
        if passages:
            assert kinds[2].tolist() == winnowed(joined_words(document.text, "icu74"), passages).tolist()
    assert made.words("Call  me Ishmael.") == ["call", "me", "ishmael"]
