"""Words of ASCII text found by numpy: the same as by the plain route."""

from __future__ import annotations

from itertools import chain, pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.fingerprint.shingling import murmur3_x64_128
from whorl.fingerprint.words.ascii import ascii_words
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, PROFILES, shingles, tokens
from whorl.fingerprint.words.wordbreak import tables

ROOT = Path(__file__).parents[3]
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
