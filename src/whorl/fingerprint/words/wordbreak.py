"""Where words end: the tables of one Lucene release and the state machine that reads them.

Nothing about Unicode is written down here. The tables come out of the jars that Lucene and ICU4J released
(``tools/wordbreak/build_tables.py``), so a profile breaks text where that release does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODE_POINTS, FIRST_PLANE = 0x110000, 0x10000
#: ICU4J UScript: COMMON is 0 and INHERITED is 1; neither opens a script run. JAPANESE stands for Han, Hiragana and
#: Katakana together (Lucene's ScriptIterator with combineCJ).
INHERITED, JAPANESE = 1, 105
#: ICU4J RBBIDataWrapper: state 0 ends a match, state 1 begins one.
STOP, START = 0, 1

TABLES = Path(__file__).with_name("tables")
#: Longer texts than this are read anew each time, so that what is remembered stays small.
LONGEST_KEPT = 32

#: Start, end, and whether it is a word.
Segment = tuple[int, int, bool]


class StateMachine:
    """One compiled break rule file: ICU4J's RuleBasedBreakIterator going forward, as handleNext does it.

    Attributes:
        categories: The character category of each code point.
        following: The next state, by state and category.
        accepting: 1 for each state in which a segment may end.
        word: 1 for each accepting state whose rule status is not 0, so that Lucene's ICUTokenizer makes a token.
        dictionary_start: Categories from here on ask for a dictionary.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], name: str) -> None:
        self.categories = spread(arrays[f"{name}_starts"], arrays[f"{name}_categories"])
        self.following: NDArray[np.uint8] = arrays[f"{name}_next"]
        self.accepting: NDArray[np.uint8] = arrays[f"{name}_accepting"]
        self.word: NDArray[np.uint8] = arrays[f"{name}_word"]
        self.dictionary_start = int(arrays[f"{name}_dictionary"])
        # Bytes and lists of bytes: indexing them is what Python does fastest.
        self._category = self.categories.tobytes()
        self._rows = [row.tobytes() for row in self.following]
        self._accepting, self._word = self.accepting.tobytes(), self.word.tobytes()
        # Most words have the shape of a word seen before: letters and a comma, say.
        self.scan = lru_cache(maxsize=4096)(self._scan)

    def segments(self, text: str, divide: Callable[[str], list[int]]) -> Sequence[Segment]:
        """Return start, end and whether it is a word, for each segment of a text.

        Args:
            text: A script run, or a piece of one between separators.
            divide: Returns where words end inside a segment; asked if some character wants a dictionary.
        """
        if text.isascii():
            categories = text.encode().translate(self._category[:256])
        else:
            categories = bytes([self._category[ord(character)] for character in text])
        segments = self.scan(categories) if len(categories) <= LONGEST_KEPT else self._scan(categories)
        if max(categories, default=0) < self.dictionary_start:
            return segments
        return [
            (begin, stop, is_word)
            for start, end, is_word in segments
            for begin, stop in pairwise([start, *(start + place for place in divide(text[start:end])), end])
        ]

    def _scan(self, categories: bytes) -> Sequence[Segment]:
        """Return the segments of a text given as categories: RuleBasedBreakIterator.handleNext, to the end."""
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
            if end == start:  # no rule matches; move on all the same
                end += 1
            segments.append((start, end, word[last] == 1))
            start = end
        return segments

    def asks(self, character: str) -> bool:
        """Return whether a character wants a dictionary to divide the segment it stands in."""
        return self._category[ord(character)] >= self.dictionary_start

    def separators(self, emoji: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return two sets of characters, as masks over the first plane, between which a text may be cut beforehand.

        A *separator* is never part of a word: a boundary stands before it, unless another separator does, and after it,
        unless a separator or a *joiner* follows. Both follow from the table alone. Two categories are always cut if no
        state that the first leads to goes on with the second; since no match then crosses the place and every match
        moves on, one match ends exactly there.

        Beyond the first plane nothing is a separator and everything must be taken for a joiner, because a regular
        expression finds the characters of the first plane much faster.
        """
        following, categories = self.following, range(self.following.shape[1])
        reached = list(reachable(following))
        states = [list(set(following[reached, c].tolist()) - {STOP}) for c in categories]
        cut = np.array([~following[after].any(axis=0) for after in states])
        first_plane = self.categories[:FIRST_PLANE]
        beyond = set(np.flatnonzero(np.bincount(self.categories[FIRST_PLANE:])).tolist())
        excluded = set(self.categories[emoji == 1].tolist()) | set(range(self.dictionary_start, len(categories)))
        separators = {c for c in categories if c not in excluded and not self.word[states[c]].any()}
        dropped = {-1}
        while dropped:
            others = [c for c in categories if c not in separators or c in beyond]
            dropped = {c for c in separators if not cut[others, c].all()}
            separators -= dropped
        joiners = [c for c in categories if c not in separators and not cut[list(separators), c].all()]
        return np.isin(first_plane, list(separators)), np.isin(first_plane, joiners)


class Tables:
    """What one Lucene release knows about characters.

    Attributes:
        about: The releases the tables were made from, with their SHA-256.
        default: The rules of Lucene's Default.brk, for every script but Japanese.
        cjk: The rules of ICU4J's root word.brk, for Han, Hiragana and Katakana (Lucene's DefaultICUTokenizerConfig).
        script: The script code of each code point, as Lucene's ScriptIterator sees it.
        mark: 1 for each combining mark, which continues any script run.
        joins: ``code point << 8 | script`` for each character that continues a run of that script (Script_Extensions).
        emoji: 1 for emoji, 2 for what is one only before U+FE0F or U+20E3 (Lucene's BreakIteratorWrapper).
        fold: The nfkc_cf form of each character that has another than itself.
        decompositions: The canonical decomposition of each character that has one, Hangul syllables apart.
        compositions: What two characters compose to.
        classes: The canonical combining class of each character where it is not 0.
        joint: The characters that NFC may join to what stands before them.
        engine: The dictionary engine that knows each code point, 0 for none (``dictionary.py`` names them).
        role: What each code point may do in a word, to the engines that look ahead.
        nfkc: The NFKC form of each character of the Chinese and Japanese engine that has another than itself.
        nfkc_joint: The characters of that engine that NFKC may join to what stands before them.
    """

    def __init__(self, profile: str) -> None:
        with np.load(TABLES / f"{profile}.npz") as archive:
            arrays: dict[str, NDArray[Any]] = dict(archive)
        self.about: dict[str, Any] = json.loads(arrays["about"].tobytes())
        self.default = StateMachine(arrays, "default")
        self.cjk = StateMachine(arrays, "cjk")
        self.script = spread(arrays["script_starts"], arrays["script_values"])
        self.mark = spread(arrays["mark_starts"], arrays["mark_values"])
        self.joins = frozenset(c << 8 | script for c, script in arrays["joins"].tolist())
        self.emoji = spread(arrays["emoji_starts"], arrays["emoji_values"])
        self.fold = _mapping(arrays, "fold")
        self.decompositions = _mapping(arrays, "decompose")
        self.compositions = {(chr(a), chr(b)): chr(c) for a, b, c in arrays["compose"].tolist()}
        classes = spread(arrays["class_starts"], arrays["class_values"])
        self.classes = {chr(c): int(classes[c]) for c in np.flatnonzero(classes)}
        joint = spread(arrays["joint_starts"], arrays["joint_values"])
        self.joint = frozenset(map(chr, np.flatnonzero(joint)))
        self.engine = spread(arrays["engine_starts"], arrays["engine_values"])
        self.role = spread(arrays["role_starts"], arrays["role_values"])
        self.nfkc = _mapping(arrays, "nfkc")
        self.nfkc_joint = frozenset(map(chr, arrays["nfkc_joint"].tolist()))

    def script_runs(self, text: str) -> list[tuple[int, int, int]]:
        """Return start, end and script of each run of one script: Lucene's ScriptIterator.

        Common and inherited characters continue any run, and so do combining marks and characters whose
        Script_Extensions name the run's script. A run takes the script of its first character that has one.
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


@cache
def tables(profile: str) -> Tables:
    """Return the tables of a profile, read once."""
    return Tables(profile)


def spread(starts: NDArray[np.int32], values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the value of every code point, from where each run of one value starts."""
    return np.repeat(values, np.diff(starts, append=CODE_POINTS))


def reachable(following: NDArray[np.uint8]) -> set[int]:
    """Return the states of a machine that some text leads to, STOP left out."""
    found, waiting = set[int](), {START}
    while waiting:
        found |= waiting
        waiting = set(following[list(waiting)].ravel().tolist()) - found - {STOP}
    return found


def character_class(mask: NDArray[np.bool_]) -> str:
    """Return the inside of a regular expression's character class for a set of code points."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0)).reshape(-1, 2).tolist()
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(limit - 1))}" for first, limit in edges)


def _mapping(arrays: Mapping[str, NDArray[Any]], name: str) -> dict[int, str]:
    values = arrays[f"{name}_values"].tobytes().decode().split("\n")
    return dict(zip(arrays[f"{name}_keys"].tolist(), values, strict=True))
