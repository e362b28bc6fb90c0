"""Sketches that servers store, and terms of passage hashes."""

from __future__ import annotations

import pytest

from whorl.engine.server_engine import (
    StoredSketch,
    decode_sketches,
    encode_sketch,
    passage_hash_terms,
    passage_terms,
)
from whorl.fingerprint.fingerprint_texts import least_stored_size, text_sketch
from whorl.fingerprint.shingling import Scheme, join
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme, winnow


def test_sketches_of_stored_and_of_short_documents() -> None:
    """
    Each text is read once, for a document without a stored sketch; a missing text gives no sketch.
    """
    schemes = Scheme(), SketchScheme()
    texts = [" ".join(f"w{number}" for number in range(words)) for words in (300, 20, 30)]
    long, short, other = (text_sketch(text, *schemes) for text in texts)
    encoded = encode_sketch(long, schemes[0], texts[0])
    batches = []

    def fetch_texts(ids: list[str]) -> dict[str, str]:
        batches.append(ids)
        return {"d1": texts[1], "d4": texts[1]}

    encodings = [encoded, None, "damaged", None, None, None, None]
    stored = [StoredSketch(f"d{at}", at < 6, encoding) for at, encoding in enumerate(encodings)]
    stored[3] = stored[3]._replace(text=texts[2])
    assert decode_sketches(stored, fetch_texts, schemes) == [long, short, None, other, short, None, None]
    assert batches == [["d1", "d4", "d5"]]
    stored = [StoredSketch("a", True, encoded), StoredSketch("b", False, encoded)]
    assert decode_sketches(stored, fetch_texts, schemes) == [long, None]
    assert len(batches) == 1


@pytest.mark.parametrize(("characters", "is_stored"), [(10_000, False), (10_001, True)])
def test_a_long_text_of_few_shingles_has_a_stored_sketch(characters: int, is_stored: bool) -> None:
    """
    A text of one long word has a stored sketch, so that no search reads the text; without the text, any document has.
    """
    text, scheme = "x" * characters, Scheme()
    sketch = text_sketch(text, scheme, SketchScheme())
    has_loops = least_stored_size(scheme) > 0
    assert (encode_sketch(sketch, scheme, text) is None) == (has_loops and not is_stored)
    assert encode_sketch(sketch, scheme, None) is not None


def test_terms_of_passages() -> None:
    """
    Each hash is six letters; every text has the scheme's term, which equals no hash.
    """
    words = [f"w{number}" for number in range(50)]
    mark, *tokens = passage_terms(" ".join(words), join(words), Scheme(), PassageScheme())
    assert mark == "passages2-t20-k8-b32"
    assert tokens == passage_hash_terms(tuple(winnow(join(words), PassageScheme()).tolist()), PassageScheme())
    assert len(set(tokens)) == len(tokens) > 3
    assert {len(token) for token in tokens} == {6}
    assert passage_terms("few", join(["few"]), Scheme(), PassageScheme()) == [mark]
    assert passage_hash_terms((), PassageScheme()) == []
