"""Exact passages: runs of words that stand in several places of a collection, wherever these are in its texts.

A window is N words in a row of one text. It *repeats* another if the same words stand earlier, in another text or
before it in the same one; earlier is what was read earlier. Windows that repeat neighbours in the order of their text
make a passage, which is as long as it can be, and its source is where those words stood first. What repeats is so
covered by passages, each of which lies across the one before it no further than its length asks; nothing else is.

Not every window is looked at: winnowing (`fingerprint.winnow`) keeps of N words in a row at least one number, the same
one wherever these words stand. Windows around numbers that come again are hashed, put in order of their hashes, and of
equal ones the first is the source. In the end the words of each passage are compared with those of its source.

What is kept of a text is in the file of a `Scratch`: the hash of each of its words, how many bytes its text has, and
the text, by which words are known to stand where they do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches, chunks, run_starts, with_made
from whorl.context import require_time
from whorl.duplicates.archive import HASH, Archived, Known
from whorl.duplicates.gathering import FILES_SCHEME, Progress, gather
from whorl.duplicates.levels import passage_id
from whorl.duplicates.processes import AT_ONCE
from whorl.duplicates.result import Cluster, Member, Pair
from whorl.duplicates.scratch import Scratch
from whorl.duplicates.sketches import Numbers
from whorl.duplicates.sketching import Sketched, bits_of, part_of
from whorl.errors import ParameterError
from whorl.fingerprint.batch import Parts, hashed
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.winnow import hashes_of_runs, kept_of, mixed, word_hashes
from whorl.fingerprint.words.tokenizer import spans
from whorl.model import Document

#: Words of a passage: the usual number, and from how many to how many.
WORDS, LEAST_WORDS, MOST_WORDS = 50, 2, 999
#: Words whose runs are hashed at once, and windows that are put in order at once.
_WORDS_AT_ONCE, _WINDOWS_AT_ONCE = 1 << 20, 1 << 23
#: Passages told at once.
_TOLD_AT_ONCE = 4096
_OF_HALVES = np.uint64(0x9E3779B97F4A7C15)

_Hashes = npt.NDArray[np.uint64]
_Bools = npt.NDArray[np.bool_]


@contextmanager
def passages_among(
    documents: Iterable[Document],
    words: int = WORDS,
    *,
    scheme: Scheme = Scheme(),  # noqa: B008 - frozen
    reference: Iterable[Document] = (),
    within: str | None = None,
    workers: int = 1,
    on_repeated: Callable[[str], None] = lambda document_id: None,
    progress: Progress = lambda doing, count: None,
) -> Iterator[Passages]:
    """Find the passages that come again in documents.

    Args:
        documents: Read as they are needed; of several with one id the last counts.
        words: Of a passage, at least; 2 to 999.
        scheme: What words are.
        reference: Documents that come before the others, and of which no passage is told to come again.
        within: A property that has to be the same in documents that are compared; those that lack it are, too.
        workers: Processes that read; what is found is the same.
        on_repeated: Called with an id that comes again.
        progress: Called with what is being done, and how much of it is.

    Raises:
        ParameterError: A number of words out of its range.
        StoreError: What is put aside meanwhile cannot be written.
    """
    if not LEAST_WORDS <= words <= MOST_WORDS:
        raise ParameterError(f"a passage has {LEAST_WORDS} to {MOST_WORDS} words, got {words}")
    reading = _Reading(scheme, within)
    with ExitStack() as opened:
        # What is mapped may not be deleted everywhere before the process ends.
        temporary = tempfile.TemporaryDirectory(prefix="whorl-passages-", ignore_cleanup_errors=True)
        folder = Path(opened.enter_context(temporary))
        scratch = opened.enter_context(Scratch(folder, FILES_SCHEME))
        gather(scratch, reference, reading, workers, on_repeated, progress)
        scratch.take_as_compared()
        gather(scratch, documents, reading, workers, on_repeated, progress)
        archived = scratch.archived()
        stream = _Stream(archived, words)
        sources = _sources(stream, folder, lambda count: progress("comparing", count))
        yield Passages(scratch, archived, stream, _covering(stream, sources), scheme)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is made of documents: the hashes of their words, and their texts."""

    scheme: Scheme
    within: str | None

    def sketched(self, portions: Iterable[Sequence[Document]]) -> Iterator[tuple[Sequence[Document], Sketched]]:
        """Yield portions of documents with what is kept of them; the first few may be read ahead."""
        read = with_made(
            chain.from_iterable(portions),
            lambda ahead: hashed((document.text for document in ahead), self.scheme, Parts.WORDS, workers=1),
        )
        for together in batches(read, AT_ONCE):
            some, words = [document for document, _ in together], [found.words for _, found in together]
            yield some, self._in_columns(some, word_hashes(words), np.array([len(own.starts) - 1 for own in words]))

    def _in_columns(self, some: Sequence[Document], hashes: _Hashes, counts: Numbers) -> Sketched:
        kept, sizes = [], []
        for document, own in zip(some, np.split(hashes, np.cumsum(counts)[:-1]), strict=True):
            own ^= bits_of(part_of(document, self.within))
            raw = document.text.encode()
            text = np.frombuffer(raw + bytes(-len(raw) % HASH.itemsize), HASH).astype(np.uint64, copy=False)
            kept += [own, np.array([len(raw)], np.uint64), text]
            sizes.append(own.size + 1 + text.size)
        nothing = np.full(len(some), np.nan)
        return Sketched(
            ids=[document.id for document in some],
            names=[document.name for document in some],
            worths=nothing,
            dates=nothing,
            sizes=counts,
            starts=np.cumsum(sizes, dtype=np.int64) - sizes,
            counts=counts,
            keys=np.zeros(len(some), np.int64),
            hashes=np.concatenate(kept),
        )


