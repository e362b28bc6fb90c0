"""From texts to all that is made of them, by the fastest route that this installation has and the amount is worth.

Everything that fingerprints texts comes here, one text or a stream. A large amount of text goes through the compiled
loops, in threads; where there is no numba, through the plain route in processes. A small amount takes the plain route
here and now, and so does everything while the loops are compiled for this machine. The numbers are the same.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from enum import Flag, auto
from functools import partial, reduce
from itertools import accumulate, chain
from operator import length_hint
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from whorl.arrays import chunks, sorted_distinct
from whorl.errors import ParameterError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.first_use import give_back, is_compiling, kernel_if_ready
from whorl.fingerprint.hashing import JoinedWords, join, numbered
from whorl.fingerprint.minhash.minima import minima_of, minima_of_each, text_minima
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, sketch_of_distinct
from whorl.fingerprint.words.shingles import joined_words, murmur_pieces, murmur_together, pieces
from whorl.fingerprint.words.tokenizer import segmenter_of
from whorl.workers import begin_as_worker

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
Item = TypeVar("Item")
_NO_MINIMA, _NO_HASHES, _NO_WORDS = np.empty((0, 2), np.uint64), np.empty(0, np.uint64), join([])


class Parts(Flag):
    """What is to be made of texts."""

    MINIMA = auto()
    HASHES = auto()
    WORDS = auto()
    ALL = MINIMA | HASHES | WORDS


class Hashed(NamedTuple):
    """What is made of a text; empty what was not asked for.

    Attributes:
        minima: uint64 array of shape (tokens, 2), high and low half of each token, in the order of `fingerprint`.
        hashes: The high halves of all its shingles' hashes; sorted distinct uint64 array of shape (shingles,).
        words: Its folded words.
    """

    minima: npt.NDArray[np.uint64]
    hashes: _Row
    words: JoinedWords

    def sketch(self, scheme: SketchScheme) -> Sketch:
        """Return the sketch of the text; its hashes must have been asked for."""
        return sketch_of_distinct(self.hashes, scheme)


class Together(NamedTuple):
    """The hashes of several texts.

    Attributes:
        hashes: The high halves, those of each text together, ascending and each once; uint64 array.
        sizes: How many each text has, which are its distinct shingles; int64 array of shape (texts,).
    """

    hashes: _Row
    sizes: npt.NDArray[np.int64]


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
    found = hashed(texts, scheme, Parts.MINIMA, workers=workers, progress=progress)
    return (each.minima[:, 0].copy() for each in found)


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
    found = hashed(texts, scheme, Parts.MINIMA | Parts.HASHES, workers=workers, progress=progress)
    return (Sized(each.minima, each.hashes.size) for each in found)


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


def hashed(
    texts: Iterable[str],
    scheme: Scheme = kernel.DEFAULT_SCHEME,
    parts: Parts = Parts.HASHES,
    *,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Hashed]:
    """Return what is asked for of each text, in order.

    Args:
        texts: As in `signatures_of`.
        scheme: As in `signatures_of`; for hashes only the profile and the shingle size matter.
        parts: What to make.
        workers: As in `signatures_of`.
        progress: As in `signatures_of`.

    Raises:
        ParameterError: As in `signatures_of`.
    """
    if workers is not None and workers < 1:
        raise ParameterError(f"workers must be at least 1, got {workers}")
    if isinstance(texts, str):
        raise ParameterError("this is one text, not several; give a list of it")
    if scheme.unit == "words":
        segmenter_of(scheme.profile)
    return _one_by_one(iter(texts), scheme, parts, workers or _processors(), progress or _ignore)


def hashed_together(portions: Iterable[Sequence[str]], scheme: Scheme = kernel.DEFAULT_SCHEME) -> Iterator[Together]:
    """Return the hashes of many texts, portion by portion: what `hashed` does, without an array for each text.

    Args:
        portions: Some hundred texts each, or some hundred thousand characters; the first few may be read ahead.
        scheme: As in `signatures_of`; for hashes only the profile and the shingle size matter.

    Raises:
        ParameterError: There is no such profile.
    """
    if scheme.unit == "words":
        segmenter_of(scheme.profile)
    return _portion_by_portion(portions, scheme)


def _portion_by_portion(portions: Iterable[Sequence[str]], scheme: Scheme) -> Iterator[Together]:
    ahead, is_large = _looked_ahead(iter(portions), lambda some: sum(map(_work, some)))
    fast = _kernel_for(scheme, is_large=is_large)
    was_compiling = is_compiling()
    try:
        for some in ahead:
            if was_compiling and not is_compiling():
                fast, was_compiling = kernel_if_ready(scheme), False
            yield Together(*fast.distinct_hashes(some)) if fast else _plain_together(some, scheme)
    finally:
        if fast:
            give_back(fast)


def _plain_together(texts: Sequence[str], scheme: Scheme) -> Together:
    """Return the hashes of some texts by the plain route."""
    # Between these characters no rule ends a word, but after 255 of them.
    few = re.compile(rf"(?=[\0-\x7f]{{0,255}}\Z)\W*+(?:\w++\W*+){{0,{scheme.shingle_size - 1}}}\Z", re.ASCII)
    rest = [at for at, text in enumerate(texts) if scheme.unit != "words" or not few.match(text)]
    found = [_NO_HASHES] * len(texts)
    for at, each in zip(rest, _plain_batch([texts[at] for at in rest], scheme, Parts.HASHES), strict=True):
        found[at] = each.hashes
    return Together(np.concatenate([_NO_HASHES, *found]), np.array([each.size for each in found], np.int64))


def text_sketch(text: str, scheme: Scheme, sketch_scheme: SketchScheme) -> Sketch:
    """Return the sketch of one text, at once."""
    return sketch_of_distinct(text_hashes(text, scheme), sketch_scheme)


def text_hashes(text: str, scheme: Scheme) -> _Row:
    """Return all distinct hashes of one text: sorted uint64 array of shape (size,)."""
    murmur = murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size)
    # Piece by piece, since a long text repeats itself.
    return sorted_distinct([sorted_distinct([numbered(piece, 0)[0]]) for piece in murmur])


def hashes_of_words(words: Sequence[str], scheme: Scheme) -> _Row:
    """Return the hash of each shingle of a text in its order, by which `text_hashes` and sketches know it.

    Args:
        words: Those of the text, folded, in order.
        scheme: What shingles are.

    Returns:
        uint64 array of shape (max(len(words) - shingle_size + 1, 0),).
    """
    murmur = [*murmur_pieces([join(words)], scheme.shingle_size)]
    return numbered(murmur[0], 0)[0] if murmur else _NO_HASHES


def _plain(texts: Sequence[str], scheme: Scheme, parts: Parts) -> list[Hashed]:
    """Return the results by the plain route."""
    if len(texts) == 1 and parts == Parts.MINIMA:  # piece by piece, however long it is
        return [Hashed(text_minima(texts[0], scheme), _NO_HASHES, _NO_WORDS)]
    if len(texts) == 1:
        read = list(pieces(texts[0], scheme.profile))
        murmur = [list(murmur_pieces(read, scheme.shingle_size))]
        words = [reduce(JoinedWords.followed_by, read, _NO_WORDS) if parts & Parts.WORDS else _NO_WORDS]
    else:
        words = [joined_words(text, scheme.profile) for text in texts]
        together, counts = murmur_together(words, scheme.shingle_size)
        murmur = [[own] for own in np.split(together, list(accumulate(counts[:-1])))]
    minima, hashes = [_NO_MINIMA] * len(texts), [_NO_HASHES] * len(texts)
    if parts & Parts.MINIMA:
        alone = len(texts) == 1
        minima = [minima_of(murmur[0], scheme)] if alone else minima_of_each([own for (own,) in murmur], scheme)
    if parts & Parts.HASHES:
        hashes = [sorted_distinct([numbered(piece, 0)[0] for piece in own]) for own in murmur]
    return list(map(Hashed, minima, hashes, words if parts & Parts.WORDS else [_NO_WORDS] * len(texts)))


def _fast(texts: Sequence[str], parts: Parts, one: kernel.Kernel) -> list[Hashed]:
    """Return the results by the compiled loops."""
    if parts == Parts.MINIMA:
        rows, counts = one.many(texts)
        found = zip(rows, counts.tolist(), strict=True)
        return [Hashed(row if count else _NO_MINIMA, _NO_HASHES, _NO_WORDS) for row, count in found]
    if parts == Parts.HASHES:
        together, sizes = one.distinct_hashes(texts)
        split = np.split(together, np.cumsum(sizes)[:-1])
        # Each on its own, so that what is kept of one does not hold them all.
        return [Hashed(_NO_MINIMA, own.copy(), _NO_WORDS) for own in split]
    rows, hashes, words = one.many_hashed(texts, with_words=bool(parts & Parts.WORDS))
    minima = [_NO_MINIMA] * len(texts)
    if parts & Parts.MINIMA:
        minima = [row.copy() if own.size else _NO_MINIMA for row, own in zip(rows, hashes, strict=True)]
    return list(map(Hashed, minima, hashes, words))


def _plain_batch(batch: Sequence[str], scheme: Scheme, parts: Parts) -> list[Hashed]:
    """Return the results of a batch by the plain route, short texts together."""
    return list(chain.from_iterable(_plain(some, scheme, parts) for some in chunks(batch, len, _TOGETHER, BATCH_TEXTS)))


def _one_by_one(
    texts: Iterator[str], scheme: Scheme, parts: Parts, workers: int, progress: Callable[[int], None]
) -> Iterator[Hashed]:
    texts, is_large = _looked_ahead(texts, _work)
    done = 0
    for results in _route(texts, scheme, parts, workers, is_large):
        yield from results
        done += len(results)
        progress(done)


class _Amount:
    """How much text this process has been given: many small batches are as much work as a large one."""

    seen = 0


def _work(text: str) -> int:
    """Return how much a text takes, in characters."""
    # Many texts are work too, however short.
    return 64 + (len(text) // _ASCII_IN_ONE if text.isascii() else len(text))


def _looked_ahead(items: Iterator[Item], work: Callable[[Item], int]) -> tuple[Iterator[Item], bool]:
    """Return all texts, or portions of them, again, and whether they are a large amount."""
    first, seen = [], 0
    for item in items:
        first.append(item)
        seen += work(item)
        if seen >= LARGE:
            break
    _Amount.seen += seen
    # An iterator lets go of its list at the end; chain keeps what it was given.
    return chain(iter(first), items), seen >= LARGE


def _kernel_for(scheme: Scheme, *, is_large: bool) -> kernel.Kernel | None:
    """Return a kernel where there is one, and enough to do for it."""
    return kernel_if_ready(scheme) if is_large or kernel.is_loaded() or _Amount.seen >= LARGE else None


def _route(texts: Iterator[str], scheme: Scheme, parts: Parts, workers: int, is_large: bool) -> Iterator[list[Hashed]]:
    """Yield the results batch by batch."""
    if fast := _kernel_for(scheme, is_large=is_large):
        yield from _in_threads(texts, fast, parts, workers)
    elif is_large and workers > 1 and not is_compiling() and not multiprocessing.current_process().daemon:
        yield from _in_processes(texts, scheme, parts, workers)
    else:
        was_compiling, batches = is_compiling(), chunks(texts, len, _TOGETHER, BATCH_TEXTS)
        for some in batches:
            yield _plain(some, scheme, parts)
            if was_compiling and not is_compiling() and (fast := kernel_if_ready(scheme)):
                yield from _in_threads(chain.from_iterable(batches), fast, parts, workers)


def _in_threads(texts: Iterator[str], first: kernel.Kernel, parts: Parts, workers: int) -> Iterator[list[Hashed]]:
    idle = [first]

    def results(batch: Sequence[str]) -> list[Hashed]:
        try:
            one = idle.pop()
        except IndexError:
            one = kernel.Kernel(first.scheme)
        found = _fast(batch, parts, one)
        # Not one that an error has stopped in the middle.
        idle.append(one)
        return found

    batches = chunks(texts, len, BATCH_CHARACTERS, BATCH_TEXTS)
    try:
        if workers == 1:
            yield from map(results, batches)
            return
        with ThreadPoolExecutor(workers, "whorl-fingerprint") as pool:
            for future, _ in _in_order(pool, results, batches, workers):
                yield future.result()
    finally:
        for one in idle:
            give_back(one)


def _in_processes(texts: Iterator[str], scheme: Scheme, parts: Parts, workers: int) -> Iterator[list[Hashed]]:
    work = partial(_plain_batch, scheme=scheme, parts=parts)
    is_broken = False
    # "spawn" because the caller may have threads, which "fork" would leave behind half way through something.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), begin_as_worker) as pool:
        for future, batch in _in_order(pool, work, chunks(texts, len, BATCH_CHARACTERS, BATCH_TEXTS), workers):
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


def _in_order(
    pool: Executor, work: Callable[[Sequence[str]], list[Hashed]], batches: Iterator[list[str]], workers: int
) -> Iterator[tuple[Future[list[Hashed]], list[str]]]:
    """Yield a future for each batch, in order, with at most BATCHES_PER_WORKER of them given out for each worker."""
    waiting: deque[tuple[Future[list[Hashed]], list[str]]] = deque()
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


def _submitted(pool: Executor, work: Callable[[Sequence[str]], list[Hashed]], batch: list[str]) -> Future[list[Hashed]]:
    try:
        return pool.submit(work, batch)
    except BrokenProcessPool as problem:
        future: Future[list[Hashed]] = Future()
        future.set_exception(problem)
        return future


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _ignore(done: int) -> None:
    """Report nothing."""
