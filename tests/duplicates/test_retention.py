"""Tests of retention policies: their notation, ranks and losses."""

from __future__ import annotations

import numpy as np
import pytest

from whorl.duplicates.retention import Keep, seconds_of
from whorl.errors import ParameterError


def test_retention_policies_are_parsed() -> None:
    """
    A column follows a colon, and may contain a colon itself.
    """
    assert Keep.parse("first") == Keep("first")
    assert Keep.parse("largest:quality:v2") == Keep("largest", "quality:v2")
    assert str(Keep.parse("oldest:made")) == "oldest:made"
    assert str(Keep.parse("newest")) == "newest"


@pytest.mark.parametrize(
    ("words", "message"),
    [("best", "first, longest"), ("", "first, longest"), ("largest", "largest:COLUMN"), ("first:made", "no column")],
)
def test_unknown_retention_policies_are_refused(words: str, message: str) -> None:
    """
    An unknown policy, or one with a wrong column, raises an error with valid ones.
    """
    with pytest.raises(ParameterError, match=message):
        Keep.parse(words)


def test_dates_of_fields() -> None:
    """
    A date as queries write it, seconds, or the first of several values is a date; other values are not.
    """
    assert seconds_of("1970-01-02") == 86_400
    assert seconds_of(("1970-01-01T00:00:10Z", "2000-01-01")) == 10
    assert seconds_of("1970-01-01T00:00:10.5+00:00") == seconds_of("1970-01-01 00:00:10.5") == 10.5
    assert seconds_of("1970-01-01 01:00") == seconds_of("1970-01-01 03:00:00+02:00") == 3600
    assert seconds_of(12) == seconds_of("12") == 12
    none: tuple[object, ...] = ("yesterday-ish", None, (), [], float("nan"), 10**400, {"at": 1})
    assert [seconds_of(value) for value in none] == [None] * 7


def test_rank_of_a_value() -> None:
    """
    A document with a larger rank is kept under every policy; numbers may be text, as in CSV.
    """
    assert Keep("largest", "q").rank_of("0.75") == Keep("largest", "q").rank_of((0.75, 2)) == 0.75
    assert Keep("smallest", "q").rank_of(3) == -3
    assert Keep("oldest", "d").rank_of("1970-01-02") == -86_400
    assert [Keep("largest", "q").rank_of(value) for value in ("", "good", None, float("nan"), "inf", 10**400)] == [
        None
    ] * 6


def test_the_smallest_loss_belongs_to_the_best_document() -> None:
    """
    The loss is the negative number of shingles or the negative rank, infinite without a rank, and equal for all
    documents if the order decides.
    """
    sizes, ranks = np.array([3, 9, 5]), np.array([2.0, np.nan, 7.0])
    assert Keep("longest").losses(sizes, ranks).tolist() == [-3, -9, -5]
    assert Keep("largest", "q").losses(sizes, ranks).tolist() == [-2, np.inf, -7]
    assert Keep("first").losses(sizes, ranks).tolist() == [0, 0, 0]
