"""MinHash against a plain restatement of Lucene's filter and against tokens that Lucene made."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import full_minima, plain_filter, plain_minima
from whorl.errors import ParameterError
from whorl.fingerprint.minhash.minima import minima_of
from whorl.fingerprint.scheme import Scheme

words = st.lists(st.text(st.characters(exclude_categories=()), min_size=1, max_size=6), max_size=40)


@given(words, st.sampled_from([1, 7, 64, 512]))
def test_minima_equal_the_plain_filter(tokens: list[str], bucket_count: int) -> None:
    """
    The arrays hold what Lucene's loop computes, rotation included.
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
    Several hash functions, several hashes in a bucket (which repeated shingles shrink), buckets left empty.
    """
    found = full_minima(tokens, scheme)
    assert [high << 64 | low for high, low in found.tolist()] == plain_filter(tokens, scheme)
    assert Scheme.named(scheme.name) == scheme


def test_names_of_schemes() -> None:
    """
    A name says what differs from Lucene's defaults; where rotation changes nothing there is one scheme, not two.
    """
    assert Scheme().name == "minhash1-icu74-w5-b512"
    assert Scheme("icu77", 5, 1, 2, 512, rotation=False).name == "minhash1-icu77-w5-b1-h2-s512"
    assert Scheme(rotation=False).name == "minhash1-icu74-w5-b512-unrotated"
    assert Scheme(bucket_count=1, rotation=False) == Scheme(bucket_count=1)


@pytest.mark.parametrize("name", ["icu99", "minhash2-icu74-w5-b512", "minhash1-icu74-w5", "minhash1-icu74-w5-b99999",
                                  "minhash1-icu74-w0-b512", "minhash1-icu74-w5-b512-h0", "minhash1-icu74-w٥-b512",
                                  ""])  # fmt: skip
def test_names_that_name_no_scheme(name: str) -> None:
    """
    The error says what could have been meant.
    """
    with pytest.raises(ParameterError, match=r"no scheme|is 1 to"):
        Scheme.named(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [Scheme(), Scheme(hash_count=4), Scheme(hash_set_size=2)], ids=lambda each: each.name
)
def test_the_hashes_of_a_long_text_are_never_there_at_once(scheme: Scheme) -> None:
    """
    A million shingles, given piece by piece: what is held does not grow with them, and pieces change nothing.
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
