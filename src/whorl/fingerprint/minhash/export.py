"""A text's fingerprint in the forms that other programs read."""

from __future__ import annotations

import io
import json

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.minhash.codec import Spelling, spell
from whorl.fingerprint.minhash.minima import minima_of, text_minima
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.shingles import distinct, murmur_pieces, pieces


def as_json(text: str, scheme: Scheme, codec: str) -> str:
    """Return `{"scheme", "size", "tokens"}`: size is the number of distinct shingles.

    Args:
        text: Any text; with fewer words than one shingle it has no tokens.
        scheme: What the tokens depend on.
        codec: "u64" (unsigned integers), "lucene" (terms of eight UTF-16 units, U+FFFD for lone surrogates, as an
            index holds them) or "alfresco" (units in hexadecimal without leading zeros).
    """
    murmur = list(murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size))
    size = distinct(piece[:, 0] for piece in murmur)
    return json.dumps(_told(minima_of(murmur, scheme), size, scheme, codec))


def json_line(document_id: str, halves: npt.NDArray[np.uint64], size: int, scheme: Scheme, codec: str) -> str:
    """Return `{"id", "scheme", "size", "tokens"}`, the rest as `as_json` has it, in one line of ASCII.

    Args:
        document_id: What the document is called.
        halves: uint64 array of shape (tokens, 2), as `text_minima` returns it.
        size: Distinct shingles.
        scheme: What the tokens were made under.
        codec: As in `as_json`.
    """
    return json.dumps({"id": document_id, **_told(halves, size, scheme, codec)})


def as_text(text: str, scheme: Scheme, codec: str) -> str:
    """Return one token a line; Lucene's terms, which hold control characters, as JSON strings."""
    found = _tokens(text_minima(text, scheme), codec)
    return "\n".join(json.dumps(token) if codec == "lucene" else str(token) for token in found)


def as_npy(text: str, scheme: Scheme, codec: str) -> bytes:
    """Return a numpy file: uint64 of shape (buckets,), or of (buckets, 2) with the low halves for the longer codecs."""
    halves = text_minima(text, scheme)
    file = io.BytesIO()
    np.save(file, halves[:, 0] if codec == "u64" else halves)
    return file.getvalue()


def _told(halves: npt.NDArray[np.uint64], size: int, scheme: Scheme, codec: str) -> dict[str, object]:
    return {"scheme": scheme.name, "size": size, "tokens": _tokens(halves, codec)}


def _tokens(halves: npt.NDArray[np.uint64], codec: str) -> list[int] | list[str]:
    if codec == "u64":
        numbers: list[int] = halves[:, 0].tolist()
        return numbers
    return list(spell(halves, Spelling.UNITS_8 if codec == "lucene" else Spelling.HEX))
