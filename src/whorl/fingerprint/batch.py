"""Batch computation of tokens, hashes and words of texts, by compiled loops, processes or plain numpy.

All fingerprinting of single texts and streams goes through here. Large amounts of text use the compiled loops in
threads, or numpy in processes if numba is missing. Small amounts use numpy in this process, and so does all text while
the loops are being compiled for this machine. The numbers are the same on each route. `signature` and `sketch` have the
compiled loops compute a single text, if they are loaded; the setup of a batch takes as long as one text.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from whorl.fingerprint.minhash.codec import Spelling, spell
from whorl.fingerprint.minhash.signature import Signature, minima_of, minima_of_each, sign, signature_of, text_minima
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.shingling import (
    JoinedWords,
    join,
    joined_words,
    murmur_pieces,
    murmur_together,
    numbered,
    pieces,
)
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme, sketch_of_distinct
from whorl.fingerprint.words.tokenizer import segmenter_of
from whorl.workers import begin_as_worker

#: Amount of text, in characters, from which numba is imported or processes are started. Below it numpy (a second for
#: several million characters, for 0.4 million of Chinese and Japanese) is mostly done before numba is imported (half a
#: second or more, with loops compiled earlier) or another process has started. ASCII takes less than a quarter of the
#: time, so four ASCII characters count as one.
LARGE, _ASCII_IN_ONE = 2_000_000, 4
#: Largest batch of a worker: this many characters (but at least one text) and this many texts, each of which takes 8 KB
#: of results.
BATCH_CHARACTERS, BATCH_TEXTS = 1 << 20, 128
#: Batches in flight per worker: one in progress and one waiting.
BATCHES_PER_WORKER = 2
#: Without numba, texts are read together up to this many characters; larger groups are no faster.
_TOGETHER = 1 << 16

_Row = npt.NDArray[np.uint64]
Item = TypeVar("Item")
_NO_MINIMA, _NO_HASHES, _NO_WORDS = np.empty((0, 2), np.uint64), np.empty(0, np.uint64), join([])


class Parts(Flag):
    """Results to compute for each text."""

    MINIMA = auto()
    HASHES = auto()
    WORDS = auto()
    ALL = MINIMA | HASHES | WORDS


class Hashed(NamedTuple):
    """Results for one text; those not requested are empty.

    Attributes:
        minima: uint64 array of shape (tokens, 2), high and low half of each token, in the order of `fingerprint`.
        hashes: High halves of the hashes of all shingles; sorted distinct uint64 array of shape (shingles,).
        words: Folded words.
    """

    minima: npt.NDArray[np.uint64]
    hashes: _Row
    words: JoinedWords

    def sketch(self, scheme: SketchScheme) -> Sketch:
        """Return the sketch of the text; requires that the hashes were requested."""
        return sketch_of_distinct(self.hashes, scheme)


class Together(NamedTuple):
    """Hashes of several texts in one array.

    Attributes:
        hashes: High halves, grouped by text, ascending and distinct within each text; uint64 array.
        sizes: Number of distinct shingles of each text; int64 array of shape (texts,).
    """

    hashes: _Row
    sizes: npt.NDArray[np.int64]


class Sized(NamedTuple):
    """All 128 bits of a text's tokens, with the size of the text.

    Attributes:
        halves: uint64 array of shape (tokens, 2), high and low half of each token, in the order of `fingerprint`.
        size: Number of distinct shingles of the text.
    """

    halves: npt.NDArray[np.uint64]
    size: int


def fingerprint(text: str, scheme: Scheme = kernel.DEFAULT_SCHEME) -> _Row:
    """Return the tokens of one text as numbers, immediately: without processes, threads or compilation.

    Returns:
        uint64 array of shape (bucket_count,) in the order of the buckets, empty ones filled by rotation: the high half
        of each bucket's smallest hash, in the machine's byte order (an index writes it as four UTF-16 units, the
        highest first); or of shape (0,) for a text with fewer words than one shingle. Other schemes return as many
        numbers as Lucene returns tokens.

    Raises:
        ParameterError: The profile does not exist.

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
    """Return the tokens of each text, in order, as `fingerprint(text, scheme)` does.

    Texts are consumed along with the results: at most as many are held as `workers` can have in progress, about two
    million characters or two texts each.

    Args:
        texts: Any number of texts.
        scheme: Profile, shingle size, bucket count.
        workers: Threads, or processes where numba is not installed; None for the number of processors. With 1 all work
            is done in this thread. A script that may start processes needs ``if __name__ == "__main__":``.
        progress: Called in this thread with the number of finished texts.

    Returns:
        Iterator of uint64 arrays of shape (bucket_count,), or (0,) for a text with fewer words than one shingle, as
        `fingerprint` returns them.

    Raises:
        ParameterError: The profile does not exist, `workers` is less than 1, or `texts` is a single text.
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
    """Return all bits of each text's tokens, and its number of distinct shingles, in order.

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
    """Return the bucket minima of all texts as one array, and a mask of the texts that have any.

    Args:
        texts: Any number of texts; a signature takes 8 * bucket_count bytes.
        scheme: As in `signatures_of`.
        workers: As in `signatures_of`.
        progress: As in `signatures_of`.

    Returns:
        uint64 array of shape (texts, bucket_count), and bool array of shape (texts,). A text with fewer words than one
        shingle has a row of zeros and False; do not compare its row with others.

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
    """Return the requested results of each text, in order.

    Args:
        texts: As in `signatures_of`.
        scheme: As in `signatures_of`; for hashes only the profile and the shingle size matter.
        parts: Results to compute.
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
    """Return the hashes of many texts, one array per portion; `hashed` makes one array per text.

    Args:
        portions: Some hundred texts each, or some hundred thousand characters; the first few may be read ahead.
        scheme: As in `signatures_of`; for hashes only the profile and the shingle size matter.

    Raises:
        ParameterError: The profile does not exist.
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
    """Return the hashes of some texts with numpy."""
    # In ASCII each run of word characters is one word, up to 255 characters.
    few = re.compile(rf"(?=[\0-\x7f]{{0,255}}\Z)\W*+(?:\w++\W*+){{0,{scheme.shingle_size - 1}}}\Z", re.ASCII)
    rest = [at for at, text in enumerate(texts) if scheme.unit != "words" or not few.match(text)]
    found = [_NO_HASHES] * len(texts)
    for at, each in zip(rest, _plain_batch([texts[at] for at in rest], scheme, Parts.HASHES), strict=True):
        found[at] = each.hashes
    return Together(np.concatenate([_NO_HASHES, *found]), np.array([each.size for each in found], np.int64))


def text_sketch(text: str, scheme: Scheme, sketch_scheme: SketchScheme) -> Sketch:
    """Return the sketch of one text, in this process."""
    return sketch_of_distinct(text_hashes(text, scheme), sketch_scheme)


def text_hashes(text: str, scheme: Scheme) -> _Row:
    """Return all distinct hashes of one text: sorted uint64 array of shape (size,)."""
    murmur = murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size)
    # Deduplicate each piece first, since a long text repeats itself.
    return sorted_distinct([sorted_distinct([numbered(piece, 0)[0]]) for piece in murmur])


def hashes_of_words(words: Sequence[str], scheme: Scheme) -> _Row:
    """Return the hash of each shingle in text order, as used by `text_hashes` and sketches.

    Args:
        words: Folded words of the text, in order.
        scheme: Shingle size.

    Returns:
        uint64 array of shape (max(len(words) - shingle_size + 1, 0),).
    """
    murmur = [*murmur_pieces([join(words)], scheme.shingle_size)]
    return numbered(murmur[0], 0)[0] if murmur else _NO_HASHES


def _plain(texts: Sequence[str], scheme: Scheme, parts: Parts) -> list[Hashed]:
    """Return the results with numpy."""
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
    """Return the results with the compiled loops."""
    if parts == Parts.MINIMA:
        rows, counts = one.many(texts)
        found = zip(rows, counts.tolist(), strict=True)
        return [Hashed(row if count else _NO_MINIMA, _NO_HASHES, _NO_WORDS) for row, count in found]
    if parts == Parts.HASHES:
        together, sizes = one.distinct_hashes(texts)
        split = np.split(together, np.cumsum(sizes)[:-1])
        # Copy, so that a kept result does not keep the hashes of all texts in memory.
        return [Hashed(_NO_MINIMA, own.copy(), _NO_WORDS) for own in split]
    rows, hashes, words = one.many_hashed(texts, with_words=bool(parts & Parts.WORDS))
    minima = [_NO_MINIMA] * len(texts)
    if parts & Parts.MINIMA:
        minima = [row.copy() if own.size else _NO_MINIMA for row, own in zip(rows, hashes, strict=True)]
    return list(map(Hashed, minima, hashes, words))


def _plain_batch(batch: Sequence[str], scheme: Scheme, parts: Parts) -> list[Hashed]:
    """Return the results of a batch with numpy, grouping short texts."""
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
    """Amount of text seen by this process: many small batches justify the compiled loops as one large batch does."""

    seen = 0


def _work(text: str) -> int:
    """Return the estimated work of a text, in characters."""
    # Each text has a fixed cost, however short it is.
    return 64 + (len(text) // _ASCII_IN_ONE if text.isascii() else len(text))


def _looked_ahead(items: Iterator[Item], work: Callable[[Item], int]) -> tuple[Iterator[Item], bool]:
    """Return all items unchanged, and whether they are a large amount of text."""
    first, seen = [], 0
    for item in items:
        first.append(item)
        seen += work(item)
        if seen >= LARGE:
            break
    _Amount.seen += seen
    # A list iterator drops its list at the end; `chain` keeps its arguments.
    return chain(iter(first), items), seen >= LARGE


def _kernel_for(scheme: Scheme, *, is_large: bool) -> kernel.Kernel | None:
    """Return a kernel if one is ready and the amount of text justifies it."""
    return kernel_if_ready(scheme) if is_large or kernel.is_loaded() or _Amount.seen >= LARGE else None


def _route(texts: Iterator[str], scheme: Scheme, parts: Parts, workers: int, is_large: bool) -> Iterator[list[Hashed]]:
    """Choose threads, processes or this thread, and yield the results batch by batch."""
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
        # A kernel that was interrupted by an error is not reused.
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
    # "fork" would copy the locks of the caller's threads in an undefined state.
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
    """Yield a future for each batch, in order, with at most BATCHES_PER_WORKER of them in flight for each worker."""
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
    """Return the number of processors available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _ignore(done: int) -> None:
    """Ignore the progress."""


