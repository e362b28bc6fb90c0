"""Words moved and in order, against trying all of their places."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plain_clauses
from whorl.context import deadline
from whorl.engine.embedded.matching import is_ordered_span, is_sloppy_phrase, positions
from whorl.errors import StoppedError


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=8), max_size=2),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
    st.sampled_from([0, 1, 2, 4, 99, 101, 110]),
)
def test_rows_of_words(values: list[list[str]], wanted: list[str], slop: int) -> None:
    """
    Words in order, and words moved, are what trying all of their places gives, through the gap between values.
    """
    placed = plain_clauses.places(tuple(map(tuple, values)))
    patterns = [re.compile(word) for word in wanted]
    assert is_ordered_span(values, patterns, slop) == plain_clauses.stand(placed, wanted, slop)
    assert is_sloppy_phrase(values, wanted, slop) == plain_clauses.stand_within(placed, wanted, slop)


@pytest.mark.parametrize("count", [12, pytest.param(2000, marks=pytest.mark.slow)])
def test_phrases_of_one_word(count: int) -> None:
    """
    A phrase that repeats its word more often than a text does is told in no time, however long it is.
    """
    wanted = ["a"] * count
    assert not is_sloppy_phrase([["a"] * (count - 1)], wanted, 4000)
    assert is_sloppy_phrase([["a"] * count], wanted, 4000)


def test_places_of_values() -> None:
    """
    Words have one place after another; between two values are a hundred, also after a value without words.
    """
    assert positions([["a", "b"], [], ["c"]]) == [(0, "a"), (1, "b"), (2 + 2 * 100, "c")]


@pytest.mark.parametrize(
    ("text", "slop", "is_found"),
    [("a b", 0, True), ("b a", 1, False), ("b a", 2, True), ("a x b", 0, False), ("a x b", 1, True), ("a", 9, False)],
)
def test_moved_words(text: str, slop: int, is_found: bool) -> None:
    """
    Two words that change places are two moves, a word between them is one; a word that is not there is never moved.
    """
    assert is_sloppy_phrase([text.split()], ["a", "b"], slop) == is_found


def test_long_work_on_words_ends() -> None:
    """
    Who no longer waits is not worked for.
    """
    with deadline(0.0), pytest.raises(StoppedError):
        is_sloppy_phrase([["a", "b"]], ["a", "b"], 0)
