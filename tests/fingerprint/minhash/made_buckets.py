"""Sample buckets whose hashes are at given positions, or random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.minhash.bucket_estimates import Buckets, buckets_of


def at(*places: float | None) -> Buckets:
    """
    Return buckets with hashes at the given positions, from 0 to 1 within their buckets; None is an empty bucket,
    which repeats the first hash.
    """
    width = (1 << 64) // len(places)
    hashes = [None if place is None else int((number + place) * width) for number, place in enumerate(places)]
    first = next(hash_ for hash_ in hashes if hash_ is not None)
    return buckets_of(np.array([first if hash_ is None else hash_ for hash_ in hashes], dtype=np.uint64))


def smallest(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the minima of 512 buckets, empty ones filled by rotation."""
    actual = np.full(512, np.iinfo(np.uint64).max, dtype=np.uint64)
    numbers = (hashes >> np.uint64(55)).astype(np.intp)
    np.minimum.at(actual, numbers, hashes)
    filled = np.unique(numbers)
    return actual[filled[np.searchsorted(filled, np.arange(512)) % filled.size]]


def pair(source: int, hit: int, overlap: int, seed: int) -> tuple[Buckets, Buckets]:
    hashes = np.random.default_rng(seed).integers(0, 1 << 64, source + hit - overlap, dtype=np.uint64)
    return buckets_of(smallest(hashes[:source])), buckets_of(smallest(hashes[source - overlap :]))