class _Stream:
    """The words of all texts, one text after the other, each word known by its place.

    Args:
        archived: The documents.
        words: Of a window.

    Attributes:
        window: Words of a window.
        begins: Where each text begins, and behind them all where one more would; int64 array of shape (texts + 1,).
        is_new: Which texts are no reference; bool array of shape (texts,).
    """

    def __init__(self, archived: Archived, words: int) -> None:
        self.window, self.is_new = words, archived.is_new
        self._sketches = archived.sketches
        self.begins = np.append(0, np.cumsum(self._sketches.counts))

    def portions(self) -> Iterator[slice]:
        """Yield texts with about as many words as are looked at at once."""
        begin = 0
        while begin < self.begins.size - 1:
            end = int(np.searchsorted(self.begins, self.begins[begin] + _WORDS_AT_ONCE, side="right")) - 1
            yield slice(begin, max(begin + 1, end))
            begin = max(begin + 1, end)

    def words(self, texts: slice) -> tuple[_Hashes, _Bools]:
        """Return the hashes of the words of some texts, and whether the words from each on make a window of one text.

        Returns:
            Arrays of shape (words,) and (words - window + 1,), or (0,) for fewer words than a window has.
        """
        places = np.arange(texts.start, texts.stop)
        words, owners = self._sketches.gathered(places, np.zeros_like(places), self._sketches.counts[places])
        return words, owners[: -self.window + 1] == owners[self.window - 1 :]

    def texts_of(self, places: Numbers) -> Numbers:
        """Return which texts words are of."""
        return np.searchsorted(self.begins, places, side="right") - 1

    def run(self, place: int, words: int) -> _Hashes:
        """Return the hashes of some words in a row of one text."""
        text = int(self.texts_of(np.array([place]))[0])
        begin = int(self._sketches.starts[text]) + place - int(self.begins[text])
        return self._sketches.hashes[begin : begin + words]

    def text(self, text: int) -> str:
        """Return a text."""
        begin = int(self._sketches.starts[text] + self._sketches.counts[text])
        size = int(self._sketches.hashes[begin])
        held = self._sketches.hashes[begin + 1 : begin + 1 - (-size // HASH.itemsize)]
        return held.astype(HASH, copy=False).tobytes()[:size].decode()


def _sources(stream: _Stream, folder: Path, progress: Callable[[int], None]) -> Numbers:
    """Return of each window, known by its first word, where the same words stand first: that place and 1, or else 0.

    Returns:
        int64 array of shape (words,), mapped from a file of which there is only what is not 0.
    """
    total = int(stream.begins[-1])
    if not total:
        return np.zeros(0, np.int64)
    sources = np.memmap(folder / "sources.i64", np.int64, "w+", shape=(total,))
    places = _shared_places(stream)
    half = (stream.window + 1) // 2
    # All windows around a number may be the only ones around it.
    most = min(total, places.size * (stream.window - half + 1))
    parts = max(1, -(-most // _WINDOWS_AT_ONCE))
    for part in range(parts):
        bounds = np.uint64((part << 64) // parts), np.uint64(((part + 1 << 64) // parts) - 1)
        hashes, windows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for texts in stream.portions():
            require_time()
            begin, end = stream.begins[texts.start], stream.begins[texts.stop]
            around = places[slice(*np.searchsorted(places, (begin, end)))] - begin
            if not around.size:
                continue
            words, is_window = stream.words(texts)
            runs = hashes_of_runs(words, half)
            # Two halves, which may lie across each other, are a window.
            of_windows = mixed(runs[: is_window.size] * _OF_HALVES + runs[stream.window - half :])
            is_met = _around(around, stream.window - half, is_window)
            is_met &= (of_windows >= bounds[0]) & (of_windows <= bounds[1])
            hashes.append(of_windows[is_met])
            windows.append(np.flatnonzero(is_met) + begin)
        _note_sources(stream, np.concatenate(hashes), np.concatenate(windows), sources)
        progress((part + 1) * total // parts)
    return sources


def _shared_places(stream: _Stream) -> Numbers:
    """Return where the hashes stand that winnowing keeps in more than one place; ascending int64 array."""
    half = (stream.window + 1) // 2
    numbers, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for texts in stream.portions():
        require_time()
        words, is_window = stream.words(texts)
        if is_window.any():
            runs = hashes_of_runs(words, half)
            kept = kept_of(runs, is_window)
            numbers.append(runs[kept])
            places.append(kept + stream.begins[texts.start])
    together = np.concatenate(numbers)
    order = np.argsort(together)
    ascending = together[order]
    is_again = ascending[1:] == ascending[:-1]
    is_shared = np.zeros(order.size, np.bool_)
    is_shared[order[1:][is_again]] = is_shared[order[:-1][is_again]] = True
    return np.concatenate(places)[is_shared]


def _around(places: Numbers, before: int, is_window: _Bools) -> _Bools:
    """Return which windows have one of some places among the first words of which they have `before` and one more."""
    steps = np.zeros(is_window.size + 1, np.int64)
    np.add.at(steps, np.maximum(0, places - before), 1)
    np.subtract.at(steps, np.minimum(is_window.size, places + 1), 1)
    return (np.cumsum(steps[:-1]) > 0) & is_window


def _note_sources(stream: _Stream, hashes: _Hashes, windows: Numbers, sources: Numbers) -> None:
    """Write down the sources of windows, whose equal ones are all among these."""
    order = np.argsort(hashes, kind="stable")
    # Windows ascend, so the first of equal ones is the first to come.
    starts = run_starts(hashes[order])
    firsts = np.repeat(windows[order[starts]], np.diff(np.append(starts, order.size)))
    later = windows[order]
    texts = stream.texts_of(later)
    # A window that lies across its source does not stand somewhere else.
    repeats = (later - firsts >= stream.window) | (texts != stream.texts_of(firsts))
    repeats &= stream.is_new[texts]
    sources[later[repeats]] = firsts[repeats] + 1


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Passages; int64 arrays of shape (passages,), in the order of the texts.

    Args:
        places: Their first words.
        sources: The first words of what they repeat.
        words: How many they have.
    """

    places: Numbers
    sources: Numbers
    words: Numbers

    def only(self, which: npt.NDArray[np.intp]) -> _Found:
        return _Found(self.places[which], self.sources[which], self.words[which])


def _covering(stream: _Stream, sources: Numbers) -> _Found:
    """Return the passages that cover all windows that repeat others."""
    found: list[tuple[int, int, int]] = []
    for texts in stream.portions():
        begin, end = stream.begins[texts.start], stream.begins[texts.stop]
        there = np.asarray(sources[begin:end])
        windows = np.flatnonzero(there)
        if not windows.size:
            continue
        require_time()
        of_windows = there[windows] - 1
        goes_on = (np.diff(windows) == 1) & (np.diff(of_windows) == 1)
        lasts = np.append(np.flatnonzero(~goes_on), windows.size - 1)
        at = 0
        while at < windows.size:
            last = int(lasts[np.searchsorted(lasts, at)])
            words = int(windows[last] - windows[at]) + stream.window
            place, source = int(windows[at] + begin), int(of_windows[at])
            if np.array_equal(stream.run(place, words), stream.run(source, words)):
                found.append((place, source, words))
            # Windows up to where it ends are covered by it and the last of them.
            at = max(last + 1, int(np.searchsorted(windows, windows[at] + words, side="right")) - 1)
    return _Found(*np.array(found, np.int64).reshape(-1, 3).T)


class Passages:
    """Passages that stand in several places, while the folder with their texts is there.

    Args:
        scratch: The documents' ids and names.
        archived: The documents.
        stream: Their words.
        found: The passages.
        scheme: What words are.
    """

    def __init__(self, scratch: Scratch, archived: Archived, stream: _Stream, found: _Found, scheme: Scheme) -> None:
        self._scratch, self._archived, self._stream, self.scheme = scratch, archived, stream, scheme
        # Those of one source and one length stand together, in the order in which they came.
        self._found = found.only(np.lexsort((found.places, found.words, found.sources)))
        self.documents = len(archived.sketches)
        #: Documents that have fewer words than a passage.
        self.too_short = int(np.count_nonzero(archived.sketches.counts < stream.window))

    def pairs(self) -> Iterator[Pair]:
        """Yield each passage that repeats another as B, with the first place of these words as A, in A's order."""
        groups = self._groups()
        for cluster in self._told(np.arange(groups.size - 1), groups):
            yield from cluster.matches[1:]

    def clusters(self) -> Iterator[Cluster]:
        """Yield the places of each passage, the first of them as principal; the most frequent passages first."""
        groups = self._groups()
        yield from self._told(np.argsort(-np.diff(groups), kind="stable"), groups)

    def _groups(self) -> Numbers:
        """Return where the passages of one source and one length begin, and where all end."""
        sources, words = self._found.sources, self._found.words
        return np.append(run_starts(sources, words), sources.size)

    def _told(self, order: Numbers, groups: Numbers) -> Iterator[Cluster]:
        for some in chunks(order.tolist(), lambda at: int(groups[at + 1] - groups[at]), _TOLD_AT_ONCE):
            members: list[list[tuple[int, tuple[int, int], int]]] = []
            for at in some:
                begin, end = int(groups[at]), int(groups[at + 1])
                texts = self._stream.texts_of(np.append(self._found.sources[begin], self._found.places[begin:end]))
                there = np.concatenate([self._spans[1][begin : begin + 1], self._spans[0][begin:end]])
                members.append(
                    [
                        (text, span, int(self._found.words[begin]))
                        for text, span in zip(texts.tolist(), map(tuple, there.tolist()), strict=True)
                    ]
                )
            numbers = {text: int(self._archived.numbers[text]) for group in members for text, _, _ in group}
            known = self._scratch.known(list(numbers.values()))
            for group in members:
                yield _cluster([self._member(known[numbers[text]], text, span, size) for text, span, size in group])

    def _member(self, known: Known, text: int, span: tuple[int, int], words: int) -> Member:
        document_id, name, *_ = known
        return Member(passage_id(document_id, *span), name, words, stays=not bool(self._stream.is_new[text]))

    @cached_property
    def _spans(self) -> tuple[Numbers, Numbers]:
        """Where passages and their sources stand in their texts, in characters: int64 arrays of shape (passages, 2)."""
        found = self._found
        firsts = np.concatenate([found.places, found.sources])
        lasts = firsts + np.tile(found.words, 2) - 1
        told = np.empty((firsts.size, 2), np.int64)
        texts = self._stream.texts_of(firsts)
        order = np.argsort(texts, kind="stable")
        for which in np.split(order, np.flatnonzero(np.diff(texts[order])) + 1):
            if which.size:
                require_time()
                text = int(texts[which[0]])
                there, begin = spans(self._stream.text(text), self.scheme.profile), self._stream.begins[text]
                told[which, 0] = there[firsts[which] - begin, 0]
                told[which, 1] = there[lasts[which] - begin, 1]
        return told[: found.places.size], told[found.places.size :]


def _cluster(members: Sequence[Member]) -> Cluster:
    """Return the places of one passage."""
    first = members[0]
    return Cluster(tuple(Pair.of_counts(first, each, each.size, each.size, each.size) for each in members))
