"""Tests of range steps, computed like those of Solr's FacetRangeProcessor."""

from __future__ import annotations

from typing import Any

import pytest

from whorl.errors import ParameterError
from whorl.service.alfresco.facet_request import FacetRange
from whorl.service.alfresco.ranges import MOST_STEPS, steps


def labels(**asked: Any) -> list[str]:
    return [each.label for each in steps(FacetRange(**{"field": "f", "start": 0, "end": 10, "gap": 4, **asked}))]


def test_numbers() -> None:
    """
    The last step exceeds the end, unless the end is hard; numbers of any size keep their digits.
    """
    assert labels() == ["[0 - 4)", "[4 - 8)", "[8 - 12)"]
    assert labels(hardend=True) == ["[0 - 4)", "[4 - 8)", "[8 - 10)"]
    assert labels(start="0.1", end="0.4", gap="0.1") == ["[0.1 - 0.2)", "[0.2 - 0.3)", "[0.3 - 0.4)"]


def test_ends() -> None:
    """
    `include` decides on the inclusive bounds of each step, and of the first and the last step.
    """
    assert labels(include="upper") == ["(0 - 4]", "(4 - 8]", "(8 - 12]"]
    assert labels(include=["edge"]) == ["[0 - 4)", "(4 - 8)", "(8 - 12]"]
    assert labels(include=["all"]) == ["[0 - 4]", "[4 - 8]", "[8 - 12]"]


def test_around() -> None:
    """
    Before and after cover the values outside the steps; they include the ends if no step does, or if `outer` is set.
    """
    *_, before, after, between = steps(FacetRange(field="f", start="0", end="8", gap="4", other=["all"]))
    assert before.high is not None
    assert after.low is not None
    assert (before.low, before.high.is_inclusive, after.low.is_inclusive, after.high) == (None, False, True, None)
    assert between.low is not None
    assert between.high is not None
    assert (between.low.is_inclusive, between.high.is_inclusive) == (True, False)
    asked = FacetRange(field="f", start="0", end="8", gap="4", other=["before"], include=["lower", "outer"])
    outer = steps(asked)[-1]
    assert outer.high is not None
    assert outer.high.is_inclusive
    assert labels(other=["none", "before"]) == labels()


def test_dates() -> None:
    """
    Date steps follow the calendar; a gap without a sign is positive.
    """
    years = labels(start="2019-01-31", end="2019-03-01", gap="+1MONTH")
    assert years == [
        "[2019-01-31T00:00:00.000Z - 2019-02-28T00:00:00.000Z)",
        "[2019-02-28T00:00:00.000Z - 2019-03-28T00:00:00.000Z)",
    ]
    assert labels(start="2019", end="2021", gap="1YEAR") == [
        "[2019-01-01T00:00:00.000Z - 2020-01-01T00:00:00.000Z)",
        "[2020-01-01T00:00:00.000Z - 2021-01-01T00:00:00.000Z)",
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"gap": -1}, "above 0"), ({"end": 0}, "not after"), ({"end": MOST_STEPS * 4 + 5}, "1,000 steps"),
        ({"start": "x"}, "no number"), ({"gap": "+1DAY", "end": "x"}, "no date"), ({"gap": "x"}, "no date"),
        ({"start": "9999", "end": "9999-12", "gap": "+1YEAR"}, "years 1 to 9999"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(asked: dict[str, Any], said: str) -> None:
    """
    An invalid value, or a missing end, is an error that names it.
    """
    with pytest.raises(ParameterError, match=said):
        labels(**asked)
