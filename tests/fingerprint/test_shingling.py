"""Murmur hashes of many slices at once, compared with those of mmh3."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any
from unittest import mock

import mmh3
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hostile import TEXTS
from tests.plain import full_minima, murmur_halves
from whorl.errors import ParameterError
from whorl.fingerprint import shingling as hashing
from whorl.fingerprint.minhash.signature import text_minima
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.shingling import (
    ascii_words,
    join,
    joined_words,
    murmur3_x64_128,
    murmur_pieces,
    pieces,
    well_formed,
)
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, CHARACTERS, PROFILES, shingles, tokens
from whorl.fingerprint.words.wordbreak import tables

BUFFER = random.Random(1).randbytes(400_000)
#: No minimums and small chunks, so that all slices are hashed together.
ALL_TOGETHER: dict[str, Any] = {"FEWEST_IN_CHUNK": 1, "FEWEST_IN_STEP": 1, "CHUNK": 7}

slices = st.tuples(st.integers(0, 2000), st.integers(0, 500)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def one_by_one(buffer: bytes, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return mmh3's hashes of the slices."""
    return [mmh3.hash64(buffer[start:end], 0, x64arch=True, signed=False) for start, end in places]


def together(buffer: bytes | npt.NDArray[np.uint8], places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the hashes of the slices, computed at once."""
    starts, ends = np.array(places, np.int64).reshape(-1, 2).T
    hashes = murmur3_x64_128(buffer, starts, ends)
    assert hashes.dtype == np.uint64
    assert hashes.shape == (len(places), 2)
    return list(map(tuple, hashes.tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, 2, 16])
def test_every_length_at_every_offset(stride: int) -> None:
    """
    Slices of any number of blocks, any remainder and any offset have the right hashes, in any order.
    """
    places = [(start, start + size) for size in range(16 * hashing.MOST_BLOCKS + 40) for start in range(0, 48, stride)]
    random.Random(2).shuffle(places)
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


@given(st.lists(slices, max_size=40))
def test_any_slices(places: list[tuple[int, int]]) -> None:
    """
    Slices may overlap, repeat, be empty, and have any order.
    """
    with mock.patch.multiple(hashing, **ALL_TOGETHER):
        assert together(BUFFER, places) == one_by_one(BUFFER, places)


@given(st.binary(max_size=300), st.data())
def test_up_to_the_end_of_the_buffer(buffer: bytes, data: st.DataObject) -> None:
    """
    Bytes after the buffer are never part of a hash.
    """
    start = data.draw(st.integers(0, len(buffer)))
    places = [(start, len(buffer)), (0, len(buffer)), (len(buffer), len(buffer))]
    with mock.patch.multiple(hashing, **ALL_TOGETHER):
        assert together(buffer, places) == one_by_one(buffer, places)


@pytest.mark.parametrize(
    "count", [hashing.FEWEST_IN_CHUNK - 1, hashing.CHUNK - 1, hashing.CHUNK, 2 * hashing.CHUNK + 5]
)
def test_overlapping_windows_as_a_text_has_them(count: int) -> None:
    """
    Windows of five words have the right hashes, in whole and partial chunks.
    """
    rng = random.Random(3)
    bounds = np.cumsum([0, *(2 * rng.randint(2, 11) for _ in range(count + 4))]).tolist()
    places = [(start, end - 2) for start, end in zip(bounds, bounds[5:], strict=False)]
    assert len(places) == count
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


@pytest.mark.parametrize("longest", [20, 400, 20_000, len(BUFFER)])
@pytest.mark.parametrize("long_ones", [1, hashing.FEWEST_IN_STEP, 1000])
def test_long_slices_among_short_ones(long_ones: int, longest: int) -> None:
    """
    Long slices among short ones have the right hashes, at any distance in the buffer.
    """
    rng = random.Random(4)
    sizes = [rng.randint(0, 100) for _ in range(2000)] + [rng.randint(longest // 2, longest) for _ in range(long_ones)]
    rng.shuffle(sizes)
    places = [(start, start + size) for size in sizes for start in [rng.randint(0, len(BUFFER) - size)]]
    # mmh3 itself is slow for slices of 100 KB and more.
    places = places[:2100] if longest == len(BUFFER) else places
    assert together(BUFFER, places) == one_by_one(BUFFER, places)


def test_no_slices() -> None:
    """
    No slices give no hashes, also for an empty buffer.
    """
    assert together(b"", []) == []
    assert together(BUFFER, []) == []


def test_the_buffer_may_be_an_array() -> None:
    """
    The buffer may be an array of bytes.
    """
    places = [(start, start + 61) for start in range(0, 3 * hashing.FEWEST_IN_CHUNK, 3)]
    assert together(np.frombuffer(BUFFER, np.uint8), places) == one_by_one(BUFFER, places)


@pytest.mark.parametrize(
    ("starts", "ends"), [([-1], [2]), ([0], [4]), ([2], [1]), ([0, 4], [1, 4]), ([0], [1, 2]), (0, 1), ([[0]], [[1]])]
)
def test_what_is_no_slice_is_told(starts: object, ends: object) -> None:
    """
    An error refuses slices that exceed the buffer or end before their start, and arrays of other shapes.
    """
    with pytest.raises(ParameterError, match="slice"):
        murmur3_x64_128(b"abc", np.array(starts), np.array(ends))


ROOT = Path(__file__).parents[2]
profiles = pytest.mark.parametrize("profile", PROFILES)
ASCII = "".join(map(chr, range(128)))

fragments = st.one_of(
    st.sampled_from("aZ19_'.:,;\"-#* \n\r\0\x7f\x1c"),
    st.sampled_from(["Don't ", "3.14 ", "1,000;5", "a:b", "_x_", "__", " _ ", "e.g. ", "https://x.org/?q=1 ", "\r\n"]),
    st.text(st.characters(codec="ascii"), max_size=8),
)
texts = st.lists(fragments, max_size=30).map("".join)
#: About the size of Lucene's buffer, with white space in some places or none.
long_texts = st.builds(
    lambda before, unit, count, after: before + unit * (count // len(unit)) + after,
    texts,
    st.sampled_from(["a", "1.", "a'", "_", "-", "\0", "ab\x1c", "a.b_"]),
    st.integers(BUFFER_UNITS - 40, 2 * BUFFER_UNITS + 3),
    texts,
)


def read(text: str, profile: str) -> list[str]:
    """Return the words one by one, after checking the arrays."""
    words = ascii_words(text, profile)
    assert words.encoded.dtype == np.uint8
    assert words.starts.dtype == np.int64
    starts, encoded = words.starts.tolist(), words.encoded.tobytes()
    found = [encoded[start : end - 2].decode("utf-16-le") for start, end in pairwise(starts)]
    assert " ".join(found).encode("utf-16-le") == encoded
    assert starts[-1] == (len(encoded) + 2 if found else 0)
    return found


def one_of_each_category(profile: str) -> list[str]:
    """Return one ASCII character of each category in the profile's rules."""
    categories = tables(profile).default.categories[:128]
    return [chr(code) for code in np.unique(categories, return_index=True)[1].tolist()]


@pytest.mark.slow
@profiles
def test_every_five_characters(profile: str) -> None:
    """
    The rules look at most one character to either side, so equal words of all sequences of five characters prove the
    rules; with blanks among them, shorter ones are included.
    """
    pieces = list(map("".join, product(one_of_each_category(profile), repeat=5)))
    assert len(pieces) >= 12**5
    words = chain.from_iterable(tokens(piece, profile) for piece in pieces)
    assert read(" ".join(pieces), profile) == list(words)


@profiles
def test_every_short_text(profile: str) -> None:
    """
    The start and the end of a text act like a blank.
    """
    for size in range(4):
        for piece in map("".join, product(one_of_each_category(profile), repeat=size)):
            assert read(piece, profile) == tokens(piece, profile), repr(piece)


@profiles
def test_every_character_between_any_two(profile: str) -> None:
    """
    All characters of a category follow the same rules, and capitals fold.
    """
    around = one_of_each_category(profile)
    pieces = list(map("".join, product(around, ASCII, around)))
    assert read(" ".join(pieces), profile) == list(chain.from_iterable(tokens(piece, profile) for piece in pieces))


@profiles
@given(text=st.one_of(texts, long_texts))
@example(text="a" * (BUFFER_UNITS + 1))
@example(text="a" * BUFFER_UNITS)
@example(text="_" * (BUFFER_UNITS + 1))
@example(text="1." * BUFFER_UNITS)
@example(text=" " + "a." * BUFFER_UNITS)
def test_any_text(profile: str, text: str) -> None:
    """
    Any ASCII text has the same words, even if Lucene's buffer ends within a word.
    """
    assert read(text, profile) == tokens(text, profile)


@profiles
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n", []),
        ("Don't 'quote' 3.14, 1,000.", ["don't", "quote", "3.14", "1,000"]),
        ("snake_case _ __ _.", ["snake_case", "__"]),
        ("a.1 1.a a,b 1;2 5'3", ["a", "1", "1", "a", "a", "b", "1;2", "5'3"]),
        ("# * #1 C++", ["1", "c"]),  # part of an emoji only before a keycap mark
        ("a\0b\x7fc", ["a", "b", "c"]),
    ],
)
def test_words_that_a_reader_can_check(profile: str, text: str, words: list[str]) -> None:
    """
    These words are the same in every profile.
    """
    assert read(text, profile) == words


