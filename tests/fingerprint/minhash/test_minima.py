"""MinHash minima, compared with a reference implementation of Lucene's filter."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import full_minima, plain_filter, plain_minima
from whorl.fingerprint.minhash.minima import minima_of
from whorl.fingerprint.scheme import Scheme

words = st.lists(st.text(st.characters(exclude_categories=()), min_size=1, max_size=6), max_size=40)


@given(words, st.sampled_from([1, 7, 64, 512]))
def test_minima_equal_the_plain_filter(tokens: list[str], bucket_count: int) -> None:
    """
    The arrays have the minima of Lucene's loop, with rotation.
    """
    found = full_minima(tokens, Scheme(bucket_count=bucket_count))
    assert [tuple(row) for row in found.tolist()] == plain_minima(tokens, bucket_count)


schemes = st.builds(
    Scheme,
    shingle_size=st.integers(1, 6),
    bucket_count=st.sampled_from([1, 2, 3, 100, 512]),
    hash_count=st.integers(1, 3),
    hash_set_size=st.integers(1, 4),
    rotation=st.booleans(),
)


@given(st.lists(st.sampled_from("abcdef"), max_size=60), schemes)
def test_every_scheme_equals_the_plain_filter(tokens: list[str], scheme: Scheme) -> None:
    """
    Schemes with several hash functions, several hashes per bucket (fewer after repeated shingles) and empty buckets
    equal the reference implementation.
    """
    found = full_minima(tokens, scheme)
    assert [high << 64 | low for high, low in found.tolist()] == plain_filter(tokens, scheme)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [Scheme(), Scheme(hash_count=4), Scheme(hash_set_size=2)], ids=lambda each: each.name
)
def test_the_hashes_of_a_long_text_are_never_there_at_once(scheme: Scheme) -> None:
    """
    A million shingles in pieces take bounded memory and give the minima of the whole.
    """
    maker = np.random.default_rng(1)
    sizes = [0, 1, 99_999, *(100_000 for _ in range(9))]
    tracemalloc.start()
    try:
        found = minima_of((maker.integers(0, 1 << 64, (size, 2), np.uint64) for size in sizes), scheme)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 25_000_000
    maker = np.random.default_rng(1)
    at_once = np.concatenate([maker.integers(0, 1 << 64, (size, 2), np.uint64) for size in sizes])
    assert np.array_equal(minima_of([at_once], scheme), found)
