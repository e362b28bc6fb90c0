"""Search for the sources of a text: candidates by passage hashes and sketches, exact comparison, greedy cover.

Passage hashes bound the words that each candidate shares from below and above. A greedy cover over the known words
chooses documents to read; further candidates are read as long as they can have a word that no chosen document has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.compare import words_of
from whorl.operations import SourcesOperation
from whorl.query.plan.nodes import BoundNode
from whorl.search.attribution.candidates import by_passages, find_candidates
from whorl.search.attribution.cover import Numbers, covered_once, greedy_cover, marked, words_in
from whorl.search.attribution.exclusions import Exclusion, excluded_words
from whorl.search.attribution.reading import CandidateReader, Shared
from whorl.search.attribution.results import Attribution, Common, Promise, TextSource
from whorl.search.boilerplate import Commons, Comparer

#: Default for the words of the shortest passage that counts; shorter ones are common phrases.
MIN_WORDS = SourcesOperation.min_words
#: Default and upper limit of the documents read for one text.
DEFAULT_READ, MOST_READ = SourcesOperation.most_read, 10_000
#: Most documents listed that share passages but add nothing to the sources.
MOST_ALSO = 300
#: Documents read between two updates of the ranking of candidates.
CHECKED_AT_ONCE = 25
_NOTHING = np.empty((0, 2), np.int64)


def find_sources(
    engine: Engine,
    text: str,
    recall: Fraction,
    *,
    min_words: int = MIN_WORDS,
    most_read: int = DEFAULT_READ,
    left_out: BoundNode | None = None,
    own_id: str | None = None,
    commons: Commons | None = None,
    ignore_common: bool = False,
    without: Collection[Exclusion] = (),
) -> Attribution:
    """Return the documents that account for a text.

    Args:
        engine: The engine of the store.
        text: The text.
        recall: Wanted chance that a document with a passage becomes a candidate, a fraction in (0, 1].
        min_words: Words of the shortest passage that counts, at least 1. No passage is shorter than a shingle.
        most_read: Most documents to read, 1 to 10,000.
        left_out: Documents to exclude as sources.
        own_id: The id of the document that the text comes from; it is no source.
        commons: Detects boilerplate.
        ignore_common: Whether the sources account only for words that are not boilerplate.
        without: Parts of the text to leave out.

    Raises:
        ParameterError: A number is out of its range.
    """
    if min_words < 1:
        raise ParameterError(f"min_words must be at least 1, got {min_words}")
    if not 1 <= most_read <= MOST_READ:
        raise ParameterError(f"most_read must be 1 to {MOST_READ:,}, got {most_read}")
    of_text = words_of(text, engine.scheme)
    comparer = Comparer(of_text, engine.scheme, commons)
    is_counted = ~comparer.is_common if ignore_common else np.full(len(of_text.words), True)
    is_excluded = excluded_words(text, of_text, without) & is_counted
    is_counted &= ~is_excluded
    reader = CandidateReader(
        engine, of_text, comparer, min_words, is_counted, most_read, ignore_common=ignore_common
    )  # fmt: skip
    chooser = _Chooser(reader, is_counted)
    warnings: list[str] = []
    certain_words, crowded = None, 0
    if (scheme := engine.passage_scheme) is not None:
        certain = by_passages(engine, scheme, of_text, left_out=left_out)
        warnings += certain.warnings
        # A passage hash proves a passage of at least min_words counted words.
        is_whole = min_words <= scheme.hashed_words and bool(is_counted.all())
        certain_words, crowded = scheme.run_words, certain.crowded
        chooser.add(
            Shared(each.id, None, each.proven if is_whole else reader.counted(each.proven), each.possible)
            for each in certain.holders
            if each.id != own_id
        )
        chooser.settle()
    found = find_candidates(
        engine, text, of_text, recall, min_words=min_words, left_out=left_out, own_id=own_id,
        wanted=None if certain_words is None else chooser.uncovered(),
    )  # fmt: skip
    everywhere = np.array([[0, len(of_text.words)]], np.int64)
    chooser.add(Shared(each.id, each.name, _NOTHING, everywhere) for each in found.found)
    if certain_words is None:
        # Without passage hashes, no bounds on the shared words are known.
        chooser.check_all()
    chooser.settle()
    chooser.settle_alone()
    chosen = chooser.chosen()
    covers = [each.cover for each in chooser.candidates]
    is_once = covered_once(covers, len(of_text.words)) & is_counted
    others = chooser.others(chosen)
    listed = [*(chooser.candidates[place] for place, _ in chosen), *others[:MOST_ALSO]]
    _name(engine, listed)
    sources = tuple(_source(chooser.candidates[place], new_words, is_once, is_counted) for place, new_words in chosen)
    covers = [chooser.candidates[place].cover for place, _ in chosen]
    return Attribution(
        content=text,
        words=len(of_text.words),
        min_words=min_words,
        sources=sources,
        also=tuple((each.id, each.name or "") for each in others[:MOST_ALSO]),
        also_count=len(others),
        longest_passage=max((each.passages[0].words for each in sources), default=0),
        candidates=len(chooser.candidates),
        read=reader.read,
        without_text=reader.without_text,
        unread=chooser.unread(),
        promise=Promise(recall, found.promise.words or certain_words, certain_words, crowded),
        warnings=tuple(dict.fromkeys((*warnings, *found.warnings))),
        common=None if commons is None else _common(commons, comparer.is_common, covers, ignore_common),
        excluded_words=int(np.count_nonzero(is_excluded)),
    )


class _Chooser:
    """Chooses sources by the known words of candidates, and has candidates read if the choice depends on them."""

    def __init__(self, reader: CandidateReader, is_counted: npt.NDArray[np.bool_]) -> None:
        self._reader, self._is_counted = reader, is_counted
        self.candidates: list[Shared] = []
        self._known: set[str] = set()

    def add(self, candidates: Iterable[Shared]) -> None:
        """Add candidates; documents that are candidates already are skipped."""
        for each in candidates:
            if each.id not in self._known:
                self._known.add(each.id)
                self.candidates.append(each)

    def chosen(self) -> list[tuple[int, int]]:
        """Return the greedy cover: indices of candidates, each with the number of words that it adds."""
        return greedy_cover([each.cover for each in self.candidates], self._is_counted)

    def others(self, chosen: Sequence[tuple[int, int]]) -> list[Shared]:
        """Return the candidates that share passages but are not chosen, the largest overlap first."""
        words = self._words([each.cover for each in self.candidates], self._is_counted)
        words[[place for place, _ in chosen]] = 0
        places = np.flatnonzero(words).tolist()
        return [self.candidates[place] for place in sorted(places, key=lambda at: (-words[at], self.candidates[at].id))]

    def uncovered(self) -> npt.NDArray[np.bool_]:
        """Return the mask of counted words that no candidate is known to have; bool array of shape (words,)."""
        ranges = np.concatenate([_NOTHING, *(each.cover for each in self.candidates)])
        return self._is_counted & ~marked(ranges, self._is_counted.size)

    def unread(self) -> int:
        """Return the number of unread candidates that can have words that no candidate is known to have."""
        return len(self._promising(self.uncovered()))

    def check_all(self) -> None:
        """Read all candidates."""
        for _ in self._reader.check(self.candidates):
            pass

    def settle(self) -> None:
        """Read candidates until no other can have a word that the chosen ones lack, or a limit is reached."""
        while True:
            while fresh := [
                self.candidates[place] for place, _ in self.chosen() if self.candidates[place].comparison is None
            ]:
                self._reader.compare(fresh)
            if not self._check(self.uncovered()):
                return

    def settle_alone(self) -> None:
        """Read candidates until none can have a word that only one is known to have, or a limit is reached."""
        words = self._is_counted.size
        while self._check(covered_once([each.cover for each in self.candidates], words) & self._is_counted):
            self.settle()

    def _promising(self, is_open: npt.NDArray[np.bool_]) -> list[Shared]:
        """Return the unread candidates that can have open words, the most open words first."""
        words = self._words([each.possible for each in self.candidates], is_open)
        order = np.argsort(-words, kind="stable")
        return [self.candidates[place] for place in order[: np.count_nonzero(words)].tolist()]

    def _check(self, is_open: npt.NDArray[np.bool_]) -> bool:
        """Read candidates that can have open words, and return True if any was read."""
        self._reader.narrow(self._promising(is_open))
        waiting, is_any = self._promising(is_open), False
        while waiting and not self._reader.is_exhausted:
            words = self._words([each.possible for each in waiting], is_open)
            best = np.argsort(-words, kind="stable")[: min(CHECKED_AT_ONCE, np.count_nonzero(words))].tolist()
            if not best:
                break
            for each in self._reader.check([waiting[place] for place in best]):
                is_any = True
                for start, end in each.cover.tolist():
                    is_open[start:end] = False
            taken = set(best)
            waiting = [each for place, each in enumerate(waiting) if words[place] and place not in taken]
        return is_any

    def _words(self, ranges: Sequence[Numbers], is_meant: npt.NDArray[np.bool_]) -> Numbers:
        """Return the number of meant words in each candidate's ranges."""
        owners = np.repeat(np.arange(len(ranges)), [len(each) for each in ranges])
        words = words_in(np.concatenate([_NOTHING, *ranges]), is_meant)
        return np.bincount(owners, words, len(ranges)).astype(np.int64)


