"""Tests of the terms of passage hashes."""

from __future__ import annotations

from whorl.engine.stored_sketches_and_passages import passage_hash_terms, passage_terms
from whorl.fingerprint.shingling import Scheme, join
from whorl.fingerprint.winnowing import PassageScheme, winnow

SCHEME = PassageScheme()


def test_tokens() -> None:
    """
    Each hash is six letters; every text has the scheme's term, which equals no hash.
    """
    words = [f"w{number}" for number in range(50)]
    mark, *tokens = passage_terms(" ".join(words), join(words), Scheme(), SCHEME)
    assert mark == "passages1-t20-k8-b32"
    assert tokens == passage_hash_terms(tuple(winnow(join(words), SCHEME).tolist()), SCHEME)
    assert len(set(tokens)) == len(tokens) > 3
    assert {len(token) for token in tokens} == {6}
    assert passage_terms("few", join(["few"]), Scheme(), SCHEME) == [mark]
    assert passage_hash_terms((), SCHEME) == []
