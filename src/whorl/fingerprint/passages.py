"""Two texts compared exactly: by all of their shingles, with the passages that they share.

A signature estimates how much two texts share; here it is counted, and shown. Shingles are compared word by word, each
word by its number in one list, so that nothing rests on a hash.

A *passage* is a run of shingles that follow one another in both texts, as long as it can be. Where a text repeats
itself there is more than one way to say which part of B a part of A is; the rule is:

1. A shingle that B has once stands in one place there. The passage around it goes on to both sides as far as the texts
   go on alike.
2. What is left is read from the beginning of A. Of the places where its next shingle stands in B, those are looked at
   that are nearest to where the passage before would go on (at first: to the same place as in A), `CANDIDATES` of them
   and the first of all. The one from which the texts go on alike for longest is taken, of equals the nearest, of
   equally near the first.

So each shingle of A that B has is in some passage, and a passage holds no other. What B repeats and A does not is told
once. The work grows with the length of the texts, whatever they hold: the runs of rule 1 end at the next shingle that B
has once, and rule 2 moves on by as much as the longest of its candidates.

>>> found = compare("Who reads this? The quick brown fox jumps.", "The quick brown fox jumps over.", Scheme())
>>> found.shares.a_in_b, found.passages[0].a
(0.25, (16, 41))
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.statistics.metric import Shares
from whorl.fingerprint.words.tokenizer import tokens_and_spans

#: Places in B that are looked at, beside the first, for a passage that could stand in many.
CANDIDATES = 16
#: Shingles that are compared at a time: at first, and at most. A small beginning, because most passages that are found
#: so are short.
_FIRST_STRETCH, _LONGEST_STRETCH = 8, 4096
_DEFAULT_SCHEME = Scheme()

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextWords:
    """The words of a text.

    Args:
        words: Folded, in order.
        spans: Where they stand: int64 array of shape (words, 2), half-open ranges in characters as Python counts them.
    """

    words: list[str]
    spans: _Numbers


@dataclass(frozen=True, slots=True)
class Passage:
    """Words in a row that both texts have.

    Args:
        a: Where they stand in the first text: a half-open range [start, end) in characters, as Python counts them.
        b: Where they stand in the second.
        words: How many words, at least as many as a shingle holds.
    """

    a: tuple[int, int]
    b: tuple[int, int]
    words: int


@dataclass(frozen=True, slots=True)
class Size:
    """How large a text is.

    Args:
        words: Its words.
        shingles: Its different shingles; 0 where it has fewer words than a shingle holds.
        shared_words: Its words that stand in a shingle of the other text.
    """

    words: int
    shingles: int
    shared_words: int

    @property
    def coverage(self) -> float:
        """The share of the words that stand in a shingle of the other text, 0 to 1; 0 for a text without words."""
        return self.shared_words / self.words if self.words else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class CommonWords:
    """Which words of two texts are common.

    Args:
        a: Of the first text; bool array of shape (words,).
        b: Of the second, likewise.
        edge: By how many words at either end a common run may be longer than is known. What both texts share beside it,
            if that is no more, is common with it.
    """

    a: npt.NDArray[np.bool_]
    b: npt.NDArray[np.bool_]
    edge: int

    def with_edges(self, starts_a: _Numbers, starts_b: _Numbers, words: _Numbers) -> CommonWords:
        """Return them with what passages show to be common as well: what is common in one text is so in the other.

        Args:
            starts_a: The first word of each passage in the first text.
            starts_b: In the second.
            words: How many it has.
        """
        a, b = self.a.copy(), self.b.copy()
        for start_a, start_b, length in zip(starts_a.tolist(), starts_b.tolist(), words.tolist(), strict=True):
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
class Rest:
    """What is left of two texts without their common shingles: those of which all words are common in either text.

    Args:
        common_a: Words of the first text that are common, as ranges in characters: half-open, ascending.
        common_b: Those of the second.
        common_words_a: How many these are.
        common_words_b: Likewise.
        shingles_a: Distinct shingles of the first text that are left.
        shingles_b: Those of the second.
        shared_shingles: Those of them that both have.
        words_a: Which words of the first text are common; bool array of shape (words,).
    """

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
        """What they share of what is left."""
        return Shares.of_counts(self.shared_shingles, self.shingles_a, self.shingles_b)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two texts share, counted on their different shingles.

    Every share is exact, from 0 to 1, and 0 where there is nothing to share: a text with fewer words than a shingle
    has no shingles, and is in no other text.

    Args:
        scheme: What the words and the shingles depend on.
        a: The first text's size.
        b: The second's.
        shared_shingles: The distinct shingles that both have.
        passages: The longest first, equally long ones in the order of the first text. They may overlap in either text.
        rest: What is left without what is common; None where nobody has told what that is.
    """

    scheme: Scheme
    a: Size
    b: Size
    shared_shingles: int
    passages: tuple[Passage, ...]
    rest: Rest | None = None

    @property
    def shares(self) -> Shares:
        """What they share, of all shingles and of each text's."""
        return Shares.of_counts(self.shared_shingles, self.a.shingles, self.b.shingles)


