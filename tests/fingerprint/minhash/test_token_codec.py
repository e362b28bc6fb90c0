"""Spelling of tokens in an index, compared with a reference implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import plain_token
from whorl.fingerprint.minhash.signature_and_tokens import (
    Spelling,
    as_indexed,
    integers,
    read_tokens,
    spell,
    spell_integers,
)


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=20))
def test_spelling_equals_the_plain_one(numbers: list[int]) -> None:
    """
    Arrays have the same spelling as single numbers.
    """
    assert spell(np.array(numbers, dtype=np.uint64)) == tuple(map(plain_token, numbers))


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
def test_spelling_of_64_bits(number: int, token: str) -> None:
    """
    A token consists of four UTF-16 units, as Lucene's UTF-8 writer stores them.
    """
    assert spell(np.array([number, number], dtype=np.uint64)) == (token, token)


def test_number_of_a_token() -> None:
    """
    A token is read as its units in the index, with U+FFFD for lost ones.
    """
    assert read_tokens(["a😀d", "\ufffdb\ufffdd"]).tolist() == [0x0061_D83D_DE00_0064, 0xFFFD_0062_FFFD_0064]


pairs = st.lists(st.tuples(*[st.integers(0, (1 << 64) - 1)] * 2), max_size=20)


@given(pairs, st.sampled_from(Spelling))
def test_decoded_tokens_are_encoded_again(halves: list[tuple[int, int]], spelling: Spelling) -> None:
    """
    Tokens of an index are written back unchanged from arrays and from integers, even if units were lost.
    """
    tokens = spell(np.array(halves, np.uint64).reshape(-1, 2), spelling)
    numbers = read_tokens(tokens, spelling)
    assert spell(numbers, spelling) == tokens
    assert spell_integers(integers(numbers), spelling) == tokens
    assert len(set(integers(numbers))) == len(set(tokens))


@given(pairs, st.sampled_from(Spelling))
def test_as_indexed_equals_encoding_and_decoding(halves: list[tuple[int, int]], spelling: Spelling) -> None:
    """
    as_indexed gives the numbers of the spelled tokens. Lone surrogates are lost, even if two of them become neighbours
    across tokens.
    """
    hashes = np.array(halves, np.uint64).reshape(-1, 2)
    assert np.array_equal(as_indexed(hashes, spelling), read_tokens(spell(hashes, spelling), spelling))


@given(st.lists(st.text(st.characters(exclude_categories=()))), st.sampled_from(Spelling))
def test_foreign_tokens_are_no_error(tokens: list[str], spelling: Spelling) -> None:
    """
    Any strings in a collection are read without an error, as the same number of tokens.
    """
    assert len(spell(read_tokens(tokens, spelling), spelling)) == len(tokens)


def test_alfresco_spelling_drops_leading_zeros() -> None:
    """
    Each unit is written without leading zeros, the high half of the sixteen bytes before the low one.
    """
    halves = np.array([[0x0001_0023_0456_789A, 0xBCDE_F000_0000_0F0F]], dtype=np.uint64)
    assert spell(halves, Spelling.HEX) == ("".join(["1", "23", "456", "789a", "bcde", "f000", "0", "f0f"]),)
