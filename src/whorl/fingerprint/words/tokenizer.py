"""Splits text into folded words, like Solr's ICUTokenizerFactory and ICUNormalizer2FilterFactory.

The words of a text determine its fingerprint. A *profile* stands for all Lucene releases that split text into the same
words. Its name is their ICU version:

=======  ===================  ==================  ====================
profile  Lucene               Solr                ``a:b`` is
=======  ===================  ==================  ====================
icu70    9.1 to 9.10          9.1 to 9.6          one word
icu74    9.11 to 9.12, 10.0,  9.7 to 9.10         two words
         10.1
icu77    10.2 on              10.0 on             one word
=======  ===================  ==================  ====================

Profiles also differ in the dictionaries of Chinese, Japanese, Thai and Lao, and in the new scripts and emoji that they
know.

>>> tokens("Straße: don't PANIC")
['strasse', "don't", 'panic']
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import accumulate, chain
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint.words.split_by_dictionary import Dictionaries
from whorl.fingerprint.words.wordbreak import (
    CODE_POINTS,
    FIRST_PLANE,
    JAPANESE,
    LONGEST_CACHED,
    StateMachine,
    WordBreakTables,
    character_class,
    tables,
)
from whorl.request_context import require_time

PROFILES: tuple[str, ...] = ("icu70", "icu74", "icu77")
DEFAULT_PROFILE = "icu74"
#: Profile that makes every character a word (see `shingling.pieces`).
CHARACTERS = "characters"

#: Number of UTF-16 units that Lucene's ICUTokenizer reads at a time (IOBUFFER).
BUFFER_UNITS = 4096
#: Number of characters, and number of word ranges, to convert between characters and UTF-16 at a time.
_ENCODED_AT_ONCE = 1 << 18
#: White space at which ICUTokenizer.findSafeEnd may cut a buffer, as defined by ICU4J's UCharacter.isWhitespace.
SAFE_ENDS = re.compile("[\t-\r\x1c- \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]")
_SAFE_END = re.compile(f"(?s:.*){SAFE_ENDS.pattern}")
#: A hyphen or soft hyphen at the end of a line, with the white space before the next line's first word, which may be on
#: a new page. Digitised texts also have `¬`, and `⸗` or `=` for the double hyphens of Fraktur. The hyphen may belong to
#: the word, as in `well-known`; a comparison looks at the words of the other text to decide.
_LINE_END_HYPHEN = re.compile("[-\u00ad\u2010¬⸗=][ \t\r]*\n[ \t\f]*")
#: Characters that `fold_apostrophes` replaces.
TYPOGRAPHIC_APOSTROPHES = "‘’‛ʼ"
#: Characters that take two UTF-16 units, and single surrogates, which may be half of a pair. After these characters,
#: positions counted in characters and in UTF-16 units may differ.
SURROGATE_OR_PAIR = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
#: Maximum number of chunks of text whose words are cached; they take at most about 25 MB.
_MOST_CACHED = 1 << 16


def tokens(text: str, profile: str = DEFAULT_PROFILE) -> list[str]:
    """Return the folded words of a text, in order.

    Lucene's ``ICUTokenizer`` followed by ``ICUNormalizer2Filter`` (nfkc_cf) gives the same words. A word may be empty,
    because folding removes a Hangul filler that stands alone. Lone surrogates stay unchanged.

    Raises:
        ParameterError: The profile does not exist.

    >>> tokens("3,000 ﬁles at http://x", "icu77")
    ['3,000', 'files', 'at', 'http', 'x']
    """
    segmenter = segmenter_of(profile)
    return list(chain.from_iterable(map(segmenter.words, buffers(text))))


def folding_growth(text: str, profile: str = DEFAULT_PROFILE) -> int:
    """Return the maximum number of characters that folding adds to a text.

    >>> folding_growth("ﬁne Straße")
    2
    """
    growth = segmenter_of(profile).growth
    return sum(int(growth[codes].sum()) for codes in _codes(text))


def tokens_and_spans(text: str, profile: str = DEFAULT_PROFILE) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the words of a text, and their half-open ranges in characters.

    >>> tokens_and_spans("ﬁne  Straße")[1].tolist()
    [[0, 3], [5, 11]]
    """
    located = _LocatedWords()
    segmenter, offset = segmenter_of(profile), 0
    for buffer in buffers(text):
        segmenter.locate_words(buffer, offset, located)
        offset += len(buffer)
    starts = np.repeat(np.frombuffer(located.starts, np.int64), np.frombuffer(located.counts, np.int64))
    require_time()
    ranges = np.frombuffer(located.relative, np.int64).reshape(-1, 2) + starts[:, None]
    require_time()
    return located.words, _as_typed(ranges, text) if SURROGATE_OR_PAIR.search(text) else ranges


