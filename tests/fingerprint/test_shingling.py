"""Words of texts and hashes of their shingles, compared with plain Python and mmh3."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import TEXTS
from tests.checks import Checks
from tests.plain import full_minima, murmur_halves, read_joined_words
from tests.sampling import thorough
from whorl.fingerprint.fingerprint_texts import hashes_of_words
from whorl.fingerprint.minhash.signature_and_tokens import text_minima
from whorl.fingerprint.shingling import JoinedWords, Scheme, join, murmur_pieces, pieces, well_formed
from whorl.fingerprint.words.tokenizer import CHARACTERS, PROFILES, tokens
from whorl.request_context import new_request

profiles = pytest.mark.parametrize("profile", PROFILES)


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
    assert read_joined_words(text, profile).words() == words


@pytest.mark.parametrize(("profile", "words"), [("icu70", ["a:b"]), ("icu74", ["a", "b"]), ("icu77", ["a:b"])])
def test_the_colon_depends_on_the_profile(profile: str, words: list[str]) -> None:
    """
    A colon between letters joins them in some profiles; between digits in none.
    """
    assert read_joined_words("A:b 12:30", profile).words() == [*words, "12", "30"]


#: ASCII, then other text, then ASCII again, with lengths that may cross Lucene's buffers.
_parts = st.tuples(st.sampled_from(["ab c:d ", "ß ", "\ud800", "ーヨ", "x" * 50, "\n"]), st.integers(1, 700))
MIXED = st.lists(_parts, max_size=6).map(lambda parts: "".join(part * count for part, count in parts))


@pytest.mark.slow
@settings(deadline=None)
@given(st.one_of(TEXTS, MIXED), st.sampled_from(PROFILES), st.integers(1, 6))
def test_words_and_hashes(text: str, profile: str, size: int) -> None:
    """
    Words, shingle hashes in text order, and minima are equal.
    """
    words = tokens(text, profile)
    assert read_joined_words(text, profile).words() == [well_formed(word) for word in words]
    hashes = [row for piece in murmur_pieces(pieces(text, profile), size) for row in piece.tolist()]
    assert hashes == murmur_halves(words, size).tolist()
    scheme = Scheme(profile, size)
    assert text_minima(text, scheme).tolist() == full_minima(words, scheme).tolist()


@thorough
@pytest.mark.slow
def test_a_text_of_many_pieces() -> None:
    """
    Shingles extend over the ends of pieces, and the minima are those of all pieces.
    """
    draw = random.Random(3)
    text = " ".join(draw.choice(["Straße", "plain", "word:two", f"n{draw.randrange(99)}"]) for _ in range(400_000))
    assert len(list(pieces(text))) > 1
    assert text_minima(text, Scheme()).tolist() == full_minima(tokens(text), Scheme()).tolist()


@pytest.mark.parametrize("words", [[], ["a"], ["", "a"], ["a", ""], [""], ["a b", "c"], ["😀 é", "", "c d"]])
def test_joined_words(words: list[str]) -> None:
    """
    Empty words and words with a blank, which folding can produce, are returned unchanged.
    """
    assert join(words).words() == words
    assert JoinedWords.concatenate([join(words), join(["x", "y"])]).words() == [*words, "x", "y"]
    after = JoinedWords.concatenate([join(["x", "y"]), join(words)])
    assert after.last_words(len(words)).words() == words
    assert JoinedWords.concatenate([join(words), join([]), join(words)]).words() == [*words, *words]


@pytest.mark.slow
def test_characters_instead_of_words() -> None:
    """
    With characters in place of words, their sequence is the same in any script, and pieces join without a gap.
    """
    text = "\tStraße ﬁn\n 𝒜日本 "
    assert read_joined_words(text, CHARACTERS).encoded.tobytes() == join("strasse fin a日本").encoded.tobytes()
    long = "ab c" * 200_000
    pieces_of = list(pieces(long, CHARACTERS))
    assert len(pieces_of) > 1
    assert sum(len(piece.starts) - 1 for piece in pieces_of) == len(long)


def test_long_lists_of_words_are_checked_for_each_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Measuring and hashing 1,000 words check for cancellation at least once for each 100 words.
    """
    monkeypatch.setattr("whorl.fingerprint.shingling._WORDS_AT_ONCE", 100)
    for words, least in (([f"word{number}" for number in range(1_000)], 10), (["a b", "c"] * 500, 20)):
        checks = Checks()
        with new_request("", checks):
            hashes_of_words(words, Scheme())
        assert checks.count >= least
