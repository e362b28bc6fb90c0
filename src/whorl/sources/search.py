"""Which documents account for a text: candidates by their sketches, then every share and passage from whole texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.arrays import chunks
from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.passages import Comparison, Passage, TextWords, compare_words, words_of
from whorl.planning.build import BoundNode
from whorl.sources.candidates import Candidate, find_candidates
from whorl.sources.cover import Numbers, covered_once, greedy_cover, joined, words_in
from whorl.sources.result import Attribution, TextSource

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
        passages: Those that are long enough.
        cover: The words of the text that stand in these, as `joined` returns them.
    """

    candidate: Candidate
    content: str
    comparison: Comparison
    passages: tuple[Passage, ...]
    cover: Numbers


def find_sources(
    engine: Engine,
    text: str,
    recall: Fraction,
    *,
    min_words: int = MIN_WORDS,
    most_read: int = DEFAULT_READ,
    left_out: BoundNode | None = None,
    own_id: str | None = None,
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
    reader = _Reader(engine, of_text, min_words, tell)
    shared = list(reader.read(candidates.found, most_read))
    covers = [each.cover for each in shared]
    chosen = greedy_cover(covers, len(of_text.words))
    is_once = covered_once(covers, len(of_text.words))
    places = {place for place, _ in chosen}
    others = [each for place, each in enumerate(shared) if place not in places]
    others.sort(key=lambda each: (-_words(each.cover), each.candidate.id))
    return Attribution(
        content=text,
        words=len(of_text.words),
        min_words=min_words,
        sources=tuple(_source(shared[place], new_words, is_once) for place, new_words in chosen),
        also=tuple((each.candidate.id, each.candidate.name) for each in others),
        longest_passage=max((each.passages[0].words for each in shared), default=0),
        candidates=len(candidates.found),
        read=reader.compared,
        without_text=reader.without_text,
        promise=candidates.promise,
        warnings=candidates.warnings,
    )


class _Reader:
    """Reads candidates and compares them with the text, as far as the means of one search go."""

    def __init__(
        self, engine: Engine, of_text: TextWords, min_words: int, progress: Callable[[str, int, int], None]
    ) -> None:
        self._engine, self._of_text, self._min_words, self._progress = engine, of_text, min_words, progress
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
                if read := self._compared(candidate, content):
                    yield read
            if characters >= MOST_CHARACTERS:
                return

    def _compared(self, candidate: Candidate, content: str) -> _Read | None:
        self.compared += 1
        scheme = self._engine.scheme
        comparison = compare_words(self._of_text, words_of(content, scheme), scheme)
        passages = tuple(each for each in comparison.passages if each.words >= self._min_words)
        if not passages:
            return None
        # Words do not overlap, so a passage begins with the word that stands where it does.
        starts = np.searchsorted(self._of_text.spans[:, 0], [each.a[0] for each in passages])
        cover = joined(starts, starts + np.array([each.words for each in passages]))
        return _Read(candidate, content, comparison, passages, cover)


def _source(read: _Read, new_words: int, is_once: npt.NDArray[np.bool_]) -> TextSource:
    return TextSource(
        id=read.candidate.id,
        name=read.candidate.name,
        words=_words(read.cover),
        new_words=new_words,
        only_words=int(words_in(read.cover, is_once).sum()),
        shares=read.comparison.shares,
        shingles=read.comparison.b.shingles,
        passages=read.passages,
        content=read.content,
    )


def _words(cover: Numbers) -> int:
    return int((cover[:, 1] - cover[:, 0]).sum())


def _shingles(candidate: Candidate) -> int:
    return _SHINGLES_AT_ONCE // _TEXTS_AT_ONCE if candidate.shingles is None else candidate.shingles
