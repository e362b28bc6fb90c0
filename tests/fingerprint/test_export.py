"""Export of a fingerprint in the formats of other programs."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from tests.plain import plain_minima, plain_token
from whorl.fingerprint.export import as_json, as_npy, as_text
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import tokens

TEXT = "the quick brown fox jumps over the lazy dog and the quick brown fox jumps over the lazy cat"
PLAIN = plain_minima(tokens(TEXT), 512)


def test_json() -> None:
    """
    The JSON has the scheme's name, the number of distinct shingles, and one token per bucket.
    """
    told = json.loads(as_json(TEXT, Scheme(), "u64"))
    assert told["scheme"] == "minhash1-icu74-w5-b512"
    assert told["size"] == 11  # of 15 shingles, "the quick brown fox jumps" and three more occur twice
    assert told["tokens"] == [high for high, _ in PLAIN]


def test_alfresco() -> None:
    """
    Alfresco's tokens have the hexadecimal units of the high half, then of the low half, each without leading zeros.
    """

    def spelled(half: int) -> str:
        return "".join(f"{half >> shift & 0xFFFF:x}" for shift in (48, 32, 16, 0))

    told = json.loads(as_json(TEXT, Scheme(), "alfresco"))
    assert told["tokens"] == [spelled(high) + spelled(low) for high, low in PLAIN]


def test_lucene() -> None:
    """
    Lucene's terms have eight units; those without surrogates are the two halves in sequence.
    """
    lines = [json.loads(line) for line in as_text(TEXT, Scheme(), "lucene").splitlines()]
    expected = [plain_token(high) + plain_token(low) for high, low in PLAIN]
    assert lines == expected


def test_npy() -> None:
    """
    numpy.load reads the integers back.
    """
    assert np.load(io.BytesIO(as_npy(TEXT, Scheme(), "u64"))).tolist() == [high for high, _ in PLAIN]
    assert np.load(io.BytesIO(as_npy(TEXT, Scheme(), "lucene"))).tolist() == [list(both) for both in PLAIN]


@pytest.mark.parametrize("codec", ["u64", "lucene", "alfresco"])
def test_too_short(codec: str) -> None:
    """
    A text of four words has size 0 and no tokens, in every format.
    """
    told = json.loads(as_json("one two three four", Scheme(), codec))
    assert (told["size"], told["tokens"]) == (0, [])
    assert as_text("", Scheme(), codec) == ""
    assert len(np.load(io.BytesIO(as_npy("", Scheme(), codec)))) == 0
