"""Export of one text's fingerprint as JSON, text lines or a numpy file."""

from __future__ import annotations

import io
import json

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.batch import sized_signatures_of
from whorl.fingerprint.minhash.codec import Spelling, spell
from whorl.fingerprint.minhash.minima import text_minima
from whorl.fingerprint.scheme import Scheme


def as_json(text: str, scheme: Scheme, codec: str) -> str:
    """Return a JSON object with the scheme, the number of distinct shingles (size) and the tokens.

    Args:
        text: Any text; has no tokens if it has fewer words than one shingle.
        scheme: Token scheme.
        codec: "u64" (unsigned integers), "lucene" (terms of eight UTF-16 units, U+FFFD for lone surrogates, as an
            index holds them) or "alfresco" (units in hexadecimal without leading zeros).
    """
    (made,) = sized_signatures_of([text], scheme)
    return json.dumps({"scheme": scheme.name, "size": made.size, "tokens": _tokens(made.halves, codec)})


def as_text(text: str, scheme: Scheme, codec: str) -> str:
    """Return one token a line; Lucene's terms, which may contain control characters, as JSON strings."""
    found = _tokens(text_minima(text, scheme), codec)
    return "\n".join(json.dumps(token) if codec == "lucene" else str(token) for token in found)


def as_npy(text: str, scheme: Scheme, codec: str) -> bytes:
    """Return a numpy file: uint64 of shape (buckets,), or (buckets, 2) with the low halves for the longer codecs."""
    halves = text_minima(text, scheme)
    file = io.BytesIO()
    np.save(file, halves[:, 0] if codec == "u64" else halves)
    return file.getvalue()


def _tokens(halves: npt.NDArray[np.uint64], codec: str) -> list[int] | list[str]:
    if codec == "u64":
        numbers: list[int] = halves[:, 0].tolist()
        return numbers
    return list(spell(halves, Spelling.UNITS_8 if codec == "lucene" else Spelling.HEX))
