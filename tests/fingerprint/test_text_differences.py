"""Differences of two texts: examples by hand, and their definition for all texts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.compare_texts import compare, words_of
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.text_differences import MATCHED, find_differences

PAIRS = Scheme(shingle_size=2)
words = st.lists(st.sampled_from(["a", "b", "c", "😀", "ﬁ", "fi", "É"]), max_size=40).map(" ".join)


def differing_words(a: str, b: str) -> list[tuple[str, str]]:
    return [(a[slice(*found.a)], b[slice(*found.b)]) for found in find_differences(a, b, compare(a, b, PAIRS))]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("one two three", "ONE, two four", [("three", "four")]),
        ("one two", "one two, three", [("", "three")]),
        ("new one two", "one two", [("new", "")]),
        ("", "new", [("", "new")]),
        ("", "", []),
        # Equal words between two passages are matched.
        ("s t rent is 1,450 in all u v", "s t sum is 1,520 in all u v", [("rent", "sum"), ("1,450", "1,520")]),
        # A moved passage is in both texts, so it is no difference.
        ("m n o p q r", "o p q r m n", []),
        ("x o p y m n", "m n z o p", [("x", "z"), ("y", "")]),
        # A text that only one side repeats is a difference.
        ("m n o", "m n o x m n o", [("", "x m n o")]),
        ("m n o x m n o", "m n o", [("x m n o", "")]),
    ],
)
def test_differences(a: str, b: str, expected: list[tuple[str, str]]) -> None:
    """
    Differences are the words outside shared passages, in the order of the texts.
    """
    assert differing_words(a, b) == expected


def test_an_empty_range_follows_the_word_before() -> None:
    """
    Where a text lacks words, its range is empty and at the end of the word before.
    """
    a, b = "The deposit is returned now.", "The deposit is not returned now."
    (found,) = find_differences(a, b, compare(a, b, PAIRS))
    assert found == ((14, 14), (15, 18))
    # The passage "m n" was moved, so it divides the words before "o p q" in A.
    a, b = "x m n y o p q", "z o p q m n"
    assert find_differences(a, b, compare(a, b, PAIRS)) == [((0, 1), (0, 1)), ((6, 7), (1, 1))]


@given(words, words)
def test_both_texts_have_the_other_words_equally_often(a: str, b: str) -> None:
    """
    Without their differences, both texts have the same words, each equally often; ranges are in order and do not
    overlap.
    """
    found = find_differences(a, b, compare(a, b, PAIRS))
    rests = []
    for text, places in ((a, [each.a for each in found]), (b, [each.b for each in found])):
        marked = Counter(at for start, end in places for at in range(start, end))
        assert set(marked.values()) <= {1}
        ends = [end for place in places for end in place]
        assert ends == sorted(ends)
        own = words_of(text)
        rests.append(
            Counter(w for w, (start, _) in zip(own.words, own.spans.tolist(), strict=True) if start not in marked)
        )
    assert rests[0] == rests[1]


@given(st.lists(st.integers(0, 99), unique=True), st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_differences_turn_one_text_into_the_other(order: list[int], dropped: set[int], added: set[int]) -> None:
    """
    If no text is moved, A becomes B when the words of B replace those of A in each difference.
    """
    listed = [f"w{number}" for number in order]
    a = " ".join(word for at, word in enumerate(listed) if at not in added)
    b = " ".join(word for at, word in enumerate(listed) if at not in dropped)
    edited = a
    for place_a, place_b in reversed(find_differences(a, b, compare(a, b, PAIRS))):
        edited = f"{edited[: place_a[0]]} {b[slice(*place_b)]} {edited[place_a[1] :]}"
    assert edited.split() == b.split()


def test_long_parts_differ_as_a_whole() -> None:
    """
    Equal words of parts with more than MATCHED words are not matched.
    """
    a = "s t " + " x ".join(f"a{at}" for at in range(MATCHED)) + " u v"
    b = "s t " + " x ".join(f"b{at}" for at in range(MATCHED)) + " u v"
    assert differing_words(a, b) == [(a[4:-4], b[4:-4])]
