"""Signatures of many texts, by the fastest route that this installation has and the amount of text is worth.

With the extra ``whorl[fast]`` a large amount of text goes through the compiled loops, in threads; without it, through
the plain route in processes. A small amount takes the plain route here and now. The numbers are the same.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import length_hint
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.hashing import numbered
from whorl.fingerprint.minhash.minima import minima_of, text_minima
from whorl.fingerprint.minhash.together import minima_of_each, murmur_of_each
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.shingles import distinct, murmur_pieces, pieces, sorted_distinct
from whorl.fingerprint.words.tokenizer import tokens

#: Below this many characters the plain route (a second for several million, of Chinese and Japanese for 0.4 million) is
#: mostly done before numba is imported (half a second or more, on a machine that has compiled the loops before) or
#: another process has started. ASCII takes it less than a quarter of the time of any other text, so four characters of
#: that count as one.
LARGE, _ASCII_IN_ONE = 2_000_000, 4
#: What one worker gets at a time: at most so many characters (but at least one text), and so many texts, each of which
#: takes 8 KB of results.
BATCH_CHARACTERS, BATCH_TEXTS = 1 << 20, 128
#: Batches given out for each worker: one being worked on and one waiting.
BATCHES_PER_WORKER = 2
#: Without numba, texts of so many characters together are read in one go: more of them take no less time.
_TOGETHER = 1 << 16

_Row = npt.NDArray[np.uint64]
_Result = TypeVar("_Result")


class Sized(NamedTuple):
    """A text's tokens with all their bits, and its size.

    Attributes:
        halves: uint64 array of shape (tokens, 2), high and low half of each token, in the order of `fingerprint`.
        size: Distinct shingles of the text.
    """

    halves: npt.NDArray[np.uint64]
    size: int


def fingerprint(text: str, scheme: Scheme = kernel.DEFAULT_SCHEME) -> _Row:
    """Return the tokens of one text as numbers, at once: no processes, no threads, nothing compiled.

    Returns:
        uint64 array of shape (bucket_count,) in the order of the buckets, empty ones filled by rotation: the high half
        of each bucket's smallest hash, in the machine's byte order (an index writes it as four UTF-16 units, the
        highest first); or of shape (0,) for a text of fewer words than one shingle. Other schemes give as many
        numbers as Lucene gives tokens.

    Raises:
        ParameterError: There is no such profile.

    >>> fingerprint("to be or not to be").shape
    (512,)
    """
    return text_minima(text, scheme)[:, 0]


def signatures_of(
    texts: Iterable[str],
    scheme: Scheme = kernel.DEFAULT_SCHEME,
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[_Row]:
    """Return the tokens of each text, in order: what `fingerprint(text, scheme)` is.

    Texts are taken as results are: no more of them are held than `workers` can have in hand, about two million
    characters each, or two texts.

    Args:
        texts: Any number of texts.
        scheme: Profile, shingle size, bucket count.
        workers: Threads, or processes where numba is not installed; as many as there are processors if None. With 1
            everything happens in this thread. A script that may get processes needs ``if __name__ == "__main__":``.
        progress: Called in this thread with the number of texts that are done.

    Returns:
        Iterator of uint64 arrays of shape (bucket_count,), or (0,) for a text of fewer words than one shingle, as
        `fingerprint` returns them.

    Raises:
        ParameterError: There is no such profile, fewer than 1 worker, or one text instead of several.
    """
    return _results(texts, _ROWS, scheme, workers, progress)


def sized_signatures_of(
    texts: Iterable[str],
    scheme: Scheme = kernel.DEFAULT_SCHEME,
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Sized]:
    """Return the tokens of each text with all their bits, and how many different shingles it has, in order.

    Args:
        texts: As in `signatures_of`.
        scheme: As in `signatures_of`.
        workers: As in `signatures_of`.
        progress: As in `signatures_of`.

    Raises:
        ParameterError: As in `signatures_of`.
    """
    return _results(texts, _SIZED, scheme, workers, progress)


def hashes_of(
    texts: Iterable[str],
    scheme: Scheme = kernel.DEFAULT_SCHEME,
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[_Row]:
    """Return all shingle hashes of each text, in order: what sketches are cut from, and sets are compared by.

    Args:
        texts: As in `signatures_of`.
        scheme: As in `signatures_of`; only the profile and the shingle size matter.
        workers: As in `signatures_of`.
        progress: As in `signatures_of`.

    Returns:
        Iterator of sorted distinct uint64 arrays of shape (shingles,): the high half of each hash.

    Raises:
        ParameterError: As in `signatures_of`.
    """
    return _results(texts, _HASHES, scheme, workers, progress)


def fingerprints(
    texts: Iterable[str],
    scheme: Scheme = kernel.DEFAULT_SCHEME,
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Return the bucket minima of all texts as one array, and which of them have any.

    Args:
        texts: Any number of texts; a signature takes 8 * bucket_count bytes.
        scheme: As in `signatures_of`.
        workers: As in `signatures_of`.
        progress: As in `signatures_of`.

    Returns:
        uint64 array of shape (texts, bucket_count), and bool array of shape (texts,). A text of fewer words than one
        shingle has a row of zeros and False; compare no such row with anything.

    Raises:
        ParameterError: As in `signatures_of`, or the scheme does not keep one hash in each bucket.
    """
    if not scheme.fills_every_bucket:
        raise ParameterError(f"signatures under {scheme.name} differ in length; take them one by one: signatures_of")
    rows = np.zeros((max(1, length_hint(texts)), scheme.bucket_count), np.uint64)
    has_any: list[bool] = []
    for row in signatures_of(texts, scheme, workers=workers, progress=progress):
        if len(has_any) == len(rows):
            rows = np.concatenate((rows, np.zeros_like(rows)))
        if row.size:
            rows[len(has_any)] = row
        has_any.append(row.size > 0)
    return rows[: len(has_any)], np.array(has_any, np.bool_)


