"""SimHash codes: those of published libraries bit for bit, whorl's own compared with plain Python, by every route."""

from __future__ import annotations

import hashlib
import json
import random
import re
import struct
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import isqrt
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sampling import thorough
from whorl.arrays_and_batches import chunks
from whorl.errors import ParameterError
from whorl.fingerprint import fingerprint_texts
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, PROFILES, tokens
from whorl.hamming import simhash as module
from whorl.hamming.other_simhash_libraries import lookup3
from whorl.hamming.simhash import SCHEMES, combine, distance, full_scheme_name, simhash, simhashes, simhashes_of

ROOT = Path(__file__).parents[2]
#: The file names the original programs and how they were run.
VECTORS = json.loads((ROOT / "tests" / "vectors" / "simhash.json").read_text(encoding="utf-8"))
ALL = (1 << 64) - 1

numbers = st.integers(0, ALL)
words = st.sampled_from(["one", "Two", "naïve", "Straße", "ﬁne", "слово", "日本語", "생존", "ไทย", "x_y", "😀"])
texts = st.one_of(
    st.lists(words, max_size=30).map(" ".join),
    st.text(st.characters(codec=None), max_size=40),
    st.text("ab \u0301.,\n", max_size=60),
)


# Codes of the original libraries


def test_compute_equals_the_original_libraries() -> None:
    """
    combine and distance equal the originals, for ties, no hashes, repeated hashes, and up to 300 of them.
    """
    for hashes, code in VECTORS["compute"]:
        assert combine(hashes) == code, hashes
        assert combine(np.array(hashes, np.uint64)) == code
    for a, b, expected in VECTORS["num_differing_bits"]:
        assert distance(a, b) == expected


# Codes of a reference implementation in plain Python


def plain_vote(votes: Iterable[tuple[int, int]]) -> int:
    """Return the code of pairs of a hash and its weight."""
    cast = list(votes)
    return sum(
        1 << bit for bit in range(64) if sum(weight if hash_ >> bit & 1 else -weight for hash_, weight in cast) > 0
    )


def plain_murmur(feature: str) -> int:
    return mmh3.hash64(feature.encode("utf-16-le"), 0, signed=False)[0]


