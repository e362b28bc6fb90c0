"""Generates codes and queries for Hamming search, the same on every machine.

random   uniform codes and queries without hits; the workload of simhash-py's own bench.py.
planted  four fifths uniform; the others are copies of these with 1 to 5 bits changed, so 3 in 5 of these pairs are
         within 3 bits. Half of the queries are uniform, half are codes with up to 4 bits changed.
skew     as planted, but one fiftieth of all codes share their low 32 bits, like pages with one boilerplate half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint64]
KINDS = ("random", "planted", "skew")


def make(kind: str, count: int, queries: int, seed: int = 5) -> tuple[Codes, Codes]:
    chance = np.random.default_rng(seed)

    def uniform(size: int) -> Codes:
        return chance.integers(0, 2**64, size, np.uint64)

    def changed(codes: Codes, least: int, most: int) -> Codes:
        """Change a random number of different bits in each code."""
        numbers = chance.integers(least, most + 1, codes.size)
        masks = np.zeros_like(codes)
        for number in range(1, most + 1):
            rows = np.flatnonzero(numbers >= number)
            while rows.size:
                bits = np.uint64(1) << chance.integers(0, 64, rows.size, np.uint64)
                is_new = masks[rows] & bits == 0
                masks[rows[is_new]] |= bits[is_new]
                rows = rows[~is_new]
        return codes ^ masks

    if kind == "random":
        return uniform(count), uniform(queries)
    base = uniform(count - count // 5)
    if kind == "skew":
        boilerplate, low = slice(0, count // 50), np.uint64(2**32 - 1)
        base[boilerplate] = (base[boilerplate] & ~low) | (base[0] & low)
    variants = changed(base[chance.integers(0, base.size, count // 5)], 1, 5)
    codes = chance.permutation(np.concatenate((base, variants)))
    near = changed(codes[chance.integers(0, count, queries // 2)], 0, 4)
    return codes, chance.permutation(np.concatenate((near, uniform(queries - queries // 2))))
