"""Compares two texts exactly: counts their common shingles, and finds the passages that both texts contain.

Words and shingles are numbered, not hashed, so that no result depends on chance.

A *passage* is a maximal run of shingles that occurs in both texts. If B repeats itself, a part of A can correspond to
several parts of B. Two rules choose the part of B:

1. A shingle that occurs once in B has one position in B. The passage around the shingle extends to both sides as far as
   the texts agree.
2. The remaining shingles are processed from the beginning of A. The expected position in B of the next shingle
   continues the previous passage; before the first passage, it is the position in A. The candidates are the
   `CANDIDATES` positions of the shingle in B nearest to the expected one, and its first position in B. The candidate
   with the longest run of agreement wins; ties go to the nearest candidate, then to the first position.

A word broken by a hyphen at the end of a line ("exam-", "ple") counts as one word if the other text has the whole word
or breaks it too. But MinHash tokens and sketches treat both halves as separate words, as Lucene does.

With the two rules, each shared shingle of A is in a passage, and passages contain only shared shingles. If only B
repeats a part, the part is listed once.

The time is linear in the length of the texts, because each rule continues after the end of the passage that it has
found. A passage of rule 1 also extends backwards, but never beyond an earlier shingle that occurs once in B: if it did,
the passage around the earlier shingle would already contain it.

>>> found = compare("Who reads this? The quick brown fox jumps.", "The quick brown fox jumps over.", Scheme())
>>> found.shares.a_in_b, found.passages[0].a
(0.25, (16, 41))
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, count, islice
from typing import ClassVar, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import find_sorted, indices_of_ranges, ranges_of
from whorl.errors import require_text
from whorl.fingerprint.compiled.kernel import as_loop_array, loops_if_loaded
from whorl.fingerprint.fingerprint_texts import words_and_spans
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import Share, Shares
from whorl.fingerprint.words.tokenizer import line_end_hyphens
from whorl.request_context import require_time, timely

#: Maximum number of a shingle's positions in B that rule 2 tries, in addition to the first position.
CANDIDATES = 16
#: Number of words or shingles to number between two checks of the deadline.
_NUMBERED_AT_ONCE = 1 << 16
#: Maximum number of words outside A that keep their numbers for the next comparison.
_MOST_OTHER_WORDS = 1 << 20
_DEFAULT_SCHEME = Scheme()

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextWords:
    """The folded words of a text and their positions.

    Attributes:
        spans: Half-open range of each word in characters, int64 array of shape (words, 2).
        broken_words: Indices of the words that end at a line-end hyphen, and so may be the first half of a word.
    """

    words: list[str]
    spans: _Numbers
    broken_words: _Numbers = field(default_factory=lambda: np.empty(0, np.int64))

    def whole_words(self) -> list[str]:
        return [self.words[at] + self.words[at + 1] for at in self.broken_words.tolist()]

    def rejoin(self, known: Container[str], apart: Container[tuple[str, str]] = ()) -> TextWords:
        """Join each broken word's halves if `known` has the whole word, unless `apart` has the pair of halves."""
        words, spans, is_kept = list(self.words), self.spans.copy(), np.ones(len(self.words), np.bool_)
        for at, whole in zip(self.broken_words.tolist(), self.whole_words(), strict=True):
            if whole in known and is_kept[at] and (self.words[at], self.words[at + 1]) not in apart:
                words[at], spans[at, 1], is_kept[at + 1] = whole, spans[at + 1, 1], False
        if is_kept.all():
            return self
        return TextWords(list(compress(words, is_kept.tolist())), spans[is_kept])


class Passage(NamedTuple):
    """A run of consecutive words that occurs in both texts.

    Args:
        a, b: Positions in both texts: half-open ranges [start, end) in characters, as Python counts them.
        words: Number of words; at least the shingle size.
    """

    a: tuple[int, int]
    b: tuple[int, int]
    words: int


