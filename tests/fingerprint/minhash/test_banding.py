"""Minimum should match and band rows, compared with values of Alfresco and Solr and with reference formulas."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.minhash.signature_and_tokens import (
    band_match_probability,
    band_rows,
    cut_bands,
    min_should_match,
)

fractions = st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000)

#: For 512 tokens, as Alfresco and Solr compute them.
MINIMA = [(20, 103), (67, 344), (68, 349), (70, 359), (100, 512), (1, 6)]
ROWS = [
    (20, 80, 2),
    (50, 90, 5),
    (70, 90, 9),
    (90, 99, 17),
    (50, 50, 6),
    (100, 50, 512),
    (70, 99, 7),
    (95, 90, 36),
]


@pytest.mark.parametrize(("percent", "minimum"), MINIMA)
def test_minimum_of_512(percent: int, minimum: int) -> None:
    """
    The minimum is the exact ceiling.
    """
    assert min_should_match(512, Fraction(percent, 100)) == minimum


def test_minimum_has_no_rounding_error() -> None:
    """
    50 tokens at 60 % are 30; 32-bit floats give 31.
    """
    assert min_should_match(50, Fraction("0.6")) == 30


@given(st.integers(1, 2000), fractions)
def test_minimum_is_the_least_that_reaches_the_overlap(count: int, overlap: Fraction) -> None:
    """
    One token fewer would be below the overlap.
    """
    minimum = min_should_match(count, overlap)
    assert Fraction(minimum, count) >= overlap
    assert Fraction(minimum - 1, count) < overlap


@pytest.mark.parametrize(("overlap", "probability", "rows"), ROWS)
def test_rows_of_512(overlap: int, probability: int, rows: int) -> None:
    """
    The rows follow from the smallest number of bands whose match probability exceeds the requested one.
    """
    assert band_rows(512, Fraction(overlap, 100), Fraction(probability, 100)) == rows


@pytest.mark.parametrize("overlap", [1, 50, 100])
def test_probability_one_is_never_exceeded_below_identity(overlap: int) -> None:
    """
    Bands cannot guarantee 100 %, so any shared token is enough.
    """
    assert band_rows(512, Fraction(overlap, 100), Fraction(1)) == 1


@given(st.lists(st.integers(), min_size=1, max_size=60), st.data())
def test_bands_hold_every_token_and_wrap(tokens: list[int], data: st.DataObject) -> None:
    """
    All bands are full; in sequence they are the tokens followed by the first ones again.
    """
    rows = data.draw(st.integers(1, len(tokens)))
    bands = cut_bands(tokens, rows)
    flat = [token for band in bands for token in band]
    assert {len(band) for band in bands} == {rows}
    assert flat[: len(tokens)] == tokens
    assert flat[len(tokens) :] == tokens[: len(flat) - len(tokens)]
    assert len(flat) - len(tokens) < rows


@given(st.floats(0, 1), st.integers(1, 50), st.integers(1, 50))
def test_chance_grows_with_bands_and_falls_with_rows(similarity: float, bands: int, rows: int) -> None:
    """
    More bands match more often, longer bands less often.
    """
    chance = band_match_probability(similarity, bands, rows)
    assert chance <= band_match_probability(similarity, bands + 1, rows)
    assert chance >= band_match_probability(similarity, bands, rows + 1)
