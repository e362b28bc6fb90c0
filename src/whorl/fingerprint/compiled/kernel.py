"""Loads the compiled loops, and runs them to turn text into words, hashes and bucket minima.

A `Kernel` holds the working memory of the loops, so each thread needs its own kernel. Creating the first kernel imports
numba. Compiling the loops takes 10 to 15 seconds, once per machine, in a background process that `kernel_if_ready`
starts. Until the compilation has finished, and for small amounts of text, `shingling` computes the same results.

The compiled code is stored in ``NUMBA_CACHE_DIR``, next to this file, or in the user's cache folder. If no folder is
writable, every process warns and compiles the loops again.

The loops split most text with tables alone. The remaining segments are called *slow*. A loop divides Chinese and
Japanese segments with a dictionary. The Python code splits the other slow segments, and caches their words: segments of
Thai, Lao, Khmer and Burmese, and segments with characters that affect each other, such as a letter and a combining
mark.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, count, pairwise
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import chunks, indices_of_ranges, sort_distinct
from whorl.fingerprint.compiled.unicode_tables import PADDING, tables_for_loops
from whorl.fingerprint.shingling import JoinedWords, Scheme, hash_of_number, java_utf16
from whorl.fingerprint.words import tokenizer
from whorl.request_context import require_time

if TYPE_CHECKING:
    from subprocess import Popen

#: Number of characters to read at a time (a window): enough that threads rarely compete for the interpreter's lock.
WINDOW = 1 << 18
#: Limits of the cache for slow segments: length of a segment in UTF-16 units, and number of segments.
LONGEST_CACHED, MOST_CACHED = 64, 1 << 17
DEFAULT_SCHEME = Scheme()

#: Set once this process has compiled or loaded all loops.
_compiled = Event()

_NOTHING = np.empty(0, np.uint64)
#: Bit masks for the last, incomplete block of a shingle. Row n is for a block of n UTF-16 units (0 to 7): it has a mask
#: for the first eight bytes of the block, and a mask for the other eight bytes.
_MASKS = np.array(
    [[(1 << 16 * min(max(units - skipped, 0), 4)) - 1 for skipped in (0, 4)] for units in range(8)], np.uint64
)


class WorkingMemory(NamedTuple):
    """Working memory of the loops in `word_loops` and `cjk_word_loops`, allocated once per kernel.

    A unit is a UTF-16 code unit. Python code or the dictionary splits slow segments into words.

    Attributes:
        words: Folded words of the texts, each followed by a blank; without the words of slow segments.
        starts: Start of each word in `words`.
        firsts: Index of each word's first unit in the units that `scan` reads.
        slow: A row for each slow segment: number of words before it, start, end, and flags.
        folded: Folded units of the current buffer.
        runs: A bit for each unit of the buffer; it is set if the unit may be in a word.
        care: For each block of 64 units of the buffer, the flag CARE if the block has an unusual unit, otherwise 0.
        edges: Positions in the buffer where runs of set bits in `runs` begin and end.
        at: Numbers of units, words and slow segments written so far.
        ends, counts: Ends of the words in slow segments, and number of words of each segment, from
            `cjk_word_loops.divide`.
        cost, before: Cost of the cheapest segmentation up to each position of a span, and the start of its last word.
        known: Caches of dictionary look-ups, from `make_caches`.
    """

    words: npt.NDArray[np.uint16]
    starts: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int32]
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
    """Computes words, hashes and bucket minima of texts under one scheme, in one thread at a time.

    Raises:
        ImportError: numba is not installed.
    """

    def __init__(self, scheme: Scheme = DEFAULT_SCHEME) -> None:
        self.scheme = scheme
        self._loops = load_loops()
        self._tables = tables_for_loops(scheme.profile)
        self._slow_words = _slow_words(scheme.profile)
        self._window = WINDOW
        units = 2 * self._window + tokenizer.BUFFER_UNITS
        self._work = WorkingMemory(
            words=np.zeros(2 * units + PADDING, np.uint16),
            starts=np.empty(units + 1, np.int32),
            firsts=np.empty(units + 1, np.int32),
            slow=np.empty((units + 1, 4), np.int32),
            folded=np.zeros(tokenizer.BUFFER_UNITS + PADDING, np.uint16),
            runs=np.empty(tokenizer.BUFFER_UNITS // 64 + 1, np.uint64),
            care=np.empty(tokenizer.BUFFER_UNITS // 64 + 1, np.uint32),
            edges=np.empty(tokenizer.BUFFER_UNITS + 2, np.int64),
            at=np.zeros(3, np.int64),
            ends=np.empty(units, np.int32),
            counts=np.empty(units, np.int32),
            cost=np.empty(tokenizer.BUFFER_UNITS + 1, np.int64),
            before=np.empty(tokenizer.BUFFER_UNITS + 1, np.int32),
            known=self._loops.cjk_words.make_caches(),
        )
        self._scratch = self._loops.shingle_hashes.make_scratch()
        bucket_size = -(-(1 << 32) // scheme.bucket_count)
        shift = 31 + bucket_size.bit_length()
        is_shift = bucket_size.bit_count() == 1 and shift < 64
        numbers = np.array([*hash_of_number(0).tolist(), bucket_size, shift if is_shift else 0], np.uint64)
        self._hashing = scheme.shingle_size, numbers, _MASKS
        self._loops.jit.call_safely(self._call_each)
        _compiled.set()

    def _call_each(self) -> None:
        words = " ".join(["e\u0301 \u65e5"] * self.scheme.shingle_size)
        self.bucket_minima([words])
        self.distinct_hashes([words])
        self.ordered_hashes([words])
        one = np.ones(1, np.int64)
        self._loops.overlap_estimates.upper_tails(one, one, one, one, np.empty(1))
        self._loops.overlap_estimates.overlap_intervals(one, one, one, one, one, 0.5, one.copy(), one.copy())
        self._loops.overlap_estimates.likeliest(one, one, one, one, one, one, one, np.ones(1), one.copy())
        none = np.zeros(1, np.int64)
        self._loops.sketches.decode(np.frombuffer(bytes(24), np.uint8), np.array([0, 16]), none, none, none, _NOTHING)
        self._loops.sketches.count_shared(_NOTHING, none, none, none, none, none, none)
        self._loops.passages.number_runs(none, 1, none[1:], none[1:], none - 1, 0, none - 1, none.copy())
        self._loops.passages.find_passages(
            none, none, none, 1, np.zeros(2, np.int64), none.copy(), np.empty((1, 3), np.int64)
        )

    def bucket_minima(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return the bucket minima of texts, and the number of shingles of each text.

        The minima are a uint64 array of shape (texts, bucket_count, 2), as from `minima_of`; all bits are set for a
        text with fewer words than a shingle.
        """
        shape = len(texts), self.scheme.bucket_count
        minima, filled = np.full((*shape, 2), np.iinfo(np.uint64).max, np.uint64), np.zeros(shape, np.bool_)
        counts = np.zeros(len(texts), np.int64)
        first = 0
        for window, words, starts, before in self._scan_windows(texts):
            rows = slice(first, first + window.texts)
            own = minima[rows], filled[rows], counts[rows]
            self._loops.shingle_hashes.update_minima(words, starts, before, *self._hashing, *own, self._scratch)
            first += window.finished
        self._loops.shingle_hashes.rotate(minima, filled)
        return minima, counts

    def distinct_hashes(
        self, texts: Sequence[str], *, with_words: bool = False
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], list[JoinedWords]]:
        """Return the high halves of the shingle hashes, the number of hashes of each text, and the words of each text.

        The hashes are grouped by text, ascending and distinct within a text. Without `with_words`, the list of words is
        empty.
        """
        hashes: list[npt.NDArray[np.uint64]] = [_NOTHING]
        texts_words: list[JoinedWords] = []
        sizes = np.zeros(len(texts), np.int64)
        # Hashes of the current text from the windows read so far; a long text takes several windows.
        parts: list[npt.NDArray[np.uint64]] = []
        first = overlap = 0
        for window, words, starts, before in self._scan_windows(texts):
            words_here = max(1, int(before[-1] - before[0]))
            if with_words:
                own_words = _split_words(words, starts, before, overlap)
                texts_words += [JoinedWords.concatenate((texts_words.pop(), *own_words))] if parts else own_words
                overlap = 0 if window.finished else min(int(before[-1]), self.scheme.shingle_size - 1)
            highs, aside = np.empty(words_here, np.uint64), np.empty(int(before[-1]) + 1, np.uint64)
            heads, own = np.empty(words_here + 1, np.int64), sizes[first : first + window.texts]
            count = self._loops.shingle_hashes.distinct(
                words, starts, before, *self._hashing, highs, aside, heads, own, self._scratch
            )
            parts.append(highs[:count])
            if not window.finished:
                continue
            if len(parts) > 1:
                parts = [sort_distinct(parts)]
                own[0] = parts[0].size
            hashes += parts
            parts = []
            first += window.finished
        return np.concatenate(hashes), sizes, texts_words

    def ordered_hashes(
        self, texts: Sequence[str], half: int = 0
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return one half of each 128-bit shingle hash, in text order, and the number of hashes per text.

        `half` is 0 for the high half, and 1 for the low half.
        """
        parts, counts, first = [_NOTHING], np.zeros(len(texts), np.int64), 0
        for window, words, starts, before in self._scan_windows(texts):
            shingles = np.maximum(0, np.diff(before) - self.scheme.shingle_size + 1)
            halves = np.empty(int(before[-1]) + 1, np.uint64)
            self._loops.shingle_hashes.ordered_halves(
                words, starts, before, *self._hashing, half, halves, self._scratch
            )
            parts.append(halves[indices_of_ranges(before[:-1], shingles)])
            counts[first : first + window.texts] += shingles
            first += window.finished
        return np.concatenate(parts), counts

    def words_and_spans(self, text: str) -> tuple[list[str], npt.NDArray[np.int64]] | None:
        """Return the words of a text and their ranges; None for a text with surrogates or characters beyond U+FFFF."""
        if not text.isascii() and tokenizer.SURROGATE_OR_PAIR.search(text):
            return None
        words, spans = list[str](), [np.empty((0, 2), np.int64)]
        unread, offset, before = b"", 0, np.empty((2, 2), np.int64)
        for window in _windows([text], self._window):
            require_time()
            raw = unread + window.raw
            units, bounds = np.frombuffer(raw, np.uint16), np.array([0, len(raw) // 2])
            length, count, slow_count, read = self._loops.words.scan(
                units, bounds, window.finished > 0, self._tables, self._work, before
            )
            own = self._work.words[: max(0, length - 1)].tobytes().decode("utf-16-le").split(" ") if count else []
            firsts = self._work.firsts[:count].astype(np.int64)
            lengths = np.diff(self._work.starts[:count], append=length) - 1
            ranges = np.stack((firsts, firsts + lengths), axis=1) + offset
            if slow_count:
                own, ranges = self._slow_words.insert(text, offset, self._work.slow[:slow_count], own, ranges)
            words += own
            spans.append(ranges)
            unread, offset = raw[2 * read :], offset + read
        return words, np.concatenate(spans)

    def _scan_windows(self, texts: Sequence[str]) -> Iterator[tuple[_Window, _Words, _Starts, _Before]]:
        """Yield the texts in windows, each with its words, their starts, and the number of words before each text.

        With shingles of n words, windows of a text overlap by n - 1 words, so that each shingle is in exactly one
        window.
        """
        unread, carried, lengths = b"", np.empty(0, np.uint16), np.empty(0, np.int64)
        for window in _windows(texts, self._window):
            raw = unread + window.raw if unread else window.raw
            bounds = window.ends + len(unread) // 2
            bounds[0] = 0
            words, starts, before, read = self._scan(raw, bounds, window.finished > 0)
            unread = raw[2 * read :]
            if lengths.size:
                words = np.concatenate((carried, words))
                starts = np.concatenate((np.cumsum(lengths) - lengths, starts + carried.size)).astype(np.int32)
                before = before + np.array([0, lengths.size])
            yield window, words, starts, before
            if window.finished:
                lengths = lengths[:0]
                carried = carried[:0]
            else:
                overlap = starts[-min(starts.size, self.scheme.shingle_size) :]
                lengths = np.diff(overlap)
                carried = words[overlap[0] : overlap[-1]].copy()

    def _scan(self, raw: bytes, bounds: _Before, is_whole: bool) -> tuple[_Words, _Starts, _Before, int]:
        work = self._work
        before = np.empty((bounds.size, 2), np.int64)
        units = np.frombuffer(raw, np.uint16)
        length, count, slow_count, read = self._loops.words.scan(units, bounds, is_whole, self._tables, work, before)
        work.starts[count] = length
        words, starts = work.words, work.starts[: count + 1]
        if not slow_count:
            return words, starts, before[:, 0].copy(), read
        slow, table = work.slow[:slow_count], self._tables.units
        divided = work.ends, work.counts[:slow_count]
        more_words, more_units, left = self._loops.cjk_words.divide(
            units, slow, self._tables.engines, self._tables.trie, work, *divided
        )
        slow_words = self._slow_words.look_up(raw, slow if left == slow_count else slow[divided[1] < 0])
        filled = np.empty(length + more_units + more_words + slow_words[0].size + PADDING, np.uint16)
        filled_starts = np.empty(count + more_words + slow_words[2].size + 1, np.int32)
        self._loops.words.insert_slow_words(
            words, starts, before, slow, units, table, divided, slow_words, filled, filled_starts
        )
        return filled, filled_starts, before[:, 0].copy(), read


def _split_words(words: _Words, starts: _Starts, before: _Before, skipped: int) -> list[JoinedWords]:
    """Return the words of each text, without the first `skipped` words of the first text."""
    offsets = 2 * starts.astype(np.int64)
    encoded = words[: starts[-1]].copy().view(np.uint8)
    bounds = before.tolist()
    bounds[0] += skipped
    begins = offsets[bounds].tolist()
    return [
        JoinedWords(encoded[begin : max(begin, end - 2)], offsets[first : last + 1] - begin)
        for (first, last), (begin, end) in zip(pairwise(bounds), pairwise(begins), strict=True)
    ]


_Words = npt.NDArray[np.uint16]
_Starts = npt.NDArray[np.int32]
_Before = npt.NDArray[np.int64]


class _Window(NamedTuple):
    """Several texts that fit into one window, or a part of a long text.

    Attributes:
        raw: UTF-16LE encoding of the texts.
        ends: Start of the first text, and end of each text, in units.
        finished: Number of texts that end in this window: all texts, or 0 if the window is a part of a long text, but
            not its last part.
    """

    raw: bytes
    ends: _Before
    finished: int

    @property
    def texts(self) -> int:
        return self.ends.size - 1


def _windows(texts: Sequence[str], window: int) -> Iterator[_Window]:
    # A text longer than a window is the only text of its chunk.
    for first, *others in chunks(texts, len, window):
        ends = range(window, len(first), window)
        for end in ends:
            yield _window_of([first[end - window : end]])._replace(finished=0)
        yield _window_of([first[window * len(ends) :], *others])


def _window_of(texts: Sequence[str]) -> _Window:
    raw, lengths = _utf_16("".join(texts)), np.fromiter(map(len, texts), np.int64, len(texts))
    if 2 * lengths.sum() != len(raw):
        # Some characters take two units, so encode each text separately to get its length.
        lengths = np.fromiter((len(_utf_16(text)) // 2 for text in texts), np.int64, len(texts))
    return _Window(raw, np.concatenate(([0], np.cumsum(lengths))), len(texts))


def _utf_16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


class _SlowWords:
    """Splits slow segments into folded words with the Python code. All threads share one cache of the results."""

    def __init__(self, profile: str) -> None:
        segmenter = tokenizer.segmenter_of(profile)
        self._chunks = (segmenter.default, segmenter.cjk)
        self._known: tuple[dict[bytes, tuple[bytes, bytes]], ...] = ({}, {})

    def look_up(self, raw: bytes, slow: npt.NDArray[np.int32]) -> tuple[_Words, _Before, _Starts, _Before]:
        """Return the words of slow segments as four arrays: the argument `python_words` of `insert_slow_words`."""
        words, lengths = [], []
        for _, start, end, bits in slow.tolist():
            segment, machine = raw[2 * start : 2 * end], bits & 1
            entry = self._known[machine].get(segment) or self._find(segment, machine)
            words.append(entry[0])
            lengths.append(entry[1])
        return (
            np.frombuffer(b"".join(words), np.uint16),
            np.array(list(accumulate(map(len, words))), np.int64) >> 1,
            np.frombuffer(b"".join(lengths), np.int32),
            np.array(list(accumulate(map(len, lengths))), np.int64) >> 2,
        )

    def insert(
        self, text: str, offset: int, slow: npt.NDArray[np.int32], words: list[str], spans: npt.NDArray[np.int64]
    ) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Merge the words of slow segments into the other words, in text order; return all words and their ranges.

        `spans` has the ranges of `words`. `slow` has rows of `WorkingMemory.slow`; their positions are relative to
        `offset`. The text has only characters of one UTF-16 unit, so these positions also count characters.
        """
        merged, done, positions, counts = list[str](), 0, list[int](), list[int]()
        for place, start, end, bits in slow.tolist():
            own, ranges = self._chunks[bits & 1][text[offset + start : offset + end]]
            merged += words[done:place]
            merged += own
            positions += [offset + start + position for position in ranges]
            counts.append(len(own))
            done = place
        merged += words[done:]
        between = np.array(positions, np.int64).reshape(-1, 2)
        return merged, np.insert(spans, np.repeat(slow[:, 0], counts), between, axis=0)

    def _find(self, segment: bytes, machine: int) -> tuple[bytes, bytes]:
        folded, _ = self._chunks[machine][segment.decode("utf-16-le", "surrogatepass")]
        words = list(map(java_utf16, folded))
        entry = (
            b"".join([word + b" \0" for word in words]),
            np.array([len(word) // 2 for word in words], np.int32).tobytes(),
        )
        if len(segment) <= 2 * LONGEST_CACHED:
            known = self._known[machine]
            if len(known) >= MOST_CACHED:
                known.clear()
            known[segment] = entry
        return entry


_slow_words = cache(_SlowWords)


def is_available() -> bool:
    return find_spec("numba") is not None


def has_loops(scheme: Scheme) -> bool:
    return scheme.fills_every_bucket and scheme.unit == "words"


def is_loaded() -> bool:
    return _compiled.is_set()


def loops_if_loaded() -> Loops | None:
    return load_loops() if is_loaded() else None


def as_loop_array(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Copy numbers into a contiguous array: numba would compile the loops again for any other layout."""
    return np.array(numbers, np.int64, order="C")


class Loops(NamedTuple):
    words: Any
    cjk_words: Any
    shingle_hashes: Any
    sketches: Any
    overlap_estimates: Any
    passages: Any
    jit: Any


@cache
def load_loops() -> Loops:
    """Import the loops; raise ImportError if numba does not work, MemoryError if LLVM lacks memory."""
    if not is_available():
        raise ImportError("it is not installed; pip install numba")
    try:
        import llvmlite.binding  # noqa: F401
    except OSError as error:
        # llvmlite raises OSError if it cannot map its library into memory.
        raise MemoryError("the compiled loops cannot be loaded: there is too little memory for LLVM") from error
    from whorl.fingerprint.compiled import (
        cjk_word_loops,
        jit,
        overlap_estimate_loops,
        passage_loops,
        shingle_hash_loops,
        sketch_loops,
        word_loops,
    )

    return Loops(
        word_loops, cjk_word_loops, shingle_hash_loops, sketch_loops, overlap_estimate_loops, passage_loops, jit
    )


#: Maximum number of idle kernels in memory; each takes some megabytes.
MOST_IDLE = 4
#: Number of similarity searches after which the loops have saved more time than loading them takes.
SEARCHES_WORTH_LOADING = 1000
_searches = count(1)
#: The child process that compiles the loops, once started.
_started: list[Popen[bytes]] = []
#: Idle kernels of each scheme. Creating a kernel takes longer than reading most texts.
_idle: dict[Scheme, list[Kernel]] = {}
#: Lock held while a thread loads the loops, and maximum time that a fork waits for it: in a child process forked during
#: the loading, the lock would never be released.
_loading, _FORK_WAITS_SECONDS = RLock(), 10.0


def kernel_if_ready(scheme: Scheme, *, is_worth_compiling: bool = True) -> Kernel | None:
    """Return a kernel from the pool, or a new one. Return None if the caller must use `shingling`.

    The result is None if
    - numba is missing or does not work, for example with this version of numpy (a warning is shown once),
    - the loops do not support the scheme, or
    - a child process is compiling the loops for this machine; the first call starts it.

    If the compiled code cannot be stored, the caller waits for the compilation, or gets None if `is_worth_compiling` is
    False.
    """
    if not has_loops(scheme):
        return None
    with suppress(KeyError, IndexError):
        return _idle[scheme].pop()
    try:
        with _loading:
            jit = load_loops().jit
            if not jit.is_cached(__package__):
                if not _started and jit.can_be_cached(__package__):
                    _start_compiler()
                if is_compiling() or not is_worth_compiling:
                    return None
            return Kernel(scheme)
    except ImportError as problem:
        warn_of_numba(str(problem))
        return None


def return_kernel(kernel: Kernel) -> None:
    """Put a kernel back into the pool. Do not call this after an error has interrupted the kernel."""
    if sum(map(len, list(_idle.values()))) < MOST_IDLE:
        _idle.setdefault(kernel.scheme, []).append(kernel)


def count_search(scheme: Scheme, weight: int = 1) -> None:
    """Count a search; after every `SEARCHES_WORTH_LOADING` searches, load the loops in a thread if they are not loaded.

    `weight` is the time that the loops save in the search, divided by the time that they save in a similarity search.
    The search counts as this number of searches. If the compiled code cannot be stored, do not load the loops, because
    compiling them would take longer than they save.
    """
    is_due = 0 in [next(_searches) % SEARCHES_WORTH_LOADING for _ in range(weight)]
    if is_due and is_available() and not is_loaded():
        Thread(target=_load, args=(scheme,), name="whorl-loops", daemon=True).start()


def _load(scheme: Scheme) -> None:
    if loaded := kernel_if_ready(scheme, is_worth_compiling=False):
        return_kernel(loaded)


def is_compiling() -> bool:
    return any(process.poll() is None for process in _started)


def _start_compiler() -> None:
    import subprocess

    # Python prints log records of level WARNING even if logging is not configured.
    logging.getLogger("whorl.fingerprint").warning(
        "compiling whorl's loops for this machine, once, in the background; until then it works without them"
    )
    code = f"import sys; sys.path[:] = {sys.path!r}; from whorl.fingerprint.compiled.kernel import Kernel; Kernel()"
    nothing = subprocess.DEVNULL
    with suppress(OSError):
        # A session of its own lets the child survive Ctrl-C and the end of this process.
        command = [sys.executable, "-c", code]
        _started.append(
            subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
        )


def _before_fork() -> None:
    # Other fork handlers might make this thread and the loading thread wait for each other, so limit the wait.
    _loading.acquire(timeout=_FORK_WAITS_SECONDS)


def _after_fork() -> None:
    # If the wait timed out, this thread does not hold the lock.
    with suppress(RuntimeError):
        _loading.release()


if hasattr(os, "register_at_fork"):
    # The thread that loads the loops takes `_loading` first, and then the lock of `logging`. A fork must take the locks
    # in the same order, or the two threads could wait for each other. Before a fork, handlers run in reverse order of
    # their registration, so `logging` must be imported before this line.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@cache
def warn_of_numba(problem: str) -> None:
    warnings.warn(f"without numba large amounts take several times as long: {problem}", RuntimeWarning, stacklevel=4)
