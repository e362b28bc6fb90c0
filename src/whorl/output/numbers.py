"""Rounding and formatting of shares and intervals for JSON, CSV and people.

All output rounds shares down: to six decimals in JSON and CSV, to a tenth of a percent for people. So only complete
overlap is shown as 1 or 100.0%, and 22 of 187 is 0.117647 and 11.7% everywhere. An interval is rounded outward, its
lower bound down and its upper bound up, so that it never shrinks.
"""

from __future__ import annotations

import math
from typing import NotRequired

from typing_extensions import TypedDict

from whorl.fingerprint.statistics.metric import Shares

#: Factor for six decimals.
_PARTS = 1_000_000
#: More than the rounding error of a float that represents a share with few decimals.
_SLACK = 1e-9


class Fractions(TypedDict):
    """The shares of A and B, in [0, 1]: A is the source or the first text, B the hit or the second text."""

    jaccard: float
    a_in_b: float
    b_in_a: float


class Intervals(TypedDict):
    """The lower and upper bound of each share's 95 % interval."""

    jaccard: list[float]
    a_in_b: list[float]
    b_in_a: list[float]


class SharesValues(Fractions):
    """The shares, with intervals if they are estimates."""

    exact: bool
    intervals: NotRequired[Intervals]


def fraction(share: float) -> float:
    """Return a share in [0, 1] rounded down to six decimals, for JSON and CSV.

    >>> fraction(2 / 3), fraction(0.3)
    (0.666666, 0.3)
    """
    return (share * _PARTS + _SLACK) // 1 / _PARTS


def percent(share: float, *, is_exact: bool = True) -> str:
    """Return a share in [0, 1] in percent for people; `~` marks an estimate.

    >>> percent(22 / 187), percent(9999 / 10000), percent(1 / 5000)
    ('11.7%', '99.9%', '<0.1%')
    """
    tenths = math.floor(share * 1000 + _SLACK)
    told = "<0.1%" if share and not tenths else f"{tenths // 10}.{tenths % 10}%"
    return told if is_exact else f"~{told}"


def percent_interval(low: float, high: float) -> str:
    """Return an interval of shares in whole percent.

    >>> percent_interval(0.118, 0.131)
    '11–14'
    """
    return f"{math.floor(100 * low + _SLACK)}–{math.ceil(100 * high - _SLACK)}"


def fractions(shares: Shares) -> Fractions:
    """Return rounded shares by their names, for JSON and CSV."""
    return {
        "jaccard": fraction(shares.jaccard),
        "a_in_b": fraction(shares.a_in_b),
        "b_in_a": fraction(shares.b_in_a),
    }


def shares_values(shares: Shares, low: Shares, high: Shares, *, is_exact: bool) -> SharesValues:
    """Return the shares of two documents as JSON values, with the same keys for all comparisons.

    Args:
        shares: The shares, or their estimates.
        low: Lower bounds of their intervals.
        high: Upper bounds of their intervals.
        is_exact: Whether all shingles were compared; otherwise `intervals` is added.
    """
    values: SharesValues = {**fractions(shares), "exact": is_exact}  # type: ignore[typeddict-item]  # no intervals
    if not is_exact:
        values["intervals"] = {
            "jaccard": [fraction(low.jaccard), _rounded_up(high.jaccard)],
            "a_in_b": [fraction(low.a_in_b), _rounded_up(high.a_in_b)],
            "b_in_a": [fraction(low.b_in_a), _rounded_up(high.b_in_a)],
        }
    return values


def _rounded_up(share: float) -> float:
    return math.ceil(share * _PARTS - _SLACK) / _PARTS
