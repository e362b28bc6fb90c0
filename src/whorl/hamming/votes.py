"""Counts the votes of hashes for each bit, and makes SimHash codes from them.

In SimHash, each hash votes with its weight for or against every bit of the code. The codes of two texts differ in a bit
with probability t / pi; t is the angle between their weighted feature vectors.

Source: M. Charikar, Similarity estimation techniques from rounding algorithms (STOC 2002); G. Manku, A. Jain and A. Das
Sarma, Detecting near-duplicates for web crawling (WWW 2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whorl.hamming.codes import BITS

Hashes = NDArray[np.uint64]
Tally = NDArray[np.int64]

#: Bits of each byte value, the lowest bit first; shape (256, 8).
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


def count_votes(hashes: Hashes, sizes: ArrayLike, weights: ArrayLike | None = None) -> Tally:
    """Return, for each text, the votes for each bit minus the votes against it; shape (texts, 64), lowest bit first.

    The hashes are grouped by text; `sizes` has the number of hashes of each text. Each hash has one vote, or its
    integer weight. The votes must add up to at most 2**53.
    """
    counts = np.asarray(sizes, np.int64)
    shares = None if weights is None else np.asarray(weights, np.float64)
    rows = np.repeat(np.arange(counts.size) * 256, counts)
    values = np.ascontiguousarray(hashes, "<u8").view(np.uint8).reshape(-1, 8)
    votes = np.empty((counts.size, 8, 8), np.float64)
    # Count byte values, and compute the frequencies of the bits from them.
    for byte in range(8):
        histogram = np.bincount(rows + values[:, byte], shares, counts.size * 256)
        votes[:, byte] = histogram.reshape(-1, 256) @ _BITS_OF_BYTE
    cast = counts if shares is None else np.bincount(rows // 256, shares, counts.size)
    return (2 * votes.reshape(-1, BITS) - cast[:, None]).astype(np.int64)


def codes_from_votes(votes: Tally) -> Hashes:
    """Convert votes to codes: a bit is set if the votes for it exceed the votes against it."""
    return np.packbits(votes > 0, axis=1, bitorder="little").view("<u8").astype(np.uint64).ravel()