def _plain_rows(texts: Sequence[str], scheme: Scheme) -> list[_Row]:
    if len(texts) == 1:  # piece by piece, however long it is
        return [fingerprint(texts[0], scheme)]
    return [minima[:, 0].copy() for minima in minima_of_each(murmur_of_each(texts, scheme), scheme)]


def _fast_rows(texts: Sequence[str], one: kernel.Kernel) -> list[_Row]:
    smallest, counts = one.many(texts)
    return [row[:, 0].copy() if count else row[:0, 0].copy() for row, count in zip(smallest, counts, strict=True)]


def _plain_sized(texts: Sequence[str], scheme: Scheme) -> list[Sized]:
    if len(texts) == 1:
        pairs = list(murmur_pieces(pieces(texts[0], scheme.profile), scheme.shingle_size))
        return [Sized(minima_of(pairs, scheme), distinct(piece[:, 0] for piece in pairs))]
    murmur = murmur_of_each(texts, scheme)
    sizes = [distinct([each[:, 0]]) for each in murmur]
    return [Sized(minima.copy(), size) for minima, size in zip(minima_of_each(murmur, scheme), sizes, strict=True)]


def _fast_sized(texts: Sequence[str], one: kernel.Kernel) -> list[Sized]:
    smallest, sizes = one.many_sized(texts)
    return [Sized((row if size else row[:0]).copy(), size) for row, size in zip(smallest, sizes, strict=True)]


def _plain_hashes(texts: Sequence[str], scheme: Scheme) -> list[_Row]:
    if len(texts) == 1:
        murmur = murmur_pieces(pieces(texts[0], scheme.profile), scheme.shingle_size)
        return [sorted_distinct([numbered(piece, 0)[0] for piece in murmur])]
    return [sorted_distinct([numbered(each, 0)[0]]) for each in murmur_of_each(texts, scheme)]


def _fast_hashes(texts: Sequence[str], one: kernel.Kernel) -> list[_Row]:
    return one.many_hashes(texts)


@dataclass(frozen=True, slots=True)
class _Kind(Generic[_Result]):
    """What is made of texts, by either route. Functions of this module, so that they can be sent to a process."""

    plain: Callable[[Sequence[str], Scheme], list[_Result]]
    fast: Callable[[Sequence[str], kernel.Kernel], list[_Result]]

    def plainly(self, batch: Sequence[str], scheme: Scheme) -> list[_Result]:
        """Return the results of a batch by the plain route, short texts together."""
        return list(chain.from_iterable(self.plain(some, scheme) for some in _batches(iter(batch), _TOGETHER)))


_ROWS, _SIZED = _Kind(_plain_rows, _fast_rows), _Kind(_plain_sized, _fast_sized)
_HASHES = _Kind(_plain_hashes, _fast_hashes)


def _results(
    texts: Iterable[str],
    kind: _Kind[_Result],
    scheme: Scheme,
    workers: int | None,
    progress: Callable[[int], None] | None,
) -> Iterator[_Result]:
    """Check the parameters at once, and return what comes when it is asked for."""
    if workers is not None and workers < 1:
        raise ParameterError(f"workers must be at least 1, got {workers}")
    if isinstance(texts, str):
        raise ParameterError("this is one text, not several; give a list of it")
    tokens("", scheme.profile)
    return _one_by_one(iter(texts), kind, scheme, workers or _processors(), progress or _ignore)


