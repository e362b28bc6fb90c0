"""Statistics against Python's own library, references, and the message about an index that lags."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.protocol import Statistics, lag_message, reference_meanings

NUMBERS = st.lists(st.integers(-1000, 1000).map(float), max_size=8)


def of(numbers: list[float]) -> Statistics:
    if not numbers:
        return Statistics()
    return Statistics(
        len(numbers), min(numbers), max(numbers), sum(numbers), sum(number * number for number in numbers)
    )


@given(NUMBERS, NUMBERS)
def test_parts_together(one: list[float], other: list[float]) -> None:
    """
    Two parts tell together what all of their numbers tell; the deviation is that of a sample.
    """
    both = one + other
    merged = of(one).merge(of(other))
    assert merged == of(both)
    assert math.isclose(merged.mean, statistics.fmean(both) if both else 0.0, abs_tol=1e-9)
    assert math.isclose(merged.deviation, statistics.stdev(both) if len(both) > 1 else 0.0, abs_tol=1e-6)


UUID = "3f2a91c0-0d6e-4b7c-9e55-0123456789ab"
STORE = "workspace://SpacesStore/"
NODEREF = STORE + UUID


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("1234", [("dbid", "1234"), ("key", "1234")]),
        ("007", [("dbid", "007"), ("key", "007")]),
        (UUID, [("noderef", NODEREF), ("key", UUID), ("key", NODEREF)]),
        ("A" + UUID[1:], [("noderef", f"{STORE}A{UUID[1:]}"), ("key", f"A{UUID[1:]}"), ("key", f"{STORE}A{UUID[1:]}")]),
        (NODEREF, [("noderef", NODEREF), ("key", NODEREF), ("key", UUID)]),
        ("workspace://SpacesStore/report", [("key", "workspace://SpacesStore/report")]),
        ("workspace://SpacesStore/12", [("key", "workspace://SpacesStore/12")]),
        ("archive://SpacesStore/" + UUID, [("key", "archive://SpacesStore/" + UUID)]),
        ("report 7.txt", [("key", "report 7.txt")]),
        ("१२", [("key", "१२")]),
        ("12\n", [("key", "12\n")]),
        ("", [("key", "")]),
    ],
)
def test_reference_meanings(reference, expected):
    """
    Digits are a DBID first, a UUID a node reference first; everything else is an id.
    """
    assert reference_meanings(reference) == tuple(expected)


def test_the_message_about_a_lag_has_its_number() -> None:
    """
    One document and several, with a remedy.
    """
    assert lag_message(1).startswith("1 stored or deleted document is missing from the index, which")
    assert lag_message(1536).startswith("1,536 stored or deleted documents are missing from the index, which")
    assert "free some room on the disk" in lag_message(2)
