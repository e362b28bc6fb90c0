"""Finds repeated passages: runs of words that occur, word for word, more than once in a collection.

A window is N consecutive words of one text. A window is repeated if the same words occur in an earlier text, or earlier
in the same text without overlap. A passage is a run of consecutive repeated windows whose earlier occurrences are also
consecutive. Its source is the first occurrence of its words. If two passages overlap, the later passage is cut.
Passages contain the words of all repeated windows, and no other words.

Winnowing (`fingerprint.winnowing`) hashes runs of N/2 words, and selects at least one hash in any N consecutive words.
It selects the same hash wherever the same N words occur, so a repeated window contains a selected hash that occurs more
than once. The search hashes and sorts only the windows around these hashes. Then it compares the words of each passage
with the words of its source.

A `TemporarySketchStore` holds the texts. For each document it has the hashes of all words in their order, the length of
the text in bytes, and the text itself, to look up the characters of passages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

import numpy as np

from whorl.arrays_and_batches import batches, chunks, group_equals, run_starts, zip_with_results
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.results import Cluster, Member, Pair
from whorl.duplicates.run import FILES_SCHEME, load_documents
from whorl.duplicates.sketch_arrays import HASH, Bools, Hashes, Numbers
from whorl.duplicates.sketch_store import StoredSketches, TemporarySketchStore, temporary_store
from whorl.duplicates.sketching import GOLDEN_FACTOR, SketchBatch, group_hash_mask, group_of
from whorl.duplicates.split_documents import passage_id
from whorl.duplicates.worker_pool import DOCUMENTS_AT_ONCE
from whorl.errors import ParameterError
from whorl.fingerprint.fingerprint_texts import Outputs, TextHashes, hash_texts, words_and_spans
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.winnowing import hashes_of_runs, mix_bits, window_minima, word_hashes
from whorl.fingerprint.words.tokenizer import fold_apostrophes
from whorl.model import Document
from whorl.request_context import report_progress, require_time

#: Default, smallest and largest value of the option for the minimum length of a passage, in words.
WORDS, LEAST_WORDS, MOST_WORDS = 50, 2, 999
#: Maximum number of words to hash at a time, and of windows to sort at a time.
_WORDS_AT_ONCE, _WINDOWS_AT_ONCE = 1 << 20, 1 << 23
_YIELDED_AT_ONCE = 4096


@contextmanager
def passages_among(
    documents: Iterable[Document],
    words: int = WORDS,
    options: DuplicatesOptions = DuplicatesOptions(),  # noqa: B008 - frozen
    *,
    reference: Iterable[Document] = (),
    on_repeated: Callable[[str], None] = lambda document_id: None,
) -> Iterator[RepeatedPassages]:
    """Find the passages that documents repeat.

    Args:
        documents: Documents, read lazily. If documents share an id, only the last document is used.
        words: Smallest number of words of a passage; 2 to 999.
        options: Only scheme, `reference_only`, `within` and `workers` apply.
        reference: Documents that come before `documents`. Their passages can be sources, but repeated passages within
            the reference are not reported.

    Raises:
        ParameterError: The number of words is out of range.
        StoreError: A temporary file cannot be written.
    """
    if not LEAST_WORDS <= words <= MOST_WORDS:
        raise ParameterError(f"a passage has {LEAST_WORDS} to {MOST_WORDS} words, got {words}")
    read_words = partial(_read_words, options.scheme, options.within)
    with temporary_store(FILES_SCHEME) as store:
        load_documents(store, reference, read_words, options, on_repeated)
        store.mark_as_reference()
        load_documents(store, documents, read_words, options, on_repeated)
        stored = store.read_sketches()
        stream = _WordStream(stored, words)
        sources = _sources(stream, store.hashes_path.parent, reference_only=options.reference_only)
        yield RepeatedPassages(store, stored, stream, _cover_windows(stream, sources), options.scheme)


def _read_words(
    scheme: Scheme, within: str | None, portions: Iterable[Sequence[Document]]
) -> Iterator[tuple[Sequence[Document], SketchBatch]]:
    """Convert documents to batches for a sketch store; the batches have word hashes and texts instead of sketches."""
    read = zip_with_results(
        chain.from_iterable(portions),
        lambda ahead: hash_texts(
            (fold_apostrophes(document.text) for document in ahead), scheme, Outputs.WORDS, workers=1
        ),
    )
    for together in batches(read, DOCUMENTS_AT_ONCE):
        yield [document for document, _ in together], _batch_of_words(within, together)


def _batch_of_words(within: str | None, together: Sequence[tuple[Document, TextHashes]]) -> SketchBatch:
    documents, words = [document for document, _ in together], [hashes.words for _, hashes in together]
    counts = np.array([len(own.starts) - 1 for own in words])
    columns, sizes = [], []
    for document, own in zip(documents, np.split(word_hashes(words), np.cumsum(counts)[:-1]), strict=True):
        own ^= group_hash_mask(group_of(document, within))
        raw = document.text.encode()
        text = np.frombuffer(raw + bytes(-len(raw) % HASH.itemsize), HASH).astype(np.uint64, copy=False)
        columns += [own, np.array([len(raw)], np.uint64), text]
        sizes.append(own.size + 1 + text.size)
    nothing = np.full(len(documents), np.nan)
    return SketchBatch(
        ids=[document.id for document in documents],
        names=[document.name for document in documents],
        ranks=nothing,
        dates=nothing,
        sizes=counts,
        starts=np.cumsum(sizes, dtype=np.int64) - sizes,
        counts=counts,
        keys=np.zeros(len(documents), np.int64),
        hashes=np.concatenate(columns),
    )


class _WordStream:
    """The words of all texts as one sequence; a position is the index of a word in it.

    `begins` has the position of each text's first word, then the total number of words.
    """

    def __init__(self, stored: StoredSketches, words: int) -> None:
        self.window, self.is_new = words, stored.is_new
        self._sketches = stored.sketches
        self.begins = np.append(0, np.cumsum(self._sketches.counts))

    def portions(self) -> Iterator[slice]:
        begin = 0
        while begin < self.begins.size - 1:
            end = int(np.searchsorted(self.begins, self.begins[begin] + _WORDS_AT_ONCE, side="right")) - 1
            yield slice(begin, max(begin + 1, end))
            begin = max(begin + 1, end)

    def words(self, texts: slice) -> tuple[Hashes, Bools]:
        """Return the word hashes of some texts, and a mask of the windows that do not reach into another text.

        A window starts at each word except the last `window` - 1 words, so the mask is shorter.
        """
        words, owners = self._sketches.copy_hashes(np.arange(texts.start, texts.stop))
        return words, owners[: -self.window + 1] == owners[self.window - 1 :]

    def texts_of(self, positions: Numbers) -> Numbers:
        return np.searchsorted(self.begins, positions, side="right") - 1

    def run(self, position: int, words: int) -> Hashes:
        text = int(self.texts_of(np.array([position]))[0])
        begin = int(self._sketches.starts[text]) + position - int(self.begins[text])
        return self._sketches.hashes[begin : begin + words]

    def text(self, text: int) -> str:
        begin = int(self._sketches.starts[text] + self._sketches.counts[text])
        size = int(self._sketches.hashes[begin])
        encoded = self._sketches.hashes[begin + 1 : begin + 1 - (-size // HASH.itemsize)]
        return encoded.astype(HASH, copy=False).tobytes()[:size].decode()


def _sources(stream: _WordStream, folder: Path, *, reference_only: bool) -> Numbers:
    """Return, for the window at each position, 1 plus the position of its source; 0 if the window has no source.

    The array is mapped from a sparse file in `folder`. To limit memory, each pass sorts the windows in a range of
    hashes.
    """
    total = int(stream.begins[-1])
    if not total:
        return np.zeros(0, np.int64)
    sources = np.memmap(folder / "sources.i64", np.int64, "w+", shape=(total,))
    positions = _shared_positions(stream)
    half = (stream.window + 1) // 2
    # A window with several of the positions is counted several times, so this is only an upper bound.
    most = min(total, positions.size * (stream.window - half + 1))
    parts = max(1, -(-most // _WINDOWS_AT_ONCE))
    for part in range(parts):
        bounds = np.uint64((part << 64) // parts), np.uint64(((part + 1 << 64) // parts) - 1)
        hashes, windows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for texts in stream.portions():
            require_time()
            begin, end = stream.begins[texts.start], stream.begins[texts.stop]
            around = positions[slice(*np.searchsorted(positions, (begin, end)))] - begin
            if not around.size:
                continue
            words, is_window = stream.words(texts)
            runs = hashes_of_runs(words, half)
            # Hash a window by the hashes of its first half and its last half. If its number of words is odd, the halves
            # share the middle word.
            window_hashes = mix_bits(runs[: is_window.size] * GOLDEN_FACTOR + runs[stream.window - half :])
            is_sought = _windows_around(around, stream.window - half, is_window)
            is_sought &= (window_hashes >= bounds[0]) & (window_hashes <= bounds[1])
            hashes.append(window_hashes[is_sought])
            windows.append(np.flatnonzero(is_sought) + begin)
        _record_sources(stream, np.concatenate(hashes), np.concatenate(windows), sources, reference_only=reference_only)
        report_progress("comparing", (part + 1) * total // parts)
    return sources


def _shared_positions(stream: _WordStream) -> Numbers:
    """Return the positions of the hashes that winnowing selects and that occur more than once in the collection."""
    half = (stream.window + 1) // 2
    numbers, positions = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for texts in stream.portions():
        require_time()
        words, is_window = stream.words(texts)
        if is_window.any():
            runs = hashes_of_runs(words, half)
            retained = window_minima(runs, is_window)
            numbers.append(runs[retained])
            positions.append(retained + stream.begins[texts.start])
    together = np.concatenate(numbers)
    order = np.argsort(together)
    ascending = together[order]
    is_again = ascending[1:] == ascending[:-1]
    is_shared = np.zeros(order.size, np.bool_)
    is_shared[order[1:][is_again]] = is_shared[order[:-1][is_again]] = True
    return np.concatenate(positions)[is_shared]


def _windows_around(positions: Numbers, before: int, is_window: Bools) -> Bools:
    """Return a mask of the windows that have one of the `positions` among their first `before` + 1 words."""
    steps = np.zeros(is_window.size + 1, np.int64)
    np.add.at(steps, np.maximum(0, positions - before), 1)
    np.subtract.at(steps, np.minimum(is_window.size, positions + 1), 1)
    return (np.cumsum(steps[:-1]) > 0) & is_window


def _record_sources(
    stream: _WordStream, hashes: Hashes, windows: Numbers, sources: Numbers, *, reference_only: bool
) -> None:
    """Write the source of each window into `sources`. All windows with the same words must be passed in one call."""
    order = np.argsort(hashes, kind="stable")
    # Windows are in the order of their positions, so the first of several equal windows is the source.
    starts = run_starts(hashes[order])
    firsts = np.repeat(windows[order[starts]], np.diff(starts, append=order.size))
    later = windows[order]
    texts, first_texts = stream.texts_of(later), stream.texts_of(firsts)
    # Ignore a window that overlaps its source, as in a text of one repeated word.
    repeats = (later - firsts >= stream.window) | (texts != first_texts)
    repeats &= stream.is_new[texts]
    if reference_only:
        repeats &= ~stream.is_new[first_texts]
    sources[later[repeats]] = firsts[repeats] + 1


def _cover_windows(stream: _WordStream, sources: Numbers) -> Numbers:
    """Combine windows into passages; return an int64 array of shape (passages, 3).

    The columns are the positions of the first words of the passage and of its source, and the number of words.
    """
    ranges: list[tuple[int, int, int]] = []
    for texts in stream.portions():
        begin, end = stream.begins[texts.start], stream.begins[texts.stop]
        portion = np.asarray(sources[begin:end])
        windows = np.flatnonzero(portion)
        require_time()
        source_windows = portion[windows] - 1
        goes_on = (np.diff(windows) == 1) & (np.diff(source_windows) == 1)
        lasts = np.append(np.flatnonzero(~goes_on), windows.size - 1)
        at = 0
        while at < windows.size:
            last = int(lasts[np.searchsorted(lasts, at)])
            words = int(windows[last] - windows[at]) + stream.window
            position, source = int(windows[at] + begin), int(source_windows[at])
            if np.array_equal(stream.run(position, words), stream.run(source, words)):
                ranges.append((position, source, words))
            # Continue with the last window that begins inside the passage or directly after it. Earlier windows can be
            # skipped: each of their words is in the passage or in this window.
            at = max(last + 1, int(np.searchsorted(windows, windows[at] + words, side="right")) - 1)
    return np.array(ranges, np.int64).reshape(-1, 3)


class RepeatedPassages:
    """Result of the search: repeated passages as pairs or clusters. Usable only while the folder of texts exists."""

    def __init__(
        self,
        store: TemporarySketchStore,
        stored: StoredSketches,
        stream: _WordStream,
        ranges: Numbers,
        scheme: Scheme,
    ) -> None:
        self._store, self._stored, self._stream, self.scheme = store, stored, stream, scheme
        positions, sources, words = ranges.T
        # Sort passages by source and length, so that repetitions of the same words are adjacent.
        self._positions, self._sources, self._words = ranges[np.lexsort((positions, words, sources))].T
        self.documents = len(stored.sketches)
        #: Number of documents with fewer words than a passage.
        self.too_short = int(np.count_nonzero(stored.sketches.counts < stream.window))

    def pairs(self) -> Iterator[Pair]:
        """Yield a pair for each repeated passage: source (A) and repetition (B), in the order of sources."""
        groups = self._groups()
        for cluster in self._describe_clusters(np.arange(groups.size - 1), groups):
            yield from cluster.matches[1:]

    def clusters(self) -> Iterator[Cluster]:
        """Yield a cluster of occurrences for each passage, the most frequent first; the source is the principal."""
        groups = self._groups()
        yield from self._describe_clusters(np.argsort(-np.diff(groups), kind="stable"), groups)

    def _groups(self) -> Numbers:
        """Return the start of each group of passages with the same source and length, and the end of the last group."""
        return np.append(run_starts(self._sources, self._words), self._sources.size)

    def _describe_clusters(self, order: Numbers, groups: Numbers) -> Iterator[Cluster]:
        for batch in chunks(order.tolist(), lambda at: int(groups[at + 1] - groups[at]), _YIELDED_AT_ONCE):
            members: list[tuple[int, list[tuple[int, list[int]]]]] = []
            for at in batch:
                begin, end = int(groups[at]), int(groups[at + 1])
                texts = self._stream.texts_of(np.append(self._sources[begin], self._positions[begin:end]))
                ranges = np.concatenate([self._spans[1][begin : begin + 1], self._spans[0][begin:end]])
                members.append((int(self._words[begin]), list(zip(texts.tolist(), ranges.tolist(), strict=True))))
            numbers = {text: int(self._stored.numbers[text]) for _, group in members for text, _ in group}
            known = self._store.describe(list(numbers.values()))
            for size, group in members:
                occurrences = []
                for text, (start, end) in group:
                    document_id, name, *_ = known[numbers[text]]
                    stays = not bool(self._stream.is_new[text])
                    occurrences.append(Member(passage_id(document_id, start, end), name, size, stays=stays))
                first = occurrences[0]
                yield Cluster(tuple(Pair.of_counts(first, one, size, size, size) for one in occurrences))

    @cached_property
    def _spans(self) -> tuple[Numbers, Numbers]:
        """Character ranges of the passages and of their sources: two int64 arrays of shape (passages, 2)."""
        firsts = np.concatenate([self._positions, self._sources])
        lasts = firsts + np.tile(self._words, 2) - 1
        spans_read = np.empty((firsts.size, 2), np.int64)
        texts = self._stream.texts_of(firsts)
        for group in group_equals(texts):
            require_time()
            text = int(texts[group[0]])
            word_spans = words_and_spans(self._stream.text(text), self.scheme)[1]
            begin = self._stream.begins[text]
            spans_read[group, 0] = word_spans[firsts[group] - begin, 0]
            spans_read[group, 1] = word_spans[lasts[group] - begin, 1]
        return spans_read[: self._words.size], spans_read[self._words.size :]
