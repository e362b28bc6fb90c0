"""Packs the passage hashes of a document into a blob of its record, in a store without texts.

The blob has one byte with the width of a step in bits, then the hashes in the order of the text, then the steps. A
hash has `PROOF_BITS` bits. A step is the number of words since the previous hash. All steps have the same width, and
count words instead of characters, so the blob hides the lengths of words. If compression makes a blob smaller, its
width includes `_COMPRESSED`.
"""

from __future__ import annotations

import numpy as np
import zstandard

from whorl.fingerprint.winnowing import PROOF_BITS, Numbers, PassagePlaces

_HASH_BYTES = PROOF_BITS // 8
_COMPRESSED = 0x80


def pack_passages(passages: PassagePlaces) -> bytes:
    steps = np.diff(passages.places, prepend=0)
    width = int(steps.max(initial=0)).bit_length()
    bits = (steps[:, np.newaxis] >> np.arange(width)) & 1
    body = _hash_bytes(passages.hashes) + np.packbits(bits.astype(np.uint8)).tobytes()
    compressed = zstandard.compress(body)
    return bytes([width | _COMPRESSED]) + compressed if len(compressed) < len(body) else bytes([width]) + body


def unpack_passages(packed: bytes, words: int) -> PassagePlaces:
    """Unpack the hashes of a document that has `words` words."""
    width, body = packed[0] & ~_COMPRESSED, packed[1:]
    if packed[0] & _COMPRESSED:
        body = zstandard.decompress(body)
    # The steps are padded to whole bytes, which adds less than one step.
    count = len(body) * 8 // (PROOF_BITS + width)
    hashes = unpack_hashes(body[: count * _HASH_BYTES])
    bits = np.unpackbits(np.frombuffer(body, np.uint8, offset=count * _HASH_BYTES), count=count * width)
    return PassagePlaces(words, np.cumsum(bits.reshape(count, width) @ (1 << np.arange(width))), hashes)


def _hash_bytes(hashes: Numbers) -> bytes:
    return hashes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :_HASH_BYTES].tobytes()


def unpack_hashes(packed: bytes) -> Numbers:
    """Unpack hashes without places, as stores of format 11 have them."""
    padded = np.zeros((len(packed) // _HASH_BYTES, 8), np.uint8)
    padded[:, :_HASH_BYTES] = np.frombuffer(packed, np.uint8).reshape(-1, _HASH_BYTES)
    return padded.view("<u8").ravel().astype(np.uint64)
