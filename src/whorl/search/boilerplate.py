"""Detects text that is common in a collection, and compares texts with and without it.

A licence, a form or a letterhead is common if more than a given number of documents contain it, or if the user names it
as boilerplate. The numbers of documents come from passage hashes (`fingerprint.winnowing`). Words between two adjacent
common passages are also common.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import mask_ranges
from whorl.errors import ParameterError, StoreError
from whorl.fingerprint.compare_texts import (
    CommonWords,
    Comparison,
    ShingleIndex,
    TextWords,
    compare_words,
    rejoin_pair,
    words_of,
)
from whorl.fingerprint.shingling import Scheme, join
from whorl.fingerprint.winnowing import PassageScheme, winnow_with_positions

if TYPE_CHECKING:
    from whorl.engine.protocol import Engine

#: Default of `common_above` if common text is ignored.
DEFAULT_ABOVE = "1%"
#: Minimum limit, in documents, if the limit is given in percent: 1 % of a small collection could be a single document.
LEAST_DOCUMENTS = 10
#: Minimum length, in words, of a passage shared with a boilerplate text.
_LEAST_WORDS = 8
_LIMIT = re.compile(r"(\d+(?:\.\d+)?)\s*%|(\d+)", re.ASCII)


class CompareOptions(TypedDict, total=False):
    """Keywords of `Store.compare` that define common text (boilerplate); see `CommonOptions`.

    If one of these keywords is given, the result also has the shares without common text.
    """

    common_above: str | None
    boilerplate: Sequence[str]


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Looks up in how many documents passages occur; a passage in more than `limit` documents is common."""

    engine: Engine
    scheme: PassageScheme
    limit: int
    _known: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    def is_common(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return a mask of the passage hashes that more than `limit` documents have; bool array of the same shape."""
        wanted = numbers.tolist()
        # Compared texts often share passages, so cache the frequencies.
        if unknown := sorted({*wanted}.difference(self._known)):
            self._known.update(zip(unknown, self.engine.passage_counts(unknown), strict=True))
        return np.array([self._known[number] > self.limit for number in wanted], np.bool_)


@dataclass(frozen=True, slots=True)
class BoilerplateDetector:
    """Detects the common words of a text: words in passages of boilerplate texts or in frequent passages."""

    scheme: Scheme
    texts: tuple[TextWords, ...] = ()
    frequencies: Frequencies | None = None

    @property
    def edge(self) -> int:
        """Maximum number of common words that `mark_common` may miss at each end of a run of common words."""
        # Winnowing keeps only the smallest hash of each window. For the last window of a run, this may be a hash of
        # words outside the run. Then no hash marks the outermost words of the run.
        return self.frequencies.scheme.window - 1 if self.frequencies else 0

    def mark_common(self, of_text: TextWords) -> npt.NDArray[np.bool_]:
        """Return a mask of the common words of a text."""
        is_common = np.zeros(len(of_text.words), np.bool_)
        if self.frequencies is not None:
            scheme = self.frequencies.scheme
            places, numbers = winnow_with_positions(join(of_text.words), scheme)
            _mark_runs(is_common, places, self.frequencies.is_common(numbers), scheme.hashed_words)
        for own in self.texts:
            for passage in compare_words(of_text, own, self.scheme).passages:
                if passage.words >= _LEAST_WORDS:
                    start = int(np.searchsorted(of_text.spans[:, 0], passage.a[0]))
                    is_common[start : start + passage.words] = True
        return is_common


class Comparer:
    """Compares a text (A) with other texts (B). If a detector is given, it also compares them without common text."""

    def __init__(self, text: TextWords, scheme: Scheme, detector: BoilerplateDetector | None) -> None:
        self.text, self._index, self._detector = text, ShingleIndex(text, scheme), detector
        self.is_common = np.zeros(len(text.words), np.bool_) if detector is None else detector.mark_common(text)
        self.edge = detector.edge if detector else 0

    def rejoin_halves(self, words: TextWords) -> TextWords:
        """Join the halves of B's broken words if A contains the whole word but not the halves.

        If A contains both, keep the halves, because A may have been copied with the hyphen.
        """
        return words.rejoin(self._index.vocabulary, self._pairs) if words.broken_words.size else words

    @cached_property
    def _pairs(self) -> frozenset[tuple[str, str]]:
        return frozenset(pairwise(self.text.words))

    def compare(self, words: TextWords, min_words: int = 0) -> Comparison:
        """Compare the text (A) with the words of another text (B); `compare_words` explains `min_words`."""
        words, detector = self.rejoin_halves(words), self._detector
        common = None if detector is None else CommonWords(self.is_common, detector.mark_common(words), self.edge)
        return self._index.compare(words, common, min_words)


def compare_two_texts(text_a: str, text_b: str, scheme: Scheme, detector: BoilerplateDetector | None) -> Comparison:
    """Compare two texts; if a detector is given, also compare them without common text."""
    of_a, of_b = rejoin_pair(words_of(text_a, scheme), words_of(text_b, scheme))
    return Comparer(of_a, scheme, detector).compare(of_b)


def _mark_runs(
    marked: npt.NDArray[np.bool_], places: npt.NDArray[np.int64], is_frequent: npt.NDArray[np.bool_], width: int
) -> None:
    """Mark the words of frequent hashes, and the words between two adjacent frequent hashes.

    `places` has the index of each hash's first word, ascending; `width` is the number of words of a hash. `marked` is
    changed in place.
    """
    both = is_frequent[1:] & is_frequent[:-1]
    ends = places + width
    ends[:-1] = np.where(both, np.maximum(ends[:-1], places[1:]), ends[:-1])
    marked |= mask_ranges(np.stack((places, ends), axis=1)[is_frequent], marked.size)


def boilerplate_detector(
    engine: Engine, common_above: str | None = None, boilerplate: Sequence[str] = (), *, ignore_common: bool = False
) -> BoilerplateDetector | None:
    """Return a detector of common words, or None if there is neither a limit nor a boilerplate text.

    Raises:
        ParameterError: The limit is neither a number nor a percentage, or the store keeps no passages.
    """
    if common_above is None and not boilerplate:
        if not ignore_common:
            # Do not call the engine, which may be unavailable.
            return None
        common_above = DEFAULT_ABOVE
    named = detector_of_texts(boilerplate, engine.scheme)
    if common_above is None:
        return named
    limit = common_limit(common_above, engine.count())
    if engine.passage_scheme is None:
        raise ParameterError(
            "common text is found by passages, and this store does not have the passages of all its documents: 'whorl "
            "index --passages' adds them (docs/boilerplate.md); or give the common texts themselves (boilerplate)"
        )
    return replace(named, frequencies=Frequencies(engine, engine.passage_scheme, limit))


def detector_for_comparison(
    engine: Engine, common_above: str | None = None, boilerplate: Sequence[str] = ()
) -> BoilerplateDetector | None:
    """Return a `boilerplate_detector`; raise StoreError if the index lacks changes because its last write failed.

    Documents that a writer is still adding are not counted, because waiting for it could take hours.
    """
    if common_above is not None and (lag := engine.index_lag()) and not lag.is_pending:
        raise StoreError(f"{lag}; what is common in the collection would be wrong without them")
    return boilerplate_detector(engine, common_above, boilerplate)


def detector_of_texts(texts: Sequence[str], scheme: Scheme) -> BoilerplateDetector:
    return BoilerplateDetector(scheme, tuple(words_of(text, scheme) for text in texts))


def common_limit(above: str, documents: int) -> int:
    """Convert the limit for common text to a number of documents; a percentage gives at least 10.

    Raises:
        ParameterError: The limit is neither a number nor a percentage.

    >>> common_limit("1%", 5_000), common_limit("1%", 30), common_limit("3", 30)
    (50, 10, 3)
    """
    match = _LIMIT.fullmatch(above.strip())
    if not match or (match[1] and not 0 < Fraction(match[1]) <= 100) or (match[2] and int(match[2]) < 1):
        raise ParameterError(f"common text is set by a number of documents (50) or a share (1%), got {above!r:.80}")
    if match[2]:
        return int(match[2])
    return max(LEAST_DOCUMENTS, int(Fraction(match[1]) / 100 * documents))
