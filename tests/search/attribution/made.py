"""Texts of random made-up words."""

from __future__ import annotations

import random


def words(chance: random.Random, number: int) -> list[str]:
    """Return random words with hardly any repetition."""
    return [f"w{chance.randrange(10**9)}" for _ in range(number)]
