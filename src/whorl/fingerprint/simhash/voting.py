"""SimHash voting: the arithmetic, shared by all schemes, that combines many hashes to one 64-bit code.

Each hash votes with its weight for or against every bit of the code. Codes of texts that share most of their hashes
differ in few bits: if t is the angle between the two weighted feature vectors, a bit differs with probability t / pi.

Source: M. Charikar, Similarity estimation techniques from rounding algorithms (STOC 2002); G. Manku, A. Jain and
A. Das Sarma, Detecting near-duplicates for web crawling (WWW 2007).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.simhash.codes import BITS

Hashes = npt.NDArray[np.uint64]
Tally = npt.NDArray[np.int64]

#: Bits of each byte value, the lowest first: shape (256, 8).
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


def tally(hashes: Hashes, sizes: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Tally:
    """Count the votes of the hashes of several texts.

    Args:
        hashes: uint64 array of shape (n,): the hashes, grouped by text.
        sizes: Number of hashes of each text, of shape (texts,); the total is n.
        weights: Votes of each hash, integers of shape (n,), None for one each. At most 2**53 in total.

    Returns:
        int64 array of shape (texts, 64): for each bit, the lowest first, the votes for it minus those against it.
    """
    counts = np.asarray(sizes, np.int64)
    shares = None if weights is None else np.asarray(weights, np.float64)
    rows = np.repeat(np.arange(counts.size) * 256, counts)
    values = np.ascontiguousarray(hashes, "<u8").view(np.uint8).reshape(-1, 8)
    votes = np.empty((counts.size, 8, 8), np.float64)
    # The frequencies of byte values determine the frequencies of bits. Sums of integers are exact.
    for byte in range(8):
        histogram = np.bincount(rows + values[:, byte], shares, counts.size * 256)
        votes[:, byte] = histogram.reshape(-1, 256) @ _BITS_OF_BYTE
    cast = counts if shares is None else np.bincount(rows // 256, shares, counts.size)
    return (2 * votes.reshape(-1, BITS) - cast[:, None]).astype(np.int64)


def elect(votes: Tally) -> Hashes:
    """Convert votes to codes: a bit is set if more votes are for it than against it, and not set on a tie.

    Args:
        votes: int64 array of shape (texts, 64), as returned by `tally`.

    Returns:
        uint64 array of shape (texts,).
    """
    return np.packbits(votes > 0, axis=1, bitorder="little").view("<u8").astype(np.uint64).ravel()
