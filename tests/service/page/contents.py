"""Documents and texts for the tests of the page."""

from __future__ import annotations

import random

from tests.service.contracts import CONTRACTS

#: Texts with characters that JavaScript counts as two, before, between and in the shared passages.
EMOJI = "😀😀 nur hier 🎉 one two 🎈 three four five 😀 six seven 🎉 und Schluss"
MATCHING = "🎈 one two 🎈 three four five 😀 six seven and so on"
SCRIPT = "<script>window.ran = true</script><img src=x onerror='window.ran = true'> is what this text begins with"
PARAGRAPHS = 2_600
#: Number of documents in the store.
COUNT = 65
LEASE = (CONTRACTS / "lease-2023.txt").read_text(encoding="utf-8")
LETTER = (CONTRACTS.parent / "letter.txt").read_text(encoding="utf-8")
RECIPE = (CONTRACTS / "recipe.txt").read_text(encoding="utf-8")


def draft(changed: int) -> str:
    """Return words with 60 shingles; each change replaces a word, and so five different shingles."""
    words = [f"draft{number}" for number in range(64)]
    for number in range(changed):
        words[10 * (number + 1)] = "other"
    return " ".join(words)


def long_texts() -> tuple[str, str]:
    """Return two texts of about a megabyte: the second has seven of the first one's ten paragraphs, in another
    order.
    """
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(3, 9))) for _ in range(4_000)]
    paragraphs = [" ".join(chance.choices(words, k=60)) for _ in range(PARAGRAPHS)]
    others = [paragraph if chance.random() < 0.7 else " ".join(chance.choices(words, k=60)) for paragraph in paragraphs]
    chance.shuffle(others)
    return "\n\n".join(paragraphs), "\n\n".join(others)
