"""Counts of a run that gives documents their fields."""

from __future__ import annotations

from whorl.engine.backfilled import Backfilled


def test_every_document_that_was_looked_at_counts_once() -> None:
    """
    Those that are left were not.
    """
    so_far = Backfilled(100, sent=1, removed=2, kept=4, textless=8, refused=(("a", "why"), ("b", "why")), left=32)
    assert so_far.done == 17
