"""Sample codes, and search by comparison of all codes."""

from __future__ import annotations

import random

import numpy as np

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture

MOST = 2**64 - 1


def changed(code: int, count: int, chance: random.Random) -> int:
    for bit in chance.sample(range(64), count):
        code ^= 1 << bit
    return code


def neighbourhood(count: int, seed: int = 1) -> list[int]:
    """Return codes that mostly differ in 1 to 8 bits from another one, with the smallest and the largest code."""
    chance = random.Random(seed)
    codes = [0, 7, MOST, *(chance.getrandbits(64) for _ in range(count // 4))]
    while len(codes) < count:
        codes.append(changed(chance.choice(codes), chance.randint(1, 8), chance))
    return codes


def skewed(count: int) -> list[int]:
    """Return different codes that share all but 20 bits."""
    chance = random.Random(3)
    return sorted({0xABCDEF << 40 | chance.getrandbits(20) << 7 for _ in range(count)})


def near(query: int, codes: set[int], distance: int) -> list[int]:
    return sorted(code for code in codes if (code ^ query).bit_count() <= distance)


def all_pairs(codes: list[int], distance: int) -> np.ndarray:
    """Compare all codes with each other: shape (pairs, 2), ascending."""
    array = np.unique(np.array(codes, np.uint64))
    one, other = np.nonzero(np.triu(np.bitwise_count(array[:, None] ^ array) <= distance, 1))
    return np.stack((array[one], array[other]), axis=1)


def components(pairs: list[list[int]]) -> list[list[int]]:
    """Return the connected components of the pairs, by joining sets one pair at a time."""
    groups: list[set[int]] = []
    for pair in pairs:
        touched = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if not group & set(pair)] + [set(pair).union(*touched)]
    return sorted(map(sorted, groups))
