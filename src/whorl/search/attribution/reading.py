"""Reader of candidates for attribution: bounds on their shared words from sketches, and comparison with their texts.

Passage hashes and the sketch give an upper bound of the words that a candidate shares. Its text gives the actual ones:
first by hashes of runs of words, which is fast, and then word by word if the candidate may become a source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches
from whorl.context import report_progress, require_time
from whorl.engine.protocol import Engine
from whorl.fingerprint.batch import Parts, hashed, hashes_of_words
from whorl.fingerprint.compare import Comparison, Passage, TextWords
from whorl.fingerprint.shingling import join
from whorl.fingerprint.sketch.sketch import Sketch
from whorl.fingerprint.winnowing import hashes_of_runs, word_hashes
from whorl.search.attribution.cover import Numbers, common_ranges, joined, marked_rows, ranges_of, row_ranges, words_in
from whorl.search.boilerplate import Comparer

#: Total characters of texts read after which no further document is read.
MOST_CHARACTERS = 50_000_000
#: Texts and sketches fetched in one request.
_TEXTS_AT_ONCE, _SKETCHES_AT_ONCE = 25, 500
#: Largest product of the text's words and the documents narrowed at once, between two checks of the deadline.
_CELLS_AT_ONCE = 1 << 20
_NOTHING = np.empty((0, 2), np.int64)


@dataclass(slots=True, eq=False)
class Shared:
    """A candidate and the words of the text that it shares.

    Args:
        id: The document's id.
        name: The document's name; None before it is looked up.
        cover: Known words of the text in passages that count: half-open ranges, ascending, not adjacent.
        possible: Words that may be in further passages, as ranges of the same form; empty once the text was read.
        is_narrowed: Whether the sketch has narrowed `possible`.
        is_read: Whether the text was read, or is known to be missing.
        content: The document's text, after the comparison word by word.
        comparison: The comparison of both texts.
        passages: The passages that count.
    """

    id: str
    name: str | None
    cover: Numbers
    possible: Numbers
    is_narrowed: bool = False
    is_read: bool = False
    content: str = field(default="", repr=False)
    comparison: Comparison | None = None
    passages: tuple[Passage, ...] = ()


class CandidateReader:
    """Reads candidates within the limits of one search on documents and characters.

    Args:
        engine: The engine of the store.
        of_text: The words of the text.
        comparer: Compares the text with others.
        min_words: Words of the shortest passage that counts.
        is_counted: Mask of the words that count; bool array of shape (words,).
        ignore_common: Whether boilerplate that the text shares with a document does not count for it.
        most: Most documents to read.

    Attributes:
        read: Number of documents read.
        without_text: Number of documents without a text.
    """

    def __init__(
        self,
        engine: Engine,
        of_text: TextWords,
        comparer: Comparer,
        min_words: int,
        is_counted: npt.NDArray[np.bool_],
        most: int,
        *,
        ignore_common: bool,
    ) -> None:
        self._engine, self._of_text, self._comparer, self._min_words = engine, of_text, comparer, min_words
        self._is_counted, self._ignore_common = is_counted, ignore_common
        self._most, self._characters = most, 0
        self.read = self.without_text = 0
        scheme = engine.scheme
        #: Words of a run that is compared by its hash; no passage is shorter.
        self._run = max(min_words, scheme.shingle_size)
        self._shingles = hashes_of_words(of_text.words, scheme)
        self._runs, self._run_places = np.empty(0, np.uint64), np.empty(0, np.int64)
        if len(of_text.words) >= self._run:
            runs = hashes_of_runs(word_hashes([join(of_text.words)]), self._run)
            self._run_places = np.argsort(runs, kind="stable")
            self._runs = runs[self._run_places]

    @property
    def is_exhausted(self) -> bool:
        """Whether a limit prevents reading further documents."""
        return self.read + self.without_text >= self._most or self._characters >= MOST_CHARACTERS

    def counted(self, ranges: Numbers) -> Numbers:
        """Return the ranges with enough counted words for a passage."""
        return ranges[words_in(ranges, self._is_counted) >= self._min_words]

    def narrow(self, candidates: Iterable[Shared]) -> None:
        """Remove from the possible words of candidates all runs that their sketches rule out."""
        size, words = self._engine.scheme.shingle_size, len(self._of_text.words)
        if words < self._run:
            return
        portion = max(1, min(_SKETCHES_AT_ONCE, _CELLS_AT_ONCE // words))
        for some in batches([each for each in candidates if not each.is_narrowed], portion):
            require_time()
            sketches = self._engine.sketches([each.id for each in some])
            known = [(each, sketches[each.id]) for each in some if each.id in sketches]
            for each in some:
                each.is_narrowed = True
            if not known:
                continue
            # A run of words is possible if none of its shingles is known to be missing.
            can_begin = ~_missing(self._shingles, [sketch for _, sketch in known])
            runs = words - self._run + 1
            can_run = can_begin[:, :runs].copy()
            for step in range(1, self._run - size + 1):
                can_run &= can_begin[:, step : step + runs]
            possible = np.zeros((len(known), words), np.bool_)
            for step in range(self._run):
                possible[:, step : step + runs] |= can_run
            possible &= marked_rows([each.possible for each, _ in known], words)
            for (each, _), ranges in zip(known, row_ranges(possible), strict=True):
                each.possible = ranges

    def check(self, candidates: Sequence[Shared]) -> Iterator[Shared]:
        """Read the texts of candidates and set their covers by hashes; yield each candidate that was read."""
        for some in batches(candidates, _TEXTS_AT_ONCE):
            texts = self._texts(some, len(candidates))
            there = [each for each in some if each.id in texts]
            if not there:
                continue
            made = hashed([texts[each.id] for each in there], self._engine.scheme, Parts.WORDS, workers=1)
            words = [each.words for each in made]
            ends = np.cumsum([len(each.starts) - 1 for each in words])
            for each, of_words in zip(there, np.split(word_hashes(words), ends[:-1]), strict=True):
                each.cover, each.possible, each.is_read = self._hashed_cover(of_words), _NOTHING, True
                yield each

    def compare(self, candidates: Sequence[Shared]) -> None:
        """Compare the text with candidates word by word."""
        for some in batches(candidates, _TEXTS_AT_ONCE):
            texts = self._texts(some, len(candidates))
            for each in some:
                if each.id in texts:
                    self._compare(each, texts[each.id])

    def _texts(self, candidates: Sequence[Shared], total: int) -> dict[str, str]:
        """Fetch texts within the limits; clear the cover of a candidate without a text or beyond the limits."""
        require_time()
        left = self._most - self.read - self.without_text if self._characters < MOST_CHARACTERS else 0
        new = [each for each in candidates if not each.is_read]
        for each in new[max(left, 0) :]:
            each.cover = _NOTHING
        wanted = [each for each in candidates if each.is_read] + new[: max(left, 0)]
        texts = dict(self._engine.texts([each.id for each in wanted])) if wanted else {}
        for each in wanted:
            if each.id not in texts:
                each.cover = each.possible = _NOTHING
                self.without_text += not each.is_read
                each.is_read = True
            elif not each.is_read:
                report_progress("comparing", self.read, max(self.read + 1, total))
                require_time()
                self.read += 1
                self._characters += len(texts[each.id])
        return texts

    def _hashed_cover(self, of_words: npt.NDArray[np.uint64]) -> Numbers:
        """Return the words of the text in runs of at least `_run` words that a document shares, by hashes."""
        if of_words.size < self._run:
            return _NOTHING
        runs = np.sort(hashes_of_runs(of_words, self._run))
        at = np.minimum(np.searchsorted(runs, self._runs), runs.size - 1)
        starts = self._run_places[runs[at] == self._runs]
        cover = joined(starts, starts + self._run)
        return self.counted(self._without_edges(cover) if self._ignore_common else cover)

    def _without_edges(self, cover: Numbers) -> Numbers:
        """Trim short shared edges next to boilerplate, because the comparison counts them as boilerplate, too."""
        is_common, edge, shorter = self._comparer.is_common, self._comparer.edge, []
        for start, end in cover.tolist():
            common = np.flatnonzero(is_common[start:end])
            if common.size and common[0] <= edge:
                start += int(common[0])
            if common.size and end - start - int(common[-1]) - 1 <= edge:
                end -= end - start - int(common[-1]) - 1
            shorter.append((start, end))
        return np.array(shorter, np.int64).reshape(-1, 2)

    def _compare(self, each: Shared, content: str) -> None:
        comparison = self._comparer.compare(content, self._min_words)
        each.content, each.comparison = content, comparison
        each.possible, each.is_read = _NOTHING, True
        # Words do not overlap, so a passage starts with the word at its first character.
        starts = np.searchsorted(self._of_text.spans[:, 0], [passage.a[0] for passage in comparison.passages])
        words = np.array([passage.words for passage in comparison.passages], np.int64)
        ranges = np.stack((starts, starts + words), axis=1)
        is_counted = self._is_counted
        if self._ignore_common and comparison.rest is not None:
            is_counted = is_counted & ~comparison.rest.words_a
        is_long = words_in(ranges, is_counted) >= self._min_words
        each.passages = tuple(
            passage for passage, keep in zip(comparison.passages, is_long.tolist(), strict=True) if keep
        )
        each.cover = joined(*ranges[is_long].T)
        if is_counted is not self._is_counted:
            each.cover = common_ranges(each.cover, ranges_of(is_counted), is_counted.size)


def _missing(shingles: npt.NDArray[np.uint64], sketches: Sequence[Sketch]) -> npt.NDArray[np.bool_]:
    """Return for each document the shingles of a text that its sketch rules out.

    Args:
        shingles: Hashes of the text's shingles, in order.
        sketches: Sketches of the documents, under one scheme.

    Returns:
        bool array of shape (documents, shingles).
    """
    scheme = sketches[0].scheme
    numbers = shingles >> np.uint64(64 - scheme.bits)
    bounds = np.array([scheme.bound(each.level) for each in sketches], np.uint64)
    # With the document's index as upper bits, the concatenated hashes are ascending as a whole.
    before = np.arange(len(sketches), dtype=np.uint64) << np.uint64(scheme.bits)
    hashes = np.concatenate([each.hashes + own for each, own in zip(sketches, before, strict=True)])
    wanted = before[:, None] + numbers[None, :]
    places = np.minimum(np.searchsorted(hashes, wanted), max(0, hashes.size - 1))
    is_there = hashes[places] == wanted if hashes.size else np.zeros(wanted.shape, np.bool_)
    missing: npt.NDArray[np.bool_] = ~is_there & (numbers[None, :] < bounds[:, None])
    return missing
