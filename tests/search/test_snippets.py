"""Snippets: the part of a text with most of the query's words, with their exact positions."""

from __future__ import annotations

import pytest

from tests.checks import Checks
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, tokens_and_spans
from whorl.query.ast import WildcardCharacter
from whorl.query.plan.nodes import FuzzyWord, InOrder, Words
from whorl.query.plan.planner import is_near
from whorl.request_context import new_request
from whorl.search.highlighting import snippet

FILLER = " ".join(f"word{number}" for number in range(100))


def marked(text: str, *clauses: Words | InOrder | FuzzyWord) -> list[str] | None:
    shown = snippet(text, clauses, DEFAULT_PROFILE)
    return None if shown is None else [shown.text[start:end] for start, end in shown.places]


def test_the_part_with_most_of_the_words() -> None:
    """
    The snippet is the part with most of the words, not the first one with any; it has some context before it and is cut
    between words.
    """
    text = f"The roof. {FILLER} The Landlord, mends the roof! {FILLER}"
    shown = snippet(text, [Words("roof"), Words("landlord")], DEFAULT_PROFILE)
    assert shown is not None
    assert [shown.text[start:end] for start, end in shown.places] == ["Landlord", "roof"]
    assert (shown.is_cut_before, shown.is_cut_after) == (True, True)
    assert shown.text.startswith("word93 word94")
    assert len(shown.text.split()) == 40
    whole = snippet("the roof leaks", [Words("roof")], DEFAULT_PROFILE)
    assert whole is not None
    assert (whole.text, whole.is_cut_before, whole.is_cut_after) == ("the roof leaks", False, False)


def test_matching_words_are_marked() -> None:
    """
    Phrases, patterns and fuzzy words are found; a text with none of the words has no snippet.
    """
    assert marked("a leaking roof, the roof leaks", Words("roof leaks")) == ["roof", "leaks"]
    assert marked("the roof of it leaks", Words("roof leaks", slop=3)) == ["roof", "leaks"]
    assert marked("leases and leaks", InOrder((("lea", WildcardCharacter.ANY, "s"),))) == ["leases", "leaks"]
    assert marked("leases and leaks", InOrder((("lea", WildcardCharacter.ONE, "s"),))) == ["leaks"]
    assert marked("his laese ends", FuzzyWord("lease", 1)) == ["laese"]
    assert marked("rent is due", Words("roof"), Words("...")) is None
    assert marked("", Words("roof")) is None


def test_places_behind_wide_characters() -> None:
    """
    Positions count code points.
    """
    assert marked("😀😀 the roof 😀", Words("roof")) == ["roof"]


@pytest.mark.parametrize(
    ("word", "edits", "near", "far"),
    [
        ("lease", 0, ["lease"], ["leash"]),
        ("lease", 1, ["laese", "leases", "ease", "leash", "least", "please"], ["leaks"]),
        ("lease", 2, ["leaks"], []),
        ("ab", 1, ["ba"], [""]),
    ],
)
def test_edits(word: str, edits: int, near: list[str], far: list[str]) -> None:
    """
    Insertions, deletions, substitutions and transpositions of neighbours are one edit each.
    """
    for other in [*near, *far]:
        assert is_near(word, other, edits) is is_near(other, word, edits) is (other in near)


def test_many_wildcards_in_a_long_word() -> None:
    """
    A pattern with many wildcards is compared with a long word in linear time; a backtracking search would not end.
    """
    pattern = ("a", WildcardCharacter.ANY) * 40
    assert marked("a" * 4_000, InOrder(((*pattern, "b"),))) is None
    assert marked("a" * 4_000, InOrder((pattern,))) == ["a" * 4_000]


@pytest.mark.parametrize(
    "clause", [Words("b"), Words("a b", slop=1), InOrder((("a", WildcardCharacter.ANY),)), FuzzyWord("c", 1)]
)
def test_long_texts_check_for_each_portion(clause: Words | InOrder | FuzzyWord) -> None:
    """
    A search in 20,000 words checks for cancellation at least once for each 2,000 words, and so does the choice of the
    part among as many matches.
    """
    text = "a " * 20_000
    checks, of_words = Checks(), Checks()
    with new_request("", of_words):
        tokens_and_spans(text, DEFAULT_PROFILE)
    with new_request("", checks):
        shown = snippet(text, [clause], DEFAULT_PROFILE)
    assert checks.count - of_words.count >= (10 if shown is None else 20)
