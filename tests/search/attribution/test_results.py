"""Totals of the result."""

from __future__ import annotations

from fractions import Fraction

from whorl.fingerprint.statistics.metric import Shares
from whorl.search.attribution.results import Attribution, Promise, TextSource


def answer(words: int, *new_words: int) -> Attribution:
    sources = tuple(TextSource(str(new), "", new, new, 0, Shares(0, 0, 0), 9, (), "") for new in new_words)
    return Attribution("", words, 8, sources, (), 0, 6, 9, 4, 2, 1, Promise(Fraction(1, 2), None))


def test_totals() -> None:
    """
    The covered words are the sum of the sources' new words; a text without words has a coverage of 0.
    """
    attribution = answer(20, 6, 4)
    assert (attribution.covered_words, attribution.coverage) == (10, 0.5)
    assert (answer(0).covered_words, answer(0).coverage) == (0, 0.0)