def compare(text_a: str, text_b: str, scheme: Scheme = _DEFAULT_SCHEME) -> Comparison:
    """Compare two texts by all of their shingles.

    Counts are the same, mirrored, whichever text comes first; passages are those of the first text, see the module.

    Args:
        text_a: Any text.
        text_b: Any text.
        scheme: Its word-break profile and shingle size are what counts here.

    Raises:
        ParameterError: The scheme has no such profile.
    """
    return compare_words(words_of(text_a, scheme), words_of(text_b, scheme), scheme)


def words_of(text: str, scheme: Scheme = _DEFAULT_SCHEME) -> TextWords:
    """Return the words of a text, to compare it with several others.

    Raises:
        ParameterError: The scheme has no such profile.
    """
    return TextWords(*tokens_and_spans(text, scheme.profile))


def compare_words(
    of_a: TextWords,
    of_b: TextWords,
    scheme: Scheme = _DEFAULT_SCHEME,
    common: CommonWords | None = None,
) -> Comparison:
    """Compare two texts as `compare` does, given as their words under the same scheme.

    Args:
        of_a: The first text.
        of_b: The second.
        scheme: Its shingle size is what counts here.
        common: Which of their words are common; None where that is not known.
    """
    size = scheme.shingle_size
    a, b = number_runs(*number_words(of_a.words, of_b.words), size)
    kinds = 1 + int(max(a.max(initial=-1), b.max(initial=-1)))
    count_a, count_b = np.bincount(a, minlength=kinds), np.bincount(b, minlength=kinds)
    matches = Matcher(a, b).matches()
    starts_a, starts_b, lengths = matches[np.lexsort((matches[:, 0], -matches[:, 2]))].T
    lasts = lengths + size - 2  # from the first word to the last
    if common is not None:
        common = common.with_edges(starts_a, starts_b, lasts + 1)
    ranges_a = zip(of_a.spans[starts_a, 0].tolist(), of_a.spans[starts_a + lasts, 1].tolist(), strict=True)
    ranges_b = zip(of_b.spans[starts_b, 0].tolist(), of_b.spans[starts_b + lasts, 1].tolist(), strict=True)
    return Comparison(
        scheme,
        Size(len(of_a.words), int(np.count_nonzero(count_a)), _words_within(count_b[a] > 0, size)),
        Size(len(of_b.words), int(np.count_nonzero(count_b)), _words_within(count_a[b] > 0, size)),
        int(np.count_nonzero((count_a > 0) & (count_b > 0))),
        tuple(map(Passage, ranges_a, ranges_b, (lasts + 1).tolist())),
        None if common is None else _rest(of_a, of_b, a, b, size, common),
    )


def _rest(of_a: TextWords, of_b: TextWords, a: _Numbers, b: _Numbers, size: int, common: CommonWords) -> Rest:
    """Count what is left of two texts, given as the numbers of their shingles, without what is common."""
    kinds = 1 + int(max(a.max(initial=-1), b.max(initial=-1)))
    is_common = np.zeros(kinds, np.bool_)
    for shingles, words in ((a, common.a), (b, common.b)):
        is_common[shingles[common_shingles(words, size)]] = True
    has_a, has_b = (np.bincount(each, minlength=kinds) > 0 for each in (a, b))
    left_a, left_b = has_a & ~is_common, has_b & ~is_common
    return Rest(
        common_a=_ranges(of_a, common.a),
        common_b=_ranges(of_b, common.b),
        common_words_a=int(np.count_nonzero(common.a)),
        common_words_b=int(np.count_nonzero(common.b)),
        shingles_a=int(np.count_nonzero(left_a)),
        shingles_b=int(np.count_nonzero(left_b)),
        shared_shingles=int(np.count_nonzero(left_a & left_b)),
        words_a=common.a,
    )


