"""Finds the sources of a text: looks up candidates, compares them, and chooses few that cover it.

Passage hashes bound the words that each candidate shares from below and above. A greedy cover over the known words
chooses documents to read; further candidates are read as long as they can have a word that no candidate is known to
have. Windows of the words that remain are searched by sketches. Only the final choice is compared word by word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, groupby
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches
from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.compare import words_of
from whorl.fingerprint.compiled.kernel import count_search
from whorl.fingerprint.statistics.metric import fraction_of
from whorl.operations import SourcesOperation
from whorl.query.plan.nodes import BoundNode
from whorl.search.attribution.candidates import PassageGroup, by_passages, find_candidates
from whorl.search.attribution.cover import (
    Numbers,
    counted_before,
    covered_once,
    greedy_cover,
    marked,
    owners_of,
    ranges_of,
    words_in,
)
from whorl.search.attribution.excluded_parts import Exclusion, excluded_words
from whorl.search.attribution.line_ends import rejoin
from whorl.search.attribution.reading import Candidate, CandidateReader
from whorl.search.attribution.results import Attribution, Common, Promise, TextSource
from whorl.search.boilerplate import BoilerplateDetector, Comparer

#: Default for the words of the shortest passage that counts; shorter ones are common phrases.
MIN_WORDS = SourcesOperation.min_words
#: Default and upper limit of the documents read for one text.
DEFAULT_READ, MOST_READ = SourcesOperation.most_read, 10_000
DEFAULT_RECALL = fraction_of("recall", SourcesOperation.recall)
#: Most documents listed that share passages but add nothing to the sources.
MOST_ALSO = 300
#: Documents read between two updates of the ranking of candidates, and of the words that chosen ones add.
CHECKED_AT_ONCE, CHOSEN_AT_ONCE = 25, 4
#: Sketches that are read and compared in the time of looking up a phrase.
SKETCHES_OF_A_PHRASE = 10
_NOTHING = np.empty((0, 2), np.int64)


@dataclass(frozen=True, slots=True)
class SourceCriteria:
    """Options of a search for sources.

    Args:
        recall: Wanted chance that a document with a passage becomes a candidate, a fraction in (0, 1].
        min_words: Words of the shortest passage that counts, at least 1. No passage is shorter than a shingle.
        most_read: Most documents to read, 1 to 10,000.
        ignore_common: Whether the sources account only for words that are not boilerplate.
        without: Parts of the text to leave out.

    Raises:
        ParameterError: A number is out of its range.
    """

    recall: Fraction = DEFAULT_RECALL
    min_words: int = MIN_WORDS
    most_read: int = DEFAULT_READ
    ignore_common: bool = False
    without: Collection[Exclusion] = ()

    def __post_init__(self) -> None:
        if self.min_words < 1:
            raise ParameterError(f"min_words must be at least 1, got {self.min_words}")
        if not 1 <= self.most_read <= MOST_READ:
            raise ParameterError(f"most_read must be 1 to {MOST_READ:,}, got {self.most_read}")


def find_sources(
    engine: Engine,
    text: str,
    criteria: SourceCriteria = SourceCriteria(),
    *,
    left_out: BoundNode | None = None,
    own_id: str | None = None,
    detector: BoilerplateDetector | None = None,
) -> Attribution:
    """Return the documents that account for a text.

    Args:
        engine: The engine of the store.
        text: The text.
        criteria: Options of the search.
        left_out: Documents to exclude as sources.
        own_id: The id of the document that the text comes from; excluded as a source.
        detector: Detects boilerplate.
    """
    count_search(engine.scheme)
    min_words, ignore_common = criteria.min_words, criteria.ignore_common
    of_text = rejoin(engine, words_of(text, engine.scheme))
    comparer = Comparer(of_text, engine.scheme, detector)
    is_counted = ~comparer.is_common if ignore_common else np.full(len(of_text.words), True)
    is_excluded = excluded_words(text, of_text, criteria.without) & is_counted
    is_counted &= ~is_excluded
    reader = CandidateReader(
        engine, of_text, comparer, min_words, is_counted, criteria.most_read, ignore_common=ignore_common
    )  # fmt: skip
    chooser = _Chooser(engine, reader, of_text.words, is_counted)
    warnings: list[str] = []
    unknown, certain_words, crowded = ranges_of(np.full(len(of_text.words), True)), None, 0
    if (scheme := engine.passage_scheme) is not None:
        certain = by_passages(engine, scheme, of_text, left_out=left_out)
        warnings += certain.warnings
        # A passage hash proves a passage of at least min_words counted words.
        is_whole = min_words <= scheme.hashed_words and bool(is_counted.all())
        certain_words, crowded = scheme.run_words, certain.crowded
        chooser.add_groups(certain.groups, None if is_whole else reader.counted, own_id)
        chooser.settle()
        unknown = ranges_of(chooser.uncovered())
        # Windows find shorter passages than the passage hashes do, and passages at crowded places.
        is_needed = min_words < certain_words or crowded > 0
        unknown = unknown[unknown[:, 1] - unknown[:, 0] >= min_words] if is_needed else _NOTHING
    hits = find_candidates(engine, text, of_text, unknown, criteria.recall, min_words=min_words, left_out=left_out)
    chooser.add([hit.id for hit in hits.found if hit.id != own_id], unknown)
    if certain_words is None:
        # Without passage hashes, no bounds on the shared words are known.
        chooser.check_all()
    chosen = chooser.compared()
    is_once = covered_once(chooser.covers(2), len(of_text.words)) & is_counted
    also, also_count = chooser.others(chosen)
    names = {hit.id: hit.name for hit in hits.found}
    nameless = [name for name in (*(candidate.id for candidate, _ in chosen), *also) if name not in names]
    names |= engine.names(nameless) if nameless else {}
    once_before, before = counted_before(is_once), counted_before(is_counted)
    sources = tuple(
        _source(candidate, names.get(candidate.id, ""), new_words, once_before, before)
        for candidate, new_words in chosen
    )
    covers = [candidate.cover for candidate, _ in chosen]
    return Attribution(
        content=text,
        words=len(of_text.words),
        min_words=min_words,
        sources=sources,
        also=tuple((name, names.get(name, "")) for name in also),
        also_count=also_count,
        longest_passage=max((source.passages[0].words for source in sources), default=0),
        candidates=chooser.count(chooser.candidates),
        read=reader.read,
        without_text=reader.without_text,
        unread=chooser.count(chooser.promising(chooser.uncovered())),
        # Where passages cover the text, no window is searched: shorter passages there are not promised.
        promise=Promise(
            criteria.recall, max(hits.promise.words or 0, certain_words or 0) or None, certain_words, crowded
        ),
        warnings=tuple(dict.fromkeys((*warnings, *hits.warnings))),
        common=None if detector is None else _common(detector, comparer.is_common, covers, ignore_common),
        excluded_words=int(np.count_nonzero(is_excluded)),
    )


class _Chooser:
    """Chooses sources by the known words of candidates, and has candidates read if the choice depends on them."""

    def __init__(
        self, engine: Engine, reader: CandidateReader, words: Sequence[str], is_counted: npt.NDArray[np.bool_]
    ) -> None:
        self._engine, self._reader, self._text_words, self._is_counted = engine, reader, words, is_counted
        self.candidates: list[Candidate] = []
        self._known: set[str] = set()
        #: Words that no unread candidate has in a passage, except for those with `is_holder`.
        self._is_closed = np.zeros_like(is_counted)

    def add_groups(
        self, groups: Iterable[PassageGroup], counted: Callable[[Numbers], Numbers] | None, own_id: str | None
    ) -> None:
        """Add candidates with passage hashes, whose proven words count as far as `counted` returns them."""
        for group in groups:
            ids = [document_id for document_id in group.ids if document_id != own_id]
            if ids:
                cover = counted(group.proven) if counted else group.proven
                self.candidates.append(Candidate(ids, cover, group.possible))
                self._known.update(ids)

    def add(self, ids: Iterable[str], possible: Numbers) -> None:
        """Add further documents that may have certain words, the most promising first."""
        new = [document_id for document_id in dict.fromkeys(ids) if document_id not in self._known]
        self.candidates += [Candidate([own], _NOTHING, possible, rank) for rank, own in enumerate(new, 1)]

    @staticmethod
    def count(candidates: Iterable[Candidate]) -> int:
        return sum(len(candidate.ids) for candidate in candidates)

    def covers(self, most: int = 1) -> list[Numbers]:
        """Return the known words of each document, repeated at most `most` times for documents with the same ones."""
        return [candidate.cover for candidate in self.candidates for _ in candidate.ids[:most]]

    def chosen(self) -> list[tuple[Candidate, int]]:
        """Return the greedy cover: candidates, each with the number of words that it adds."""
        self.candidates.sort(key=lambda candidate: (candidate.rank, candidate.ids))
        cover = greedy_cover(self.covers(), self._is_counted)
        return [(self.candidates[place], new_words) for place, new_words in cover]

    def others(self, chosen: Sequence[tuple[Candidate, int]]) -> tuple[list[str], int]:
        """Return the documents that share passages but are not chosen.

        Returns:
            The ids of `MOST_ALSO` of them at most, the largest overlap first, and their number.
        """
        is_chosen = {candidate.id for candidate, _ in chosen}
        words = self._count_words([candidate.cover for candidate in self.candidates], self._is_counted).tolist()
        others = [(-own, candidate) for own, candidate in zip(words, self.candidates, strict=True)
                  if own and candidate.id not in is_chosen]  # fmt: skip
        ids = list[str]()
        for _, group in groupby(sorted(others, key=itemgetter(0)), itemgetter(0)):
            if len(ids) < MOST_ALSO:
                ids += sorted(chain.from_iterable(candidate.ids for _, candidate in group))
        return ids[:MOST_ALSO], self.count(candidate for _, candidate in others)

    def uncovered(self) -> npt.NDArray[np.bool_]:
        """Return the mask of counted words that no candidate is known to have; bool array of shape (words,)."""
        return self._is_counted & ~marked(_concatenated(self.covers()), self._is_counted.size)

    def check_all(self) -> None:
        """Read all candidates."""
        for _ in self._reader.check(self.candidates):
            pass

    def settle(self) -> list[tuple[Candidate, int]]:
        """Read candidates until no unread one is chosen or can add to the cover, or a limit is reached.

        Returns:
            As `chosen`.
        """
        while True:
            chosen = self.chosen()
            if not all(candidate.is_read for candidate, _ in chosen):
                self._read(chosen)
            elif not self._check(self.uncovered()):
                return chosen

    def _read(self, chosen: Sequence[tuple[Candidate, int]]) -> None:
        """Read the unread candidates of a cover, unless texts read before them have half of the words that they add."""
        is_open = self._is_counted.copy()
        for batch in batches(chosen, CHOSEN_AT_ONCE):
            before = counted_before(is_open)
            promising = [
                self._first(candidate)
                for candidate, new_words in batch
                if not candidate.is_read and 2 * words_in(candidate.cover, before).sum() >= new_words
            ]
            for _ in self._reader.check(promising):
                pass
            for candidate in (*promising, *(candidate for candidate, _ in batch)):
                if candidate.is_read:
                    _close(is_open, candidate)

    def _first(self, candidate: Candidate) -> Candidate:
        """Split off the first document of a candidate; beyond the limits of reading, return the candidate itself."""
        if len(candidate.ids) == 1 or self._reader.is_exhausted:
            return candidate
        self.candidates.append(candidate.split(candidate.ids[:1]))
        return self.candidates[-1]

    def compared(self) -> list[tuple[Candidate, int]]:
        """Settle the choice and compare the chosen candidates with the text; return them as `chosen` does."""
        while True:
            chosen = self.settle()
            if not self._reader.compare([candidate for candidate, _ in chosen if candidate.comparison is None]):
                return chosen

    def promising(self, is_open: npt.NDArray[np.bool_]) -> list[Candidate]:
        """Return the unread candidates that can have open words, the most open words first."""
        possible = [candidate.possible for candidate in self.candidates]
        open_words = self._count_words(possible, is_open)
        if self._is_closed.any():
            is_holder = np.array([candidate.is_holder for candidate in self.candidates])
            open_words = np.where(is_holder, open_words, self._count_words(possible, is_open & ~self._is_closed))
        order = np.argsort(-open_words, kind="stable")
        return [self.candidates[place] for place in order[: np.count_nonzero(open_words)].tolist()]

    def _close_gaps(self, is_open: npt.NDArray[np.bool_]) -> None:
        """Ask the word index, if there is one, which candidates may have passages with words that no source covers."""
        promising = self.promising(is_open)
        is_asked = is_open & marked(_concatenated([candidate.possible for candidate in promising]), is_open.size)
        if not is_asked.any():
            return
        starts = telling_starts(ranges_of(is_asked), self._reader.run)
        words, length = self._text_words, self._reader.run // 2 + 1
        phrases = {tuple(words[start : start + length]) for start in starts if 0 <= start <= len(words) - length}
        if self.count(promising) <= SKETCHES_OF_A_PHRASE * len(phrases):
            return
        holders = self._engine.phrase_holders(phrases)
        if holders is None:
            return
        self._is_closed |= is_asked
        for candidate in [*self.candidates] if holders else []:
            held = [own for own in candidate.ids if own in holders]
            if len(held) == len(candidate.ids):
                candidate.is_holder = True
            elif held and not candidate.is_holder:
                self.candidates.append(candidate.split(held))
                self.candidates[-1].is_holder = True

    def _check(self, is_open: npt.NDArray[np.bool_]) -> bool:
        """Read candidates that can have open words, and return True if any was read."""
        self._close_gaps(is_open)
        for candidate in self.promising(is_open):
            self.candidates += candidate.split_all()
        self._reader.narrow(self.promising(is_open), is_open)
        waiting, is_any = self.promising(is_open), False
        while waiting and not self._reader.is_exhausted:
            words = self._count_words([candidate.possible for candidate in waiting], is_open)
            best = np.argsort(-words, kind="stable")[: min(CHECKED_AT_ONCE, np.count_nonzero(words))].tolist()
            if not best:
                break
            for candidate in self._reader.check([waiting[place] for place in best]):
                is_any = True
                _close(is_open, candidate)
            taken = set(best)
            waiting = [candidate for place, candidate in enumerate(waiting) if words[place] and place not in taken]
        return is_any

    def _count_words(self, ranges: Sequence[Numbers], is_marked: npt.NDArray[np.bool_]) -> Numbers:
        """Return the number of marked words in each candidate's ranges."""
        words = words_in(_concatenated(ranges), counted_before(is_marked))
        return np.bincount(owners_of(ranges), words, len(ranges)).astype(np.int64)