class Passages(Sequence[Passage]):
    """Sequence of passages in one array; reading a passage creates its `Passage` object.

    Two long texts may share hundreds of thousands of passages. Creating all objects would take longer than the search.

    Args:
        numbers: For each passage: start and end in the first text, start and end in the second text, and number of
            words; int64 array of shape (passages, 5).
    """

    __slots__ = ("numbers",)

    def __init__(self, numbers: _Numbers) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Passage]:
        start_a, end_a, start_b, end_b, words = self.numbers.T.tolist()
        ranges = zip(start_a, end_a, strict=True), zip(start_b, end_b, strict=True)
        # `zip` already makes tuples, and `_make` is much faster than a call with arguments.
        return map(Passage._make, zip(*ranges, words, strict=True))

    @overload
    def __getitem__(self, at: int) -> Passage: ...
    @overload
    def __getitem__(self, at: slice) -> Passages: ...
    def __getitem__(self, at: int | slice) -> Passage | Passages:
        if isinstance(at, slice):
            return Passages(self.numbers[at])
        start_a, end_a, start_b, end_b, words = self.numbers[at].tolist()
        return Passage((start_a, end_a), (start_b, end_b), words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | Passages) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of words and shingles of a text in a comparison.

    Args:
        shingles: Number of distinct shingles; 0 if the text has fewer words than a shingle.
        shared_words: Number of words in shingles that also occur in the other text.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("words", "shingles", "shared_words", "coverage")

    words: int
    shingles: int
    shared_words: int

    @property
    def coverage(self) -> Share:
        """Fraction of words that are inside shared shingles, 0 to 1; 0 for a text without words."""
        return self.shared_words / self.words if self.words else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class CommonWords:
    """Masks of the common words (boilerplate) of two texts: True for each common word.

    Boilerplate detection may miss up to `edge` words at each end of a run of common words; see `with_edges`.
    """

    a: npt.NDArray[np.bool_]
    b: npt.NDArray[np.bool_]
    edge: int

    def with_edges(self, starts_a: _Numbers, starts_b: _Numbers, words: _Numbers) -> CommonWords:
        """Return both masks, extended inside the shared passages.

        If a word of a shared passage is common in one text, it becomes common in both texts. The words between the
        start or end of the passage and the nearest common word become common, too, if they are at most `edge` words.

        `starts_a` and `starts_b` have the index of each passage's first word in A and in B. `words` has the number of
        words of each passage.
        """
        a, b = self.a.copy(), self.b.copy()
        for start_a, start_b, length in timely(zip(starts_a.tolist(), starts_b.tolist(), words.tolist(), strict=True)):
            marks = self.a[start_a : start_a + length] | self.b[start_b : start_b + length]
            if not marks.any():
                continue
            first, last = marks.argmax(), length - 1 - marks[::-1].argmax()
            marks[: first if first <= self.edge else 0] = True
            marks[last if length - 1 - last <= self.edge else length :] = True
            a[start_a : start_a + length] |= marks
            b[start_b : start_b + length] |= marks
        return CommonWords(a, b, self.edge)


@dataclass(frozen=True, slots=True)
class ResidualOverlap:
    """Comparison of two texts that ignores a shingle if all of its words are common (boilerplate) in one of the texts.

    Shared words next to a run of common words are treated as common too (see `CommonWords`). But the counts and ranges
    of common words exclude these neighbours, because the common words of a text must not depend on the other text.

    Args:
        common_a, common_b: Runs of common words in each text, as ascending half-open ranges in characters.
        words_a: Mask of the first text's common words, including shared words next to them.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("*shares", "shared_shingles")

    common_a: tuple[tuple[int, int], ...]
    common_b: tuple[tuple[int, int], ...]
    common_words_a: int
    common_words_b: int
    shingles_a: int
    shingles_b: int
    shared_shingles: int
    words_a: npt.NDArray[np.bool_] = field(repr=False, compare=False)

    @property
    def shares(self) -> Shares:
        return Shares.of_counts(self.shared_shingles, self.shingles_a, self.shingles_b)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Counts of the distinct shingles that two texts share, and their shared passages.

    Shares are exact. They are 0 if a text has fewer words than a shingle.

    Args:
        passages: Longest passage first; ties are in the order of the first text. Passages may overlap in either text.
        residual: Comparison without boilerplate; None if the caller passed no common words.
    """

    scheme: Scheme
    a: Size
    b: Size
    shared_shingles: int
    passages: Passages
    residual: ResidualOverlap | None = None

    @property
    def shares(self) -> Shares:
        return Shares.of_counts(self.shared_shingles, self.a.shingles, self.b.shingles)


