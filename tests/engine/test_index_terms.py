"""Index terms and regular expressions against plain comparisons."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.index_terms import (
    BETWEEN_WORDS,
    compile_pattern,
    encode_pattern,
    encode_sortable,
    join_terms,
    pattern_expression,
    presence_term,
    range_expression,
    split_range_above,
    state_doublings,
    value_prefix,
    value_term,
    word_prefix,
    word_term,
)
from whorl.fingerprint.shingling import join
from whorl.query.ast import Pattern, WildcardCharacter
from whorl.query.plan.nodes import Kind, Value

ANY, ONE = WildcardCharacter.ANY, WildcardCharacter.ONE


LETTERS = "ab\\-]^.*\ud7ff\ue000\U0010ffff\0"


@given(*(st.text(LETTERS, max_size=4) for _ in range(3)), st.booleans(), st.booleans(), st.integers(0, 3))
def test_ranges_of_texts(low: str, high: str, text: str, low_in: bool, high_in: bool, opened: int) -> None:
    """
    The expression for a range matches exactly the texts in the range, ordered by code point.
    """
    ends = (None if opened == 1 else low), (None if opened == 2 else high)
    wanted = range_expression(*ends, includes_low=low_in, includes_high=high_in)
    is_in = (ends[0] is None or low < text or (low_in and low == text)) and (
        ends[1] is None or text < high or (high_in and text == high)
    )
    assert bool(wanted is not None and re.fullmatch(wanted, text)) == is_in


@given(*(st.text(LETTERS, max_size=4) for _ in range(2)), st.sampled_from([0, 1, 60, 500]), st.booleans())
def test_ranges_above_a_text(low: str, text: str, shared: int, is_included: bool) -> None:
    """
    Exactly one expression matches a text above a bound of any length, unless the text begins with the returned prefix.
    """
    low, text = "x" * shared + low, "x" * shared + text
    expressions, beginning = split_range_above(low, is_included=is_included)
    if beginning is not None and text.startswith(beginning):
        assert low.startswith(beginning)
        return
    matching = [expression for expression in expressions if re.fullmatch(expression, text)]
    assert len(matching) == (low < text or (is_included and low == text))


@given(st.lists(st.sampled_from([ANY, ONE, "a", "b.", "*"]), min_size=1, max_size=4), st.text("ab.*\n", max_size=6))
def test_patterns(pieces: list[str | WildcardCharacter], text: str) -> None:
    """
    A wildcard stands for any characters or for a single one, including line ends; other characters stand for
    themselves.
    """

    def fits(pieces: list[str | WildcardCharacter], text: str) -> bool:
        if not pieces:
            return not text
        match pieces[0]:
            case WildcardCharacter.ANY:
                return any(fits(pieces[1:], text[at:]) for at in range(len(text) + 1))
            case WildcardCharacter.ONE:
                return bool(text) and fits(pieces[1:], text[1:])
            case literal:
                return text.startswith(literal) and fits(pieces[1:], text[len(literal) :])

    assert bool(re.fullmatch(pattern_expression(tuple(pieces)), text)) == fits(pieces, text)
    assert bool(compile_pattern(tuple(pieces)).fullmatch(text)) == fits(pieces, text)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=2), st.lists(st.floats(allow_nan=False), min_size=2))
def test_spellings_are_in_order(whole: list[int], broken: list[float]) -> None:
    """
    Encoded numbers have the order of the numbers.
    """
    assert sorted(whole) == sorted(whole, key=lambda number: encode_sortable(Kind.INTEGER, number))
    floats = [number + 0.0 for number in broken]
    assert sorted(floats) == sorted(floats, key=lambda number: encode_sortable(Kind.FLOAT, number))


FIELDS = st.one_of(st.sampled_from(["k", "kind", "k" * 1001, "k" * 1002]), st.text("kw", min_size=1, max_size=3))
VALUES = st.one_of(
    st.tuples(st.just(Kind.KEYWORD), st.text("ab", max_size=3)),
    st.tuples(st.just(Kind.INTEGER), st.integers(-(1 << 63), (1 << 63) - 1)),
    st.tuples(st.just(Kind.DATE), st.integers(-2, 2)),
    st.tuples(st.just(Kind.FLOAT), st.floats(allow_nan=False).map(lambda number: number + 0.0)),
    st.tuples(st.just(Kind.BOOLEAN), st.booleans()),
)


@given(FIELDS, VALUES, FIELDS, VALUES)
def test_values_have_one_term_each(field: str, one: tuple[Kind, Value], other: str, two: tuple[Kind, Value]) -> None:
    """
    Terms are equal if and only if field, type and value are, and all terms of a field and type have its prefix.
    """
    terms = value_term(field, *one), value_term(other, *two)
    assert (terms[0] == terms[1]) == ((field, one) == (other, two))
    assert terms[1].startswith(value_prefix(field, one[0])) == ((field, one[0]) == (other, two[0]))


@given(st.lists(st.tuples(FIELDS, st.sampled_from(Kind)), min_size=2, max_size=2, unique=True), VALUES)
def test_presence_is_no_value(fields: list[tuple[str, Kind]], value: tuple[Kind, Value]) -> None:
    """
    The term for the presence of a field and type differs from other presence terms and from all terms of values.
    """
    one, other = fields
    assert presence_term(*one) != presence_term(*other)
    assert value_term(one[0], *value) != presence_term(*one)
    assert not presence_term(*one).startswith(value_prefix(*one))


@given(FIELDS, st.text("a \x1c\x1e", max_size=1100), FIELDS, st.text("a \x1c\x1e", max_size=1100))
def test_words_have_one_term_each(field: str, word: str, other_field: str, other: str) -> None:
    """
    For any field and word, the term fits the index, and does not contain the separator of words.
    """
    one, two = word_term(field, word), word_term(other_field, other)
    assert (one == two) == ((field, word) == (other_field, other))
    assert one.startswith(word_prefix(field))
    assert BETWEEN_WORDS not in one
    assert len(one) <= 2001


@pytest.mark.parametrize(
    ("kind", "value", "spelling"),
    [
        (Kind.INTEGER, -(1 << 63), "0000000000000000"),
        (Kind.INTEGER, 0, "8000000000000000"),
        (Kind.DATE, 1, "8000000000000001"),
        (Kind.FLOAT, 0.0, "8000000000000000"),
        (Kind.FLOAT, 1.0, "bff0000000000000"),
        (Kind.FLOAT, -1.0, "400fffffffffffff"),
    ],
)
def test_spellings_by_hand(kind: Kind, value: Value, spelling: str) -> None:
    """
    Integers are encoded as the distance from the smallest one, floats by their IEEE 754 bits, inverted if negative.
    """
    assert encode_sortable(kind, value) == spelling


@given(
    st.sampled_from(["name", "content", "kind", "with space"]), st.lists(st.text("aÄ😀\ufdfa ", max_size=4), max_size=6)
)
def test_words_are_joined_as_their_terms(field: str, words: list[str]) -> None:
    """
    Encoding all words at once gives the same terms as encoding each word, also for empty words and words with blanks.
    """
    assert join_terms(field, join(words)) == BETWEEN_WORDS.join([word_term(field, word) for word in words])


def test_a_pattern_with_a_blank_fits_the_term() -> None:
    """
    Folding a word can insert blanks, so patterns are folded too.
    """
    term = word_term("kind", "صلى الله")
    assert compile_pattern((word_prefix("kind"), *encode_pattern(("صلى ا", ANY)))).fullmatch(term)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ((), 0),
        (("a", ONE, ONE), 0),
        ((ANY, ONE, ONE, "a"), 0),
        ((ANY, "a", ONE, "b", ONE), 2),
        ((ANY, "a", ONE, ANY, ONE, "b", ONE), 2),
        (("a", ONE, ANY, "b"), 0),
    ],
)
def test_states_are_doubled(pattern: Pattern, expected: int) -> None:
    """
    After a `*` and a letter, each `?` doubles the number of states.
    """
    assert state_doublings(pattern) == expected
