"""Passages of sources in a store without texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.shingling import Scheme, join
from whorl.fingerprint.winnowing import (
    PROOF_BITS,
    PassagePlaces,
    PassageScheme,
    hashes_to_look_up,
    passage_places,
    winnow_with_positions,
)
from whorl.search.attribution.cover import NO_RANGES, merge_ranges
from whorl.search.attribution.hashed_passages import HashedPassages
from whorl.search.attribution.results import HashedPassage

SCHEME = PassageScheme(7, 4, PROOF_BITS)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = st.lists(st.sampled_from([letter * 3 for letter in LETTERS]), max_size=60)


def passages_of(text: str, document: str, scheme: PassageScheme = SCHEME) -> tuple[HashedPassage, ...]:
    """Return the passages of all hashes that a text shares with a document."""
    of_text, words = words_of(text), join(words_of(document).words)
    stored = passage_places(document, words, Scheme(), scheme)
    hashes, _ = hashes_to_look_up(join(of_text.words), scheme)
    starts = np.flatnonzero(np.isin(hashes, stored.hashes))
    cover = merge_ranges(starts, starts + scheme.hashed_words) if starts.size else NO_RANGES
    return HashedPassages(of_text.spans, scheme.hashed_words, hashes).find(cover, stored)


@given(WORDS, WORDS, WORDS, WORDS)
def test_both_texts_have_the_words(start: list[str], shared: list[str], between: list[str], end: list[str]) -> None:
    """
    The text has the words of each passage in its place, and so has the document. Together, the passages have all words
    of the hashes that both share.
    """
    text, document = [*start, *shared, *end], [*between, *shared, *shared, *end]
    made, covered = passages_of(" ".join(text), " ".join(document)), set[int]()
    for passage in made:
        at, words = len(" ".join(text)[: passage.a[0]].split()), " ".join(text)[slice(*passage.a)].split()
        covered |= {*range(at, at + passage.words)}
        assert passage.words == len(words) >= SCHEME.hashed_words
        assert passage.b_words
        first, last, length = passage.b_words
        assert length == len(document)
        own = document[first - 1 : last]
        # Runs of repeated words may be joined like those of broken words, so the words in the middle may differ.
        assert (own[:4], own[-4:]) == (words[:4], words[-4:])
    places, _ = winnow_with_positions(join(document), SCHEME)
    runs = {tuple(document[at : at + 4]) for at in places.tolist()}
    expected = {at + step for at in range(len(text) - 3) if tuple(text[at : at + 4]) in runs for step in range(4)}
    assert covered == expected
    assert [passage.words for passage in made] == sorted((passage.words for passage in made), reverse=True)


def named(count: int, letter: str) -> list[str]:
    return [f"{letter}{LETTERS[at // 26]}{LETTERS[at % 26]}{letter}word" for at in range(count)]


def test_parts_from_different_places() -> None:
    """
    If the text puts two parts of a document together, each part is a passage with its own place.
    """
    scheme = PassageScheme(4, 4, PROOF_BITS)
    document = named(50, "q")
    first, second = passages_of(" ".join(document[30:50] + document[5:15]), " ".join(document), scheme)
    assert (first.words, first.b_words) == (20, (31, 50, 50))
    assert (second.words, second.b_words) == (10, (6, 15, 50))


@pytest.mark.parametrize("is_broken", [False, True])
def test_broken_words_do_not_divide_a_passage(is_broken: bool) -> None:
    """
    A document may break words at line ends. Each of them counts as two in the document, and as one in the text.
    """
    scheme = PassageScheme(4, 4, PROOF_BITS)
    words = [*named(10, "x"), *named(30, "q"), *named(10, "y")]
    broken = [f"{word[:3]}-\n{word[3:]}" if is_broken and at in (3, 20, 33) else word for at, word in enumerate(words)]
    (passage,) = passages_of(" ".join(named(5, "z") + words[10:40]), " ".join(broken), scheme)
    assert passage.words == 30
    assert passage.b_words == ((12, 43, 53) if is_broken else (11, 40, 50))


def test_without_places() -> None:
    """
    Words that the stored hashes lack, or all words if no places are stored, are passages without a place.
    """
    text = " ".join(named(30, "q"))
    of_text = words_of(text)
    found = HashedPassages(of_text.spans, SCHEME.hashed_words, hashes_to_look_up(join(of_text.words), SCHEME)[0])
    nothing = PassagePlaces(9, np.empty(0, np.int64), np.empty(0, np.uint64))
    for stored in (None, nothing):
        passages = found.find(np.array([[0, 5], [10, 30]]), stored)
        assert [(text[slice(*each.a)].split()[0], each.words, each.b_words) for each in passages] == [
            (named(11, "q")[10], 20, None),
            (named(1, "q")[0], 5, None),
        ]
