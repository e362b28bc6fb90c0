"""Computes the MinHash tokens, shingle hashes, sketches and words of texts, one text or many at a time.

All fingerprinting goes through this module. For large amounts of text, threads run the loops of `compiled`, which numba
has compiled. `shingling` processes one text at a time in plain Python, and gives the same numbers. This module calls
`shingling` for small amounts of text, because loading numba would take longer, and if numba is missing or is still
compiling the loops.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Flag, auto
from itertools import chain, repeat
from operator import length_hint
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import chunks, map_in_threads, sort_distinct
from whorl.errors import ParameterError, texts_only
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME, Kernel, is_compiling, kernel_if_ready, return_kernel
from whorl.fingerprint.minhash.signature_and_tokens import (
    Signature,
    TokenEncoding,
    distinct_minima,
    minima_of,
    signature_of,
    text_minima,
    write_tokens,
)
from whorl.fingerprint.shingling import JoinedWords, Scheme, join, lucene_hashes, murmur, murmur_pieces, pieces
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, lookup_numbers_of_batch, sketch_of_distinct
from whorl.fingerprint.words.tokenizer import fold_apostrophes, segmenter_of, tokens_and_spans
from whorl.request_context import report_progress

#: Number of characters to read before loading numba: without it, reading them takes about as long as loading it, half a
#: second or more.
LARGE = 2_000_000
#: Number of ASCII characters that count as one character of `LARGE`, because they are read four times as fast.
_ASCII_IN_ONE = 4
#: Number of characters added to the length of each text, for the time that does not depend on the length.
_FIXED = 64
#: Maximum number of characters, and of texts, that a thread reads in one batch. A longer text is a batch of its own.
BATCH_CHARACTERS, BATCH_TEXTS = 1 << 20, 128
#: Maximum number of batches for a thread: one in progress and one waiting.
BATCHES_PER_WORKER = 2
#: Minimum number of distinct shingles of a text whose sketch is worth storing: the compiled loops compute a smaller
#: sketch as fast as they decode a stored one.
_LEAST_STORED_SIZE = 200

_Row = npt.NDArray[np.uint64]
_Result = TypeVar("_Result")
_NO_MINIMA, _NO_HASHES, _NO_WORDS = np.empty((0, 2), np.uint64), np.empty(0, np.uint64), join([])


class Outputs(Flag):
    """Flags for the results to compute for each text: bucket minima (MinHash), shingle hashes, words.

    Minima and words are the same as in Lucene. The shingle hashes, which whorl compares, come from the text with folded
    apostrophes (see `fold_apostrophes`).
    """

    MINIMA = auto()
    HASHES = auto()
    WORDS = auto()
    ALL = MINIMA | HASHES | WORDS


class TextHashes(NamedTuple):
    """Results for one text: bucket minima, hashes and words; empty if the caller did not request them.

    Attributes:
        minima: uint64 array of shape (tokens, 2): high and low half of each token, in the order of `fingerprint`.
        hashes: High halves of the hashes of all shingles of the text with folded apostrophes, sorted and distinct.
    """

    minima: npt.NDArray[np.uint64]
    hashes: _Row
    words: JoinedWords

    def sketch(self, scheme: SketchScheme) -> Sketch:
        return sketch_of_distinct(self.hashes, scheme)


def index_outputs(scheme: Scheme) -> Outputs:
    """Return the flags of the results that an index needs: words, and the input of `index_numbers`."""
    return Outputs.HASHES | Outputs.WORDS if scheme.fills_every_bucket else Outputs.ALL


def index_numbers(
    texts: Sequence[str], fingerprints: Sequence[TextHashes], scheme: Scheme, sketch_scheme: SketchScheme
) -> tuple[list[_Row], list[_Row]]:
    """Return two lists with one array for each text: its MinHash tokens (high halves), and its look-up numbers.

    Each array is ascending and distinct. `fingerprints` has the results that `index_outputs` selects for each text.
    """
    sizes = np.array([hashed.hashes.size for hashed in fingerprints], np.int64)
    hashes = np.concatenate([np.empty(0, np.uint64), *(hashed.hashes for hashed in fingerprints)])
    if scheme.fills_every_bucket:
        minima = _split(*distinct_minima(hashes, sizes, scheme.bucket_count))
        # If folding changed a text, its shingle hashes differ from Lucene's, so compute its tokens from the text.
        folded = [position for position, text in enumerate(texts) if fold_apostrophes(text) != text]
        of_folded = signatures_of([texts[position] for position in folded], scheme, workers=1)
        for position, signature in zip(folded, of_folded, strict=True):
            minima[position] = sort_distinct([signature])
    else:
        minima = [sort_distinct([hashed.minima[:, 0]]) for hashed in fingerprints]
    return minima, _split(*lookup_numbers_of_batch(hashes, sizes, sketch_scheme))


def _split(numbers: _Row, counts: npt.NDArray[np.int64]) -> list[_Row]:
    ends = np.cumsum(counts).tolist()
    return [numbers[end - count : end] for count, end in zip(counts.tolist(), ends, strict=True)]


class HashBatch(NamedTuple):
    """The shingle hashes of several texts (high halves), text after text, and the number of hashes of each text.

    The hashes of a text are distinct and ascending. With `hash_in_batches(in_order=True)`, they are in text order, with
    repetitions.
    """

    hashes: _Row
    sizes: npt.NDArray[np.int64]


class SizedTokens(NamedTuple):
    """The tokens of a text with all 128 bits (high and low halves), and the number of its distinct shingles."""

    halves: npt.NDArray[np.uint64]
    size: int


def fingerprint(text: str, scheme: Scheme = DEFAULT_SCHEME) -> _Row:
    """Return the tokens of one text as numbers, in this thread.

    Returns:
        uint64 array of shape (bucket_count,): the high half of each bucket's smallest hash. Rotation fills empty
            buckets. An index writes each number as four UTF-16 units, the highest first. The shape is (0,) for a text
            with fewer words than a shingle, and (tokens,) for a scheme that does not keep exactly one hash per bucket.

    Raises:
        ParameterError: The profile does not exist.

    >>> fingerprint("to be or not to be").shape
    (512,)
    """
    return _minima(text, scheme)[:, 0]


def _minima(text: str, scheme: Scheme) -> _Row:
    return next(hash_texts([text], scheme, Outputs.MINIMA, workers=1)).minima


def signatures_of(
    texts: Iterable[str], scheme: Scheme = DEFAULT_SCHEME, *, workers: int | None = None
) -> Iterator[_Row]:
    """Return the tokens of each text, in order, like `fingerprint(text, scheme)`.

    Each worker reads up to about two million characters in advance. Workers are threads, by default one for each
    processor. With one worker, or without numba, the calling thread does all work.

    Raises:
        ParameterError: The profile does not exist, `workers` is less than 1, or `texts` is a single text or a table, or
            has an item of another type.
    """
    results = hash_texts(texts, scheme, Outputs.MINIMA, workers=workers)
    return (result.minima[:, 0].copy() for result in results)


def sized_signatures_of(
    texts: Iterable[str], scheme: Scheme = DEFAULT_SCHEME, *, workers: int | None = None
) -> Iterator[SizedTokens]:
    """Return each text's tokens with all 128 bits and its number of distinct shingles, like `signatures_of`."""
    results = hash_texts(texts, scheme, Outputs.MINIMA | Outputs.HASHES, workers=workers)
    return (SizedTokens(result.minima, result.hashes.size) for result in results)