@pytest.mark.parametrize(("profile", "words"), [("icu70", ["a:b"]), ("icu74", ["a", "b"]), ("icu77", ["a:b"])])
def test_the_colon_is_the_profiles(profile: str, words: list[str]) -> None:
    """
    A colon between letters joins them in some profiles; between digits in none.
    """
    assert read("A:b 12:30", profile) == [*words, "12", "30"]


@pytest.mark.slow
@profiles
def test_texts_as_they_are(profile: str) -> None:
    """
    The same holds for real prose and programs: this project's own files, about a megabyte, in one text.
    """
    files = sorted(
        [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]
    )
    text = "".join(file.read_bytes().decode("ascii", "ignore") for file in files)
    assert len(text) > 500_000
    assert read(text, profile) == tokens(text, profile)


def test_its_places_are_those_of_shingles() -> None:
    """
    The hash of five words in sequence is that of their shingle.
    """
    text = "To be, or not to be: that is the question. " * 200
    words = ascii_words(text)
    hashes = murmur3_x64_128(words.encoded, words.starts[:-5], words.starts[5:] - 2)
    spelled = [shingle.encode("utf-16-le") for shingle in shingles(tokens(text))]
    each = [murmur3_x64_128(shingle, [0], [len(shingle)])[0].tolist() for shingle in spelled]
    assert hashes.tolist() == each


