"""Finds word boundaries with the break rules and Unicode tables of a Lucene release.

``tools/wordbreak/build_tables.py`` extracts the tables from the jars of Lucene and ICU4J. So a profile breaks text in
exactly the same way as its release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.arrays_and_batches import ranges_of

CODE_POINTS, FIRST_PLANE = 0x110000, 0x10000
#: From ICU4J's UScript: COMMON is 0 and INHERITED is 1; neither begins a script run. JAPANESE means Han, Hiragana and
#: Katakana together (Lucene's ScriptIterator with combineCJ).
INHERITED, JAPANESE = 1, 105
#: From ICU4J's RBBIDataWrapper: state 0 ends a match, state 1 begins one.
STOP, START = 0, 1

TABLES = Path(__file__).with_name("tables")
#: Maximum length, in characters, of texts whose segments or words are cached.
LONGEST_CACHED = 32

#: Start and end of a segment, and whether it is a word.
Segment = tuple[int, int, bool]


class StateMachine:
    """Divides text into segments with one compiled file of break rules, like ICU4J's RuleBasedBreakIterator.

    Attributes:
        categories: The character category of each code point.
        beyond: Categories of characters beyond the first plane.
        following: Next state for each state and category; array of shape (states, categories).
        accepting: 1 for each possible end state of a segment.
        word: 1 for each accepting state with a non-zero rule status, where Lucene's ICUTokenizer emits a token.
        dictionary_start: First category whose characters need a dictionary.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.categories = expand_runs(arrays["starts"], arrays["categories"])
        is_beyond = np.append(arrays["starts"][1:], CODE_POINTS) > FIRST_PLANE
        self.beyond = frozenset(arrays["categories"][is_beyond].tolist())
        self.following, self.accepting, self.word = (arrays[name] for name in ("next", "accepting", "word"))
        self.dictionary_start = int(arrays["dictionary"])
        # Python reads elements of bytes objects faster than elements of arrays.
        self._category = self.categories.tobytes()
        self._rows = [row.tobytes() for row in self.following]
        self._accepting, self._word = self.accepting.tobytes(), self.word.tobytes()
        # Cache the results, because most words have the same categories as an earlier word.
        self.scan = lru_cache(maxsize=4096)(self._scan)

    def segments(self, text: str, divide: Callable[[str], list[int]]) -> Sequence[Segment]:
        """Return the segments of a text: start, end, and whether the segment is a word.

        The text is a script run, or the part of a script run between two separators. `divide` returns the word ends
        inside a segment that needs a dictionary.
        """
        if text.isascii():
            categories = text.encode().translate(self._category[:256])
        else:
            categories = bytes([self._category[ord(character)] for character in text])
        segments = self.scan(categories) if len(categories) <= LONGEST_CACHED else self._scan(categories)
        if max(categories, default=0) < self.dictionary_start:
            return segments
        return [
            (begin, stop, is_word)
            for start, end, is_word in segments
            for begin, stop in pairwise([start, *(start + place for place in divide(text[start:end])), end])
        ]

    def _scan(self, categories: bytes) -> Sequence[Segment]:
        """Return the segments of a text, as repeated calls of RuleBasedBreakIterator.handleNext would.

        `categories` has the category of each character.
        """
        rows, accepting, word = self._rows, self._accepting, self._word
        segments = []
        start, limit = 0, len(categories)
        while start < limit:
            row = rows[START]
            end, last = start, STOP
            for position in range(start, limit):
                state = row[categories[position]]
                if accepting[state]:
                    end, last = position + 1, state
                elif state == STOP:
                    break
                row = rows[state]
            end = max(end, start + 1)  # If no rule matches, advance by one character.
            segments.append((start, end, word[last] == 1))
            start = end
        return segments

    def needs_dictionary(self, character: str) -> bool:
        return self._category[ord(character)] >= self.dictionary_start

    def separators(self, emoji: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return two masks of the characters of the first plane: separators, and joiners.

        A *separator* is never part of a word. There is a segment boundary before each run of separators, and after the
        run unless a *joiner* follows. So a text can be cut at these boundaries. The transition table gives both sets:
        two categories have a boundary between them if no state after the first has a transition for the second. The
        caller treats all characters beyond the first plane as joiners, because regular expressions are faster within
        the first plane.
        """
        following, categories = self.following, range(self.following.shape[1])
        reached = list(reachable(following))
        states = [list(set(following[reached, c].tolist()) - {STOP}) for c in categories]
        cut = np.array([~following[after].any(axis=0) for after in states])
        first_plane = self.categories[:FIRST_PLANE]
        excluded = set(self.categories[emoji == 1].tolist()) | set(range(self.dictionary_start, len(categories)))
        separators = {c for c in categories if c not in excluded and not self.word[states[c]].any()}
        dropped = {-1}
        while dropped:
            others = [c for c in categories if c not in separators or c in self.beyond]
            dropped = {c for c in separators if not cut[others, c].all()}
            separators -= dropped
        joiners = [c for c in categories if c not in separators and not cut[list(separators), c].all()]
        masks = np.zeros((2, len(categories)), np.bool_)
        masks[0, list(separators)] = masks[1, joiners] = True
        return masks[0][first_plane], masks[1][first_plane]


def _code_point_values(name: str) -> cached_property[NDArray[np.uint8]]:
    """Return a property that reads the table of this name: one value for each code point."""
    return cached_property(lambda tables: tables._spread(name))


def _mapping(name: str) -> cached_property[dict[int, str]]:
    """Return a property that reads the table of this name: a map from code points to texts."""

    def read(tables: WordBreakTables) -> dict[int, str]:
        arrays = tables._arrays(name)
        return dict(zip(arrays["keys"].tolist(), arrays["values"].tobytes().decode().split("\n"), strict=True))

    return cached_property(read)


class WordBreakTables:
    """Character data of one Lucene release.

    Attributes:
        about: Releases that the tables come from, with their SHA-256.
        default: Rules of Lucene's Default.brk, for every script except Japanese.
        cjk: Rules of ICU4J's root word.brk, for Han, Hiragana and Katakana (Lucene's DefaultICUTokenizerConfig).
        script: Script code of each code point, as seen by Lucene's ScriptIterator.
        mark: 1 for each combining mark, which continues any script run.
        joins: ``code point << 8 | script`` for each character that continues a run of that script (Script_Extensions).
        emoji: 1 for emoji, 2 for characters that are emoji only before U+FE0F or U+20E3 (Lucene's
            BreakIteratorWrapper).
        fold: nfkc_cf form of each character that folding changes.
        decompositions: Canonical decomposition of each character that has one, except Hangul syllables.
        compositions: Composition of each pair of characters that has one.
        classes: Canonical combining class of each character, if not 0.
        joint: Characters that NFC may combine with a preceding character.
        engine: Dictionary engine of each code point, 0 for none (`split_by_dictionary` names them).
        role: Possible roles of each code point in a word, for the dictionary engines that look ahead.
        nfkc: NFKC form of each character of the Chinese and Japanese engine that NFKC changes.
        nfkc_joint: Characters of that engine that NFKC may combine with a preceding character.
    """

    def __init__(self, profile: str) -> None:
        # English text needs few of the tables, so unpack each table on first use.
        self._packed = (TABLES / f"{profile}.npz").read_bytes()

    @cached_property
    def about(self) -> dict[str, Any]:
        about: dict[str, Any] = json.loads(self._array("about").tobytes())
        return about

    @cached_property
    def default(self) -> StateMachine:
        return StateMachine(self._arrays("default"))

    @cached_property
    def cjk(self) -> StateMachine:
        return StateMachine(self._arrays("cjk"))

    script, mark, emoji, engine, role = map(_code_point_values, ("script", "mark", "emoji", "engine", "role"))
    fold, decompositions, nfkc = map(_mapping, ("fold", "decompose", "nfkc"))

    @cached_property
    def joins(self) -> frozenset[int]:
        return frozenset(c << 8 | script for c, script in self._array("joins").tolist())

    @cached_property
    def compositions(self) -> dict[tuple[str, str], str]:
        return {(chr(a), chr(b)): chr(c) for a, b, c in self._array("compose").tolist()}

    @cached_property
    def classes(self) -> dict[str, int]:
        classes = self._spread("class")
        return {chr(c): int(classes[c]) for c in np.flatnonzero(classes)}

    @cached_property
    def joint(self) -> frozenset[str]:
        return frozenset(map(chr, np.flatnonzero(self._spread("joint"))))

    @cached_property
    def nfkc_joint(self) -> frozenset[str]:
        return frozenset(map(chr, self._array("nfkc_joint").tolist()))

    def script_runs(self, text: str) -> list[tuple[int, int, int]]:
        """Return start, end and script of each run of one script: Lucene's ScriptIterator.

        The first character with a script determines the script of the run. Three kinds of characters continue the run:
        common and inherited characters, combining marks, and characters whose Script_Extensions name the script.
        """
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        scripts = self.script[codes]
        strong = np.flatnonzero(scripts > INHERITED)
        if not strong.size:
            return [(0, len(text), 0)]
        own = scripts[strong]
        current, start, runs = int(own[0]), 0, []
        stretches = [*(np.flatnonzero(own[1:] != own[:-1]) + 1).tolist(), len(own)]
        for first, limit in pairwise(stretches):
            script = int(own[first])
            if script == current:
                continue
            for place in strong[first:limit].tolist():
                code = int(codes[place])
                if not self.mark[code] and (code << 8 | current) not in self.joins:
                    runs.append((start, place, current))
                    start, current = place, script
                    break
        return [*runs, (start, len(text), current)]

    def _array(self, name: str) -> NDArray[Any]:
        with np.load(BytesIO(self._packed)) as archive:
            array: NDArray[Any] = archive[name]
        return array

    def _arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of one table. Keys are array names without the table's name."""
        with np.load(BytesIO(self._packed)) as archive:
            return {key.removeprefix(f"{name}_"): archive[key] for key in archive if key.startswith(f"{name}_")}

    def _spread(self, name: str) -> NDArray[np.uint8]:
        arrays = self._arrays(name)
        return expand_runs(arrays["starts"], arrays["values"])


@cache
def tables(profile: str) -> WordBreakTables:
    return WordBreakTables(profile)


def expand_runs(starts: NDArray[np.int32], values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Expand runs of equal values to one value per code point; `starts` has the runs' first code points."""
    return np.repeat(values, np.diff(starts, append=CODE_POINTS))


def reachable(following: NDArray[np.uint8]) -> set[int]:
    """Return the states that a machine can reach from START, including START, without STOP."""
    reached, waiting = set[int](), {START}
    while waiting:
        reached |= waiting
        waiting = set(following[list(waiting)].ravel().tolist()) - reached - {STOP}
    return reached


def character_class(mask: NDArray[np.bool_]) -> str:
    """Return the content of a regular expression's character class for a mask of code points."""
    ranges = ranges_of(mask).tolist()
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(limit - 1))}" for first, limit in ranges)