def compare(text_a: str, text_b: str, scheme: Scheme = _DEFAULT_SCHEME) -> Comparison:
    """Compare all shingles of two texts.

    The passages, but not the counts, depend on the order of the texts (see the module docstring). Only the profile and
    the shingle size of the scheme matter.

    Raises:
        ParameterError: The profile does not exist, or a text is not a string.
    """
    for name, text in (("the first text", text_a), ("the second text", text_b)):
        require_text(name, text, "of a file, write Path(name).read_text()")
    return compare_words(*rejoin_pair(words_of(text_a, scheme), words_of(text_b, scheme)), scheme)


def words_of(text: str, scheme: Scheme = _DEFAULT_SCHEME) -> TextWords:
    words, spans = words_and_spans(text, scheme)
    hyphens = list(timely(line_end_hyphens(text)))
    if not hyphens or not words:
        return TextWords(words, spans)
    ends, starts = np.array(hyphens, np.int64).T
    seconds, is_start = find_sorted(spans[:, 0], starts)
    # The first half must end at the hyphen. A soft hyphen is part of the word before it, so that word may end after the
    # start of the hyphen.
    is_between = is_start & (seconds > 0) & (spans[seconds - 1, 1] >= ends)
    return TextWords(words, spans, seconds[is_between] - 1)


def rejoin_pair(of_a: TextWords, of_b: TextWords) -> tuple[TextWords, TextWords]:
    """Join the halves of words broken at a line end, if the other text contains the whole word or also breaks it."""
    if not of_a.broken_words.size and not of_b.broken_words.size:
        return of_a, of_b
    whole_a, whole_b = set(of_a.whole_words()), set(of_b.whole_words())
    known = whole_a & whole_b.union(of_b.words) | whole_b & whole_a.union(of_a.words)
    return of_a.rejoin(known), of_b.rejoin(known)


def compare_words(
    of_a: TextWords,
    of_b: TextWords,
    scheme: Scheme = _DEFAULT_SCHEME,
    common: CommonWords | None = None,
    min_words: int = 0,
) -> Comparison:
    """Compare two texts like `compare`, given their words under `scheme`.

    Args:
        common: Masks of the boilerplate of both texts.
        min_words: Length of the passages to find, in words. If the texts share a run of at least this length, each of
            its words is in a passage of at least this length; shorter passages may be missing. If 0, no passage is
            missing, but rule 2 may split a run into shorter passages.
    """
    return ShingleIndex(of_a, scheme).compare(of_b, common, min_words)


