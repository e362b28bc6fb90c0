"""Totals of an answer."""

from __future__ import annotations

from fractions import Fraction

from whorl.fingerprint.statistics.metric import Shares
from whorl.sources.result import Attribution, Promise, TextSource


def answer(words: int, *new_words: int) -> Attribution:
    sources = tuple(TextSource(str(new), "", new, new, 0, Shares(0, 0, 0), 9, (), "") for new in new_words)
    return Attribution("", words, 8, sources, (), 6, 9, 4, 2, Promise(Fraction(1, 2), None))


def test_totals() -> None:
    """
    What is covered is what each source adds; a text without words is not.
    """
    found = answer(20, 6, 4)
    assert (found.covered_words, found.coverage, found.unread) == (10, 0.5, 3)
    assert (answer(0).covered_words, answer(0).coverage) == (0, 0.0)
