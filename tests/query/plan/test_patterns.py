"""Wildcard patterns split into words, edits allowed by a similarity, and edit distances."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plain_clauses
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.words.tokenizer import PROFILES, tokens
from whorl.query.ast import Joker
from whorl.query.literals import read_pattern
from whorl.query.plan.patterns import distance, edits_of, words_of


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("Bi*", ["bi*"]),
        ("*port", ["*port"]),
        ("b?g*", ["b?g*"]),
        ("big dog*", ["big", "dog*"]),
        ("my-file*", ["my", "file*"]),
        ("x-*", ["x", "*"]),
        ("*.pdf", ["*.pdf"]),
        ("при*", ["при*"]),
        ("п*ет", ["п*ет"]),
        ("東京*", ["東京*"]),
        ("STRA?E", ["stra?e"]),
        ("ﬁ*", ["fi*"]),
        ("it's*", ["it's*"]),
        ("ꟻ*", ["ꟻ*"]),
        ("---*", ["*"]),
    ],
)
def test_words_of_patterns(typed: str, words: list[str]) -> None:
    """
    A wildcard belongs to the word that it touches, in every script.
    """
    assert words_of(read_pattern(typed, 0), "icu74") == [read_pattern(word, 0) for word in words]


@pytest.mark.parametrize(
    ("similarity", "length", "edits"),
    # 0.8 as a 32-bit float is slightly larger, so it allows no edit in five characters.
    [
        ("0.8", 5, 0),
        ("0.8", 6, 1),
        ("0.9", 10, 1),
        ("0.5", 4, 2),
        ("0.1", 30, 2),
        ("0", 9, 0),
        ("1", 9, 1),
        ("7", 9, 2),
    ],
)
def test_edits(similarity: str, length: int, edits: int) -> None:
    """
    The number of edits is that of Lucene's FuzzyQuery.floatToEdits.
    """
    assert edits_of(Decimal(similarity), length) == edits


@pytest.mark.parametrize("profile", PROFILES)
@given(st.lists(st.one_of(st.sampled_from(Joker), st.text(max_size=6)), max_size=5))
def test_every_joker_is_kept(profile: str, pieces: list[str | Joker]) -> None:
    """
    Every wildcard is kept in order, whatever surrounds it, even the placeholder letters; without wildcards the words
    are those of the text.
    """
    pattern = tuple(pieces)
    words = words_of(pattern, profile)
    assert [each for word in words for each in word if isinstance(each, Joker)] == [
        each for each in pattern if isinstance(each, Joker)
    ]
    assert all(not (isinstance(a, str) and isinstance(b, str)) for word in words for a, b in pairwise(word))
    text = "".join(each for each in pieces if isinstance(each, str))
    assert words_of((text,), profile) == [(word,) for word in tokens(well_formed(text), profile) if word]


def test_letters_that_stand_for_jokers_are_text() -> None:
    """
    If a text contains the first placeholder letter, the next one is used.
    """
    assert words_of(("ꟻꟼ", Joker.ANY, "ꟽ", Joker.ONE), "icu74") == [("ꟻꟼ", Joker.ANY, "ꟽ", Joker.ONE)]


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distances(one: str, other: str) -> None:
    """
    The edit distance is that of the reference implementation, which tries every edit.
    """
    assert distance(one, other) == plain_clauses.distance(one, other)
