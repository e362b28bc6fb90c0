"""Shares as JSON, CSV and people have them.

A share is rounded down, wherever it leaves the program: to six decimals in JSON and CSV, to a tenth of a percent for
people. So only all of something is 1 or 100.0%, and 22 of 187 is 0.117647 and 11.7% everywhere. An interval is rounded
outward, its lower end down and its upper end up, so that it still holds what it held.
"""

from __future__ import annotations

import math

from whorl.fingerprint.statistics.metric import Shares

#: Six decimals.
_PARTS = 1_000_000
#: More than the error of a float that stands for a share of a few decimals.
_SLACK = 1e-9


def fraction(share: float) -> float:
    """Return a share in [0, 1] as JSON and CSV have it.

    >>> fraction(2 / 3), fraction(0.3)
    (0.666666, 0.3)
    """
    return math.floor(share * _PARTS + _SLACK) / _PARTS


def percent(share: float, *, is_exact: bool = True) -> str:
    """Return a share in [0, 1] in percent as people read it; `~` marks an estimate.

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


def fractions(shares: Shares) -> dict[str, float]:
    """Return shares by their names as JSON and CSV have them."""
    return {name: fraction(getattr(shares, name)) for name in Shares.NAMES}


def shares_values(shares: Shares, low: Shares, high: Shares, *, is_exact: bool) -> dict[str, object]:
    """Return what two documents share as JSON values: the same keys wherever two are compared.

    Args:
        shares: The shares, or the likeliest ones.
        low: The lower ends of their intervals.
        high: The upper ends.
        is_exact: Whether all shingles were compared; only if not, there are `intervals`.
    """
    values: dict[str, object] = {**fractions(shares)}
    values["exact"] = is_exact
    if not is_exact:
        values["intervals"] = {
            name: [fraction(getattr(low, name)), _rounded_up(getattr(high, name))] for name in Shares.NAMES
        }
    return values


def _rounded_up(share: float) -> float:
    return math.ceil(share * _PARTS - _SLACK) / _PARTS
