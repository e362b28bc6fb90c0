"""The API of simhash-py 0.4: results and exceptions."""

from __future__ import annotations

import inspect
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl import simhash_compat as simhash
from whorl.errors import ParameterError

codes = st.integers(0, 2**64 - 1)
#: Codes with some pairs within a few bits, which random codes never have.
near = st.lists(st.one_of(st.integers(0, 63), codes), max_size=12)


def test_names_and_signatures() -> None:
    """
    Parameters have the names and positions of simhash-py.
    """
    taken = {name: list(inspect.signature(getattr(simhash, name)).parameters) for name in simhash.__all__[1:]}
    assert taken["find_all"] == ["hashes", "number_of_blocks", "different_bits"]
    assert taken["shingle"] == ["tokens", "window"]
    assert taken["compute"] == ["hashes"]
    assert len(taken["num_differing_bits"]) == 2


@given(near, st.integers(1, 5))
def test_find_all(hashes: list[int], bits: int) -> None:
    """
    find_all returns each pair of different near codes once, as a comparison of all pairs does.
    """
    expected = {(a, b) for a, b in combinations(sorted(set(hashes)), 2) if (a ^ b).bit_count() <= bits}
    pairs = simhash.find_all(hashes, number_of_blocks=bits + 2, different_bits=bits)
    assert pairs == sorted(expected)
    assert all(type(code) is int for pair in pairs for code in pair)


@given(st.lists(codes, max_size=9))
def test_compute(hashes: list[int]) -> None:
    """
    A bit is set if more hashes have it than lack it.
    """
    expected = sum(1 << bit for bit in range(64) if 2 * sum(one_hash >> bit & 1 for one_hash in hashes) > len(hashes))
    assert simhash.compute(hashes) == expected


def test_a_text() -> None:
    """
    Words become codes as in simhash-py's documentation, hashed by MD5.
    """
    assert simhash.unsigned_hash(b"a") == 0x0CC175B9C0F1B6A8
    assert list(simhash.shingle(["a", "b", "c"], 2)) == [["a", "b"], ["b", "c"]]
    one = simhash.compute(map(simhash.unsigned_hash, (b"a", b"b", b"c")))
    assert simhash.num_differing_bits(one, one ^ 0b101) == 2
    assert simhash.find_all([one, one ^ 0b101], 4, 3) == [tuple(sorted((one, one ^ 0b101)))]


@pytest.mark.parametrize("wrong", [[-1], [2**64], np.array([-1])])
def test_numbers_out_of_range(wrong: Any) -> None:
    """
    The error is an OverflowError, as in simhash-py, and a ParameterError.
    """
    for ask in (simhash.compute, lambda hashes: simhash.find_all(hashes, 5, 3), simhash.Corpus(5, 3).insert_bulk):
        with pytest.raises(OverflowError, match="0 to 2\\*\\*64 - 1") as raised:
            ask(wrong)
        assert isinstance(raised.value, ParameterError)
    with pytest.raises(OverflowError):
        simhash.num_differing_bits(0, int(wrong[0]))


@pytest.mark.parametrize("wrong", [["1"], [1.5], [None], b"12345678", np.array([1.5])])
def test_invalid_codes(wrong: Any) -> None:
    """
    The error is a TypeError, as in simhash-py; for bytes it says how to convert them to codes.
    """
    with pytest.raises(TypeError, match="frombuffer" if isinstance(wrong, bytes) else "codes are") as raised:
        simhash.find_all(wrong, 5, 3)
    assert isinstance(raised.value, ParameterError)


def test_text_is_not_bytes() -> None:
    """
    The error says how to encode the text.
    """
    with pytest.raises(TypeError, match=r"takes bytes, got 'a'; a text's are text.encode\(\)"):
        simhash.unsigned_hash("a")  # type: ignore[arg-type]


@pytest.mark.parametrize(("blocks", "bits"), [(3, 3), (65, 3), (5, -1), (70, 65)])
def test_bad_blocks_are_refused(blocks: int, bits: int) -> None:
    """
    Invalid numbers of blocks raise an error; simhash-py ends the process.
    """
    with pytest.raises(ParameterError):
        simhash.find_all([1], blocks, bits)
