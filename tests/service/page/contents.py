"""The documents behind the page, where it is driven."""

from __future__ import annotations

import random

from tests.service.contracts import CONTRACTS

#: Characters that JavaScript counts as two stand before, between and in what both have.
EMOJI = "😀😀 nur hier 🎉 one two 🎈 three four five 😀 six seven 🎉 und Schluss"
MATCHING = "🎈 one two 🎈 three four five 😀 six seven and so on"
SCRIPT = "<script>window.ran = true</script><img src=x onerror='window.ran = true'> is what this text begins with"
PARAGRAPHS = 2_600
#: Documents of the store.
COUNT = 65
LEASE = (CONTRACTS / "lease-2023.txt").read_text(encoding="utf-8")
LETTER = (CONTRACTS.parent / "letter.txt").read_text(encoding="utf-8")
RECIPE = (CONTRACTS / "recipe.txt").read_text(encoding="utf-8")


def draft(changed: int) -> str:
    """Words that make 60 shingles, of which some were changed, each in five shingles of its own."""
    words = [f"draft{number}" for number in range(64)]
    for number in range(changed):
        words[10 * (number + 1)] = "other"
    return " ".join(words)


def long_texts() -> tuple[str, str]:
    """Two texts of about a megabyte: the second has seven of ten paragraphs of the first, in another order."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9))) for _ in range(4_000)]
    paragraphs = [" ".join(chance.choices(words, k=60)) for _ in range(PARAGRAPHS)]
    others = [each if chance.random() < 0.7 else " ".join(chance.choices(words, k=60)) for each in paragraphs]
    chance.shuffle(others)
    return "\n\n".join(paragraphs), "\n\n".join(others)
