"""Statistics put together from those of parts, against Python's own library."""

from __future__ import annotations

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.facets import Statistics

NUMBERS = st.lists(st.integers(-1000, 1000).map(float), max_size=8)


def of(numbers: list[float]) -> Statistics:
    if not numbers:
        return Statistics()
    return Statistics(len(numbers), min(numbers), max(numbers), sum(numbers), sum(each * each for each in numbers))


@given(NUMBERS, NUMBERS)
def test_parts_together(one: list[float], other: list[float]) -> None:
    """
    Two parts tell together what all of their numbers tell; the deviation is that of a sample.
    """
    both = one + other
    found = of(one).with_others(of(other))
    assert found == of(both)
    assert math.isclose(found.mean, statistics.fmean(both) if both else 0.0, abs_tol=1e-9)
    assert math.isclose(found.deviation, statistics.stdev(both) if len(both) > 1 else 0.0, abs_tol=1e-6)