class ShingleIndex:
    """The numbered shingles of one text, A, prepared for comparisons with several other texts.

    The time of a comparison is linear in the length of the other text and the number of shared shingles.
    """

    def __init__(self, text: TextWords, scheme: Scheme = _DEFAULT_SCHEME) -> None:
        self.text, self._scheme = text, scheme
        #: Number of each word: the words of A have the first numbers, other words the next numbers.
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._index = RunIndex(self._numbers_of(text.words), scheme.shingle_size)
        #: Distinct words of A.
        self.vocabulary = frozenset(self._numbers)
        #: Positions of the shingles of A, sorted by shingle number.
        self._positions = np.argsort(self._index.runs, kind="stable")
        #: For each shingle number, the index in `_positions` of its first position.
        self._firsts = np.append(0, np.cumsum(np.bincount(self._index.runs)))

    def compare(self, of_b: TextWords, common: CommonWords | None = None, min_words: int = 0) -> Comparison:
        """Compare A with another text, like `compare_words`."""
        of_a, size, known = self.text, self._scheme.shingle_size, self._index.distinct
        a, b = self._index.runs, self._number_shingles(of_b.words)
        require_time()
        # Renumber the shingles from 0, first the shared shingles, then the other shingles of B. So arrays with an
        # element for each number stay small even if A has many more shingles than B.
        is_known = b < known
        shared_numbers, ranks = np.unique(b[is_known], return_inverse=True)
        shared = shared_numbers.size
        distinct_b = shared + 1 + int(b.max(initial=known - 1)) - known
        compact_b = b - known + shared
        compact_b[is_known] = ranks
        require_time()
        begins = self._firsts[shared_numbers]
        counts = self._firsts[shared_numbers + 1] - begins
        shared_a, numbers = self._positions[indices_of_ranges(begins, counts)], np.repeat(np.arange(shared), counts)
        order = np.argsort(shared_a)
        shared_a, numbers = shared_a[order], numbers[order]
        require_time()
        searched = shared_a
        # Passages of fewer than `min_words` words may be missing in the result, so do not search for them. With
        # `common`, search for them, because shared boilerplate can be shorter than a passage.
        if common is None:
            is_long = _are_in_runs(shared_a, min_words - size + 1)
            searched, numbers = shared_a[is_long], numbers[is_long]
        positions = _positions_to_match(searched, a.size, size)
        # All other shingles of A get the same number, which does not occur in B.
        compact_a = np.full(positions.size, distinct_b)
        compact_a[np.searchsorted(positions, searched)] = numbers
        matches = match_shingles(compact_a, compact_b, positions)
        if min_words > size:
            matches = _add_passages(matches, compact_a, compact_b, size, min_words)
        matches[:, 0] = positions[matches[:, 0]]
        require_time()
        starts_a, starts_b, lengths = matches[np.lexsort((matches[:, 0], -matches[:, 2]))].T
        words = lengths + size - 1
        ranges_a = of_a.spans[starts_a, 0], of_a.spans[starts_a + words - 1, 1]
        ranges_b = of_b.spans[starts_b, 0], of_b.spans[starts_b + words - 1, 1]
        residual = None
        if common is not None:
            with_edges = common.with_edges(starts_a, starts_b, words)
            residual = _residual_overlap(of_a, of_b, a, b, size, common, with_edges)
        return Comparison(
            self._scheme,
            Size(len(of_a.words), known, _words_within(shared_a, size)),
            Size(len(of_b.words), distinct_b, _words_within(np.flatnonzero(is_known), size)),
            shared,
            Passages(np.stack((*ranges_a, *ranges_b, words), axis=1)),
            residual,
        )

    def _number_shingles(self, words: Iterable[str]) -> _Numbers:
        """Number the shingles of another text. Shingles of A keep their numbers; new shingles start at `distinct`."""
        # Later texts often repeat words that A lacks, so keep the numbers of these words until they take too much
        # memory.
        if len(self._numbers) > len(self.vocabulary) + _MOST_OTHER_WORDS:
            for word in [*islice(self._numbers, len(self.vocabulary), None)]:
                del self._numbers[word]
        return self._index.number(self._numbers_of(words))

    def _numbers_of(self, words: Iterable[str]) -> _Numbers:
        return np.fromiter(map(self._numbers.__getitem__, timely(words, _NUMBERED_AT_ONCE)), np.int64)


