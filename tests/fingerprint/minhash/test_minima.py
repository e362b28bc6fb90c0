"""MinHash against a plain restatement of Lucene's filter and against tokens that Lucene made."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import plain_filter, plain_minima, plain_token
from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.minhash.minima import (
    Signature,
    Spelling,
    full_minima,
    minima,
    minima_of,
    sign,
    spell,
    token_number,
)
from whorl.fingerprint.minhash.similarity import shared_tokens
from whorl.fingerprint.scheme import Scheme

words = st.lists(st.text(st.characters(exclude_categories=()), min_size=1, max_size=6), max_size=40)


@given(words, st.sampled_from([1, 7, 64, 512]))
def test_minima_equal_the_plain_filter(tokens: list[str], bucket_count: int) -> None:
    """
    The arrays hold what Lucene's loop computes, rotation included.
    """
    found = full_minima(tokens, Scheme(bucket_count=bucket_count))
    assert [tuple(row) for row in found.tolist()] == plain_minima(tokens, bucket_count)
    assert minima(tokens, Scheme(bucket_count=bucket_count)).tolist() == found[:, 0].tolist()


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


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=20))
def test_spelling_equals_the_plain_one(numbers: list[int]) -> None:
    """
    Arrays are spelled as one number at a time is.
    """
    assert spell(np.array(numbers, dtype=np.uint64)) == tuple(map(plain_token, numbers))


def test_four_words_have_no_signature() -> None:
    """
    Below one shingle there is nothing to hash; five words are one token, repeated in every bucket.
    """
    assert sign("one two three four", Scheme()).tokens == ()
    five = sign("one two three four five", Scheme())
    assert len(five.tokens) == 512
    assert len(set(five.tokens)) == 1


@pytest.mark.parametrize(
    ("number", "token"),
    [
        (0x0061_0062_0063_0064, "abcd"),
        (0xD800_0062_DFFF_0064, "\ufffdb\ufffdd"),  # halves of surrogate pairs, each alone
        (0x0061_D83D_DE00_0064, "a😀d"),  # a pair stays a character
        (0x0061_0062_0063_D83D, "abc\ufffd"),  # a pair that the cut to four units parted
        (0, "\0\0\0\0"),
    ],
)
def test_spelling_of_64_bits(number: int, token: str) -> None:
    """
    A token is four UTF-16 units as Lucene's UTF-8 writer keeps them.
    """
    assert spell(np.array([number, number], dtype=np.uint64)) == (token, token)


def test_number_of_a_token() -> None:
    """
    The number is that of the units in the index, U+FFFD where one was lost.
    """
    assert token_number("a😀d") == 0x0061_D83D_DE00_0064
    assert token_number("\ufffdb\ufffdd") == 0xFFFD_0062_FFFD_0064


def test_alfresco_spelling_drops_leading_zeros() -> None:
    """
    Each unit is written without leading zeros, the sixteen bytes' low half after the high one.
    """
    halves = np.array([[0x0001_0023_0456_789A, 0xBCDE_F000_0000_0F0F]], dtype=np.uint64)
    assert spell(halves, Spelling.HEX) == ("".join(["1", "23", "456", "789a", "bcde", "f000", "0", "f0f"]),)


def test_schemes_that_differ_do_not_meet() -> None:
    """
    The error names what differs, with both values.
    """
    mine, theirs = Signature(Scheme("icu74"), ("a",)), Signature(Scheme("icu77"), ("a",))
    with pytest.raises(SchemeMismatchError, match=r"profile \(icu74 and icu77\)"):
        shared_tokens(mine, theirs)
    assert shared_tokens(mine, mine) == 1


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