def signature(text: str, scheme: Scheme, spelling: Spelling | None = None) -> Signature:
    """Return the signature of a text, as `sign` does."""
    fast = _loaded_kernel(scheme)
    if fast is None:
        return sign(text, scheme, spelling)
    (minima,), (shingles,) = fast.many([text])
    give_back(fast)
    return signature_of(minima if shingles else minima[:0], scheme, spelling)


def signatures_by_id(
    texts: Mapping[str, str], scheme: Scheme, spelling: Spelling | None = None
) -> dict[str, Signature]:
    """Return the signatures of documents by their ids, in this process.

    Args:
        texts: By the documents' ids.
        scheme: As in `signature_of`.
        spelling: As in `signature_of`.
    """
    if len(texts) == 1 and kernel.is_loaded():
        return {each: signature(text, scheme, spelling) for each, text in texts.items()}
    made = hashed(texts.values(), scheme, Parts.MINIMA, workers=1)
    return {each: signature_of(own.minima, scheme, spelling) for each, own in zip(texts, made, strict=True)}


def sketch(text: str, scheme: Scheme, sketch_scheme: SketchScheme) -> Sketch:
    """Return the sketch of a text, as `text_sketch` does."""
    fast = _loaded_kernel(scheme)
    if fast is None:
        return text_sketch(text, scheme, sketch_scheme)
    hashes, _ = fast.distinct_hashes([text])
    give_back(fast)
    return sketch_of_distinct(hashes, sketch_scheme)


