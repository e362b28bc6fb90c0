"""Division of Chinese and Japanese by the compiled loop, compared with the plain dictionary."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fingerprint.compiled.scripts import needs_numba, new_kernel
from whorl.fingerprint.compiled.unicode_tables import DIVIDED_WORD, tables_for_loops
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.split_by_dictionary import Dictionaries
from whorl.fingerprint.words.tokenizer import PROFILES, segmenter_of
from whorl.fingerprint.words.wordbreak import tables

pytestmark = needs_numba
CHARACTERS = "日本語文章人東京分词測試中国のをひらがなカタカナー、ABC한국"


def divided(segments: list[str], profile: str, kind: int = DIVIDED_WORD) -> tuple[list[list[int] | None], int]:
    """
    Return the word ends of each segment, None for segments left to the plain route, and the number of segments left to
    it.
    """
    from whorl.fingerprint.compiled.cjk_word_loops import divide

    work, own = new_kernel(Scheme(profile))._work, tables_for_loops(profile)
    units = np.frombuffer("".join(segments).encode("utf-16-le", "surrogatepass"), np.uint16)
    slow = work.slow[: len(segments)]
    stops = np.cumsum([len(segment) for segment in segments])
    for row, segment, stop in zip(slow, segments, stops.tolist(), strict=True):
        row[:] = 0, stop - len(segment), stop, kind
    counts = work.counts[: len(segments)]
    _, _, left = divide(units, slow, own.engines, own.trie, work, work.ends, counts)
    actual: list[list[int] | None] = []
    at = 0
    for segment, stop, count in zip(segments, stops.tolist(), counts.tolist(), strict=True):
        own_ends = work.ends[at : at + max(count, 0)].tolist()
        actual.append(None if count < 0 else [end - stop + len(segment) for end in own_ends])
        at += max(count, 0)
    return actual, int(left)


@cache
def dictionaries(profile: str) -> Dictionaries:
    return Dictionaries(tables(profile), segmenter_of(profile).default.fold.compose)


def plain(segment: str, profile: str) -> list[int]:
    return [*dictionaries(profile).divide(segment, tables(profile).cjk.needs_dictionary), len(segment)]


@given(st.lists(st.text(CHARACTERS, min_size=1, max_size=30), min_size=1, max_size=5), st.sampled_from(PROFILES))
def test_the_words_of_segments(segments: list[str], profile: str) -> None:
    """
    The word ends are those of the plain dictionary, for any number of segments with any characters.
    """
    assert divided(segments, profile) == ([plain(segment, profile) for segment in segments], 0)


@pytest.mark.parametrize("rare", ["ｶﾞ", "\u3300", "𠀀", "ไทย", "\ud800"])
def test_rare_characters_are_left_to_python(rare: str) -> None:
    """
    Segments with characters changed by normalisation, of other planes or of other dictionaries are left to the plain
    route.
    """
    segments = ["日本語", f"東京{rare}文章", "日本語"]
    if rare == "𠀀":
        segments[1] = "東京" + "\ud840\udc00"
    actual, left = divided(segments, "icu74")
    assert (actual[1], left) == (None, 1)
    assert actual[0] == actual[2] == plain("日本語", "icu74")


def test_other_segments_are_skipped() -> None:
    """
    Only segments that the rules for Chinese and Japanese pass to a dictionary are divided.
    """
    assert divided(["日本語", "文章"], "icu74", DIVIDED_WORD - 1) == ([None, None], 2)
