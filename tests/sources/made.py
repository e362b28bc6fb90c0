"""Texts of made-up words."""

from __future__ import annotations

import random


def words(chance: random.Random, number: int) -> list[str]:
    """Return words of which hardly two are the same."""
    return [f"w{chance.randrange(10**9)}" for _ in range(number)]
