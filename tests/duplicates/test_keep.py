"""Tests of the retention policy: names and ranks."""

from __future__ import annotations

import pytest

from whorl.duplicates.keep import Keep, seconds_of
from whorl.errors import ParameterError


def test_choices_as_people_type_them() -> None:
    """
    A column follows a colon, and may contain a colon itself.
    """
    assert Keep.named("first") == Keep("first")
    assert Keep.named("largest:quality:v2") == Keep("largest", "quality:v2")
    assert str(Keep.named("oldest:made")) == "oldest:made"
    assert str(Keep.named("newest")) == "newest"


@pytest.mark.parametrize(
    ("words", "told"),
    [("best", "first, longest"), ("", "first, longest"), ("largest", "largest:COLUMN"), ("first:made", "no column")],
)
def test_choices_that_there_are_not(words: str, told: str) -> None:
    """
    An unknown policy, or one with a wrong column, raises an error with valid ones.
    """
    with pytest.raises(ParameterError, match=told):
        Keep.named(words)


def test_dates_of_fields() -> None:
    """
    A date as queries write it, seconds, or the first of several values is a date; other values are not.
    """
    assert seconds_of("1970-01-02") == 86_400
    assert seconds_of(("1970-01-01T00:00:10Z", "2000-01-01")) == 10
    assert seconds_of("1970-01-01T00:00:10.5+00:00") == 10.5
    assert seconds_of(12) == 12
    none: tuple[object, ...] = ("yesterday-ish", None, (), [], float("nan"), 10**400, {"at": 1})
    assert [seconds_of(each) for each in none] == [None] * 7


def test_what_a_value_is_worth() -> None:
    """
    A larger rank is better for every policy; numbers may be text, as in CSV.
    """
    assert Keep("largest", "q").worth("0.75") == Keep("largest", "q").worth((0.75, 2)) == 0.75
    assert Keep("smallest", "q").worth(3) == -3
    assert Keep("oldest", "d").worth("1970-01-02") == -86_400
    assert [Keep("largest", "q").worth(value) for value in ("", "good", None, float("nan"), "inf", 10**400)] == [
        None
    ] * 6
