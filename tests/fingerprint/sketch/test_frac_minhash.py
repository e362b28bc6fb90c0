"""Sketches and their tokens, compared with plain sets."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks import Checks
from tests.plain import sketch_of
from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.sketch.frac_minhash import (
    SketchScheme,
    _count_shared,
    compare,
    encode_tokens,
    lookup_numbers,
    lookup_numbers_of_batch,
    lookup_tokens,
    lookup_tokens_of_batch,
)
from whorl.request_context import new_request

pytestmark = pytest.mark.usefixtures("each_route")

SCHEME = SketchScheme()
#: Small enough to reach every level with few hashes.
SMALL = SketchScheme(k=4, floor_level=2, cap=6, lookup_k=2, bits=32)

schemes = st.builds(
    lambda k, floor, more, part, bits: SketchScheme(k, floor, k + more, -(-k // part), bits),
    st.integers(1, 50),
    st.integers(0, 5),
    st.integers(0, 200),
    st.integers(1, 50),
    st.sampled_from([24, 27, 32, 40, 63, 64]),
)
sizes = st.integers(0, 1 << 20)


def random_hashes(count: int, seed: int = 1) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def plain_level(size: int, scheme: SketchScheme, k: int) -> int:
    needed = next(level for level in range(99) if size <= k * 2**level)
    if needed <= scheme.floor_level:
        return needed
    return max(scheme.floor_level, next(level for level in range(99) if size <= scheme.cap * 2**level))


@given(schemes, sizes)
def test_levels(scheme: SketchScheme, size: int) -> None:
    """
    A level is the smallest at which about k hashes are left; beyond the floor, the smallest with about `cap`.
    """
    assert scheme.level(size) == plain_level(size, scheme, scheme.k)
    assert scheme.lookup_level(size) == plain_level(size, scheme, scheme.lookup_k)
    assert scheme.level(size) <= scheme.lookup_level(size)
    assert scheme.levels(np.array([size, size])).tolist() == [scheme.level(size)] * 2


@pytest.mark.slow
@given(schemes)
def test_look_up_levels_have_no_gaps(scheme: SketchScheme) -> None:
    """
    Each level ends with its largest document, and the next larger size belongs to the next level.
    """
    assert scheme.lookup_level(0) == 0
    for level in range(12):
        largest = scheme.largest_at(level)
        assert (scheme.lookup_level(largest), scheme.lookup_level(largest + 1)) == (level, level + 1)


def test_default_levels() -> None:
    """
    By default a sketch has every hash up to 1,024 shingles, an eighth from 4,097 on, at most about 16,384; the index
    has every one up to 128.
    """
    expected = {0: 0, 1024: 0, 1025: 1, 2048: 1, 2049: 2, 4096: 2, 4097: 3, 131_072: 3, 131_073: 4, 262_145: 5}
    assert {size: SCHEME.level(size) for size in expected} == expected
    expected = {0: 0, 128: 0, 129: 1, 256: 1, 257: 2, 512: 2, 513: 3, 131_072: 3, 131_073: 4, 262_145: 5}
    assert {size: SCHEME.lookup_level(size) for size in expected} == expected
    assert [SCHEME.largest_at(level) for level in range(5)] == [128, 256, 512, 131_072, 262_144]


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=80), schemes)
def test_a_sketch_has_the_hashes_below_the_bound(numbers: list[int], scheme: SketchScheme) -> None:
    """
    Shingles are counted by all bits of their hashes; a sketch has the top bits of each hash below the bound, with
    repeats.
    """
    sketch = sketch_of(np.array(numbers + numbers[:3], dtype=np.uint64), scheme)
    distinct = set(numbers)
    assert sketch.size == len(distinct)
    expected_hashes = sorted(number >> (64 - scheme.bits) for number in distinct if number < 2 ** (64 - sketch.level))
    assert sketch.hashes.tolist() == expected_hashes
    assert sketch.is_complete == (len(distinct) <= (scheme.k if scheme.floor_level else scheme.cap))
    bound = 2 ** (64 - scheme.lookup_level(len(distinct)))
    indexed = sorted({number >> (64 - scheme.bits) for number in distinct if number < bound})
    assert lookup_numbers(sketch).tolist() == indexed
    assert lookup_tokens(sketch) == encode_tokens(np.array(indexed, dtype=np.uint64), scheme.bits)


@given(st.lists(st.sets(st.integers(0, (1 << 64) - 1) | st.integers(0, 1 << 42), max_size=30), max_size=5), schemes)
def test_look_up_numbers_of_several_documents(documents: list[set[int]], scheme: SketchScheme) -> None:
    """
    Documents of a batch have the numbers that they have alone, also without hashes, or if hashes differ in the last
    bits only.
    """
    hashes = [np.array(sorted(own), np.uint64) for own in documents]
    sizes = np.array([own.size for own in hashes], np.int64)
    together = np.concatenate([np.empty(0, np.uint64), *hashes])
    numbers, counts = lookup_numbers_of_batch(together, sizes, scheme)
    expected = [lookup_numbers(sketch_of(own, scheme)).tolist() for own in hashes]
    assert counts.tolist() == list(map(len, expected))
    assert numbers.tolist() == [number for own in expected for number in own]


@given(st.lists(st.integers(0, 400), max_size=200), st.lists(st.lists(st.integers(0, 400), max_size=200), max_size=5))
def test_comparison_equals_plain_sets(own: list[int], others: list[list[int]]) -> None:
    """
    The comparison takes the larger level of both sketches.
    """
    pool = random_hashes(401)
    source, *hits = (sketch_of(pool[np.array(part, dtype=np.intp)], SMALL) for part in (own, *others))
    overlaps = compare(source, hits)
    for at, hit in enumerate(hits):
        level = max(source.level, hit.level)
        bound = 2 ** (32 - level)
        ours, theirs = ({number for number in part.hashes.tolist() if number < bound} for part in (source, hit))
        actual = (part[at] for part in (overlaps.levels, overlaps.source_counts, overlaps.counts, overlaps.shared))
        assert tuple(actual) == (level, len(ours), len(theirs), len(ours & theirs))
    assert overlaps.sizes.tolist() == [hit.size for hit in hits]


@given(st.lists(st.integers(0, 40), max_size=60), st.lists(st.lists(st.integers(0, 40), max_size=60), max_size=5))
def test_equal_prefixes_are_counted_with_repeats(own: list[int], others: list[list[int]]) -> None:
    """
    Each group of four hashes begins with the same 27 bits. The shared number is at least that of the shared shingles,
    and equals the multiset intersection of the prefixes.
    """
    pool = np.array([(number // 4 << 40) + number % 4 for number in range(41)], dtype=np.uint64)
    source, *hits = (sketch_of(pool[np.array(part, dtype=np.intp)], SCHEME) for part in (own, *others))
    assert source.hashes.size == source.size == len(set(own))
    comparison = compare(source, hits).shared.tolist()
    for shared, other in zip(comparison, others, strict=True):
        begun = [Counter(number // 4 for number in set(hashes)) for hashes in (own, other)]
        assert shared == (begun[0] & begun[1]).total() >= len(set(own) & set(other))


@pytest.mark.slow
def test_accidental_matches_have_the_documented_rate() -> None:
    """
    Two disjoint sets of 200,000 hashes have the expected number of accidental matches: n / 2**bits of the hashes below
    the bound, 37 of 25,000.
    """
    hashes = np.unique(random_hashes(400_000, seed=3))
    parts = np.split(np.random.default_rng(1).permutation(hashes), [200_000])
    one, other = (sketch_of(part, replace(SCHEME, cap=1 << 18)) for part in parts)
    expected = one.hashes.size * other.hashes.size / 2 ** (27 - 3)
    assert abs(compare(one, [other]).shared[0] - expected) < 5 * math.sqrt(expected)


@pytest.mark.slow
def test_comparison_of_many() -> None:
    """
    Hits of all levels are compared with a high-level source in several portions.
    """
    pool = random_hashes(40_000)
    source = sketch_of(pool, SCHEME)
    hits = [sketch_of(pool[: 50 + 250 * at], SCHEME) for at in range(150)]
    shared = compare(source, hits).shared.tolist()
    multiplicities = Counter(source.hashes.tolist())
    assert shared == [
        (multiplicities & Counter(n for n in hit.hashes.tolist() if n < SCHEME.bound(3))).total() for hit in hits
    ]


def test_a_sketch_of_several_hits_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Hits that share a sketch object are compared once, and have the same numbers as hits with equal sketches.
    """
    source, *hits = (sketch_of(random_hashes(3_000)[at:], SCHEME) for at in (0, 500, 2_900))
    shared = [hits[at] for at in (1, 0, 0, 1, 0)]
    counted = list[int]()

    def counting(a: npt.NDArray[np.uint64], b: npt.NDArray[np.uint64]) -> int:
        counted.append(len(b))
        return _count_shared(a, b)

    monkeypatch.setattr("whorl.fingerprint.sketch.frac_minhash.loops_if_loaded", lambda: None)
    monkeypatch.setattr("whorl.fingerprint.sketch.frac_minhash._count_shared", counting)
    monkeypatch.setattr("whorl.fingerprint.sketch.frac_minhash._SMALL", 0)
    overlaps = compare(source, shared)
    assert len(counted) == 2
    apart = compare(source, [replace(hit) for hit in shared])
    for field in ("sizes", "levels", "source_counts", "counts", "shared"):
        assert getattr(overlaps, field).tolist() == getattr(apart, field).tolist()


