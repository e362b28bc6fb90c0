"""Chooses MinHash thresholds and bands: tokens that a hit must share, rows per band, probability of a match.

Computations that decide about hits use exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import require_fraction

Item = TypeVar("Item")


def min_should_match(token_count: int, overlap: Fraction) -> int:
    """Return the minimum number of a source's tokens that a hit must share: ceil(count * overlap).

    Alfresco computes this number in 32-bit floats, and requires one token too many at some counts. This function is
    exact.
    Source: Solr4QueryParser.createFingerPrintQuery.

    >>> min_should_match(512, Fraction(7, 10))
    359
    """
    require_fraction("overlap", overlap)
    return math.ceil(token_count * overlap)


def band_match_probability(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that two documents share at least one whole band.

    Source: Mining of Massive Datasets, section 3.4.2.

    >>> round(band_match_probability(0.8, bands=20, rows=5), 4)
    0.9996
    """
    if not 0.0 <= similarity <= 1.0:
        raise ParameterError(f"similarity must be a fraction in [0, 1], got {similarity}")
    if bands < 1 or rows < 1:
        raise ParameterError(f"bands and rows must be at least 1, got {bands} and {rows}")
    return 1.0 - (1.0 - similarity**rows) ** bands


@lru_cache
def band_rows(token_count: int, overlap: Fraction, probability: Fraction) -> int:
    """Return the rows per band for the fewest bands that find `overlap` with more than `probability`.

    Args:
        token_count: Number of the source's tokens, with repeats, at least 1.
        overlap: Fraction in (0, 1].
        probability: Fraction in (0, 1]. No number of bands gives more than 1, so 1 yields one row.

    Source: Solr4QueryParser.computeBandSize and MinHashQParser.computeBandSize: integer division, a strict comparison,
        and one row if no number of bands is enough.

    >>> [band_rows(512, Fraction(o, 100), Fraction(p, 100)) for o, p in [(20, 80), (70, 90), (90, 99), (100, 50)]]
    [2, 9, 17, 512]
    """
    require_fraction("overlap", overlap)
    require_fraction("probability", probability)
    if token_count < 1:
        raise ParameterError(f"token_count must be at least 1, got {token_count}")
    similarity, wanted = float(overlap), float(probability)
    for bands in range(1, token_count + 1):
        rows = token_count // bands
        if band_match_probability(similarity, bands, rows) > wanted:
            return rows
    return 1


def wrapped_bands(tokens: Sequence[Item], rows: int) -> tuple[tuple[Item, ...], ...]:
    """Cut tokens into bands of `rows` tokens, and pad the last band with the first tokens.

    >>> wrapped_bands("abcde", 2)
    (('a', 'b'), ('c', 'd'), ('e', 'a'))
    """
    if not 1 <= rows <= len(tokens):
        raise ParameterError(f"rows must be 1 to {len(tokens)}, the number of tokens, got {rows}")
    missing = -len(tokens) % rows
    padded = (*tokens, *tokens[:missing])
    return tuple(padded[at : at + rows] for at in range(0, len(padded), rows))