def common_shingles(is_common: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.bool_]:
    """Return which shingles of a text have no words but common ones.

    Args:
        is_common: Which words are common; bool array of shape (words,).
        size: Words in a shingle.

    Returns:
        bool array of shape (max(words - size + 1, 0),).
    """
    before = np.append(0, np.cumsum(is_common, dtype=np.int64))
    whole: npt.NDArray[np.bool_] = before[size:] - before[: max(0, before.size - size)] == size
    return whole


def _ranges(text: TextWords, marked: npt.NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """Return where runs of marked words stand, in characters."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marked, [False]))))
    starts, ends = edges[::2], edges[1::2]
    return tuple(zip(text.spans[starts, 0].tolist(), text.spans[ends - 1, 1].tolist(), strict=True))


def number_words(a: Iterable[str], b: Iterable[str]) -> tuple[_Numbers, _Numbers]:
    """Return the words of two texts as int64 arrays of numbers from 0: the same number for the same word."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    return (
        np.fromiter(map(numbers.__getitem__, a), np.int64),
        np.fromiter(map(numbers.__getitem__, b), np.int64),
    )


def number_runs(a: _Numbers, b: _Numbers, size: int) -> tuple[_Numbers, _Numbers]:
    """Number the runs of `size` items in two sequences: the same number for equal runs, from 0 without gaps.

    Args:
        a: int64 array of shape (n,), numbers from 0 without gaps in both sequences together.
        b: int64 array of shape (m,), likewise.
        size: Items in a run, at least 1.

    Returns:
        int64 arrays of shapes (max(n - size + 1, 0),) and (max(m - size + 1, 0),).
    """
    width = 1
    while width < size:
        # A longer run is told by the shorter run that it begins with and the one that it ends with.
        step = min(width, size - width)
        kinds = 1 + max(a.max(initial=0), b.max(initial=0))
        keys = np.concatenate([each[:-step] * kinds + each[step:] for each in (a, b)])
        cut = max(len(a) - step, 0)
        numbers = np.unique(keys, return_inverse=True)[1].astype(np.int64, copy=False)
        a, b = numbers[:cut], numbers[cut:]
        width += step
    return a, b


