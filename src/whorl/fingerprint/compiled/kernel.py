"""Compiled kernel: from texts to words, hashes and bucket minima, with the same results as the numpy code.

numba compiles the loops, and is not imported before the first `Kernel` is created; without numba the numpy code does
all work. The first kernel on a machine compiles for some seconds (`first_use` does that in the background). The
compiled code is stored next to this file or, if that folder is not writable, in the user's cache folder, or in
``NUMBA_CACHE_DIR``; if no folder is writable, every process compiles again, and warns.

The words of most text follow from tables alone; Chinese and Japanese also need their dictionary. The rest (words whose
characters interact, such as a letter and a combining mark; Thai, Lao, Khmer, Burmese) goes through the Python code,
segment by segment, and is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, pairwise
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays import sorted_distinct
from whorl.errors import ParameterError
from whorl.fingerprint.compiled.tables import PADDING, layout
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.shingling import JoinedWords, hash_of_number, java_utf16, join
from whorl.fingerprint.words import tokenizer as plain

#: Number of characters read at a time, so that memory does not depend on the size of a text. Calls between Python and
#: the loops hold the interpreter's lock; smaller windows would mean more of them, and threads that wait.
WINDOW = 1 << 18
#: Maximum length of cached slow segments, and maximum number of them.
LONGEST_KEPT, MOST_KEPT = 64, 1 << 17
DEFAULT_SCHEME = Scheme()

#: Set once this process has called all loops.
_compiled = Event()

_NOTHING = np.empty(0, np.uint64)
#: Masks of the first and second eight bytes if 0 to 7 units remain.
_MASKS = np.array(
    [[(1 << 16 * min(max(units - skipped, 0), 4)) - 1 for skipped in (0, 4)] for units in range(8)], np.uint64
)


class Work(NamedTuple):
    """Scratch arrays of one thread."""

    words: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int32]
    slow: npt.NDArray[np.int32]
    folded: npt.NDArray[np.uint16]
    runs: npt.NDArray[np.uint64]
    care: npt.NDArray[np.uint32]
    edges: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    cost: npt.NDArray[np.int64]
    before: npt.NDArray[np.int32]
    known: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]


class Kernel:
    """Computes the signatures of many texts under one scheme; for one thread at a time.

    Raises:
        ImportError: numba is not installed.
        ParameterError: The profile does not exist, or the scheme does not keep one hash per bucket.
    """

    def __init__(self, scheme: Scheme = DEFAULT_SCHEME) -> None:
        if not scheme.fills_every_bucket:
            raise ParameterError(f"the kernel keeps one hash in each bucket; {scheme.name} takes the plain route")
        self.scheme = scheme
        self._loops = _load_loops()
        self._layout = layout(scheme.profile)
        self._slow_words = _slow_words(scheme.profile)
        self._window = WINDOW
        units = 2 * self._window + plain.BUFFER_UNITS
        self._work = Work(
            words=np.zeros(2 * units + PADDING, np.uint16),
            starts=np.empty(units + 1, np.int32),
            slow=np.empty((units + 1, 4), np.int32),
            folded=np.zeros(plain.BUFFER_UNITS + PADDING, np.uint16),
            runs=np.empty(plain.BUFFER_UNITS // 64 + 1, np.uint64),
            care=np.empty(plain.BUFFER_UNITS // 64 + 1, np.uint32),
            edges=np.empty(plain.BUFFER_UNITS + 2, np.int64),
            at=np.zeros(3, np.int64),
            ends=np.empty(units, np.int32),
            counts=np.empty(units, np.int32),
            cost=np.empty(plain.BUFFER_UNITS + 1, np.int64),
            before=np.empty(plain.BUFFER_UNITS + 1, np.int32),
            known=self._loops.nothing_known(),
        )
        self._scratch = self._loops.make_scratch()
        bucket_size = -(-(1 << 32) // scheme.bucket_count)
        shift = 31 + bucket_size.bit_length()
        is_shift = bucket_size.bit_count() == 1 and shift < 64
        self._numbers = np.array([*hash_of_number(0).tolist(), bucket_size, shift if is_shift else 0], np.uint64)
        self._compile()

    def _compile(self) -> None:
        """Call every loop once, to find out whether the compiled code can be stored."""
        try:
            self._call_each()
        except OSError as problem:  # the folder exists, but is full or no longer writable
            self._loops.keep_nothing(problem)
            self._call_each()
        _compiled.set()

    def _call_each(self) -> None:
        words = " ".join(["e\u0301 \u65e5"] * self.scheme.shingle_size)
        self.many([words])
        self.distinct_hashes([words])
        one = np.ones(1, np.int64)
        self._loops.upper_tails(one, one, one, one, np.empty(1))
        self._loops.overlap_intervals(one, one, one, one, one, 0.5, one.copy(), one.copy())
        self._loops.likeliest(one, one, one, one, one, one, one, np.ones(1), one.copy())
        none = np.zeros(1, np.int64)
        self._loops.decode(np.frombuffer(bytes(16), np.uint8), np.array([0, 16]), none, none, none, _NOTHING)
        self._loops.count_shared(_NOTHING, none, none, none, none, none)

    def many(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return the bucket minima of texts, and their numbers of shingles.

        Returns:
            uint64 array of shape (texts, bucket_count, 2): high and low halves as in `minima.minima_of`, all bits set
            for a text with fewer words than one shingle; and int64 array of shape (texts,).
        """
        minima, filled = self._nothing(len(texts))
        counts = np.zeros(len(texts), np.int64)
        first = 0
        for stretch, words, starts, before in self._stretches(texts):
            rows = slice(first, first + stretch.texts)
            self._reduce(words, starts, before, minima[rows], filled[rows], counts[rows])
            first += stretch.finished
        self._loops.rotate(minima, filled)
        return minima, counts

    def many_hashed(
        self, texts: Sequence[str], *, with_words: bool = False
    ) -> tuple[npt.NDArray[np.uint64], list[npt.NDArray[np.uint64]], list[JoinedWords]]:
        """Return the bucket minima of texts, as `many` does, with all shingle hashes and the words of each text.

        Takes 24 bytes per shingle of the longest text, in addition to the results.

        Returns:
            Minima; the high halves of each text's hashes, as sorted distinct uint64 arrays; and each text's words, or
            no words.
        """
        minima, filled = self._nothing(len(texts))
        hashes: list[npt.NDArray[np.uint64]] = []
        found: list[JoinedWords] = []
        # Results for the current text.
        parts: list[npt.NDArray[np.uint64]] = []
        nothing, overlap = join([]), 0
        read = nothing
        for stretch, words, starts, before in self._stretches(texts):
            for number in range(stretch.texts):
                own, row = before[number : number + 2], slice(len(hashes), len(hashes) + 1)
                kept = np.empty(self._loops.kept_size(int(own[1] - own[0])), np.uint64)
                count = self._reduce(words, starts, own, minima[row], filled[row], np.zeros(1, np.int64), kept)
                parts.append(kept[:count])
                if with_words:
                    read = read.followed_by(_joined(words, starts, int(own[0]) + overlap, int(own[1])))
                if stretch.finished:
                    hashes.append(sorted_distinct(parts))
                    found.append(read)
                    parts, read = [], nothing
            overlap = 0 if stretch.finished else min(int(own[1] - own[0]), self.scheme.shingle_size - 1)
        self._loops.rotate(minima, filled)
        return minima, hashes, found

    def distinct_hashes(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return only the hashes of the shingles of texts, which is fastest for many short texts.

        Returns:
            uint64 array of the high halves of the hashes, grouped by text, ascending and distinct within a text; and
            the number of hashes of each text, int64 array of shape (texts,).
        """
        found: list[npt.NDArray[np.uint64]] = [_NOTHING]
        sizes = np.zeros(len(texts), np.int64)
        # Hashes of the current text, if it is a long one.
        parts: list[npt.NDArray[np.uint64]] = []
        first = 0
        for stretch, words, starts, before in self._stretches(texts):
            words_here = max(1, int(before[-1] - before[0]))
            kept, aside = np.empty(words_here, np.uint64), np.empty(int(before[-1]) + 1, np.uint64)
            heads, own = np.empty(words_here + 1, np.int64), sizes[first : first + stretch.texts]
            size, numbers, scratch = self.scheme.shingle_size, self._numbers, self._scratch
            count = self._loops.distinct(words, starts, before, size, numbers, _MASKS, kept, aside, heads, own, scratch)
            if parts or not stretch.finished:
                parts.append(kept[:count])
            if not stretch.finished:
                continue
            if parts:
                found.append(sorted_distinct(parts))
                own[0] = found[-1].size
                parts = []
            else:
                found.append(kept[:count])
            first += stretch.finished
        return np.concatenate(found), sizes

    def _nothing(self, texts: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
        """Return initial bucket minima of texts, and a mask of filled buckets."""
        shape = texts, self.scheme.bucket_count
        return np.full((*shape, 2), np.iinfo(np.uint64).max, np.uint64), np.zeros(shape, np.bool_)

    def word_pieces(self, texts: Sequence[str]) -> Iterator[tuple[int, JoinedWords]]:
        """Yield the words of texts with the text's number, in one or several pieces per text.

        Only for a scheme with one word per shingle, so that pieces do not overlap.
        """
        finished = 0
        for stretch, words, starts, before in self._stretches(texts):
            for number, (first, last) in enumerate(pairwise(before.tolist())):
                yield finished + number, _joined(words, starts, first, last)
            finished += stretch.finished

    def _stretches(self, texts: Sequence[str]) -> Iterator[tuple[_Stretch, _Words, _Starts, _Before]]:
        """Yield the words of the texts, a window at a time.

        A window that continues a text begins with the last words of the previous one, one fewer than a shingle has, so
        that each shingle is found once.
        """
        rest, carried, lengths = b"", np.empty(0, np.uint16), np.empty(0, np.int64)
        for stretch in _windows(texts, self._window):
            raw = rest + stretch.raw if rest else stretch.raw
            bounds = stretch.ends + len(rest) // 2
            bounds[0] = 0
            words, starts, before, read = self._scan(raw, bounds, stretch.finished > 0)
            rest = raw[2 * read :]
            if lengths.size:
                words = np.concatenate((carried, words))
                starts = np.concatenate((np.cumsum(lengths) - lengths, starts + carried.size)).astype(np.int32)
                before = before + np.array([0, lengths.size])
            yield stretch, words, starts, before
            if stretch.finished:
                lengths = lengths[:0]
                carried = carried[:0]
            else:
                kept = starts[-min(starts.size, self.scheme.shingle_size) :]
                lengths = np.diff(kept)
                carried = words[kept[0] : kept[-1]].copy()

    def _scan(self, raw: bytes, bounds: _Before, is_whole: bool) -> tuple[_Words, _Starts, _Before, int]:
        """Return the words of one window, their starts and final end, and the number of words before each text."""
        work = self._work
        before = np.empty((bounds.size, 2), np.int64)
        units = np.frombuffer(raw, np.uint16)
        length, count, slow_count, read = self._loops.scan(units, bounds, is_whole, self._layout, work, before)
        work.starts[count] = length
        words, starts = work.words, work.starts[: count + 1]
        if not slow_count:
            return words, starts, before[:, 0].copy(), read
        slow, table = work.slow[:slow_count], self._layout.units
        divided = work.ends, work.counts[:slow_count]
        more_words, more_units, left = self._loops.divide(
            units, slow, self._layout.engines, self._layout.trie, work, *divided
        )
        found = self._slow_words.of(raw, slow if left == slow_count else slow[divided[1] < 0])
        filled = np.empty(length + more_units + more_words + found[0].size + PADDING, np.uint16)
        filled_starts = np.empty(count + more_words + found[2].size + 1, np.int32)
        self._loops.put_in(words, starts, before, slow, units, table, divided, found, filled, filled_starts)
        return filled, filled_starts, before[:, 0].copy(), read

    def _reduce(
        self,
        words: _Words,
        starts: _Starts,
        before: _Before,
        minima: npt.NDArray[np.uint64],
        filled: npt.NDArray[np.bool_],
        counts: npt.NDArray[np.int64],
        kept: npt.NDArray[np.uint64] = _NOTHING,
    ) -> int:
        size, numbers, scratch = self.scheme.shingle_size, self._numbers, self._scratch
        return int(
            self._loops.reduce(words, starts, before, size, numbers, _MASKS, minima, filled, kept, counts, scratch)
        )


def _joined(words: _Words, starts: _Starts, first: int, last: int) -> JoinedWords:
    """Return a range of the words of a stretch."""
    own = starts[first : last + 1].astype(np.int64)
    encoded = words[own[0] : max(own[0], own[-1] - 1)].copy()
    return JoinedWords(encoded.view(np.uint8), 2 * (own - own[0]))


_Words = npt.NDArray[np.uint16]
_Starts = npt.NDArray[np.int32]
_Before = npt.NDArray[np.int64]


class _Stretch(NamedTuple):
    """Texts that are read together, or a part of a long text.

    Attributes:
        raw: UTF-16LE bytes.
        ends: Start of the first text, and end of each; int64 array of shape (texts + 1,), in units.
        finished: Number of texts that end in this stretch: all texts, or 0 for a part of a long one.
    """

    raw: bytes
    ends: _Before
    finished: int

    @property
    def texts(self) -> int:
        return self.ends.size - 1


def _windows(texts: Sequence[str], window: int) -> Iterator[_Stretch]:
    """Split texts into stretches of at most `window` characters."""
    together: list[str] = []
    size = 0
    for text in texts:
        if together and size + len(text) > window:
            yield _stretch(together)
            together, size = [], 0
        if len(text) <= window:
            together.append(text)
            size += len(text)
            continue
        for start in range(0, len(text) - window, window):
            yield _stretch([text[start : start + window]])._replace(finished=0)
        # The rest of a long text gets a separate stretch.
        yield _stretch([text[start + window :]])
    if together:
        yield _stretch(together)


def _stretch(texts: Sequence[str]) -> _Stretch:
    raw = _utf_16("".join(texts))
    ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=ends[1:])
    if 2 * ends[-1] != len(raw):
        # Some characters take two units.
        several = [_utf_16(text) for text in texts]
        np.cumsum(np.fromiter(map(len, several), np.int64, len(texts)), out=ends[1:])
        ends >>= 1
    return _Stretch(raw, ends, len(texts))


def _utf_16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


class _SlowWords:
    """Cache of the folded words of slow segments, found by the Python code; shared by all threads."""

    def __init__(self, profile: str) -> None:
        segmenter = plain.segmenter_of(profile)
        self._chunks = (segmenter.default, segmenter.cjk)
        self._known: tuple[dict[bytes, tuple[bytes, bytes]], ...] = ({}, {})

    def of(self, raw: bytes, slow: npt.NDArray[np.int32]) -> tuple[_Words, _Before, _Starts, _Before]:
        """Return the words of slow segments in the form of `words.put_in`."""
        words, lengths = [], []
        for _, start, end, bits in slow.tolist():
            segment, machine = raw[2 * start : 2 * end], bits & 1
            found = self._known[machine].get(segment) or self._find(segment, machine)
            words.append(found[0])
            lengths.append(found[1])
        return (
            np.frombuffer(b"".join(words), np.uint16),
            np.array(list(accumulate(map(len, words))), np.int64) >> 1,
            np.frombuffer(b"".join(lengths), np.int32),
            np.array(list(accumulate(map(len, lengths))), np.int64) >> 2,
        )

    def _find(self, segment: bytes, machine: int) -> tuple[bytes, bytes]:
        words = [java_utf16(word) for word in self._chunks[machine][segment.decode("utf-16-le", "surrogatepass")]]
        found = (
            b"".join([word + b" \0" for word in words]),
            np.array([len(word) // 2 for word in words], np.int32).tobytes(),
        )
        if len(segment) <= 2 * LONGEST_KEPT:
            known = self._known[machine]
            if len(known) >= MOST_KEPT:
                known.clear()
            known[segment] = found
        return found


_slow_words = cache(_SlowWords)


def is_available() -> bool:
    """Check whether numba is installed, without importing it."""
    return find_spec("numba") is not None


def is_loaded() -> bool:
    """Check whether this process has imported numba and compiled or loaded the loops."""
    return _compiled.is_set()


def loops_at_hand() -> Loops | None:
    """Return the loops if this process has compiled or loaded them, so that a call takes no set-up time."""
    return _load_loops() if is_loaded() else None


def for_loops(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Copy numbers to the layout of the compiled loops; other layouts and read-only arrays cause a recompilation."""
    return np.array(numbers, np.int64, order="C")


def is_kept() -> bool:
    """Check whether the compiled loops are on disk; imports numba.

    Raises:
        ImportError: numba is not installed.
    """
    return _load_loops().is_kept(__package__)


def can_be_kept() -> bool:
    """Check whether the compiled loops can be stored on disk; imports numba.

    Raises:
        ImportError: numba is not installed.
    """
    return _load_loops().can_be_kept(__package__)


class Loops(NamedTuple):
    """Functions of the modules that import numba."""

    scan: Any
    divide: Any
    nothing_known: Callable[[], tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]
    put_in: Any
    reduce: Any
    distinct: Any
    rotate: Any
    upper_tails: Any
    overlap_intervals: Any
    likeliest: Any
    decode: Any
    count_shared: Any
    make_scratch: Callable[[], tuple[npt.NDArray[Any], ...]]
    kept_size: Callable[[int], int]
    keep_nothing: Callable[[Exception], None]
    is_kept: Callable[[str], bool]
    can_be_kept: Callable[[str], bool]


@cache
def _load_loops() -> Loops:
    """Import the loops.

    Raises:
        ImportError: numba is not installed.
        MemoryError: There is too little memory for LLVM.
    """
    if not is_available():
        raise ImportError("the compiled route needs numba: pip install numba; the plain route gives the same")
    try:
        import llvmlite.binding  # noqa: F401
    except OSError as error:
        # llvmlite raises OSError, with a misleading message, if its library cannot be mapped.
        raise MemoryError("the compiled loops cannot be loaded: there is too little memory for LLVM") from error
    from whorl.fingerprint.compiled import cjk as kernel_cjk
    from whorl.fingerprint.compiled import hashes as kernel_hash
    from whorl.fingerprint.compiled import jit as kernel_compile
    from whorl.fingerprint.compiled import sketches as kernel_sketches
    from whorl.fingerprint.compiled import tails as kernel_tails
    from whorl.fingerprint.compiled import words as kernel_words

    return Loops(
        kernel_words.scan,
        kernel_cjk.divide,
        kernel_cjk.nothing_known,
        kernel_words.put_in,
        kernel_hash.reduce,
        kernel_hash.distinct,
        kernel_hash.rotate,
        kernel_tails.upper_tails,
        kernel_tails.overlap_intervals,
        kernel_tails.likeliest,
        kernel_sketches.decode,
        kernel_sketches.count_shared,
        kernel_hash.make_scratch,
        kernel_hash.kept_size,
        kernel_compile.keep_nothing,
        kernel_compile.is_kept,
        kernel_compile.can_be_kept,
    )
