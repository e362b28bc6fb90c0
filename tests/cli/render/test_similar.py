"""Tests of the hits of a calibrated search as a table."""

from __future__ import annotations

import io
from typing import Any, cast

from rich.console import Console

from whorl.cli.render.tables import similar_table
from whorl.fingerprint.statistics.estimate import Estimate
from whorl.fingerprint.statistics.metric import Shares
from whorl.model import Hit
from whorl.search.similar.results import Similar, SimilarHit, exact_estimate


def rows(*found: SimilarHit) -> list[list[str]]:
    """Return the cells of each row."""
    page = Similar(len(found), True, found, cast(Any, None), len(found))
    out = Console(file=io.StringIO(), width=120, color_system=None)
    with out.capture() as captured:
        out.print(similar_table(page))
    return [line.split() for line in captured.get().splitlines()]


def test_counted_shares_have_no_interval() -> None:
    """
    Exact shares have no interval: texts of 40 and 80 shingles share 20: 20 of 100, of 40 and of 80, and a bar of the
    score.
    """
    found = SimilarHit(Hit("[b]x", "a name", 25.0), exact_estimate(40, 80, 20))
    head, row = rows(found)
    assert head == ["id", "name", "jaccard", "A", "in", "B", "B", "in", "A", "shingles"]
    assert row == ["[b]x", "a", "name", "█" * 5 + "░" * 15, "20.0%", "50.0%", "25.0%", "80"]


def test_estimates_have_the_ends_of_their_intervals() -> None:
    """
    Estimates have intervals in whole percent, rounded outward, each share its own; sizes have separators of thousands.
    """
    low, high = Shares(0.301, 0.402, 0.503), Shares(0.359, 0.458, 0.557)
    estimate = Estimate(Shares(0.333, 0.444, 0.555), low, high, 10, 30, 1_000, 12_345, is_exact=False)
    cells = rows(SimilarHit(Hit("x", "", 33.3), estimate))[1]
    assert cells[2:] == ["33.3%", "30–36", "44.4%", "40–46", "55.5%", "50–56", "12,345"]
