"""The compiled loops of estimates, compared with numpy.

`tests/fingerprint/statistics` compares both with independent results.
"""

from __future__ import annotations

from threading import Event
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.compiled.scripts import needs_numba
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.fingerprint.statistics.hypergeometric import upper_tail
from whorl.fingerprint.statistics.overlap_estimates import overlap_interval, shared_shingles

pytestmark = needs_numba
counts = st.integers(0, 10**6)


@pytest.fixture(scope="module", autouse=True)
def _loops() -> None:
    """Load the loops, as in a process that has read much text."""
    Kernel()
    assert kernel.loops_if_loaded() is not None


def test_all_pairs_of_a_sample() -> None:
    """
    For twenty thousand pairs of documents of all sizes and similarities, both routes give the same three overlaps.
    """
    chance = np.random.default_rng(7)
    a = chance.integers(1, 200_000, 20_000)
    b = (a * chance.uniform(0.02, 6, a.size)).astype(np.int64) + 1
    both = (np.minimum(a, b) * chance.uniform(0, 1, a.size)).astype(np.int64)
    levels = np.maximum(0, np.ceil(np.log2(np.maximum(a, b) / 256))).astype(np.int64)
    shared, of_a, of_b = (chance.binomial(size, 0.5**levels) for size in (both, a - both, b - both))
    pairs = a, b, levels, shared + of_a, shared + of_b, shared
    with patch.object(kernel, "_compiled", Event()):
        plain = shared_shingles(*pairs)
    for actual, expected in zip(shared_shingles(*pairs), plain, strict=True):
        assert actual.tolist() == expected.tolist()


@given(st.lists(st.tuples(counts, counts, counts, counts), min_size=1, max_size=20))
def test_tails_of_any_law(laws: list[tuple[int, int, int, int]]) -> None:
    """
    Tails are equal for any parameters, including extreme tails and distributions where no hash or every hash is good or
    drawn.
    """
    population = np.array([max(law[:3]) for law in laws])
    good, drawn, least = np.array([law[1:] for law in laws]).T
    with patch.object(kernel, "_compiled", Event()):
        plain = upper_tail(population, good, drawn, least)
    assert upper_tail(population, good, drawn, least).tolist() == pytest.approx(plain.tolist(), rel=1e-11, abs=1e-300)


def test_read_only_and_strided_arrays() -> None:
    """
    Non-contiguous or read-only arrays, and those of smaller integers, cause no further compilation.
    """
    total, drawn, shared = np.array([[1000, 60, 20], [2000, 60, 10]], np.int32).T
    total.flags.writeable = False
    is_union = np.array([False, True])
    both = overlap_interval(total, is_union, drawn, shared, 10 * drawn, 0.95)
    loops = kernel.loops_if_loaded()
    assert loops is not None
    assert len(loops.overlap_estimates.overlap_intervals.signatures) == 1
    with patch.object(kernel, "_compiled", Event()):
        plain = overlap_interval(total, is_union, drawn, shared, 10 * drawn, 0.95)
    assert [ends.tolist() for ends in both] == [ends.tolist() for ends in plain]
