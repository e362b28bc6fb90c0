"""Sketches against plain sets, and their tokens."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plain import sketch_of
from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, compare, lookup_numbers, lookup_tokens

SCHEME = SketchScheme()
#: Small enough for every level to be met with few hashes.
SMALL = SketchScheme(k=4, floor_level=2, cap=6, sketch_bits=32, token_bits=32)

schemes = st.builds(
    lambda k, floor, more, bits: SketchScheme(k, floor, k + more, bits, 32),
    st.integers(1, 50),
    st.integers(0, 5),
    st.integers(0, 200),
    st.sampled_from([32, 40, 48, 63, 64]),
)
sizes = st.integers(0, 1 << 20)


def random_hashes(count: int, seed: int = 1) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def plain_level(size: int, scheme: SketchScheme) -> int:
    needed = next(level for level in range(99) if size <= scheme.k * 2**level)
    if needed <= scheme.floor_level:
        return needed
    return max(scheme.floor_level, next(level for level in range(99) if size <= scheme.cap * 2**level))


@given(schemes, sizes)
def test_levels(scheme: SketchScheme, size: int) -> None:
    """
    A level is the least at which about k, or beyond the floor about `cap`, hashes are left.
    """
    level = scheme.level(size)
    assert level == plain_level(size, scheme)
    assert size in scheme.sizes_of_level(level)


@given(schemes)
def test_sizes_of_levels_have_no_gaps(scheme: SketchScheme) -> None:
    """
    The sizes of the levels follow each other, and all of them stand at their level.
    """
    ranges = [scheme.sizes_of_level(level) for level in range(12)]
    assert ranges[0].start == 0
    for level, (own, following) in enumerate(pairwise(ranges)):
        assert own.stop == following.start
        assert {scheme.level(own[0]), scheme.level(own[-1])} == {level}


def test_default_levels() -> None:
    """
    Every hash up to 1,024 shingles, an eighth from 4,097 on, at most about 16,384.
    """
    expected = {0: 0, 1024: 0, 1025: 1, 2048: 1, 2049: 2, 4096: 2, 4097: 3, 131_072: 3, 131_073: 4, 262_145: 5}
    assert {size: SCHEME.level(size) for size in expected} == expected
    assert SCHEME.sizes_of_level(3) == range(4097, 131_073)


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=80), schemes)
def test_a_sketch_is_what_lies_below_the_bound(numbers: list[int], scheme: SketchScheme) -> None:
    """
    Shingles are known by the top bits, counted once, and kept below the bound of the level.
    """
    sketch = sketch_of(np.array(numbers + numbers[:3], dtype=np.uint64), scheme)
    distinct = {number >> (64 - scheme.sketch_bits) for number in numbers}
    assert sketch.size == len(distinct)
    bound = 2 ** (scheme.sketch_bits - sketch.level)
    assert sketch.hashes.tolist() == sorted(number for number in distinct if number < bound)
    assert sketch.is_complete == (len(distinct) <= (scheme.k if scheme.floor_level else scheme.cap))


@given(st.lists(st.integers(0, 400), max_size=200), st.lists(st.lists(st.integers(0, 400), max_size=200), max_size=5))
def test_comparison_equals_that_of_sets(own: list[int], others: list[list[int]]) -> None:
    """
    At the larger level, whichever side has it.
    """
    pool = random_hashes(401)
    source, *hits = (sketch_of(pool[np.array(part, dtype=np.intp)], SMALL) for part in (own, *others))
    overlaps = compare(source, hits)
    for at, hit in enumerate(hits):
        level = max(source.level, hit.level)
        bound = 2 ** (32 - level)
        ours, theirs = ({number for number in part.hashes.tolist() if number < bound} for part in (source, hit))
        found = (part[at] for part in (overlaps.levels, overlaps.source_counts, overlaps.counts, overlaps.shared))
        assert tuple(found) == (level, len(ours), len(theirs), len(ours & theirs))
    assert overlaps.sizes.tolist() == [hit.size for hit in hits]


@pytest.mark.slow
def test_comparison_of_many() -> None:
    """
    Hits in many portions, of all levels, beside a source of a high one.
    """
    pool = random_hashes(40_000)
    source = sketch_of(pool, SCHEME)
    hits = [sketch_of(pool[: 50 + 250 * at], SCHEME) for at in range(150)]
    shared = compare(source, hits).shared.tolist()
    kept = set(source.hashes.tolist())
    assert shared == [len(kept & {n for n in hit.hashes.tolist() if n < SCHEME.bound(3)}) for hit in hits]


def test_other_schemes_are_refused() -> None:
    """
    Sketches of different schemes are not compared as if they were alike.
    """
    sketch = sketch_of(random_hashes(3000), SCHEME)
    for other in (replace(SCHEME, sketch_bits=48), replace(SCHEME, k=512)):
        with pytest.raises(SchemeMismatchError, match="index both under one scheme"):
            compare(sketch, [sketch_of(random_hashes(3000), other)])


@given(st.sampled_from([32, 36, 40, 48, 60, 64]), st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=30))
def test_tokens_are_the_bits_in_letters(bits: int, numbers: list[int]) -> None:
    """
    Six bits a letter from the top, in an order that is that of the numbers; distinct as the numbers are.
    """
    scheme = SketchScheme(sketch_bits=64, token_bits=bits)
    sketch = sketch_of(np.array(numbers, dtype=np.uint64), scheme)
    letters = ".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
    assert "".join(sorted(letters)) == letters
    length = math.ceil(bits / 6)
    tops = [number >> (64 - bits) for number in sorted(set(numbers))]
    filled = [top << (6 * length - bits) for top in tops]
    expected = tuple("".join(letters[number >> (6 * at) & 63] for at in reversed(range(length))) for number in filled)
    assert lookup_tokens(sketch) == expected
    assert list(expected) == sorted(expected)
    assert lookup_numbers(sketch).tolist() == tops


def test_tokens_by_hand() -> None:
    """
    40 bits are 7 letters; the lowest hash is all dots.
    """
    sketch = Sketch(SCHEME, 3, np.array([0, 1, (1 << 40) - 1], dtype=np.uint64))
    assert lookup_tokens(sketch) == (".......", "......3", "zzzzzzw")
    assert lookup_tokens(sketch_of(random_hashes(0), SCHEME)) == ()


def test_names_of_schemes() -> None:
    """
    A name gives its scheme back; others say what a name looks like.
    """
    assert SCHEME.name == "sketch1-k1024-f3-c16384-s40-t40"
    assert SketchScheme.named("sketch1-k512-f4-c4096-s64-t48") == SketchScheme(512, 4, 4096, 64, 48)
    with pytest.raises(ParameterError, match="name one as sketch1-k1024-f3-c16384-s40-t40"):
        SketchScheme.named("sketch2-k1024-f3-c16384-s40-t40")


@pytest.mark.parametrize(
    "parts", [{"k": 0}, {"cap": 1000}, {"floor_level": -1}, {"sketch_bits": 65}, {"token_bits": 41}]
)
def test_parameters_of_schemes(parts: dict[str, int]) -> None:
    """
    Parameters are held to their ranges, and the error names the one.
    """
    with pytest.raises(ParameterError, match=next(iter(parts))):
        SketchScheme(**parts)


def test_sketches_are_values() -> None:
    """
    Equal where all parts are, and not changed by accident.
    """
    one, other = sketch_of(random_hashes(50), SCHEME), sketch_of(random_hashes(50), SCHEME)
    assert one == other
    assert hash(one) == hash(other)
    assert one != sketch_of(random_hashes(51), SCHEME)
    with pytest.raises(ValueError, match="read-only"):
        one.hashes[0] = 1