def buffers(text: str) -> Iterator[str]:
    """Split a text where Lucene's ICUTokenizer.refill cuts it into buffers; no word crosses a cut."""
    encoding, width = ("ascii", 1) if text.isascii() else ("utf-16-le", 2)
    units = b""
    for start in range(0, len(text), _ENCODED_AT_ONCE):
        # Buffers are cut by UTF-16 units, perhaps inside a surrogate pair, so convert the text to units.
        units += text[start : start + _ENCODED_AT_ONCE].encode(encoding, "surrogatepass")
        begin = 0
        while len(units) - begin >= BUFFER_UNITS * width:
            buffer = units[begin : begin + BUFFER_UNITS * width].decode(encoding, "surrogatepass")
            if safe := _SAFE_END.match(buffer):
                buffer = safe.group()
            require_time()
            yield buffer
            begin += len(buffer.encode(encoding, "surrogatepass"))
        units = units[begin:]
    yield units.decode(encoding, "surrogatepass")


def _as_typed(spans: npt.NDArray[np.int64], text: str) -> npt.NDArray[np.int64]:
    """Convert ranges in the buffers of a text to ranges in the text itself, in place.

    Positions can differ: a buffer may contain only half of a surrogate pair, and it joins two halves that are separate
    in the string.
    """
    pairs_in_buffers, pairs = _pairs("".join(buffers(text))), _pairs(text)
    second_halves = pairs + np.arange(len(pairs)) + 1
    for at in range(0, len(spans), _ENCODED_AT_ONCE):
        require_time()
        ranges = spans[at : at + _ENCODED_AT_ONCE]
        ranges += np.searchsorted(pairs_in_buffers, ranges)
        # The end of a word may be the second half of a pair, so convert the position of the word's last unit instead.
        ranges[:, 1] -= 1
        ranges -= np.searchsorted(second_halves, ranges, side="right")
        ranges[:, 1] += 1
    return spans


def _pairs(text: str) -> npt.NDArray[np.int64]:
    """Return the indices of the characters that take two UTF-16 units."""
    is_pair = [np.empty(0, np.bool_), *(codes >= FIRST_PLANE for codes in _codes(text))]
    return np.flatnonzero(np.concatenate(is_pair))


def _codes(text: str) -> Iterator[npt.NDArray[np.uint32]]:
    """Yield the code points of a text, in arrays of at most `_ENCODED_AT_ONCE`."""
    for at in range(0, len(text), _ENCODED_AT_ONCE):
        require_time()
        yield np.frombuffer(text[at : at + _ENCODED_AT_ONCE].encode("utf-32-le", "surrogatepass"), np.uint32)


@cache
def segmenter_of(profile: str) -> Segmenter:
    if profile not in PROFILES:
        raise ParameterError(f"no word-break profile {profile!r:.80}; there are {', '.join(PROFILES)}")
    return Segmenter(tables(profile))


