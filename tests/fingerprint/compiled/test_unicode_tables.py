"""Guarantees of the tables to the compiled loops, compared with the plain route's words; numba is not needed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.compiled.unicode_tables import (
    CARE,
    CATEGORY_SHIFT,
    ENGINE,
    FOLD_SHIFT,
    HARD_END,
    NEEDS_DICTIONARY,
    OTHER_SCRIPT,
    RARE,
    RUN,
    SPACE,
    START_WORD,
    tables_for_loops,
)
from whorl.fingerprint.words.split_by_dictionary import BURMESE, CJK, HANGUL, THAI
from whorl.fingerprint.words.tokenizer import PROFILES, tokens

profiles = pytest.mark.parametrize("profile", PROFILES)


@cache
def characters(profile: str, wanted: int, unwanted: int) -> st.SearchStrategy[str]:
    """
    Return the characters of the first plane whose units have all wanted flags and no unwanted one.
    """
    units = tables_for_loops(profile).units
    actual = np.flatnonzero((units & (wanted | unwanted)) == wanted)
    return st.sampled_from(actual.tolist()).map(chr)


def folded(profile: str, text: str) -> str:
    return "".join(chr(int(tables_for_loops(profile).units[ord(character)]) >> FOLD_SHIFT) for character in text)


@cache
def words(profile: str) -> st.SearchStrategy[str]:
    """
    Return texts that are one word of Latin script according to the tables.
    """
    first = characters(profile, RUN | START_WORD, CARE | OTHER_SCRIPT)
    others = st.lists(characters(profile, RUN, CARE | OTHER_SCRIPT), max_size=12).map("".join)
    return st.builds(str.__add__, first, others)


@profiles
@given(st.data())
def test_runs_without_care_are_words(profile: str, data: st.DataObject) -> None:
    """
    A run of characters without special care is one word, folded unit by unit.
    """
    word = data.draw(words(profile))
    assert tokens(word, profile) == [folded(profile, word)]


@profiles
@given(st.data())
def test_gaps_make_no_word(profile: str, data: st.DataObject) -> None:
    """
    Characters outside of runs form no word, and after a hard end the word before has ended.
    """
    gap = data.draw(st.lists(characters(profile, 0, RUN | OTHER_SCRIPT), max_size=8).map("".join))
    assert tokens(gap, profile) == []
    one, other = data.draw(words(profile)), data.draw(words(profile))
    end = data.draw(characters(profile, HARD_END, OTHER_SCRIPT))
    actual = tokens(one + end + gap + " " + other, profile)
    assert actual == [folded(profile, one), folded(profile, other)]


@profiles
@given(st.data())
def test_soft_ends(profile: str, data: st.DataObject) -> None:
    """
    A word has ended before a gap if the category of the following character says so.
    """
    own = tables_for_loops(profile)
    one, other = data.draw(words(profile)), data.draw(words(profile))
    gap = data.draw(characters(profile, 0, RUN | HARD_END | OTHER_SCRIPT))
    after = data.draw(characters(profile, 0, CARE | OTHER_SCRIPT))
    gap_category, category = (int(own.units[ord(char)]) >> CATEGORY_SHIFT & 63 for char in (gap, after))
    if int(own.soft_ends[gap_category]) >> category & 1:
        assert tokens(one + gap + after + " " + other, profile)[0] == folded(profile, one)
    if int(own.soft_ends[gap_category]) >> 62 & 1:
        assert tokens(one + gap, profile) == [folded(profile, one)]


@profiles
def test_flags_by_hand(profile: str) -> None:
    """
    Letters start words; a quote may be inside a word, and needs care or a look at the next character; spaces end
    buffers.
    """
    units = tables_for_loops(profile).units

    def flags(char: str) -> int:
        return int(units[ord(char)]) & 0xFF

    assert flags("a") == flags("Z") == flags("7") == RUN | START_WORD
    assert flags(" ") & (RUN | SPACE | HARD_END) == SPACE | HARD_END
    assert flags("\xa0") & SPACE == 0
    assert not flags("'") & HARD_END
    assert flags("я") & OTHER_SCRIPT
    assert flags("\u0301") & CARE
    assert flags("\ud800") & (OTHER_SCRIPT | CARE) == OTHER_SCRIPT | CARE
    assert [chr(int(units[ord(char)]) >> FOLD_SHIFT) for char in "aZÉ"] == ["a", "z", "é"]


@profiles
def test_engines_by_hand(profile: str) -> None:
    """
    Each UTF-16 unit has the engine of its dictionary, and a mark if the compiled loop leaves the character to the plain
    route.
    """
    engines = tables_for_loops(profile).engines
    assert [int(engines[ord(char)]) & ENGINE for char in "日のカ한ไမa"] == [CJK, CJK, CJK, HANGUL, THAI, BURMESE, 0]
    assert [bool(engines[ord(char)] & NEEDS_DICTIONARY) for char in "日のกa、"] == [True, True, True, False, False]
    assert [bool(engines[ord(char)] & RARE) for char in "日ｶﾞ\u3300\ud840a"] == [False, True, True, True, True, False]
