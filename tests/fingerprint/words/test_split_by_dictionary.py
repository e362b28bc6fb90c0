"""Words in scripts without spaces: dictionaries compared with plain sets of words, and divisions by hand."""

from __future__ import annotations

import math
import struct
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.words.split_by_dictionary import (
    BURMESE,
    CJK,
    HANGUL,
    KATAKANA_COST_LONG,
    KATAKANA_COSTS,
    KATAKANA_LIMIT,
    KHMER,
    LAO,
    SUFFIX,
    THAI,
    UNKNOWN_COST,
    Dictionaries,
    LeastCost,
    Trie,
    end_with_suffixes,
    is_katakana,
    load_trie,
)
from whorl.fingerprint.words.tokenizer import segmenter_of
from whorl.fingerprint.words.wordbreak import tables

TABLES = tables("icu74")
DICTIONARIES = Dictionaries(TABLES, segmenter_of("icu74").default.fold.compose)


def divided(text: str, engine: int) -> list[str]:
    assert {*TABLES.engine[[*map(ord, text)]].tolist()} == {engine}
    breaks = [0, *DICTIONARIES.divide(text, lambda _: True), len(text)]
    return [text[start:end] for start, end in pairwise(breaks)]


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (THAI, ["ภาษา", "ไทย", "ง่าย"]),
        (THAI, ["ไทย"]),
        (THAI, ["กรุงเทพฯ", "ไทย"]),  # the sign of abbreviation stays with its word
        (THAI, ["มากๆ", "ๆ", "ไทย"]),  # only one sign of repetition
        (LAO, ["ພາສາ", "ລາວ"]),
        (KHMER, ["សួស្តី", "ពិភពលោក"]),
        (BURMESE, ["မြန်မာဘာသာ", "စကား"]),
        (CJK, ["日本語", "の", "文章"]),
        (CJK, ["カタカナ", "カタカナ"]),
        (HANGUL, ["한국어텍스트"]),
    ],
)
def test_divisions(engine: int, words: list[str]) -> None:
    """
    Each language has its own rules; Hangul is not divided.
    """
    assert divided("".join(words), engine) == words


@pytest.mark.parametrize(("text", "end", "expected"), [("กฯๆก", 1, 3), ("กๆๆ", 1, 2), ("กฯฯ", 1, 2), ("ๆๆ", 1, 1)])
def test_suffixes(text: str, end: int, expected: int) -> None:
    """
    A sign of abbreviation, then one of repetition may follow; neither is repeated.
    """
    roles = [SUFFIX if character in "ฯๆ" else 0 for character in text]
    assert end_with_suffixes(text, roles, end) == expected


def test_spans_of_one_engine_are_divided() -> None:
    """
    Each span is divided by the engine for its characters; a span without an engine is skipped.
    """
    text = "ภาษาไทย日本語の文章ab"
    assert DICTIONARIES.divide(text, lambda character: character > "z") == [4, 10, 11]
    assert DICTIONARIES.divide("abc", lambda character: False) == []


def test_a_character_with_a_longer_normal_form() -> None:
    """
    A square word is looked up as the word that it abbreviates; a word end inside it moves to its start.
    """
    engine = DICTIONARIES.engine(CJK)
    assert isinstance(engine, LeastCost)
    assert engine.normalize("日\u3300本") == ("日アパート本", [0, 1, 1, 1, 1, 2, 3])
    assert engine.normalize("ｶﾞ") == ("ガ", [0, 2])
    assert engine.normalize("日本") == ("日本", range(3))
    assert all(0 < place < 5 for place in engine.breaks("\u3300\u3301日\u3302\u3303"))