def _name(engine: Engine, candidates: Iterable[Shared]) -> None:
    """Look up the missing names of candidates."""
    nameless = [each for each in candidates if each.name is None]
    stored = engine.documents([each.id for each in nameless]) if nameless else {}
    for each in nameless:
        each.name = stored[each.id].name if each.id in stored else ""


def _common(commons: Commons, is_common: npt.NDArray[np.bool_], covers: Sequence[Numbers], is_ignored: bool) -> Common:
    covered = marked(np.concatenate([_NOTHING, *covers]), is_common.size)
    limit = None if commons.frequencies is None else commons.frequencies.limit
    return Common(limit, int(np.count_nonzero(is_common)), int(np.count_nonzero(covered & ~is_common)), is_ignored)


def _source(
    shared: Shared, new_words: int, is_once: npt.NDArray[np.bool_], is_counted: npt.NDArray[np.bool_]
) -> TextSource:
    assert shared.comparison is not None
    return TextSource(
        id=shared.id,
        name=shared.name or "",
        words=int(words_in(shared.cover, is_counted).sum()),
        new_words=new_words,
        only_words=int(words_in(shared.cover, is_once).sum()),
        shares=shared.comparison.shares,
        shingles=shared.comparison.b.shingles,
        passages=shared.passages,
        content=shared.content,
        rest=shared.comparison.rest,
    )
