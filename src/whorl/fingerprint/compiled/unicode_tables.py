"""Builds arrays of Unicode data for the compiled loops, which split text into words and fold the words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.words import tokenizer as plain
from whorl.fingerprint.words.split_by_dictionary import load_trie
from whorl.fingerprint.words.wordbreak import CODE_POINTS, FIRST_PLANE, INHERITED, JAPANESE, START, STOP, StateMachine

#: Flags of a unit in `LoopTables.units`. RUN: it may be part of a word. CARE: it is unusual, so the state machine
#: decides. START_WORD: it may begin a word. HARD_END: a word certainly ends before it. OTHER_SCRIPT: it belongs to a
#: script other than Latin, or is a surrogate. SPACE: a buffer may end after it. Bits 8 to 13 of the entry hold the
#: category, bits 16 to 31 the folded unit.
RUN, CARE, START_WORD, HARD_END, OTHER_SCRIPT, SPACE = 1, 2, 4, 8, 16, 32
CATEGORY_SHIFT, FOLD_SHIFT = 8, 16
#: Flags of a character in `LoopTables.characters`. SLOW: its folded form is not a single independent unit. EMOJI: it is
#: an emoji. EMOJI_IF_MARKED: it is an emoji only before U+FE0F or U+20E3. COMBINING: it is a combining mark. JOINING:
#: it continues runs of the scripts that `LoopTables.joins` has for it.
SLOW, EMOJI, EMOJI_IF_MARKED, COMBINING, JOINING = 1, 2, 4, 8, 16
#: Flag of a segment, in addition to SLOW: a dictionary must divide it into words.
DIVIDED = 2
#: Bits that `word_loops.scan` writes for a segment that only the dictionary must divide: state machine 1 (Chinese and
#: Japanese), the flag DIVIDED but not SLOW, and the bit of a segment that is a word as a whole.
DIVIDED_WORD = 1 | DIVIDED << 1 | 8
#: Bit masks of an entry of `LoopTables.engines`. ENGINE: number of the unit's dictionary engine. NEEDS_DICTIONARY: the
#: unit needs a dictionary. RARE: the compiled loop leaves the unit to the Python code.
ENGINE, NEEDS_DICTIONARY, RARE = 7, 8, 16
#: Flags of a state of the state machine. ACCEPTS: a segment may end here. IS_WORD: a segment that ends here is a word.
ACCEPTS, IS_WORD = 1, 2
STRIDE, DICTIONARY_0, DICTIONARY_1, JAPANESE_SCRIPT, BUFFER = range(5)
#: Number of units that the loops may read or write after the end of a text's words.
PADDING = 64


class LoopTables(NamedTuple):
    """Tables of a profile for the loops. State machine 0 has the default rules, 1 the rules of Chinese and Japanese.

    Attributes:
        units: uint32 array of shape (65536,): folded unit, category by the default rules, and flags of each unit.
        categories: Category of each code point by the rules of machine 0, then of machine 1.
        characters, scripts: Flags of each code point, and its script.
        unit_scripts: uint8 array of shape (65536,): script of each unit, 255 for a surrogate.
        joins: Ascending int64 array of `code point << 8 | script`, as in WordBreakTables.
        following, states: Next state for each state and category (STRIDE categories a state), and flags of each state.
        begins: int64 array of shape (2,): start state of each machine.
        soft_ends: uint64 array of shape (64,), for the two units after a word. Element i is a bit mask: if the first
            unit has category i, and the second unit has a category in the mask, the word certainly ends. Bit 62 stands
            for the end of the script run or buffer, instead of a second unit.
        engines: uint8 array of shape (65536,): dictionary engine of each unit, with the flags NEEDS_DICTIONARY
            (according to state machine 1) and RARE.
        trie: uint16 array: ICU's dictionary of Chinese and Japanese.
        numbers: int64 array, indexed by STRIDE and the constants after it.
    """

    units: npt.NDArray[np.uint32]
    categories: npt.NDArray[np.uint8]
    characters: npt.NDArray[np.uint8]
    scripts: npt.NDArray[np.uint8]
    unit_scripts: npt.NDArray[np.uint8]
    joins: npt.NDArray[np.int64]
    following: npt.NDArray[np.uint16]
    states: npt.NDArray[np.uint8]
    begins: npt.NDArray[np.int64]
    soft_ends: npt.NDArray[np.uint64]
    engines: npt.NDArray[np.uint8]
    trie: npt.NDArray[np.uint16]
    numbers: npt.NDArray[np.int64]


@cache
def tables_for_loops(profile: str) -> LoopTables:
    tables = plain.segmenter_of(profile).tables
    default, cjk = tables.default, tables.cjk
    characters = np.zeros(CODE_POINTS, np.uint8)
    folded = np.arange(FIRST_PLANE, dtype=np.uint32)
    slow = np.zeros(CODE_POINTS, np.bool_)
    slow[list(map(ord, tables.joint))] = True
    slow[0xD800:0xE000] = True
    for code, form in tables.fold.items():
        is_simple = len(form) == 1 and max(code, ord(form)) < FIRST_PLANE and form not in tables.joint
        slow[code] = not is_simple
        if is_simple:
            folded[code] = ord(form)
    characters[slow] |= SLOW
    characters |= np.array([0, EMOJI, EMOJI_IF_MARKED], np.uint8)[tables.emoji]
    characters[tables.mark == 1] |= COMBINING
    joins = np.array(sorted(tables.joins), np.int64)
    # A code point with several scripts occurs several times; it gets the same flag each time.
    characters[joins >> 8] |= JOINING
    sets = _CategorySets(default)
    categories = default.categories[:FIRST_PLANE]
    surrogate = np.arange(FIRST_PLANE) // 0x800 == 0xD800 // 0x800
    gap = np.isin(categories, sets.gaps) & (tables.emoji[:FIRST_PLANE] != 1) & ~surrogate
    inner = np.isin(categories, sets.starts + sets.inner) & ~surrogate
    scripts = tables.script[:FIRST_PLANE]
    spaces = np.zeros(FIRST_PLANE, np.bool_)
    spaces[[match.start() for match in plain.SAFE_ENDS.finditer("".join(map(chr, range(FIRST_PLANE))))]] = True
    units = folded << FOLD_SHIFT | categories.astype(np.uint32) << CATEGORY_SHIFT
    for flag, mask in (
        (RUN, ~gap),
        (CARE, ~gap & (~inner | slow[:FIRST_PLANE])),
        (START_WORD, np.isin(categories, sets.starts) & ~surrogate),
        (HARD_END, gap & np.isin(categories, sets.hard_ends)),
        (OTHER_SCRIPT, (scripts > INHERITED) & (scripts != tables.script[ord("a")]) | surrogate),
        (SPACE, spaces),
    ):
        units |= np.where(mask, flag, 0).astype(np.uint32)
    engines = tables.engine[:FIRST_PLANE].copy()
    engines |= np.where(cjk.categories[:FIRST_PLANE] >= cjk.dictionary_start, NEEDS_DICTIONARY, 0).astype(np.uint8)
    changed = [code for code in (*tables.nfkc, *map(ord, tables.nfkc_joint)) if code < FIRST_PLANE]
    trie = load_trie(tables.about["dictionaries"]["cjdict"])
    engines[changed] |= RARE
    engines[surrogate] |= RARE
    if not trie.wide:
        engines[:] |= RARE
    stride = max(default.following.shape[1], cjk.following.shape[1])
    shift = len(default.following)
    following = np.zeros((shift + len(cjk.following), stride), np.uint16)
    following[:shift, : default.following.shape[1]] = default.following
    following[shift:, : cjk.following.shape[1]] = np.where(
        cjk.following != STOP, cjk.following + np.uint16(shift), STOP
    )
    states = [
        np.where(machine.accepting != 0, ACCEPTS, 0) | np.where(machine.word != 0, IS_WORD, 0)
        for machine in (default, cjk)
    ]
    return LoopTables(
        units=units.astype(np.uint32),
        categories=np.concatenate((default.categories, cjk.categories)),
        characters=characters,
        scripts=tables.script,
        unit_scripts=np.where(surrogate, np.uint8(255), scripts),
        joins=joins,
        following=following.ravel(),
        states=np.concatenate(states).astype(np.uint8),
        begins=np.array([START, START + shift], np.int64),
        soft_ends=sets.soft_ends,
        engines=engines.astype(np.uint8),
        trie=np.array(trie.data, np.uint16),
        numbers=np.array(
            [stride, default.dictionary_start, cjk.dictionary_start, JAPANESE, plain.BUFFER_UNITS], np.int64
        ),
    )


class _CategorySets:
    """Sets of character categories that let the loops find most words without the state machine.

    Attributes:
        starts: Categories that begin words. Any sequence of their characters is one word.
        inner: Categories that may occur anywhere in these words except at the start.
        gaps: Categories of characters that never form a word together, and are never in a segment with `starts`.
        hard_ends: Categories of `gaps` that never continue a word of `starts` and `inner`.
        soft_ends: The same as `LoopTables.soft_ends`.
    """

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine
        following = machine.following
        plain_categories = range(machine.dictionary_start)
        # Characters that join or modify emoji form no gaps. Letters that are also emoji begin no words, because they
        # can follow a joiner.
        joiners = {int(machine.categories[code]) for code in (0x200D, 0x20E3, 0xFE0F)}
        letter_emoji = int(machine.categories[0x2139])
        first = [int(machine.categories[ord(character)]) for character in "a0"]
        self.starts: list[int] = []
        for category in [*first, *plain_categories]:
            if category not in (*self.starts, letter_emoji) and self._is_word([*self.starts, category], []):
                self.starts.append(category)
        self.inner: list[int] = []
        for category in plain_categories:
            if category not in self.starts and self._is_word(self.starts, [*self.inner, category]):
                self.inner.append(category)
        gaps = [c for c in plain_categories if c not in {*self.starts, *self.inner, *joiners}]
        while True:
            remaining = [c for c in gaps if self._is_gap(c, gaps)]
            if remaining == gaps:
                break
            gaps = remaining
        self.gaps = gaps
        ends = sorted(self._reachable_states(self.starts, [*self.starts, *self.inner]))
        self.hard_ends = [c for c in gaps if not following[ends, c].any()]
        self.soft_ends = np.zeros(64, np.uint64)
        for category in gaps:
            after = following[ends, category]
            after = after[after != STOP]
            if not machine.accepting[after].any():
                sure = [c for c in range(following.shape[1]) if not following[after, c].any()]
                self.soft_ends[category] = sum(1 << c for c in (*sure, 62))

    def _reachable_states(self, begin: Sequence[int], go_on: Sequence[int]) -> set[int]:
        """Return the states reachable in a text whose first category is in `begin`, and whose others are in `go_on`."""
        following = self._machine.following
        reached: set[int] = set()
        waiting = set(following[START, list(begin)].tolist())
        while waiting:
            reached |= waiting
            waiting = set(following[np.ix_(sorted(waiting - {STOP}), list(go_on))].ravel().tolist()) - reached
        return reached

    def _is_word(self, starts: Sequence[int], inner: Sequence[int]) -> bool:
        states = self._reachable_states(starts, [*starts, *inner])
        return STOP not in states and all(self._machine.accepting[s] and self._machine.word[s] for s in states)

    def _is_gap(self, category: int, gaps: Sequence[int]) -> bool:
        states = sorted(self._reachable_states([category], gaps) - {STOP})
        return not self._machine.word[states].any() and not self._machine.following[np.ix_(states, self.starts)].any()