#: Units of small dictionaries in ICU's two forms: linear matches, binary branches, intermediate and final values.
SMALL = {
    (False, (0x10, 0x61, 0x23)): {"a": 1},
    (False, (0x10, 0x61, 0x22, 0x10, 0x62, 0x25)): {"a": 1, "ab": 2},
    (False, (0x01, 0x61, 0x23, 0x62, 0x25)): {"a": 1, "b": 2},
    (False, (0x01, 0x61, 0x24, 0x62, 0x27, 0x11, 0x62, 0x63, 0x25)): {"abc": 2, "b": 3},
    (True, (0x31, 0x61, 0x62, 0x8001)): {"ab": 1},
    (True, (0x30, 0x61, 0x00B0, 0x62, 0x8002)): {"a": 1, "ab": 2},
    (True, (0x01, 0x61, 0x8001, 0x62, 0xC000, 0x4001)): {"a": 1, "b": 0x4001},
}


@pytest.mark.parametrize(("form", "words"), SMALL.items())
def test_small_dictionaries(form: tuple[bool, tuple[int, ...]], words: dict[str, int]) -> None:
    """
    Dictionaries written by hand in both of ICU's forms yield all their words and no others.
    """
    is_wide, units = form
    raw = struct.pack(f">{len(units)}{'H' if is_wide else 'B'}", *units)
    trie = Trie(struct.pack(">H", 2) + struct.pack(">8i", 32, 0, 0, 32 + len(raw), int(is_wide), 0, 0, 0) + raw)
    for text in map("".join, product("abc", repeat=4)):
        actual, prefix = trie.words(trie.units(text), 0, len(text))
        assert actual == [(size, words[text[:size]]) for size in range(1, 5) if text[:size] in words]
        # Reading stops at the first unit that no word continues with; this unit counts as read.
        begun = [size for size in range(1, 5) if any(word.startswith(text[:size]) for word in words)]
        longest = max(map(len, (word for word in words if text.startswith(word))), default=0)
        is_last = len(begun) == longest and not any(
            len(word) > longest and word.startswith(text[:longest]) for word in words
        )
        assert prefix == (longest if longest and is_last else min(len(begun) + 1, 4))


def plain_cost(text: str) -> int:
    """
    Return the cost of the cheapest division, by trying them all.
    """
    trie = load_trie(TABLES.about["dictionaries"]["cjdict"])

    def cost(start: int, end: int) -> float:
        words = dict(trie.words(trie.units(text), start, len(text))[0])
        costs = [words[end - start]] if end - start in words else []
        if end - start == 1 and 1 not in words:
            costs.append(UNKNOWN_COST)
        run = text[start:end]
        is_whole = (start == 0 or not is_katakana(ord(text[start - 1]))) and (
            end == len(text) or not is_katakana(ord(text[end]))
        )
        if is_whole and len(run) < KATAKANA_LIMIT and all(map(is_katakana, map(ord, run))):
            costs.append(KATAKANA_COSTS[len(run)] if len(run) < len(KATAKANA_COSTS) else KATAKANA_COST_LONG)
        return min(costs, default=math.inf)

    best: list[float] = [0.0]
    for end in range(1, len(text) + 1):
        best.append(min(best[start] + cost(start, end) for start in range(end)))
    return int(best[-1])


@given(st.text("日本語文章人カタナーのを東京", min_size=1, max_size=12))
def test_the_division_has_the_least_cost(text: str) -> None:
    """
    Words of the dictionary, unknown characters and runs of Katakana have the minimum total cost.
    """
    engine = DICTIONARIES.engine(CJK)
    assert isinstance(engine, LeastCost)
    ends = engine.word_ends(text)
    assert ends[-1] == len(text)
    parts = [text[start:end] for start, end in pairwise([0, *ends])]
    actual = 0
    for start, part in zip([0, *ends], parts, strict=False):
        before, after = text[:start], text[start + len(part) :]
        is_run = all(map(is_katakana, map(ord, part))) and not any(
            is_katakana(ord(side)) for side in (before[-1:], after[:1]) if side
        )
        words = dict(engine.trie.words(engine.trie.units(part), 0, len(part))[0])
        costs = [words[len(part)]] if len(part) in words else []
        costs += [UNKNOWN_COST] if len(part) == 1 and not costs else []
        costs += [[*KATAKANA_COSTS, KATAKANA_COST_LONG][min(len(part), len(KATAKANA_COSTS))]] if is_run else []
        actual += min(costs)
    assert actual == plain_cost(text)