def test_what_it_does_not_read_is_told() -> None:
    """
    Text with other characters and unknown profiles are errors.
    """
    with pytest.raises(ParameterError, match="not ASCII"):
        ascii_words("é")
    with pytest.raises(ParameterError, match="no word-break profile 'icu1'"):
        ascii_words("e", "icu1")


#: ASCII, then other text, then ASCII again, with lengths that may cross Lucene's buffers.
_parts = st.tuples(st.sampled_from(["ab c:d ", "ß ", "\ud800", "ーヨ", "x" * 50, "\n"]), st.integers(1, 700))
MIXED = st.lists(_parts, max_size=6).map(lambda parts: "".join(part * count for part, count in parts))


@pytest.mark.slow
@settings(deadline=None)
@given(st.one_of(TEXTS, MIXED), st.sampled_from(PROFILES), st.integers(1, 6))
def test_the_same_as_the_plain_reading(text: str, profile: str, size: int) -> None:
    """
    Words, shingle hashes in text order, and minima are equal.
    """
    words = tokens(text, profile)
    assert joined_words(text, profile).words() == [well_formed(word) for word in words]
    hashes = [row for piece in murmur_pieces(pieces(text, profile), size) for row in piece.tolist()]
    assert hashes == murmur_halves(words, size).tolist()
    scheme = Scheme(profile, size)
    assert text_minima(text, scheme).tolist() == full_minima(words, scheme).tolist()


@pytest.mark.slow
def test_a_text_of_many_pieces() -> None:
    """
    Shingles extend over the ends of pieces, and the minima are those of all pieces.
    """
    draw = random.Random(3)
    text = " ".join(draw.choice(["Straße", "plain", "word:two", f"n{draw.randrange(99)}"]) for _ in range(400_000))
    for whole in (text, text.replace("ß", "s")):
        assert len(list(pieces(whole))) > 1
        assert text_minima(whole, Scheme()).tolist() == full_minima(tokens(whole), Scheme()).tolist()


@pytest.mark.parametrize("words", [[], ["a"], ["", "a"], ["a", ""], [""], ["a b", "c"]])
def test_joined_words(words: list[str]) -> None:
    """
    Empty words and words with a blank, which folding can produce, are returned unchanged.
    """
    assert join(words).words() == words
    assert join(words).followed_by(join(["x", "y"])).words() == [*words, "x", "y"]
    assert join(["x", "y"]).followed_by(join(words)).last(len(words)).words() == words


@pytest.mark.slow
def test_characters_in_the_place_of_words() -> None:
    """
    With characters in place of words, their sequence is the same in any script, and pieces join without a gap.
    """
    text = "\tStraße ﬁn\n 𝒜日本 "
    assert joined_words(text, CHARACTERS).encoded.tobytes() == join("strasse fin a日本").encoded.tobytes()
    long = "ab c" * 200_000
    pieces_of = list(pieces(long, CHARACTERS))
    assert len(pieces_of) > 1
    assert sum(len(each.starts) - 1 for each in pieces_of) == len(long)