def fingerprints(
    texts: Iterable[str], scheme: Scheme = DEFAULT_SCHEME, *, workers: int | None = None
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Return the tokens of all texts as one array, and a mask of the texts that have tokens.

    The arguments are the same as in `signatures_of`. Progress goes to `whorl.request_context`.

    Returns:
        uint64 array of shape (texts, bucket_count), and bool array of shape (texts,). A text with fewer words than a
        shingle has zeros, and False in the mask.

    Raises:
        ParameterError: As in `signatures_of`, or the scheme does not keep one hash in each bucket.
    """
    if not scheme.fills_every_bucket:
        raise ParameterError(f"signatures under {scheme.name} differ in length; take them one by one: signatures_of")
    rows = np.zeros((max(1, length_hint(texts)), scheme.bucket_count), np.uint64)
    has_any: list[bool] = []
    for row in signatures_of(texts, scheme, workers=workers):
        if len(has_any) == len(rows):
            rows = np.concatenate((rows, np.zeros_like(rows)))
        if row.size:
            rows[len(has_any)] = row
        has_any.append(row.size > 0)
        report_progress("signatures", len(has_any))
    return rows[: len(has_any)], np.array(has_any, np.bool_)


def hash_texts(
    texts: Iterable[str],
    scheme: Scheme = DEFAULT_SCHEME,
    outputs: Outputs = Outputs.HASHES,
    *,
    workers: int | None = None,
) -> Iterator[TextHashes]:
    """Yield the results that `outputs` selects for each text, in the order of the texts.

    Arguments and errors are the same as in `signatures_of`. Hashes depend only on the profile and the shingle size.
    """
    if workers is not None and workers < 1:
        raise ParameterError(f"workers must be at least 1, got {workers}")
    texts = texts_only(texts)
    if scheme.unit == "words":
        segmenter_of(scheme.profile)
    return chain.from_iterable(
        _process(
            chunks(texts, len, BATCH_CHARACTERS, BATCH_TEXTS),
            scheme,
            lambda kernel, batch: _hash_in_loops(kernel, batch, outputs),
            lambda batch: (_hash_plainly(text, scheme, outputs) for text in batch),
            workers or processor_count(),
        )
    )


def hash_in_batches(
    portions: Iterable[Sequence[str]], scheme: Scheme = DEFAULT_SCHEME, *, in_order: bool = False, half: int = 0
) -> Iterator[HashBatch]:
    """Yield the shingle hashes of each portion of texts.

    Without `in_order`, apostrophes are folded first, and the result has the high halves of each text's hashes,
    ascending and distinct. With `in_order`, apostrophes are not folded, and the result has the high (0) or low (1)
    `half` of all hashes, in text order.

    A portion should have some hundred texts, or some hundred thousand characters. Several portions may be read ahead.
    """
    if scheme.unit == "words":
        segmenter_of(scheme.profile)

    def plainly(texts: Sequence[str]) -> HashBatch:
        hashes = [
            _hash_in_order(text, scheme, half) if in_order else _hash_plainly(text, scheme, Outputs.HASHES).hashes
            for text in texts
        ]
        return HashBatch(np.concatenate([_NO_HASHES, *hashes]), np.array([own.size for own in hashes], np.int64))

    return _process(
        portions,
        scheme,
        lambda kernel, texts: HashBatch(
            *(
                kernel.ordered_hashes(texts, half)
                if in_order
                else kernel.distinct_hashes([*map(fold_apostrophes, texts)])[:2]
            )
        ),
        plainly,
    )


def hashes_of_words(words: Sequence[str], scheme: Scheme) -> _Row:
    """Return the high halves of the shingle hashes of the words, in order, with repetitions."""
    return lucene_hashes(murmur(join(words), scheme.shingle_size), 0)[0]


def words_and_spans(text: str, scheme: Scheme) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the words of a text with folded apostrophes, and their ranges of characters, like `tokens_and_spans`."""
    text = fold_apostrophes(text)
    _TotalWork.seen += _work(text)
    if fast := _kernel_for(scheme):
        result = fast.words_and_spans(text)
        return_kernel(fast)
        if result is not None:
            return result
    return tokens_and_spans(text, scheme.profile)


def _hash_plainly(text: str, scheme: Scheme, outputs: Outputs) -> TextHashes:
    if outputs == Outputs.MINIMA:  # piece by piece, to save memory on a long text
        return TextHashes(text_minima(text, scheme), _NO_HASHES, _NO_WORDS)
    if outputs == Outputs.HASHES:
        text = fold_apostrophes(text)
    words = list(pieces(text, scheme.profile))
    halves = [] if outputs == Outputs.WORDS else list(murmur_pieces(words, scheme.shingle_size))
    minima = minima_of(halves, scheme) if outputs & Outputs.MINIMA else _NO_MINIMA
    hashes = _NO_HASHES
    if outputs & Outputs.HASHES:
        if (folded := fold_apostrophes(text)) != text:
            halves = list(murmur_pieces(pieces(folded, scheme.profile), scheme.shingle_size))
        hashes = sort_distinct([lucene_hashes(piece, 0)[0] for piece in halves])
    return TextHashes(minima, hashes, JoinedWords.concatenate(words) if outputs & Outputs.WORDS else _NO_WORDS)


def _hash_in_order(text: str, scheme: Scheme, half: int) -> _Row:
    read = murmur_pieces(pieces(text, scheme.profile), scheme.shingle_size)
    return np.concatenate([_NO_HASHES, *(lucene_hashes(halves, 0)[half] for halves in read)])


def _hash_in_loops(kernel: Kernel, texts: Sequence[str], outputs: Outputs) -> Iterable[TextHashes]:
    minima: Iterable[_Row] = repeat(_NO_MINIMA)
    hashes = [_NO_HASHES] * len(texts)
    words: Iterable[JoinedWords] = repeat(_NO_WORDS)
    if outputs & Outputs.MINIMA:
        rows, counts = kernel.bucket_minima(texts)
        minima = [row if count else _NO_MINIMA for row, count in zip(rows, counts.tolist(), strict=True)]
    if outputs & Outputs.WORDS:
        together, sizes, joined = kernel.distinct_hashes(texts, with_words=True)
        hashes, words = _split(together, sizes), joined or words
    if outputs & Outputs.HASHES:
        folded = list(map(fold_apostrophes, texts))
        # The pass that yields words has also yielded the hashes of texts that folding does not change.
        unread = [at for at, text in enumerate(texts) if not outputs & Outputs.WORDS or folded[at] != text]
        together, sizes, _ = kernel.distinct_hashes([folded[at] for at in unread])
        for at, own in zip(unread, _split(together, sizes), strict=True):
            hashes[at] = own
    # Copy each row, because a slice would keep the hashes of all texts in memory.
    return list(map(TextHashes, minima, [own.copy() for own in hashes], words))


class _TotalWork:
    """Total work of this process so far, in characters: many small batches together also justify loading numba."""

    seen = 0


def _work(text: str) -> int:
    return _FIXED + (len(text) // _ASCII_IN_ONE if text.isascii() else len(text))


def _read_ahead(portions: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Return an iterator over the portions, after counting the work of the first portions, up to `LARGE` characters.

    `_kernel_for` can then decide whether to load numba.
    """
    first, seen = [], 0
    for texts in portions:
        first.append(texts)
        seen += sum(map(_work, texts))
        if seen >= LARGE:
            break
    _TotalWork.seen += seen
    # A list iterator frees the list after its last item; `chain` would keep the list itself until all items are read.
    return chain(iter(first), portions)


def _kernel_for(scheme: Scheme) -> Kernel | None:
    return kernel_if_ready(scheme) if kernel.is_loaded() or _TotalWork.seen >= LARGE else None


def _process(
    portions: Iterable[Sequence[str]],
    scheme: Scheme,
    with_kernel: Callable[[Kernel, Sequence[str]], _Result],
    plainly: Callable[[Sequence[str]], _Result],
    workers: int = 1,
) -> Iterator[_Result]:
    """Yield the result for each portion of texts: call `plainly` until a kernel is ready, then `with_kernel`."""
    portions = _read_ahead(iter(portions))
    first_kernel, was_compiling = _kernel_for(scheme), is_compiling()
    while not first_kernel:
        if (texts := next(portions, None)) is None:
            return
        yield plainly(texts)
        if was_compiling and not is_compiling():
            first_kernel, was_compiling = kernel_if_ready(scheme), False
    idle = [first_kernel]

    def work(texts: Sequence[str]) -> _Result:
        try:
            own = idle.pop()
        except IndexError:
            own = kernel.Kernel(scheme)
        result = with_kernel(own, texts)
        # After an error, the kernel is not put back, because its arrays may be inconsistent.
        idle.append(own)
        return result

    try:
        if workers == 1:
            yield from map(work, portions)
        else:
            yield from map_in_threads(work, portions, workers, workers * BATCHES_PER_WORKER, "whorl-fingerprint")
    finally:
        for own in idle:
            return_kernel(own)


def processor_count() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sign(text: str, scheme: Scheme, encoding: TokenEncoding | None = None) -> Signature:
    """Return the signature of a text.

    `encoding` is the token encoding of the index that the signature is compared with; None keeps the top 64 bits of
    each token unchanged.
    """
    return signature_of(_minima(text, scheme), scheme, encoding)


def signatures_by_id(
    texts: Mapping[str, str], scheme: Scheme, encoding: TokenEncoding | None = None
) -> dict[str, Signature]:
    made = hash_texts(texts.values(), scheme, Outputs.MINIMA, workers=1)
    return {name: signature_of(own.minima, scheme, encoding) for name, own in zip(texts, made, strict=True)}


def text_hashes(text: str, scheme: Scheme) -> _Row:
    """Return the distinct shingle hashes of a text (high halves) as an ascending uint64 array."""
    return next(hash_texts([text], scheme, workers=1)).hashes


def least_stored_size(scheme: Scheme) -> int:
    """Return the smallest size, in distinct shingles, of a text whose sketch a store should keep."""
    return _LEAST_STORED_SIZE if kernel.is_available() and kernel.has_loops(scheme) else 0


def text_sketch(text: str, scheme: Scheme, sketch_scheme: SketchScheme) -> Sketch:
    return text_sketches([text], scheme, sketch_scheme)[0]


def text_sketches(texts: Sequence[str], scheme: Scheme, sketch_scheme: SketchScheme) -> list[Sketch]:
    (together,) = hash_in_batches([texts], scheme)
    return [sketch_of_distinct(own, sketch_scheme) for own in _split(*together)]


def as_json(text: str, scheme: Scheme, codec: str) -> str:
    """Return a JSON object with the scheme, the number of distinct shingles (size) and the tokens.

    There are three codecs:

    - "u64": unsigned integers
    - "lucene": terms of eight UTF-16 units, as in an index; a lone surrogate becomes U+FFFD
    - "alfresco": UTF-16 units in hexadecimal, without leading zeros
    """
    (made,) = sized_signatures_of([text], scheme)
    return json.dumps({"scheme": scheme.name, "size": made.size, "tokens": _tokens(made.halves, codec)})


def as_text(text: str, scheme: Scheme, codec: str) -> str:
    """Return one token per line. Lucene's terms are JSON strings, because they may contain control characters."""
    tokens = _tokens(_minima(text, scheme), codec)
    return "\n".join(json.dumps(token) if codec == "lucene" else str(token) for token in tokens)


def as_npy(text: str, scheme: Scheme, codec: str) -> bytes:
    """Return the tokens as a .npy file; its shape is (tokens,) for "u64", otherwise (tokens, 2): both halves."""
    halves = _minima(text, scheme)
    file = io.BytesIO()
    np.save(file, halves[:, 0] if codec == "u64" else halves)
    return file.getvalue()


def _tokens(halves: npt.NDArray[np.uint64], codec: str) -> list[int] | list[str]:
    if codec == "u64":
        numbers: list[int] = halves[:, 0].tolist()
        return numbers
    return list(write_tokens(halves, TokenEncoding.UNITS_8 if codec == "lucene" else TokenEncoding.HEX))
