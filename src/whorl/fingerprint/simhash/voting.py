"""The vote that makes one 64-bit code of many hashes: the arithmetic that all SimHash schemes share.

Each hash votes for every bit of the code, with its weight, for or against. Codes of texts that share most of their
hashes differ in few bits: where the angle between the two sums of weighted features is t, a bit differs with
probability t / pi.

Source: M. Charikar, Similarity estimation techniques from rounding algorithms (STOC 2002); G. Manku, A. Jain and
A. Das Sarma, Detecting near-duplicates for web crawling (WWW 2007).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.simhash.codes import BITS

Hashes = npt.NDArray[np.uint64]
Tally = npt.NDArray[np.int64]

#: Which bits each value of a byte has, the lowest first: shape (256, 8).
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


def tally(hashes: Hashes, sizes: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Tally:
    """Count the votes of the hashes of several texts.

    Args:
        hashes: uint64 array of shape (n,): the hashes of the first text, then those of the second, and so on.
        sizes: How many hashes each text has, of shape (texts,); they add up to n.
        weights: How many votes each hash has, integers of shape (n,), one each if None. All together at most 2**53.

    Returns:
        int64 array of shape (texts, 64): for each bit, the lowest first, the votes for it less those against it.
    """
    counts = np.asarray(sizes, np.int64)
    shares = None if weights is None else np.asarray(weights, np.float64)
    rows = np.repeat(np.arange(counts.size) * 256, counts)
    values = np.ascontiguousarray(hashes, "<u8").view(np.uint8).reshape(-1, 8)
    votes = np.empty((counts.size, 8, 8), np.float64)
    # How often each value of a byte occurs tells how often each of its bits is set. Sums of integers are exact.
    for byte in range(8):
        histogram = np.bincount(rows + values[:, byte], shares, counts.size * 256)
        votes[:, byte] = histogram.reshape(-1, 256) @ _BITS_OF_BYTE
    cast = counts if shares is None else np.bincount(rows // 256, shares, counts.size)
    return (2 * votes.reshape(-1, BITS) - cast[:, None]).astype(np.int64)


def elect(votes: Tally) -> Hashes:
    """Return the codes that votes give: a bit is set if more votes are for it than against it, not if they are even.

    Args:
        votes: int64 array of shape (texts, 64), as `tally` returns it.

    Returns:
        uint64 array of shape (texts,).
    """
    return np.packbits(votes > 0, axis=1, bitorder="little").view("<u8").astype(np.uint64).ravel()
