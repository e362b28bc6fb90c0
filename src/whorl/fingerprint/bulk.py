"""Signatures of many texts, by the fastest route that this installation has and the amount of text is worth.

With the extra ``whorl[fast]`` a large amount of text goes through the compiled loops, in threads; without it, through
the plain route in processes. A small amount takes the plain route here and now. The numbers are the same.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from operator import length_hint
from typing import Any

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint import kernel
from whorl.fingerprint.minhash import text_minima
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.text import tokens

#: Below this many characters the plain route (one to five million a second) is done before numba is imported (half a
#: second or more, on a machine that has compiled the loops before) or another process has started.
LARGE = 2_000_000
#: What one worker gets at a time: at most so many characters (but at least one text), and so many texts, each of which
#: takes 8 KB of results.
BATCH_CHARACTERS, BATCH_TEXTS = 1 << 20, 128
#: Batches given out for each worker: one being worked on and one waiting.
BATCHES_PER_WORKER = 2

_Row = npt.NDArray[np.uint64]


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
        ParameterError: There is no such profile, or fewer than 1 worker.
    """
    if workers is not None and workers < 1:
        raise ParameterError(f"workers must be at least 1, got {workers}")
    tokens("", scheme.profile)
    return _signatures(iter(texts), scheme, workers or _processors(), progress or _ignore)


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


def _signatures(texts: Iterator[str], scheme: Scheme, workers: int, progress: Callable[[int], None]) -> Iterator[_Row]:
    first, seen = [], 0
    for text in texts:
        first.append(text)
        seen += len(text) + 64  # many texts are work too, however short
        if seen >= LARGE:
            break
    texts = chain(first, texts)
    done = 0
    for rows in _route(texts, scheme, workers, seen >= LARGE):
        yield from rows
        done += len(rows)
        progress(done)


def _route(texts: Iterator[str], scheme: Scheme, workers: int, is_large: bool) -> Iterator[list[_Row]]:
    """Yield the results batch by batch."""
    can_be_fast = scheme.fills_every_bucket and kernel.is_available() and (is_large or kernel.is_loaded())
    fast = _kernel(scheme) if can_be_fast else None
    if fast:
        yield from _in_threads(texts, fast, workers)
    elif is_large and workers > 1 and not multiprocessing.current_process().daemon:
        yield from _in_processes(texts, scheme, workers)
    else:
        for text in texts:
            yield [fingerprint(text, scheme)]


def _kernel(scheme: Scheme) -> kernel.Kernel | None:
    """Return a kernel, or None if the numba that is installed does not work here (with this numpy, say)."""
    try:
        return kernel.Kernel(scheme)
    except ImportError as problem:
        warnings.warn(f"numba does not work here, so signatures take longer: {problem}", RuntimeWarning, stacklevel=2)
        return None


def _in_threads(texts: Iterator[str], first: kernel.Kernel, workers: int) -> Iterator[list[_Row]]:
    idle = [first]

    def rows(batch: Sequence[str]) -> list[_Row]:
        try:
            one = idle.pop()
        except IndexError:
            one = kernel.Kernel(first.scheme)
        try:
            smallest, counts = one.many(batch)
        finally:
            idle.append(one)
        return [row[:, 0].copy() if count else row[:0, 0].copy() for row, count in zip(smallest, counts, strict=True)]

    if workers == 1:
        yield from map(rows, _batches(texts))
        return
    with ThreadPoolExecutor(workers, "whorl-fingerprint") as pool:
        for future, _ in _in_order(pool, rows, _batches(texts), workers):
            yield future.result()


def _in_processes(texts: Iterator[str], scheme: Scheme, workers: int) -> Iterator[list[_Row]]:
    # "spawn" because the caller may have threads, which "fork" would leave behind half way through something.
    is_broken = False
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        batches = _batches(texts)
        for future, batch in _in_order(pool, _PlainRows(scheme), batches, workers):
            try:
                yield _PlainRows(scheme)(batch) if is_broken else future.result()
            except BrokenProcessPool:
                is_broken = True
                warnings.warn(
                    "no processes for the signatures, so they take longer: a script needs "
                    'if __name__ == "__main__": around what it does, or workers=1',
                    RuntimeWarning,
                    stacklevel=2,
                )
                yield _PlainRows(scheme)(batch)


class _PlainRows:
    """The plain route for a batch; an object, so that it can be sent to another process."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme

    def __call__(self, batch: Sequence[str]) -> list[_Row]:
        return [fingerprint(text, self.scheme) for text in batch]


def _in_order(
    pool: Executor, work: Callable[[Sequence[str]], list[_Row]], batches: Iterator[list[str]], workers: int
) -> Iterator[tuple[Future[list[_Row]], list[str]]]:
    """Yield a future for each batch, in order, with at most BATCHES_PER_WORKER of them given out for each worker."""
    waiting: deque[tuple[Future[list[_Row]], list[str]]] = deque()
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


def _submitted(pool: Executor, work: Callable[[Any], list[_Row]], batch: list[str]) -> Future[list[_Row]]:
    try:
        return pool.submit(work, batch)
    except BrokenProcessPool as problem:
        future: Future[list[_Row]] = Future()
        future.set_exception(problem)
        return future


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (size + len(text) > BATCH_CHARACTERS or len(batch) == BATCH_TEXTS):
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
