"""Hashes and bucket minima of the compiled loops, compared with plain Python, and their sort with numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.compiled.scripts import (
    AROUND,
    SCRIPTS,
    assert_same,
    needs_numba,
)
from whorl.fingerprint.shingling import Scheme

pytestmark = needs_numba


@pytest.mark.parametrize("scheme", [Scheme(shingle_size=1), Scheme(shingle_size=2, bucket_count=1),
                                    Scheme(shingle_size=9, bucket_count=100), Scheme(bucket_count=4096),
                                    Scheme("icu77", 300, 7)], ids=lambda scheme: scheme.name)  # fmt: skip
def test_other_schemes(scheme: Scheme) -> None:
    """
    Other shingle sizes and bucket counts give the same result, including counts that are no power of two and long
    shingles.
    """
    for text in (" ".join(SCRIPTS), " ".join(map(str, range(2000))), "w " * 299, "w " * 300, "x" * 3000 + " " + AROUND):
        assert_same(text, scheme)


@given(
    st.lists(st.integers(1, 70).map(lambda size: "abcdefg"[size % 7] * size), max_size=12),
    st.sampled_from([Scheme(shingle_size=1), Scheme(shingle_size=3, bucket_count=7)]),
)
def test_shingles_of_any_length(words: list[str], scheme: Scheme) -> None:
    """
    Shingles of any length have the right hashes, for any remainder after the last block and any number of equal
    lengths.
    """
    assert_same(" ".join(words), scheme)


@given(st.lists(st.lists(st.booleans(), min_size=7, max_size=7), min_size=1, max_size=3))
def test_empty_buckets_take_the_next_value(texts: list[list[bool]]) -> None:
    """
    An empty bucket takes the value of the next filled one, cyclically; without any filled bucket nothing changes.
    """
    from whorl.fingerprint.compiled.shingle_hash_loops import rotate

    filled = np.array(texts)
    numbers = np.arange(filled.size * 2, dtype=np.uint64).reshape(*filled.shape, 2)
    minima = numbers.copy()
    rotate(minima, filled)
    for row, own, before in zip(minima, filled, numbers, strict=True):
        for bucket in range(7):
            source = next((at % 7 for at in range(bucket, bucket + 7) if own[at % 7]), bucket)
            assert row[bucket].tolist() == before[source].tolist()


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
    from whorl.fingerprint.compiled.shingle_hash_loops import put_in_order

    aside = np.concatenate([numbers[:0], np.zeros(2, np.uint64), numbers])
    out = np.zeros(numbers.size + 5, np.uint64)
    put_in_order(aside, 2, numbers.size, lead, out, 3, np.empty(numbers.size + 1, np.int64))
    assert np.array_equal(out[3 : 3 + numbers.size], np.sort(numbers))
    assert not out[:3].any()
    assert not out[3 + numbers.size :].any()
