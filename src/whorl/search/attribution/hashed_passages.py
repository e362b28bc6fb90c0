"""Makes the passages of sources in a store without texts, from the hashes and their places in the documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import find_sorted, indices_of_ranges, ranges_of
from whorl.fingerprint.winnowing import PassagePlaces
from whorl.request_context import require_time
from whorl.search.attribution.cover import Numbers
from whorl.search.attribution.results import HashedPassage, WordPlace

#: Maximum number of pairs of a place in the text and a place in the document.
_MOST_PAIRS = 100_000
#: Words of a passage may be broken at line ends in the document, and then count as two there. If two overlapping runs
#: differ by at most this number of such words, they are one passage.
_MOST_BROKEN = 2


class _Run(NamedTuple):
    """Words that a text and a document share: a half-open range of the text's words, and one of the document's."""

    start: int
    end: int
    first: int
    last: int


class HashedPassages:
    """Finds where the passages of a text are in documents, given the hashes of the text in order and of the documents.

    `spans` has the characters of the text's words. Each hash covers `hashed_words` words.
    """

    def __init__(self, spans: Numbers, hashed_words: int, hashes: npt.NDArray[np.uint64]) -> None:
        self._spans, self._hashed_words = spans, hashed_words
        self._places = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._places]

    def find(self, cover: Numbers, stored: PassagePlaces | None) -> tuple[HashedPassage, ...]:
        """Return the passages in the text's ranges of words `cover`, longest first.

        A range whose parts are in different places of the document is several passages. Words that `stored` lacks are
        passages without a place.
        """
        require_time()
        is_open = np.zeros(len(self._spans), np.bool_)
        for start, end in cover.tolist():
            is_open[start:end] = True
        passages = list[tuple[int, int, WordPlace | None]]()
        if stored is not None:
            runs = _join_broken(_choose_runs(self._find_runs(stored), is_open))
            passages += [(run.start, run.end, WordPlace(run.first + 1, run.last, stored.words)) for run in runs]
        if is_open.any():
            passages += [(start, end, None) for start, end in ranges_of(is_open).tolist()]
        passages.sort(key=lambda passage: (passage[0] - passage[1], passage[0]))
        return tuple(
            HashedPassage((int(self._spans[start, 0]), int(self._spans[end - 1, 1])), end - start, place)
            for start, end, place in passages
        )

    def _find_runs(self, stored: PassagePlaces) -> list[_Run]:
        """Return the runs of words that the text and a document share."""
        begins, is_known = find_sorted(self._hashes, stored.hashes)
        known = is_known.nonzero()[0]
        counts = np.searchsorted(self._hashes, stored.hashes[known], side="right") - begins[known]
        if counts.sum() > _MOST_PAIRS:
            # Both repeat the same hashes, so use only the first place of each hash in the document.
            _, firsts = np.unique(begins[known], return_index=True)
            known, counts = known[firsts], counts[firsts]
        starts = self._places[indices_of_ranges(begins[known], counts)]
        steps = stored.places[known].repeat(counts) - starts
        runs = list[_Run]()
        for step, start in sorted(zip(steps.tolist(), starts.tolist(), strict=True)):
            end = start + self._hashed_words
            if runs and runs[-1].first - runs[-1].start == step and start <= runs[-1].end:
                runs[-1] = _Run(runs[-1].start, end, runs[-1].first, end + step)
            else:
                runs.append(_Run(start, end, start + step, end + step))
        return runs


def _choose_runs(runs: Iterable[_Run], is_open: npt.NDArray[np.bool_]) -> list[_Run]:
    """Return long runs that together have all words of the runs, in the order of the text; clear `is_open` there."""
    chosen = list[_Run]()
    for run in sorted(runs, key=lambda run: (run.start - run.end, run)):
        if is_open[run.start : run.end].any():
            is_open[run.start : run.end] = False
            chosen.append(run)
    return sorted(chosen)


def _join_broken(runs: Iterable[_Run]) -> list[_Run]:
    """Join overlapping runs that a broken word of the document separates."""
    joined = list[_Run]()
    for run in runs:
        last = joined[-1] if joined else run
        step = (run.first - run.start) - (last.last - last.end)
        if joined and run.start < last.end < run.end and abs(step) <= _MOST_BROKEN:
            joined[-1] = _Run(last.start, run.end, last.first, run.last)
        else:
            joined.append(run)
    return joined