def _are_in_runs(positions: _Numbers, least: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the ascending positions: True in a run of at least `least` consecutive positions.

    >>> _are_in_runs(np.array([2, 3, 4, 9, 20, 21]), 2).tolist()
    [True, True, True, False, True, True]
    """
    ends = np.append(np.flatnonzero(np.diff(positions) != 1), positions.size - 1)
    lengths = np.diff(ends, prepend=-1)
    is_long: npt.NDArray[np.bool_] = np.repeat(lengths >= least, lengths)
    return is_long


def _positions_to_match(shared: _Numbers, length: int, size: int) -> _Numbers:
    """Return the positions of the shingles of A that the matcher needs, out of `length` shingles.

    The matcher needs the shared shingles. It also needs the shingles that begin inside a shared shingle (of `size`
    words), because without them, two separate runs of shared shingles would look like one run.

    >>> _positions_to_match(np.array([2, 3, 20, 22]), 30, 3).tolist()
    [2, 3, 4, 5, 20, 21, 22, 23, 24]
    """
    counts = np.minimum(np.diff(shared, append=length), max(size, 2))
    return indices_of_ranges(shared, counts)


def _residual_overlap(
    of_a: TextWords, of_b: TextWords, a: _Numbers, b: _Numbers, size: int, common: CommonWords, with_edges: CommonWords
) -> ResidualOverlap:
    count = 1 + int(max(a.max(initial=-1), b.max(initial=-1)))
    is_common = np.zeros(count, np.bool_)
    for shingles, words in ((a, with_edges.a), (b, with_edges.b)):
        is_common[shingles[common_shingles(words, size)]] = True
    left_a, left_b = ((np.bincount(numbers, minlength=count) > 0) & ~is_common for numbers in (a, b))
    return ResidualOverlap(
        common_a=_ranges(of_a, common.a),
        common_b=_ranges(of_b, common.b),
        common_words_a=int(np.count_nonzero(common.a)),
        common_words_b=int(np.count_nonzero(common.b)),
        shingles_a=int(np.count_nonzero(left_a)),
        shingles_b=int(np.count_nonzero(left_b)),
        shared_shingles=int(np.count_nonzero(left_a & left_b)),
        words_a=with_edges.a,
    )


def common_shingles(is_common: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the positions where `size` consecutive common items begin.

    >>> common_shingles(np.array([True, True, True, False, True]), 2).tolist()
    [True, True, False, False]
    """
    before = np.append(0, np.cumsum(is_common, dtype=np.int64))
    whole: npt.NDArray[np.bool_] = before[size:] - before[: max(0, before.size - size)] == size
    return whole


def _ranges(text: TextWords, is_common: npt.NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    starts, ends = ranges_of(is_common).T
    return tuple(zip(text.spans[starts, 0].tolist(), text.spans[ends - 1, 1].tolist(), strict=True))


class RunIndex:
    """Numbers the runs of `size` consecutive items of a sequence, so that equal runs get equal numbers.

    If the items are numbered words, the runs are shingles. `runs` has the number of the run that begins at each item,
    from 0 to `distinct` - 1.
    """

    def __init__(self, items: _Numbers, size: int) -> None:
        self._items, self._size, self._loops = items, size, loops_if_loaded()
        if self._loops:
            nothing = np.empty(0, np.int64)
            self.runs, self.distinct, self._slots = self._number_compiled(items, nothing, nothing, np.full(1, -1), 0)
            return
        # Each step numbers the runs of a width, up to twice the width of the step before, until the width is `size`. A
        # run consists of two narrower runs, which may overlap: one at its start and one at its end. The key of the run
        # combines their two numbers, and the index of the key among the sorted keys is the number of the run.
        #: For each step, the distance between the starts of the two narrower runs, and the sorted keys.
        self._widths: list[tuple[int, _Numbers]] = []
        width, self.runs, self.distinct = 1, items, 0
        while width < size or not self._widths:
            step = min(width, size - width)
            keys, self.runs = np.unique(_keys(self.runs, step), return_inverse=True)
            self.distinct = keys.size
            # Append a number larger than any key, so that `np.searchsorted` always returns a valid index.
            self._widths.append((step, np.append(keys, np.iinfo(np.int64).max)))
            width += step

    def number(self, items: _Numbers) -> _Numbers:
        """Number the runs of another sequence; known runs keep their numbers, and new runs start at `distinct`."""
        if self._loops:
            return self._number_compiled(items, self._items, self.runs, self._slots, self.distinct)[0]
        for step, known in self._widths:
            require_time()
            keys, inverse = np.unique(_keys(items, step), return_inverse=True)
            numbers = np.searchsorted(known, keys)
            is_new = known[numbers] != keys
            numbers[is_new] = np.arange(known.size - 1, known.size - 1 + np.count_nonzero(is_new))
            items = numbers[inverse]
        return items

    def _number_compiled(
        self, items: _Numbers, known: _Numbers, known_runs: _Numbers, known_slots: _Numbers, distinct: int
    ) -> tuple[_Numbers, int, _Numbers]:
        """Return the number of each run, the count of distinct numbers, and the hash table, from the compiled loop."""
        assert self._loops
        require_time()
        runs = np.empty(max(0, items.size - self._size + 1), np.int64)
        slots = np.full(2 << runs.size.bit_length(), -1)
        number_runs = self._loops.passages.number_runs
        return runs, number_runs(items, self._size, known, known_runs, known_slots, distinct, slots, runs), slots


def _keys(items: _Numbers, step: int) -> _Numbers:
    """Combine each item with the item `step` positions later into one number."""
    return items[: max(0, items.size - step)] << 32 | items[step:]


def match_shingles(a: _Numbers, b: _Numbers, positions: _Numbers) -> _Numbers:
    """Find the shared passages of two sequences of numbered shingles, with the two rules of the module docstring.

    `positions` has the position in the text of each shingle of `a`, ascending. The result has shape (passages, 3):
    start in `a`, start in `b` and number of shingles of each passage, in the order of `a`.
    """
    if loops := loops_if_loaded():
        first, places = np.zeros(2 + int(max(a.max(initial=-1), b.max(initial=-1))), np.int64), np.empty_like(b)
        passages = np.empty((len(a), 3), np.int64)
        arrays = map(as_loop_array, (a, positions, b))
        passages = passages[: loops.passages.find_passages(*arrays, CANDIDATES, first, places, passages)]
    else:
        passages = np.array(match_plainly(a.tolist(), b.tolist(), positions.tolist()), np.int64).reshape(-1, 3)
    return passages[np.argsort(passages[:, 0], kind="stable")]


def match_plainly(a: list[int], b: list[int], positions: list[int]) -> list[tuple[int, int, int]]:
    """Return the passages of rule 1, then the passages of rule 2, like the compiled loop `find_passages`."""
    positions_in_b: defaultdict[int, list[int]] = defaultdict(list)
    for in_b, shingle in enumerate(timely(b, _NUMBERED_AT_ONCE)):
        positions_in_b[shingle].append(in_b)
    anchored = _match_unique_shingles(a, b, positions_in_b)
    passages, before, end, shift, latest, at = list(anchored), 0, 0, 0, -1, 0
    while at < len(a):
        # Skip the passages of rule 1. `before` is the number of these passages that begin at or before this shingle.
        while before < len(anchored) and anchored[before][0] <= at:
            end = max(end, anchored[before][0] + anchored[before][2])
            before += 1
        if at < end:
            at = end
            continue
        candidates = positions_in_b.get(a[at])
        if candidates is None:
            at += 1
            continue
        if before and anchored[before - 1][0] > latest:
            shift = anchored[before - 1][1] - positions[anchored[before - 1][0]]
        in_b, length = _longest_agreement(a, b, at, _nearest(candidates, positions[at] + shift))
        passages.append((at, in_b, length))
        shift, latest = in_b - positions[at], at
        at += length
    return passages


def _match_unique_shingles(
    a: list[int], b: list[int], positions_in_b: Mapping[int, Sequence[int]]
) -> list[tuple[int, int, int]]:
    """Return the passages around shingles that occur once in `b` (rule 1)."""
    passages, at = list[tuple[int, int, int]](), 0
    while at < len(a):
        candidates = positions_in_b.get(a[at], ())
        if len(candidates) != 1:
            at += 1
            continue
        require_time()
        start, in_b = at, candidates[0]
        at += _longest_agreement(a, b, at, candidates)[1]
        while start and in_b and a[start - 1] == b[in_b - 1]:
            start, in_b = start - 1, in_b - 1
        passages.append((start, in_b, at - start))
    return passages


def _nearest(candidates: Sequence[int], expected: int) -> Sequence[int]:
    """Return the `CANDIDATES` positions nearest to the expected position, nearest first, then the first candidate."""
    if len(candidates) == 1:
        return candidates
    middle = bisect_left(candidates, expected)
    neighbours = candidates[max(middle - CANDIDATES, 0) : middle + CANDIDATES]
    # The nearest positions may be so close to the end of B that their runs are short. So also try the first position.
    return [*sorted(neighbours, key=lambda in_b: abs(in_b - expected))[:CANDIDATES], candidates[0]]


def _longest_agreement(a: list[int], b: list[int], start: int, candidates: Sequence[int]) -> tuple[int, int]:
    """Return the candidate with the longest run of shingles that agrees with `a` from `start` on, and the run's length.

    A candidate is a position in `b`. Ties go to the first candidate.
    """
    require_time()
    length, step, is_growing = 0, 4, True
    # Compare slices, which is nearly as fast as comparing single numbers: double their length while a slice of a
    # candidate equals the slice of A, then halve it down to single numbers.
    while step:
        wanted = a[start + length : start + length + step]
        agreeing = [in_b for in_b in candidates if b[in_b + length : in_b + length + step] == wanted]
        if agreeing and len(wanted) == step:
            candidates, length = agreeing, length + step
        else:
            is_growing = False
        step = 2 * step if is_growing else step // 2
    return candidates[0], length


def _add_passages(matches: _Numbers, a: _Numbers, b: _Numbers, size: int, min_words: int) -> _Numbers:
    """Add passages until each shared run of `min_words` words is covered by passages of at least this length."""
    least = min_words - size + 1
    starts, _, lengths = matches[matches[:, 2] >= least].T
    words = a.size + size - 1
    edges = np.bincount(starts, minlength=words + 1) - np.bincount(starts + lengths + size - 1, minlength=words + 1)
    is_open = np.cumsum(edges[:-1]) == 0
    # A run of `min_words` words has `least` shingles. Find the shared runs of this length that are not covered: at
    # least one of their words is outside all matches of at least this length.
    open_before = np.append(0, np.cumsum(is_open))
    is_missing = common_shingles(a <= b.max(initial=-1), least) & (open_before[min_words:] > open_before[:-min_words])
    if not is_missing.any():
        return matches
    index = RunIndex(a, least)
    runs_a, runs_b = index.runs, index.number(b)
    first_in_b = np.full(1 + int(max(runs_a.max(), runs_b.max(initial=0))), -1)
    first_in_b[runs_b[::-1]] = np.arange(runs_b.size)[::-1]
    added: list[tuple[int, int, int]] = []
    for start in timely(np.flatnonzero(is_missing & (first_in_b[runs_a] >= 0)).tolist()):
        if not is_open[start : start + min_words].any():
            continue
        at, in_b, length = start, int(first_in_b[runs_a[start]]), least
        while at and in_b and a[at - 1] == b[in_b - 1]:
            at, in_b, length = at - 1, in_b - 1, length + 1
        while at + length < a.size and in_b + length < b.size and a[at + length] == b[in_b + length]:
            length += 1
        added.append((at, in_b, length))
        is_open[at : at + length + size - 1] = False
    completed = np.concatenate((matches, np.array(added, np.int64).reshape(-1, 3)))
    return completed[np.argsort(completed[:, 0], kind="stable")]


def _words_within(shared: _Numbers, size: int) -> int:
    """Count the words inside the shared shingles of `size` words; `shared` has their ascending positions."""
    return int(np.minimum(np.diff(shared), size).sum()) + size if shared.size else 0
