"""Reads the texts of candidate sources and compares them with the searched text.

A candidate is read only if, by its passage hashes and its sketch, it may share enough words. Texts are compared by
hashes of runs of words; only likely sources are compared word by word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import (
    batches,
    chunks,
    find_sorted,
    indices_of_ranges,
    mask_ranges,
    ranges_of,
    sort_distinct,
)
from whorl.engine.protocol import Engine
from whorl.fingerprint.compare_texts import Comparison, Passage, Passages, TextWords, words_of
from whorl.fingerprint.fingerprint_texts import hashes_of_words
from whorl.fingerprint.shingling import join
from whorl.fingerprint.sketch.frac_minhash import Sketch
from whorl.fingerprint.winnowing import hashes_of_runs, word_hashes
from whorl.request_context import report_progress, require_time
from whorl.search.attribution.cover import (
    NO_RANGES,
    Numbers,
    array_of_each_range,
    count_words_in,
    cumulate_counted,
    merge_ranges,
    ranges_by_owner,
)
from whorl.search.boilerplate import Comparer

MOST_CHARACTERS = 50_000_000
#: Maximum number of characters of all texts that stay in memory for the comparison word by word; other texts are
#: fetched again for this comparison.
_MOST_KEPT = 5_000_000
#: Number of texts, and of sketches, to fetch in one request.
_TEXTS_AT_ONCE, _SKETCHES_AT_ONCE = 25, 500
#: Maximum number of shingles to look up in sketches between two checks of the deadline.
_SHINGLES_AT_ONCE = 1 << 20


@dataclass(slots=True, eq=False)
class Candidate:
    """Documents that share the same words with the searched text, as far as the search knows.

    Args:
        ids: Ids of the documents, ascending; only one if its text was read.
        cover: Words of the text in known passages: half-open ranges, ascending, not adjacent.
        possible: Words that may be in further passages, as ranges of the same form; empty once the text was read.
        may_share: Whether the documents may share words that were looked up in the index of words. True if the look-up
            found the documents, if they were found without passage hashes, or if they have broken words.
        has_broken_words: Whether words broken at line ends may hide passages from the sketch and the index of words.
        is_narrowed: Whether the sketch has been used to narrow `possible`.
        is_read: Whether the text was read, or is missing.
        words: Words of the document's text; None if they are not in memory.
        content: The document's text; "" if it is not in memory.
        passages: The shared passages with enough counted words.
    """

    ids: list[str]
    cover: Numbers
    possible: Numbers
    may_share: bool = False
    has_broken_words: bool = False
    is_narrowed: bool = False
    is_read: bool = False
    words: TextWords | None = field(default=None, repr=False)
    content: str = field(default="", repr=False)
    comparison: Comparison | None = None
    passages: Sequence[Passage] = ()

    @property
    def id(self) -> str:
        return self.ids[0]

    def split(self, groups: Iterable[list[str]]) -> list[Candidate]:
        """Move the documents of each group of ids to a new candidate; return the new candidates."""
        others = [replace(self, ids=ids) for ids in groups if ids]
        if not others:
            return []
        taken = {document_id for other in others for document_id in other.ids}
        self.ids = [document_id for document_id in self.ids if document_id not in taken]
        return others


class CandidateReader:
    """Reads candidates, within the limits on documents and characters for one search.

    Args:
        comparer: Compares the searched text with others.
        min_words: Minimum length of a passage in words, at least the number of words of a shingle.
        is_counted: Mask of the words to count (not excluded, not ignored boilerplate); bool array of shape (words,).
        ignore_common: Whether to leave shared boilerplate out of all counts of words.
        most: Maximum number of documents to read.

    Attributes:
        run: Number of words in each run that is compared by its hash; the same as `min_words`.
    """

    def __init__(
        self,
        engine: Engine,
        comparer: Comparer,
        min_words: int,
        is_counted: npt.NDArray[np.bool_],
        most: int,
        *,
        ignore_common: bool,
    ) -> None:
        self.engine, self.of_text, self._comparer, self.run = engine, comparer.text, comparer, min_words
        self.is_counted, self._ignore_common = is_counted, ignore_common
        self._counted_before = cumulate_counted(is_counted)
        self._least_words = min_words
        # If the store has only passage hashes, known ranges lack words at the ends of passages, and sometimes within
        # them. So accept shorter ranges.
        if not engine.keeps_texts and (passages := engine.passage_scheme):
            self._least_words = min(min_words, passages.hashed_words)
        self._most, self._characters, self._kept = most, 0, 0
        self.read = self.without_text = 0

    @cached_property
    def _sorted_runs(self) -> tuple[npt.NDArray[np.uint64], Numbers]:
        """Hashes of the runs of `run` words in the text, ascending; and the start of each run."""
        runs = self._hash_runs(self.of_text)
        places = np.argsort(runs, kind="stable")
        return runs[places], places

    @cached_property
    def _shingles(self) -> npt.NDArray[np.uint64]:
        return hashes_of_words(self.of_text.words, self.engine.scheme)

    @property
    def left(self) -> int:
        """Number of documents that may still be read; 0 if the limit on characters has been reached."""
        return self._most - self.read - self.without_text if self._characters < MOST_CHARACTERS else 0

    def select_passages(self, ranges: Numbers) -> Numbers:
        """Return the ranges that have enough counted words for a passage."""
        return ranges[count_words_in(ranges, self._counted_before) >= self._least_words]

    def narrow(self, candidates: Iterable[Candidate], is_open: npt.NDArray[np.bool_]) -> None:
        """Remove words that a candidate's sketch rules out from the words that it may share (`possible`).

        `is_open` marks the words that no document read so far shares; ranges without such words are not examined.
        """
        # Narrow each candidate once: later, fewer words are open, so narrowing again would hardly help.
        new = (own for own in candidates if not own.is_narrowed and not own.has_broken_words)
        for portion in chunks(new, lambda own: int(np.diff(own.possible).sum()), _SHINGLES_AT_ONCE, _SKETCHES_AT_ONCE):
            require_time()
            for candidate in portion:
                candidate.is_narrowed = True
            sketches = self.engine.sketches([candidate.id for candidate in portion])
            sketched = [candidate for candidate in portion if candidate.id in sketches]
            if sketched:
                possible = [candidate.possible for candidate in sketched]
                narrowed = self._narrow_ranges(possible, [sketches[candidate.id] for candidate in sketched], is_open)
                for candidate, ranges in zip(sketched, narrowed, strict=True):
                    candidate.possible = ranges

    def _narrow_ranges(
        self, possible: Sequence[Numbers], sketches: Sequence[Sketch], is_open: npt.NDArray[np.bool_]
    ) -> list[Numbers]:
        """Return the ranges of words that each document may share, without words that its sketch rules out."""
        ranges, owners = np.concatenate(possible), array_of_each_range(possible)
        is_examined = count_words_in(ranges, cumulate_counted(is_open)) > 0
        (starts, ends), examined = ranges[is_examined].T, owners[is_examined]
        shingles = np.maximum(ends - starts - self.engine.scheme.shingle_size + 1, 0)
        places, place_owners = indices_of_ranges(starts, shingles), np.repeat(examined, shingles)
        missing_before = np.append(0, np.cumsum(_is_missing(self._shingles[places], place_owners, sketches)))
        # The document may share a run of words if its sketch rules out none of the run's shingles.
        first = indices_of_ranges(np.cumsum(shingles) - shingles, np.maximum(ends - starts - self.run + 1, 0))
        last = first + self.run - self.engine.scheme.shingle_size
        first = first[missing_before[last + 1] == missing_before[first]]
        starts = np.concatenate((ranges[~is_examined, 0], places[first]))
        ends = np.concatenate((ranges[~is_examined, 1], places[first] + self.run))
        owners = np.concatenate((owners[~is_examined], place_owners[first]))
        order = np.lexsort((starts, owners))
        return ranges_by_owner(owners[order], starts[order], ends[order], len(possible))

    def read_and_cover(self, candidates: Sequence[Candidate], *, are_likely: bool = False) -> Iterator[Candidate]:
        """Read the texts of candidates and set the words that they share; yield each candidate that was read.

        Likely sources are compared word by word, until the texts in memory reach their limit. Other texts are compared
        by hashes of runs.
        """
        for batch in batches(candidates, _TEXTS_AT_ONCE):
            texts = self._fetch_texts(batch, len(candidates))
            for candidate in batch:
                if candidate.id in texts:
                    words = self._comparer.rejoin_halves(words_of(texts[candidate.id], self.engine.scheme))
                    candidate.possible, candidate.is_read = NO_RANGES, True
                    is_kept = self._kept < _MOST_KEPT
                    if are_likely and is_kept:
                        self._compare(candidate, words)
                    else:
                        candidate.cover = self._cover_by_hashes(words)
                    if candidate.cover.size and is_kept:
                        candidate.content, candidate.words = texts[candidate.id], words
                        self._kept += len(candidate.content)
                    yield candidate

    def compare(self, candidates: Sequence[Candidate]) -> bool:
        """Compare candidates with the text word by word; return whether any cover has changed."""
        is_changed = False
        for batch in batches(candidates, _TEXTS_AT_ONCE):
            texts = self._fetch_texts([candidate for candidate in batch if candidate.words is None], len(candidates))
            for candidate in batch:
                if candidate.id in texts:
                    candidate.content = texts[candidate.id]
                    candidate.words = words_of(candidate.content, self.engine.scheme)
                before = candidate.cover
                if candidate.words is not None:
                    self._compare(candidate, candidate.words)
                is_changed |= not np.array_equal(before, candidate.cover)
        return is_changed

    def _fetch_texts(self, candidates: Sequence[Candidate], total: int) -> dict[str, str]:
        """Fetch the texts of candidates, up to the limits on documents and characters; return them by id.

        Clear the cover of candidates without a text, and of candidates beyond the limits.
        """
        require_time()
        left, new = self.left, [candidate for candidate in candidates if not candidate.is_read]
        for candidate in new[left:]:
            candidate.cover = NO_RANGES
        wanted = [candidate for candidate in candidates if candidate.is_read] + new[:left]
        texts = dict(self.engine.texts([candidate.id for candidate in wanted])) if wanted else {}
        for candidate in wanted:
            if candidate.id not in texts:
                candidate.cover = candidate.possible = NO_RANGES
                self.without_text += not candidate.is_read
                candidate.is_read = True
            elif not candidate.is_read:
                report_progress("comparing", self.read, max(self.read + 1, total))
                require_time()
                self.read += 1
                self._characters += len(texts[candidate.id])
        return texts

    def _cover_by_hashes(self, words: TextWords) -> Numbers:
        """Return the ranges of the text that a document also has, found by hashes of runs of `run` words."""
        runs = sort_distinct([self._hash_runs(words)])
        text_runs, places = self._sorted_runs
        positions, is_shared = find_sorted(text_runs, runs)
        first = positions[is_shared]
        counts = np.searchsorted(text_runs, runs[is_shared], side="right") - first
        starts = places[indices_of_ranges(first, counts)]
        cover = merge_ranges(starts, starts + self.run)
        return self.select_passages(self._without_edges(cover) if self._ignore_common else cover)

    def _hash_runs(self, words: TextWords) -> npt.NDArray[np.uint64]:
        if len(words.words) < self.run:
            return np.empty(0, np.uint64)
        return hashes_of_runs(word_hashes([join(words.words)]), self.run)

    def _without_edges(self, cover: Numbers) -> Numbers:
        """Cut the words between each end of a range and the nearest boilerplate, if they are at most `edge` words.

        The detector may miss up to `edge` words at each end of boilerplate. The comparison word by word cuts these
        words, too.
        """
        is_common, edge, shorter = self._comparer.is_common, self._comparer.edge, []
        for start, end in cover.tolist():
            common = start + np.flatnonzero(is_common[start:end])
            if common.size and common[0] - start <= edge:
                start = int(common[0])
            if common.size and end - 1 - common[-1] <= edge:
                end = int(common[-1]) + 1
            shorter.append((start, end))
        return np.array(shorter, np.int64).reshape(-1, 2)

    def _compare(self, candidate: Candidate, words: TextWords) -> None:
        comparison = self._comparer.compare(words, self.run)
        candidate.comparison = comparison
        # Words do not overlap, so the start of a passage identifies its first word.
        numbers = comparison.passages.numbers
        starts = np.searchsorted(self.of_text.spans[:, 0], numbers[:, 0])
        ranges = np.stack((starts, starts + numbers[:, 4]), axis=1)
        is_counted, before = self.is_counted, self._counted_before
        if self._ignore_common and comparison.residual is not None:
            is_counted = is_counted & ~comparison.residual.words_a
            before = cumulate_counted(is_counted)
        is_long = count_words_in(ranges, before) >= self.run
        candidate.passages = Passages(numbers[is_long])
        candidate.cover = merge_ranges(*ranges[is_long].T)
        if is_counted is not self.is_counted:
            candidate.cover = ranges_of(mask_ranges(candidate.cover, is_counted.size) & is_counted)


def _is_missing(shingles: npt.NDArray[np.uint64], owners: Numbers, sketches: Sequence[Sketch]) -> npt.NDArray[np.bool_]:
    """Return a mask of the shingles that the sketch of a document rules out.

    `shingles` are grouped by document; `owners` has the index in `sketches` of each shingle's document. All sketches
    have the same scheme.
    """
    scheme = sketches[0].scheme
    numbers = shingles >> np.uint64(64 - scheme.bits)
    is_missing = numbers < np.array([scheme.bound(sketch.level) for sketch in sketches], np.uint64)[owners]
    # The upper bits have the document's index, so the concatenated hashes are sorted.
    upper = np.arange(len(sketches), dtype=np.uint64) << np.uint64(scheme.bits)
    hashes = np.concatenate([sketch.hashes + own for sketch, own in zip(sketches, upper, strict=True)])
    wanted = numbers[is_missing] + upper[owners[is_missing]]
    is_missing[is_missing] = ~find_sorted(hashes, wanted)[1]
    return is_missing