class _LocatedWords:
    """Words with their positions in the text.

    `starts` and `counts` have the start and the number of words of each chunk of text. `relative` has the start and the
    end of each word, relative to the start of its chunk.
    """

    __slots__ = ("counts", "relative", "starts", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.relative, self.starts, self.counts = array("q"), array("q"), array("q")


class Segmenter:
    """Splits and folds text like Lucene's CompositeBreakIterator and ICUNormalizer2Filter, for one profile."""

    def __init__(self, tables: WordBreakTables) -> None:
        self.tables = tables
        self._fold = _Fold(tables)
        self._dictionaries = Dictionaries(tables, self._fold.compose)
        self.default = _Chunks(tables, tables.default, self._dictionaries, self._fold)

    @cached_property
    def cjk(self) -> _Chunks:
        """Splits runs of Han, Hiragana and Katakana; created on first use."""
        return _Chunks(self.tables, self.tables.cjk, self._dictionaries, self._fold)

    @cached_property
    def growth(self) -> npt.NDArray[np.uint8]:
        """Number of characters that folding adds to each code point."""
        growth = np.zeros(CODE_POINTS, np.uint8)
        for code, folded in self.tables.fold.items():
            growth[code] = max(len(folded) - 1, 0)
        return growth

    def words(self, buffer: str) -> Iterator[str]:
        return chain.from_iterable(chunks.words(buffer[start:end]) for start, end, chunks in self._runs(buffer))

    def locate_words(self, buffer: str, offset: int, located: _LocatedWords) -> None:
        for start, end, chunks in self._runs(buffer):
            chunks.locate_words(buffer[start:end], offset + start, located)

    def _runs(self, buffer: str) -> Iterator[tuple[int, int, _Chunks]]:
        # ASCII text has only the scripts Latin and Common, which the same object splits, so do not cut it.
        runs = [(0, len(buffer), 0)] if buffer.isascii() else self.tables.script_runs(buffer)
        return ((start, end, self.cjk if script == JAPANESE else self.default) for start, end, script in runs)


class _ChunkPatterns:
    """Regular expressions that cut a text into chunks.

    A chunk is the text between two separators (see `StateMachine.separators`). A separator before a joiner, such as a
    combining mark, is part of the chunk, because both form one segment.
    """

    def __init__(self, separator: str, joiner: str) -> None:
        # If there is no joiner, use a pattern that never matches: an empty character class is an error in Python.
        joined = f"[{separator}]++[{joiner}]" if joiner else "(?!)"
        self._chunk = f"[^{separator}]++(?:{joined}[^{separator}]*+)*+"
        self.chunks = re.compile(self._chunk).findall
        self.leading_joiner = re.compile(joined).match

    @cached_property
    def split_chunks(self) -> Callable[[str], list[str]]:
        """Function that splits a text into alternating separators and chunks."""
        return re.compile(f"({self._chunk})").split


class _Chunks(dict[str, tuple[tuple[str, ...], tuple[int, ...]]]):
    """Splits runs of text into folded words with one state machine.

    The dictionary caches the folded words of each chunk and their positions in it: start, end, start, end, … The words
    of a chunk do not depend on other text.
    """

    def __init__(self, tables: WordBreakTables, machine: StateMachine, dictionaries: Dictionaries, fold: _Fold) -> None:
        super().__init__()
        self.machine, self.dictionaries, self.fold = machine, dictionaries, fold
        # Python reads elements of bytes objects faster than elements of arrays, so convert the array.
        self.emoji = tables.emoji.tobytes()
        self.masks = machine.separators(tables.emoji)

    @cached_property
    def ascii_patterns(self) -> _ChunkPatterns:
        """Patterns for ASCII text. Patterns for any text take much longer to compile."""
        return _ChunkPatterns(*(character_class(mask[:128]) for mask in self.masks))

    @cached_property
    def patterns(self) -> _ChunkPatterns:
        separator, joiner = map(character_class, self.masks)
        return _ChunkPatterns(separator, f"{joiner}\U00010000-\U0010ffff")

    def patterns_for(self, run: str) -> _ChunkPatterns:
        return self.ascii_patterns if run.isascii() else self.patterns

    def words(self, run: str) -> Iterator[str]:
        patterns = self.patterns_for(run)
        chunks = [run] if patterns.leading_joiner(run) else patterns.chunks(run)
        return chain.from_iterable(map(itemgetter(0), map(self.__getitem__, chunks)))

    def __missing__(self, chunk: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
        ranges = self.ranges(chunk)
        entry = tuple([self.fold(chunk[start:end]) for start, end in ranges]), tuple(chain.from_iterable(ranges))
        if len(chunk) <= LONGEST_CACHED:
            if len(self) >= _MOST_CACHED:
                self.clear()
            self[chunk] = entry
        return entry

    def locate_words(self, run: str, offset: int, located: _LocatedWords) -> None:
        # In `parts`, separators and chunks alternate; the first part is a separator, perhaps empty.
        patterns = self.patterns_for(run)
        parts = ["", run, ""] if patterns.leading_joiner(run) else patterns.split_chunks(run)
        chunks = list(map(self.__getitem__, parts[1::2]))
        located.words.extend(chain.from_iterable([words for words, _ in chunks]))
        located.relative.extend(chain.from_iterable([ranges for _, ranges in chunks]))
        located.counts.extend([len(words) for words, _ in chunks])
        located.starts.extend(list(accumulate(map(len, parts), initial=offset))[1:-1:2])

    def ranges(self, chunk: str) -> list[tuple[int, int]]:
        """Return the ranges of the words of a chunk: segments that the break rules mark as words, and emoji."""
        emoji = self.emoji
        return [
            (start, end)
            for start, end, is_word in self.machine.segments(chunk, self.divide)
            if is_word or is_emoji(chunk[start:end], emoji[ord(chunk[start])])
        ]

    def divide(self, segment: str) -> list[int]:
        return self.dictionaries.divide(segment, self.machine.needs_dictionary)


def is_emoji(segment: str, kind: int) -> bool:
    """Check whether a segment is an emoji, like Lucene; `kind` is its first character's entry in `_Chunks.emoji`."""
    return kind == 1 or (kind == 2 and segment[1:2] in ("\ufe0f", "\u20e3"))


class _Fold:
    """Folds words like ICU4J's Normalizer2 nfkc_cf: compatibility forms, case folding, no ignorable characters, NFC."""

    def __init__(self, tables: WordBreakTables) -> None:
        self.tables = tables

    def __call__(self, word: str) -> str:
        if word.isascii():
            return word.lower()
        folded = word.translate(self.tables.fold)
        return folded if self.tables.joint.isdisjoint(folded) else self.compose(folded)

    def compose(self, text: str) -> str:
        """Return the NFC of a text (Unicode Standard Annex 15) in the profile's Unicode version, not Python's."""
        classes, compositions = self.tables.classes, self.tables.compositions
        composed: list[str] = []
        starter_index, last_class = -1, -1
        for character in self.sort_marks(text.translate(self.tables.decompositions)):
            combining_class = classes.get(character, 0)
            if starter_index >= 0 and last_class < combining_class:
                starter = composed[starter_index]
                together = compositions.get((starter, character)) or compose_hangul(starter, character)
                if together:
                    composed[starter_index] = together
                    continue
            if combining_class:
                last_class = combining_class
            else:
                starter_index, last_class = len(composed), -1
            composed.append(character)
        return "".join(composed)

    def sort_marks(self, text: str) -> list[str]:
        """Return the characters in canonical order: marks between two starters are sorted by combining class."""
        classes = [self.tables.classes.get(character, 0) for character in text]
        starters = accumulate(not combining_class for combining_class in classes)
        return [
            character for _, _, character in sorted(zip(starters, classes, text, strict=True), key=itemgetter(0, 1))
        ]


def compose_hangul(first: str, second: str) -> str | None:
    """Compose two jamo, or a syllable and a last consonant, to a Hangul syllable (Unicode Standard, section 3.12)."""
    lead, vowel, tail, syllable = (ord(first) - 0x1100, ord(second) - 0x1161, ord(second) - 0x11A7, ord(first) - 0xAC00)
    if 0 <= lead < 19 and 0 <= vowel < 21:
        return chr(0xAC00 + (lead * 21 + vowel) * 28)
    if 0 <= syllable < 11172 and syllable % 28 == 0 and 0 < tail < 28:
        return chr(ord(first) + tail)
    return None


def fold_apostrophes(text: str) -> str:
    """Replace typographic apostrophes by straight ones; the text keeps its length.

    Word processors, mail programs and web pages often replace one kind by the other. Lucene's words keep the
    difference, so only whorl's own comparisons and passages use texts folded in this way.

    >>> fold_apostrophes("l’été, it‘s")
    "l'été, it's"
    """
    if text.isascii():
        return text
    for mark in TYPOGRAPHIC_APOSTROPHES:
        text = text.replace(mark, "'")
    return text


def apostrophe_spellings(text: str, marks: str = f"'{TYPOGRAPHIC_APOSTROPHES}") -> Iterator[str]:
    """Yield a copy of a text for each mark, which replaces straight apostrophes; one copy if the text has none.

    >>> [*apostrophe_spellings("l'été", "'’")], [*apostrophe_spellings("été")]
    (["l'été", 'l’été'], ['été'])
    """
    yield from dict.fromkeys(text.replace("'", mark) for mark in marks)


def line_end_hyphens(text: str) -> Iterator[tuple[int, int]]:
    """Yield the character range of each line-end hyphen inside a broken word, up to the second half of the word."""
    return (found.span() for found in _LINE_END_HYPHEN.finditer(text) if _is_in_word(found))


def without_line_end_hyphens(text: str) -> str:
    r"""Return a text with broken words joined.

    >>> without_line_end_hyphens("An exam-\n  ple of 1-\n2, pre-\nWar")
    'An example of 1-\n2, pre-\nWar'
    """
    return _LINE_END_HYPHEN.sub(lambda hyphen: "" if _is_in_word(hyphen) else hyphen[0], text)


def _is_in_word(hyphen: re.Match[str]) -> bool:
    text, start, end = hyphen.string, hyphen.start(), hyphen.end()
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    return before.isalpha() and after.isalpha() and (after.islower() or before.isupper())