def telling_starts(gaps: Numbers, run: int) -> set[int]:
    """Return the starts of phrases of `run // 2 + 1` words; each run of words that overlaps a gap contains one of them.

    A run that crosses the border of a gap has half of its words on one side, and at least one word on the other.
    """
    half, step = run // 2, run - run // 2
    starts = {int(border) - before for border in gaps.ravel() for before in (half, 1)}
    for start, end in gaps[gaps[:, 1] - gaps[:, 0] >= run].tolist():
        starts.update(range(start, end - half, step))
    return starts


def _concatenated(ranges: Iterable[Numbers]) -> Numbers:
    return np.concatenate([_NOTHING, *ranges])


def _close(is_open: npt.NDArray[np.bool_], candidate: Candidate) -> None:
    """Unmark the words that a candidate covers."""
    for start, end in candidate.cover.tolist():
        is_open[start:end] = False


def _common(
    detector: BoilerplateDetector, is_common: npt.NDArray[np.bool_], covers: Sequence[Numbers], is_ignored: bool
) -> Common:
    covered = marked(_concatenated(covers), is_common.size)
    limit = None if detector.frequencies is None else detector.frequencies.limit
    return Common(limit, int(np.count_nonzero(is_common)), int(np.count_nonzero(covered & ~is_common)), is_ignored)


def _source(candidate: Candidate, name: str, new_words: int, once_before: Numbers, before: Numbers) -> TextSource:
    assert candidate.comparison is not None
    return TextSource(
        id=candidate.id,
        name=name,
        words=int(words_in(candidate.cover, before).sum()),
        new_words=new_words,
        only_words=int(words_in(candidate.cover, once_before).sum()),
        shares=candidate.comparison.shares,
        shingles=candidate.comparison.b.shingles,
        passages=candidate.passages,
        content=candidate.content,
        residual=candidate.comparison.residual,
    )