def plain_words(text: str, profile: str) -> int:
    """Return the code of whorl's own scheme, feature by feature, with integers."""
    actual = [well_formed(word) for word in tokens(text, profile)]
    # 8 * n ** 0.75, rounded down; half of it, rounded to the nearest.
    weights = {word: (isqrt(isqrt(4096 * count**3)) + 1) // 2 for word, count in Counter(actual).items()}
    pairs = [(plain_murmur(" ".join(pair)), 4) for pair in pairwise(actual)]
    return plain_vote([*((plain_murmur(word), weight) for word, weight in weights.items()), *pairs])


def plain_lookup3(string: bytes) -> int:
    """Return Jenkins' hashlittle2 with seeds 0, three numbers at a time, as in lookup3.c."""

    def turned(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & 0xFFFFFFFF

    state = [(0xDEADBEEF + len(string)) & 0xFFFFFFFF] * 3
    for at in range(0, len(string), 12):
        block = struct.unpack("<3I", string[at : at + 12].ljust(12, b"\0"))
        state = [(one + other) & 0xFFFFFFFF for one, other in zip(state, block, strict=True)]
        if at + 12 < len(string):
            for to, by, bits in [(0, 2, 4), (1, 0, 6), (2, 1, 8), (0, 2, 16), (1, 0, 19), (2, 1, 4)]:
                state[to] = ((state[to] - state[by]) & 0xFFFFFFFF) ^ turned(state[by], bits)
                state[by] = (state[by] + state[3 - to - by]) & 0xFFFFFFFF
        else:
            for to, by, bits in [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)]:
                state[to] = ((state[to] ^ state[by]) - turned(state[by], bits)) & 0xFFFFFFFF
    return state[2] << 32 | state[1]


def plain_rolling(features: Iterable[bytes]) -> int:
    """Return the code of simhash-cpp 0.1's rolling hash: a ring of three hashes, with the oldest one removed."""

    def turned(value: int, bits: int) -> int:
        return (value << bits | value >> (64 - bits)) & ALL

    ring, current, rolled = [0, 0, 0], 0, []
    for place, feature in enumerate(features):
        hash_ = plain_lookup3(feature)
        current = turned(current, 1) ^ turned(ring[place % 3], 3) ^ hash_
        ring[place % 3] = hash_
        rolled.append(current)
    return int(f"{plain_vote((value, 1) for value in rolled):064b}"[::-1], 2)


def plain_md5(features: Iterable[str], part: slice) -> int:
    digests = (hashlib.md5(feature.encode()).digest() for feature in features)
    return plain_vote((int.from_bytes(digest[part], "big"), 1) for digest in digests)


def plain_code(text: str, scheme: str) -> int:
    """Return the code of a text, feature by feature."""
    if scheme in OWN:
        return plain_words(text, OWN[scheme])
    text = well_formed(text)
    parts = re.split(r"\W+", text)
    if scheme == "simhash-py-0.4":
        return plain_md5((" ".join(parts[at : at + 4]) for at in range(len(parts) - 3)), slice(0, 8))
    if scheme == "simhash-py-0.1":
        return plain_rolling(part.encode() for part in parts if part)
    if scheme == "simhash-cpp-0.1":
        return plain_rolling(part.encode() for part in re.findall("[A-Za-z]+", text))
    assert scheme == "simhash-1e0ng-2"
    content = "".join(re.findall(r"[\w\u4e00-\u9fcc]+", text.lower()))
    return plain_md5((content[at : at + 4] for at in range(max(len(content) - 3, 1))), slice(8, 16))


OWN = {f"simhash1-{profile}": profile for profile in PROFILES}


@given(texts, st.sampled_from(SCHEMES))
@example("one one one two two three", "simhash1-icu74")
@example("\ud800 lone \udc00 and \ud83d\ude00 joined", "simhash-py-0.1")
def test_codes_equal_plain_python(text: str, scheme: str) -> None:
    """
    Codes of any text equal those of the reference implementation, in every scheme.
    """
    assert simhash(text, scheme) == plain_code(text, scheme)


@given(st.lists(texts, max_size=8), st.sampled_from(SCHEMES))
def test_simhashes_equal_single_codes(several: list[str], scheme: str) -> None:
    """
    Texts processed together have their own codes: no word or pair extends from one text into the next.
    """
    assert simhashes(several, scheme).tolist() == [plain_code(text, scheme) for text in several]


@given(st.lists(st.tuples(numbers, st.integers(0, 1 << 40)), max_size=40))
def test_votes_are_counted_exactly(cast: list[tuple[int, int]]) -> None:
    """
    Votes are counted exactly, with and without weights, in any order.
    """
    hashes, weights = [hash_ for hash_, _ in cast], [weight for _, weight in cast]
    assert combine(hashes, weights) == plain_vote(cast) == combine(hashes[::-1], weights[::-1])
    assert combine(iter(hashes)) == plain_vote((hash_, 1) for hash_ in hashes)


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_lookup3_equals_plain_python(strings: list[bytes]) -> None:
    """
    Strings of all lengths, hashed together, have the hashes of the reference implementation.
    """
    assert lookup3(strings).tolist() == [plain_lookup3(string) for string in strings]


@given(numbers, numbers)
def test_distance_counts_bits(a: int, b: int) -> None:
    """
    The distance is the number of different bits; numpy's integers are accepted.
    """
    assert distance(a, b) == f"{a ^ b:b}".count("1")
    assert distance(a, b) == distance(np.uint64(b), np.uint64(a))  # type: ignore[arg-type]  # not ints, and taken


def test_weights_of_words_are_rounded_roots() -> None:
    """
    The weight is 4 * n ** 0.75, rounded to the nearest integer, for every n up to 3,000 and for large ones.
    """
    for count in [*range(1, 3_000), 1 << 20, 10**6, 16**5, 3_000_001]:
        hashes = np.full(count, ALL, np.uint64)
        votes = module._damped_votes(hashes, np.array([count]))
        assert set(votes.ravel().tolist()) == {(isqrt(isqrt(4096 * count**3)) + 1) // 2}, count


# Routes


@pytest.mark.slow
@pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed")
@pytest.mark.parametrize(("profile", "together"), [*((profile, 500) for profile in PROFILES), ("icu74", 40_000)])
def test_compiled_loops_give_the_same(profile: str, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The compiled loops give the codes of the plain route from the first text on, for texts read alone, together or in
    several windows.
    """
    monkeypatch.setattr(kernel, "WINDOW", 3 * BUFFER_UNITS)
    monkeypatch.setattr(kernel, "_idle", {})
    draw = random.Random(4)
    pieces = ["слово", "naïve", "e\u0301", "日本語のテキスト", "ภาษาไทย", "plain", "don't", "\ud800", "😀", "、", "\n"]
    several = ["", *(" ".join(draw.choices(pieces, k=draw.randrange(400))) for _ in range(100))]
    several += [" ".join(draw.choices(pieces, k=12_000)), "short, after the long one: й", ""]
    plain = [simhash(text, profile) for text in several]
    assert simhashes(several, profile).tolist() == plain
    kernel.Kernel()
    read: list[int] = []
    monkeypatch.setattr(kernel.Kernel, "ordered_hashes", _counted(kernel.Kernel.ordered_hashes, read))
    batches = chunks(several, len, together)
    assert [code for batch in batches for code in module._word_codes(profile, batch).tolist()] == plain
    assert read


def _counted(method: Callable[..., Any], calls: list[int]) -> Callable[..., Any]:
    def counting(self: kernel.Kernel, texts: Sequence[str], half: int = 0) -> Any:
        calls.append(len(texts))
        return method(self, texts, half)

    return counting


def test_codes_are_the_same_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without numba the codes are the same, for any amount of text.
    """
    several = ["слово за слово", "日本語", "plain"]
    expected = simhashes(several).tolist()
    _forget_numba(monkeypatch)
    monkeypatch.setattr(kernel, "is_available", lambda: False)
    with pytest.warns(RuntimeWarning, match="pip install numba"):
        assert simhashes(several).tolist() == expected


def _forget_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a process without loaded loops or earlier warnings, where every amount of text counts as large."""
    kernel.warn_of_numba.cache_clear()
    kernel.load_loops.cache_clear()
    monkeypatch.setattr(kernel, "_idle", {})
    monkeypatch.setattr(kernel, "is_loaded", lambda: False)
    monkeypatch.setattr(fingerprint_texts, "LARGE", 0)


def test_a_broken_numba_is_warned_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If numba does not work, one warning is given, and the plain route makes the codes.
    """

    def broken(*_: object) -> None:
        raise ImportError("needs another numpy")

    expected = simhashes(["слово " * 20_000] * 3).tolist()
    _forget_numba(monkeypatch)
    monkeypatch.setattr(kernel, "load_loops", broken)
    with pytest.warns(RuntimeWarning, match="needs another numpy") as actual:
        assert simhashes(["слово " * 20_000] * 3).tolist() == expected
    assert len(actual) == 1


@thorough
@pytest.mark.slow
def test_a_long_text_is_read_piece_by_piece() -> None:
    """
    A text of six million characters takes little memory: one piece of it and the hashes of its words.
    """
    text = "".join(f"word{number} " for number in range(500_000))
    tracemalloc.start()
    try:
        code = simhash(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 90_000_000
    assert code == combine(*whole(text.split()))


def whole(words: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return features and weights of distinct words."""
    features = [*words, *(" ".join(pair) for pair in pairwise(words))]
    return [plain_murmur(feature) for feature in features], [4] * len(features)


def test_texts_are_consumed_with_the_codes() -> None:
    """
    Texts are taken as codes are requested, so a stream may be endless.
    """
    taken = 0

    def endless() -> Iterable[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "some words " * 1_000

    codes = simhashes_of(endless())
    assert next(codes) == next(codes) == simhash("some words " * 1_000)
    assert taken < 20


# Quality of the codes


@settings(max_examples=30)
@given(st.lists(words, min_size=1, max_size=20))
def test_case_width_and_composition_make_no_difference(word_list: list[str]) -> None:
    """
    Case, width and composition of characters do not change the code, in any script.
    """
    text = " ".join(word_list)
    assert simhash(text) == simhash(text.upper()) == simhash(f"  ({text})\n")
    assert simhash("ＡＢＣ ﬁne e\u0301te\u0301") == simhash("abc fine été")


def test_a_renewed_lease_is_near_and_a_recipe_is_far() -> None:
    """
    The renewed lease of the examples is near the old one, the recipe is far; by four-word phrases the two leases are
    farther apart.
    """
    read = {
        name: (ROOT / "examples" / "contracts" / f"{name}.txt").read_text(encoding="utf-8")
        for name in ("lease-2023", "lease_2024", "recipe")
    }
    lease, renewed, recipe = (simhash(text) for text in read.values())
    assert distance(lease, renewed) <= 6
    assert distance(lease, recipe) > 16
    old, new = (simhash(read[name], "simhash-py-0.4") for name in ("lease-2023", "lease_2024"))
    assert distance(lease, renewed) < distance(old, new)


# Invalid arguments


@pytest.mark.parametrize("name", ["", "md5", "simhash1", "simhash1-icu99", "simhash2-icu74", "minhash1-icu74-w5-b512"])
def test_unknown_schemes_are_refused(name: str) -> None:
    """
    The error lists the schemes; a stream raises it before it reads any text.
    """
    for ask in (simhash, lambda text, scheme: simhashes_of([text], scheme)):
        with pytest.raises(ParameterError, match=r"no SimHash scheme.*simhash1-icu74.*simhash-py-0\.4"):
            ask("text", name)


def test_a_profile_names_a_scheme() -> None:
    """
    A profile's name stands for whorl's scheme with that profile, as with fingerprints.
    """
    assert [full_scheme_name(profile) for profile in PROFILES] == list(SCHEMES[: len(PROFILES)])
    assert simhash("a:b", "icu77") == simhash("a:b", "simhash1-icu77") != simhash("a:b", "icu74")


@pytest.mark.parametrize(
    "hashes", [[-1], [1 << 64], [1.5], ["1"], [None], b"12345678", np.array([-1]), np.array([0.5])]
)
def test_invalid_hashes_are_refused(hashes: Iterable[int]) -> None:
    """
    Invalid hashes are an error; none is wrapped, truncated or read from bytes.
    """
    with pytest.raises(ParameterError, match=r"0 to 2\*\*64 - 1"):
        combine(hashes)


@pytest.mark.parametrize("weights", [[1], [1, 2, 3], [1.5, 1], [-1, 1], [1 << 53, 1 << 53], ["1", "2"], [[1, 2]]])
def test_invalid_weights_are_refused(weights: list[object]) -> None:
    """
    Weights must be one integer per hash, and small enough to be counted exactly.
    """
    with pytest.raises(ParameterError, match="weight"):
        combine([1, 2], weights)  # type: ignore[arg-type]  # refused, wherever it comes from


def test_other_mistakes() -> None:
    """
    The error names the invalid value.
    """
    with pytest.raises(ParameterError, match="the argument of simhash must be text, got 5; simhashes reads several"):
        simhash(5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="one text, not several"):
        simhashes("one text")
    with pytest.raises(ParameterError, match="item 1 of texts must be text, got None; write '' for a missing text"):
        simhashes(["one text", None])  # type: ignore[list-item]
    pandas = pytest.importorskip("pandas")
    wrong: list[Any] = [{"a": "one text"}, 5, pandas.DataFrame({"text": ["one text"]})]
    for several, name in zip(wrong, ("dict", "int", "DataFrame"), strict=True):
        with pytest.raises(ParameterError, match=f"must be a list of texts or a column of a table, got {name}"):
            simhashes(several)
    assert simhashes(pandas.Series(["one text"])).tolist() == [simhash("one text")]
    with pytest.raises(ParameterError, match="got -1"):
        distance(-1, 0)
    with pytest.raises(ParameterError, match="got 18446744073709551616"):
        distance(0, 1 << 64)
    with pytest.raises(ParameterError, match=r"got 1\.5"):
        distance(0, 1.5)  # type: ignore[arg-type]  # refused, not rounded


def test_texts_without_words_have_the_code_0() -> None:
    """
    A text without words has the code 0, except in 1e0ng's scheme, whose empty feature has a hash.
    """
    for scheme in SCHEMES:
        assert (simhash("", scheme) == 0) == (scheme != "simhash-1e0ng-2")
    assert simhash(" … !") == 0
    assert simhashes([]).tolist() == []
