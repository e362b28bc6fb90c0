"""Generates families of similar texts for the load; a number always gives the same text."""

from __future__ import annotations

import random

#: Approximate number of words of a text, and number of variants of each text.
_WORDS, VARIANTS = 300, 5
_SYLLABLES = [first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u", "an", "er", "il")]


def _vocabulary() -> list[str]:
    chance = random.Random(1)
    return ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(20_000)]


_VOCABULARY = _vocabulary()


def text(family: int, variant: int) -> str:
    """Return a variant of a family: about one word in twelve is replaced.

    Args:
        family: Number of the family.
        variant: Number of the variant; the same number gives the same text.
    """
    # Frequent words are frequent, as in real texts, but no shingle is in all texts.
    base = random.Random(family)
    words = [_VOCABULARY[min(int(base.paretovariate(0.5)), 20_000) - 1] for _ in range(_WORDS)]
    chance = random.Random(f"{family}/{variant}")
    return " ".join(chance.choice(_VOCABULARY) if chance.random() < 1 / 12 else word for word in words)


def document_id(family: int, variant: int) -> str:
    """Return the id of an initial document."""
    return f"f{family}-v{variant}"
