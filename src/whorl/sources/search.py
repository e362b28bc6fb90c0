"""Which documents account for a text: candidates by their sketches, then every share and passage from whole texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.arrays import chunks
from whorl.boilerplate import Commons, Comparer
from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.passages import Comparison, Passage, TextWords, words_of
from whorl.planning.build import BoundNode
from whorl.sources.candidates import Candidate, find_candidates
from whorl.sources.cover import Numbers, covered_once, greedy_cover, joined, words_in
from whorl.sources.exclusions import Exclusion, excluded_words
from whorl.sources.result import Attribution, Common, TextSource

#: Words of the shortest passage that counts, where none is named: shorter ones are phrases that everybody uses.
MIN_WORDS = 8
#: Documents read for one text where no number is named, and the largest number that may be.
DEFAULT_READ, MOST_READ = 300, 10_000
#: No more documents are read once they have so many characters together.
MOST_CHARACTERS = 20_000_000
#: Texts fetched in one request, and about how many shingles they may have together.
_TEXTS_AT_ONCE, _SHINGLES_AT_ONCE = 25, 100_000


@dataclass(frozen=True, slots=True)
class _Read:
    """A document that was compared with the text.

    Args:
        candidate: The document.
        content: Its text.
        comparison: The text, as A, and the document, as B.
        ranges: The words of the text that each passage holds; int64 array of shape (passages, 2), half-open.
    """

    candidate: Candidate
    content: str
    comparison: Comparison
    ranges: Numbers


@dataclass(frozen=True, slots=True)
class _Shared:
    """A document that shares passages with the text which are long enough.

    Args:
        read: The document.
        passages: These passages.
        cover: The words of the text that stand in them, as `joined` returns them.
        words: How many of them are counted.
    """

    read: _Read
    passages: tuple[Passage, ...]
    cover: Numbers
    words: int

    @classmethod
    def of(cls, read: _Read, min_words: int, is_counted: npt.NDArray[np.bool_]) -> _Shared | None:
        """Return what a document shares; None where it is too little."""
        is_long = words_in(read.ranges, is_counted) >= min_words
        if not is_long.any():
            return None
        kept = zip(read.comparison.passages, is_long.tolist(), strict=True)
        cover = joined(read.ranges[is_long, 0], read.ranges[is_long, 1])
        return cls(read, tuple(each for each, keep in kept if keep), cover, int(words_in(cover, is_counted).sum()))


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
    progress: Callable[[str, int, int], None] | None = None,
) -> Attribution:
    """Return the documents that account for a text.

    Args:
        engine: Where they are.
        text: The text.
        recall: Wanted chance that a document with a passage becomes a candidate, a fraction in (0, 1].
        min_words: Words of the shortest passage that counts, at least 1. None is shorter than a shingle.
        most_read: Documents whose texts are compared at most, 1 to 10,000.
        left_out: Documents that are no sources.
        own_id: The id of the document whose text it is; it is no source either.
        commons: Tells what is common.
        ignore_common: Whether the sources account for what is not common alone.
        without: Parts of the text that they need not account for.
        progress: Called now and then with what is done, how much of it, and of how much.

    Raises:
        ParameterError: A number is out of its range.
    """
    if min_words < 1:
        raise ParameterError(f"min_words must be at least 1, got {min_words}")
    if not 1 <= most_read <= MOST_READ:
        raise ParameterError(f"most_read must be 1 to {MOST_READ:,}, got {most_read}")
    tell = progress or (lambda doing, done, total: None)
    of_text = words_of(text, engine.scheme)
    candidates = find_candidates(
        engine, text, of_text, recall, min_words=min_words, left_out=left_out, own_id=own_id, progress=tell
    )
    comparer = Comparer(of_text, engine.scheme, commons)
    reader = _Reader(engine, of_text, min_words, tell, comparer)
    read = list(reader.read(candidates.found, most_read))
    is_common = comparer.is_common.copy()
    for each in read:
        if each.comparison.rest is not None:
            is_common |= each.comparison.rest.words_a
    is_counted = ~is_common if ignore_common else np.full(len(of_text.words), True)
    is_excluded = excluded_words(text, of_text, without) & is_counted
    is_counted &= ~is_excluded
    shared = [one for each in read if (one := _Shared.of(each, min_words, is_counted))]
    covers = [each.cover for each in shared]
    chosen = greedy_cover(covers, is_counted)
    is_once = covered_once(covers, len(of_text.words)) & is_counted
    places = {place for place, _ in chosen}
    others = [each for place, each in enumerate(shared) if place not in places]
    others.sort(key=lambda each: (-each.words, each.read.candidate.id))
    return Attribution(
        content=text,
        words=len(of_text.words),
        min_words=min_words,
        sources=tuple(_source(shared[place], new_words, is_once) for place, new_words in chosen),
        also=tuple((each.read.candidate.id, each.read.candidate.name) for each in others),
        longest_passage=max((each.passages[0].words for each in shared), default=0),
        candidates=len(candidates.found),
        read=reader.compared,
        without_text=reader.without_text,
        promise=candidates.promise,
        warnings=candidates.warnings,
        common=None if commons is None else _common(commons, is_common, covers, ignore_common),
        excluded_words=int(np.count_nonzero(is_excluded)),
    )


def _common(commons: Commons, is_common: npt.NDArray[np.bool_], covers: Sequence[Numbers], is_ignored: bool) -> Common:
    everything = np.concatenate([np.empty((0, 2), np.int64), *covers])
    covered = words_in(joined(everything[:, 0], everything[:, 1]), ~is_common)
    limit = None if commons.frequencies is None else commons.frequencies.limit
    return Common(limit, int(np.count_nonzero(is_common)), int(covered.sum()), is_ignored)


class _Reader:
    """Reads candidates and compares them with the text, as far as the means of one search go."""

    def __init__(
        self,
        engine: Engine,
        of_text: TextWords,
        min_words: int,
        progress: Callable[[str, int, int], None],
        comparer: Comparer,
    ) -> None:
        self._engine, self._of_text, self._min_words, self._progress = engine, of_text, min_words, progress
        self._comparer = comparer
        self.compared = self.without_text = 0

    def read(self, candidates: Sequence[Candidate], most: int) -> Iterator[_Read]:
        """Yield those of the first candidates that share passages with the text."""
        wanted, characters = candidates[:most], 0
        for group in chunks(wanted, _shingles, _SHINGLES_AT_ONCE, _TEXTS_AT_ONCE):
            require_time()
            texts = self._engine.texts([each.id for each in group])
            for candidate in group:
                self._progress("comparing", self.compared, len(wanted))
                content = texts.get(candidate.id)
                if content is None:
                    self.without_text += 1
                    continue
                require_time()
                characters += len(content)
                read = self._compared(candidate, content)
                if any(each.words >= self._min_words for each in read.comparison.passages):
                    yield read
            if characters >= MOST_CHARACTERS:
                return

    def _compared(self, candidate: Candidate, content: str) -> _Read:
        self.compared += 1
        comparison = self._comparer.compare(content)
        # Words do not overlap, so a passage begins with the word that stands where it does.
        starts = np.searchsorted(self._of_text.spans[:, 0], [each.a[0] for each in comparison.passages])
        words = np.array([each.words for each in comparison.passages], np.int64)
        return _Read(candidate, content, comparison, np.stack((starts, starts + words), axis=1))


def _source(shared: _Shared, new_words: int, is_once: npt.NDArray[np.bool_]) -> TextSource:
    candidate, comparison = shared.read.candidate, shared.read.comparison
    return TextSource(
        id=candidate.id,
        name=candidate.name,
        words=shared.words,
        new_words=new_words,
        only_words=int(words_in(shared.cover, is_once).sum()),
        shares=comparison.shares,
        shingles=comparison.b.shingles,
        passages=shared.passages,
        content=shared.read.content,
        rest=comparison.rest,
    )


def _shingles(candidate: Candidate) -> int:
    return _SHINGLES_AT_ONCE // _TEXTS_AT_ONCE if candidate.shingles is None else candidate.shingles