def test_comparison_of_many_checks_for_each_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A comparison with 1,000 sketches checks for cancellation at least once for each 100.
    """
    monkeypatch.setattr("whorl.fingerprint.sketch.frac_minhash._COMPARED_AT_ONCE", 100)
    source, checks = sketch_of(random_hashes(50), SCHEME), Checks()
    with new_request("", checks):
        compare(source, [replace(source) for _ in range(1_000)])
    assert checks.count >= 10


def test_a_printed_sketch_has_no_hashes() -> None:
    """
    Results of a search hold a sketch, and a notebook prints them.
    """
    assert repr(sketch_of(random_hashes(3000), SCHEME)) == f"Sketch(scheme={SCHEME!r}, size=3000)"


def test_other_schemes_are_refused() -> None:
    """
    Sketches of different schemes cannot be compared.
    """
    sketch = sketch_of(random_hashes(3000), SCHEME)
    for other in (replace(SCHEME, bits=48), replace(SCHEME, k=512)):
        with pytest.raises(SchemeMismatchError, match="index both under one scheme"):
            compare(sketch, [sketch_of(random_hashes(3000), other)])


@given(st.sampled_from([24, 27, 30, 40, 60, 64]), st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=30))
def test_tokens_are_the_bits_in_letters(bits: int, numbers: list[int]) -> None:
    """
    A token has six bits per letter from the top. Tokens sort like their numbers, and different numbers have different
    tokens.
    """
    scheme = SketchScheme(bits=bits)
    letters = ".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
    assert "".join(sorted(letters)) == letters
    length = math.ceil(bits / 6)
    tops = [number >> (64 - bits) for number in sorted(set(numbers))]
    filled = [top << (6 * length - bits) for top in tops]
    expected = tuple("".join(letters[number >> (6 * at) & 63] for at in reversed(range(length))) for number in filled)
    assert encode_tokens(np.array(tops, dtype=np.uint64), scheme.bits) == expected
    assert list(expected) == sorted(expected)


def test_tokens_by_hand() -> None:
    """
    27 bits are 5 letters; the lowest hash is all dots.
    """
    assert encode_tokens(np.array([0, 1, (1 << 27) - 1], dtype=np.uint64), SCHEME.bits) == (".....", "....7", "zzzzs")
    assert encode_tokens(np.array([], dtype=np.uint64), SCHEME.bits) == ()


def test_names_of_schemes() -> None:
    """
    A name identifies its scheme; the error for another name shows a valid one.
    """
    assert SCHEME.name == "sketch3-k1024-f3-c16384-l128-b27"
    assert SketchScheme.parse("sketch3-k512-f4-c4096-l512-b64") == SketchScheme(512, 4, 4096, 512, 64)
    with pytest.raises(ParameterError, match="name one as sketch3-k1024-f3-c16384-l128-b27"):
        SketchScheme.parse("sketch1-k1024-f3-c16384-s40-t40")


@pytest.mark.parametrize("parts", [{"k": 0}, {"cap": 1000}, {"floor_level": -1}, {"bits": 65}, {"lookup_k": 1025}])
def test_parameters_of_schemes(parts: dict[str, int]) -> None:
    """
    A parameter out of range is named in the error.
    """
    with pytest.raises(ParameterError, match=next(iter(parts))):
        SketchScheme(**parts)


def test_parameters_of_schemes_are_whole_numbers() -> None:
    """
    Parameters may be numpy's integers; fractions and texts are refused.
    """
    scheme = SketchScheme(k=np.int64(512), floor_level=np.uint8(2))  # type: ignore[arg-type]
    assert (scheme, type(scheme.k)) == (SketchScheme(k=512, floor_level=2), int)
    for value in (1024.0, "1024", None, True):
        with pytest.raises(ParameterError, match=rf"k of a sketch scheme must be a whole number, got {value!r}"):
            SketchScheme(k=value)  # type: ignore[arg-type]


def test_sketches_are_values() -> None:
    """
    Sketches are equal if all parts are, and their hashes are read-only.
    """
    one, other = sketch_of(random_hashes(50), SCHEME), sketch_of(random_hashes(50), SCHEME)
    assert one == other
    assert hash(one) == hash(other)
    assert one != sketch_of(random_hashes(51), SCHEME)
    with pytest.raises(ValueError, match="read-only"):
        one.hashes[0] = 1


@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=6))
def test_lookup_tokens_of_several_sketches(counts: list[int]) -> None:
    """
    Tokens that are encoded together are those of each sketch alone.
    """
    sketches = [sketch_of(random_hashes(count, seed), SCHEME) for seed, count in enumerate(counts)]
    assert list(lookup_tokens_of_batch(sketches)) == [lookup_tokens(sketch) for sketch in sketches]
