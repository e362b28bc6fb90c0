"""Sorting of numbers by compiled loops, for even and uneven distributions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.compiled.scripts import needs_numba

pytestmark = needs_numba


@pytest.mark.parametrize("spread", ["evenly", "one bucket", "few values"])
def test_many_numbers(spread: str) -> None:
    """
    Numbers are sorted, even if all are in one bucket, as an attacker may choose them, or have few values.
    """
    chance = np.random.default_rng(1)
    upto = {"evenly": 1 << 63, "one bucket": 1 << 20, "few values": 3}[spread]
    assert_in_order(chance.integers(0, upto, 200_000).astype(np.uint64))


@given(st.lists(st.integers(0, (1 << 64) - 1) | st.integers(0, 9), max_size=80), st.integers(0, 63))
def test_few_numbers(numbers: list[int], lead: int) -> None:
    """
    The order is that of numpy, for any number of leading bits declared equal.
    """
    assert_in_order(np.array(numbers, np.uint64), lead)


def assert_in_order(numbers: np.ndarray, lead: int = 0) -> None:
    from whorl.fingerprint.compiled.ordering import put_in_order

    aside = np.concatenate([numbers[:0], np.zeros(2, np.uint64), numbers])
    out = np.zeros(numbers.size + 5, np.uint64)
    put_in_order(aside, 2, numbers.size, lead, out, 3, np.empty(numbers.size + 1, np.int64))
    assert np.array_equal(out[3 : 3 + numbers.size], np.sort(numbers))
    assert not out[:3].any()
    assert not out[3 + numbers.size :].any()
