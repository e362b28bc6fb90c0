"""Signatures and sketches of single texts: the same by every route."""

from __future__ import annotations

import pytest

from tests.plain import full_minima, plain_token
from whorl.fingerprint import few
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.words.tokenizer import shingles, tokens

TEXTS = [
    "",
    "only four words here",
    "one two three four five",
    " ".join(f"word{number}" for number in range(2_000)),
    "naïve e\u0301 日本語 \ud800 😀 and some more words, of which a few are the same words " * 40,
]
SCHEMES = [Scheme(), Scheme("icu77", 4, 64), Scheme(hash_set_size=2)]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize(
    "has_loops",
    [False, pytest.param(True, marks=pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed"))],
)
def test_every_route_gives_the_same(scheme: Scheme, has_loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With and without the compiled loops, alone and with other texts, a text has the tokens of the reference
    implementation, and its sketch counts its shingles.
    """
    monkeypatch.setattr(kernel, "is_loaded", lambda: has_loops)
    for text in TEXTS:
        words = tokens(text, scheme.profile)
        expected = full_minima(words, scheme)[:, 0].tolist() if scheme.fills_every_bucket else None
        made = few.signature(text, scheme)
        assert expected is None or made.hashes.tolist() == expected
        assert few.signatures_by_id({"a": text}, scheme) == {"a": made}
        assert few.signatures_by_id({"a": text, "b": text}, scheme)["b"] == made
        assert few.sketch(text, scheme, SketchScheme()).size == len(set(shingles(words, scheme.shingle_size)))
        if expected is not None:
            spelled = few.signature(text, scheme, Spelling.UNITS_4).tokens
            assert spelled == tuple(map(plain_token, expected))
