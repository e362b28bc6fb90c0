"""Encoding of tokens in an index, compared with a reference implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import plain_token
from whorl.fingerprint.minhash.signature_and_tokens import (
    TokenEncoding,
    as_indexed,
    integers,
    read_tokens,
    write_integer_tokens,
    write_tokens,
)


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=20))
def test_encoding_equals_the_reference(numbers: list[int]) -> None:
    """
    Arrays have the same encoding as single numbers.
    """
    assert write_tokens(np.array(numbers, dtype=np.uint64)) == tuple(map(plain_token, numbers))


@pytest.mark.parametrize(
    ("number", "token"),
    [
        (0x0061_0062_0063_0064, "abcd"),
        (0xD800_0062_DFFF_0064, "\ufffdb\ufffdd"),  # halves of surrogate pairs, each alone
        (0x0061_D83D_DE00_0064, "a😀d"),  # a pair stays a character
        (0x0061_0062_0063_D83D, "abc\ufffd"),  # a pair split by the cut to four units
        (0, "\0\0\0\0"),
    ],
)
def test_encoding_of_64_bits(number: int, token: str) -> None:
    """
    A token consists of four UTF-16 units, as Lucene's UTF-8 writer stores them.
    """
    assert write_tokens(np.array([number, number], dtype=np.uint64)) == (token, token)


def test_number_of_a_token() -> None:
    """
    A token is read as its units in the index, with U+FFFD for lost ones.
    """
    assert read_tokens(["a😀d", "\ufffdb\ufffdd"]).tolist() == [0x0061_D83D_DE00_0064, 0xFFFD_0062_FFFD_0064]


pairs = st.lists(st.tuples(*[st.integers(0, (1 << 64) - 1)] * 2), max_size=20)


@given(pairs, st.sampled_from(TokenEncoding))
def test_decoded_tokens_are_encoded_again(halves: list[tuple[int, int]], encoding: TokenEncoding) -> None:
    """
    Tokens of an index are written back unchanged from arrays and from integers, even if units were lost.
    """
    tokens = write_tokens(np.array(halves, np.uint64).reshape(-1, 2), encoding)
    numbers = read_tokens(tokens, encoding)
    assert write_tokens(numbers, encoding) == tokens
    assert write_integer_tokens(integers(numbers), encoding) == tokens
    assert len(set(integers(numbers))) == len(set(tokens))


@given(pairs, st.sampled_from(TokenEncoding))
def test_as_indexed_equals_encoding_and_decoding(halves: list[tuple[int, int]], encoding: TokenEncoding) -> None:
    """
    as_indexed gives the numbers of the encoded tokens. Lone surrogates are lost, even if two of them become neighbours
    across tokens.
    """
    hashes = np.array(halves, np.uint64).reshape(-1, 2)
    assert np.array_equal(as_indexed(hashes, encoding), read_tokens(write_tokens(hashes, encoding), encoding))


@given(st.lists(st.text(st.characters(exclude_categories=()))), st.sampled_from(TokenEncoding))
def test_foreign_tokens_are_no_error(tokens: list[str], encoding: TokenEncoding) -> None:
    """
    Any strings in a collection are read without an error, as the same number of tokens.
    """
    assert len(write_tokens(read_tokens(tokens, encoding), encoding)) == len(tokens)


def test_alfresco_encoding_drops_leading_zeros() -> None:
    """
    Each unit is written without leading zeros, the high half of the sixteen bytes before the low one.
    """
    halves = np.array([[0x0001_0023_0456_789A, 0xBCDE_F000_0000_0F0F]], dtype=np.uint64)
    assert write_tokens(halves, TokenEncoding.HEX) == ("".join(["1", "23", "456", "789a", "bcde", "f000", "0", "f0f"]),)