class Matcher:
    """Finds the passages of two sequences, by the rule of this module.

    Args:
        a: int64 array of shape (n,): the first text's shingles as numbers from 0.
        b: int64 array of shape (m,): the second's, likewise.

    Attributes:
        compared: How many pairs of shingles were compared so far: never more than some hundred times n.
    """

    def __init__(self, a: _Numbers, b: _Numbers) -> None:
        self.a, self.b, self.compared = a, b, 0
        self.kinds = 1 + int(max(a.max(initial=-1), b.max(initial=-1)))
        self.count_b = np.bincount(b, minlength=self.kinds)

    def matches(self) -> _Numbers:
        """Return the passages as an int64 array of shape (passages, 3).

        A row is a start in a, a start in b, and how many shingles follow one another in both from there; the rows are
        in the order of their starts in a.
        """
        anchored = self.anchored()
        starts, lengths = anchored[:, 0], anchored[:, 2]
        open_ends = np.bincount(starts, minlength=len(self.a) + 1) - np.bincount(
            starts + lengths, minlength=len(self.a) + 1
        )
        is_left = (np.cumsum(open_ends[:-1]) == 0) & (self.count_b[self.a] > 0)
        others = self.nearest(np.flatnonzero(is_left), anchored)
        found = np.concatenate((anchored, others))
        return found[np.argsort(found[:, 0], kind="stable")]

    def anchored(self) -> _Numbers:
        """Return the passages around shingles that b has once: rule 1."""
        a, b = self.a, self.b
        anchors = np.flatnonzero(self.count_b[a] == 1)
        if not anchors.size:
            return np.empty((0, 3), np.int64)
        place = np.zeros(self.kinds, np.int64)
        place[b] = np.arange(len(b))
        shifts = place[a[anchors]] - anchors
        rightward, leftward = self._reach(anchors, shifts)
        # Neighbours are one passage if the first one's reaches up to the second, and both say the same place.
        is_joined = (shifts[1:] == shifts[:-1]) & (anchors[:-1] + rightward[:-1] == anchors[1:])
        self.compared += 2 * len(a)
        first, last = np.append(True, ~is_joined), np.append(~is_joined, True)
        starts = anchors[first] - leftward[first] + 1
        ends = anchors[last] + rightward[last]
        return np.stack((starts, starts + shifts[first], ends - starts), axis=1)

    def _reach(self, anchors: _Numbers, shifts: _Numbers) -> tuple[_Numbers, _Numbers]:
        """Return how far the texts agree around each anchor, itself counted, up to the anchors beside it.

        No further, because a passage cannot pass an anchor of another place: what stands there, b has once.
        """
        positions = np.arange(len(self.a))
        before = np.searchsorted(anchors, positions, side="right") - 1
        breaks = np.where(self._agree(positions + shifts[before]) & (before >= 0), -1, positions)
        is_reached = np.maximum.accumulate(breaks) < anchors[before]
        rightward = np.bincount(before[is_reached & (before >= 0)], minlength=len(anchors))
        after = np.searchsorted(anchors, positions)
        known = after < len(anchors)
        after = np.where(known, after, 0)
        breaks = np.where(self._agree(positions + shifts[after]) & known, len(positions), positions)
        is_reached = np.minimum.accumulate(breaks[::-1])[::-1] > anchors[after]
        return rightward, np.bincount(after[is_reached & known], minlength=len(anchors))

    def _agree(self, places: _Numbers) -> npt.NDArray[np.bool_]:
        """Return where a has the shingle that stands in b in the given place, if there is such a place."""
        inside: npt.NDArray[np.bool_] = (places >= 0) & (places < len(self.b))
        inside &= self.a == self.b[np.where(inside, places, 0)]
        return inside

    def nearest(self, left: _Numbers, anchored: _Numbers) -> _Numbers:
        """Return passages that hold what is left, given as positions in a that b has several times: rule 2."""
        found: list[tuple[int, int, int]] = []
        if not left.size:
            return np.empty((0, 3), np.int64)
        by_kind, first = np.argsort(self.b, kind="stable"), np.append(0, np.cumsum(self.count_b))
        # Numbers that stand nowhere else end both texts, so that no run goes beyond them.
        a = np.append(self.a, np.full(_LONGEST_STRETCH, -1))
        b = np.append(self.b, np.full(_LONGEST_STRETCH, -2))
        above = np.searchsorted(anchored[:, 0], left).tolist()
        shift, at = 0, 0
        while at < len(left):
            start = int(left[at])
            if above[at] and (not found or anchored[above[at] - 1, 0] > found[-1][0]):
                shift = int(anchored[above[at] - 1, 1] - anchored[above[at] - 1, 0])
            kind = a[start]
            places = _nearest(by_kind[first[kind] : first[kind + 1]], start + shift)
            place, length = self._longest(a, b, start, places)
            found.append((start, place, length))
            shift = place - start
            at = int(np.searchsorted(left, start + length))
        return np.array(found, np.int64)

    def _longest(self, a: _Numbers, b: _Numbers, start: int, places: _Numbers) -> tuple[int, int]:
        """Return the first of the places in b from where the longest run is as in a, and how long that is."""
        length, stretch = 0, _FIRST_STRETCH
        while True:
            steps = np.arange(length, length + stretch)
            is_same = b[places[:, None] + steps] == a[start + length : start + length + stretch]
            self.compared += is_same.size
            goes_on = is_same.all(axis=1)
            if not goes_on.any():
                same = is_same.argmin(axis=1)
                best = int(same.argmax())
                return int(places[best]), length + int(same[best])
            places, length, stretch = places[goes_on], length + stretch, min(2 * stretch, _LONGEST_STRETCH)


def _nearest(places: _Numbers, expected: int) -> _Numbers:
    """Return the `CANDIDATES` places nearest to one that is expected, the nearest first, then the first of all."""
    middle = int(np.searchsorted(places, expected))
    some = places[max(middle - CANDIDATES, 0) : middle + CANDIDATES]
    # At the end of b, little can follow on the places nearby.
    return np.append(some[np.argsort(np.abs(some - expected), kind="stable")][:CANDIDATES], places[0])


def _words_within(is_shared: npt.NDArray[np.bool_], size: int) -> int:
    """Return how many words stand in the shingles that are shared, given for each shingle of a text in order."""
    edges = np.zeros(len(is_shared) + size, np.int64)
    edges[: len(is_shared)] += is_shared
    edges[size:] -= is_shared
    return int(np.count_nonzero(np.cumsum(edges)))