def _loaded_kernel(scheme: Scheme) -> kernel.Kernel | None:
    """Return a kernel if the compiled loops are loaded already."""
    return kernel_if_ready(scheme) if kernel.is_loaded() else None


def as_json(text: str, scheme: Scheme, codec: str) -> str:
    """Return a JSON object with the scheme, the number of distinct shingles (size) and the tokens.

    Args:
        text: Any text; has no tokens if it has fewer words than one shingle.
        scheme: Token scheme.
        codec: "u64" (unsigned integers), "lucene" (terms of eight UTF-16 units, U+FFFD for lone surrogates, as an
            index holds them) or "alfresco" (units in hexadecimal without leading zeros).
    """
    (made,) = sized_signatures_of([text], scheme)
    return json.dumps({"scheme": scheme.name, "size": made.size, "tokens": _tokens(made.halves, codec)})


def as_text(text: str, scheme: Scheme, codec: str) -> str:
    """Return one token a line; Lucene's terms, which may contain control characters, as JSON strings."""
    found = _tokens(text_minima(text, scheme), codec)
    return "\n".join(json.dumps(token) if codec == "lucene" else str(token) for token in found)


def as_npy(text: str, scheme: Scheme, codec: str) -> bytes:
    """Return a numpy file: uint64 of shape (buckets,), or (buckets, 2) with the low halves for the longer codecs."""
    halves = text_minima(text, scheme)
    file = io.BytesIO()
    np.save(file, halves[:, 0] if codec == "u64" else halves)
    return file.getvalue()


def _tokens(halves: npt.NDArray[np.uint64], codec: str) -> list[int] | list[str]:
    if codec == "u64":
        numbers: list[int] = halves[:, 0].tolist()
        return numbers
    return list(spell(halves, Spelling.UNITS_8 if codec == "lucene" else Spelling.HEX))