def _one_by_one(
    texts: Iterator[str], kind: _Kind[_Result], scheme: Scheme, workers: int, progress: Callable[[int], None]
) -> Iterator[_Result]:
    texts, is_large = _looked_ahead(texts)
    done = 0
    for results in _route(texts, kind, scheme, workers, is_large):
        yield from results
        done += len(results)
        progress(done)


def _looked_ahead(texts: Iterator[str]) -> tuple[Iterator[str], bool]:
    """Return all of the texts again, and whether they are a large amount."""
    first, seen = [], 0
    for text in texts:
        first.append(text)
        # Many texts are work too, however short.
        seen += 64 + (len(text) // _ASCII_IN_ONE if text.isascii() else len(text))
        if seen >= LARGE:
            break
    # An iterator lets go of its list at the end; chain keeps what it was given.
    return chain(iter(first), texts), seen >= LARGE


def _route(
    texts: Iterator[str], kind: _Kind[_Result], scheme: Scheme, workers: int, is_large: bool
) -> Iterator[list[_Result]]:
    """Yield the results batch by batch."""
    can_be_fast = scheme.fills_every_bucket and kernel.is_available() and (is_large or kernel.is_loaded())
    fast = _kernel(scheme) if can_be_fast else None
    if fast:
        yield from _in_threads(texts, kind, fast, workers)
    elif is_large and workers > 1 and not multiprocessing.current_process().daemon:
        yield from _in_processes(texts, kind, scheme, workers)
    else:
        for some in _batches(texts, _TOGETHER):
            yield kind.plain(some, scheme)


def _kernel(scheme: Scheme) -> kernel.Kernel | None:
    """Return a kernel, or None if the numba that is installed does not work here (with this numpy, say)."""
    try:
        return kernel.Kernel(scheme)
    except ImportError as problem:
        warnings.warn(f"numba does not work here, so signatures take longer: {problem}", RuntimeWarning, stacklevel=2)
        return None


def _in_threads(
    texts: Iterator[str], kind: _Kind[_Result], first: kernel.Kernel, workers: int
) -> Iterator[list[_Result]]:
    idle = [first]

    def results(batch: Sequence[str]) -> list[_Result]:
        try:
            one = idle.pop()
        except IndexError:
            one = kernel.Kernel(first.scheme)
        try:
            return kind.fast(batch, one)
        finally:
            idle.append(one)

    batches = _batches(texts, BATCH_CHARACTERS)
    if workers == 1:
        yield from map(results, batches)
        return
    with ThreadPoolExecutor(workers, "whorl-fingerprint") as pool:
        for future, _ in _in_order(pool, results, batches, workers):
            yield future.result()


def _in_processes(texts: Iterator[str], kind: _Kind[_Result], scheme: Scheme, workers: int) -> Iterator[list[_Result]]:
    work = partial(kind.plainly, scheme=scheme)
    is_broken = False
    # "spawn" because the caller may have threads, which "fork" would leave behind half way through something.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _leave_interrupts) as pool:
        for future, batch in _in_order(pool, work, _batches(texts, BATCH_CHARACTERS), workers):
            try:
                yield work(batch) if is_broken else future.result()
            except BrokenProcessPool:
                is_broken = True
                warnings.warn(
                    "no processes for the signatures, so they take longer: a script needs "
                    'if __name__ == "__main__": around what it does, or workers=1',
                    RuntimeWarning,
                    stacklevel=2,
                )
                yield work(batch)


def _leave_interrupts() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the one that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _in_order(
    pool: Executor, work: Callable[[Sequence[str]], list[_Result]], batches: Iterator[list[str]], workers: int
) -> Iterator[tuple[Future[list[_Result]], list[str]]]:
    """Yield a future for each batch, in order, with at most BATCHES_PER_WORKER of them given out for each worker."""
    waiting: deque[tuple[Future[list[_Result]], list[str]]] = deque()
    try:
        for batch in batches:
            waiting.append((_submitted(pool, work, batch), batch))
            if len(waiting) >= workers * BATCHES_PER_WORKER:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        for future, _ in waiting:
            future.cancel()


def _submitted(
    pool: Executor, work: Callable[[Sequence[str]], list[_Result]], batch: list[str]
) -> Future[list[_Result]]:
    try:
        return pool.submit(work, batch)
    except BrokenProcessPool as problem:
        future: Future[list[_Result]] = Future()
        future.set_exception(problem)
        return future


def _batches(texts: Iterator[str], characters: int) -> Iterator[list[str]]:
    """Yield texts in batches of at most so many characters, but at least one text."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > characters or len(batch) == BATCH_TEXTS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _ignore(done: int) -> None:
    """Report nothing."""
