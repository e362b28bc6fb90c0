"""What is common in a collection, such as a licence, a form or a letterhead: told apart from what two texts share.

Common is what stands in more than a given number of the collection's documents, by its own frequencies: how many
documents keep each number of a text's passages (`fingerprint.winnow`) is looked up in the index, so it is never older
than the index and needs nothing beside it. Words between two such passages that follow one another are common with
them. Common are also the passages that a text has of those that the user names as boilerplate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.hashing import join
from whorl.fingerprint.passages import CommonWords, Comparison, TextWords, compare_words, words_of
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.winnow import PassageScheme, kept_places

#: What stands in more documents is common, where that is ignored and nothing else is said.
DEFAULT_ABOVE = "1%"
#: Of a share, never fewer documents than these: in a small collection a hundredth is one document.
LEAST_DOCUMENTS = 10
#: Words of the shortest passage of a boilerplate text that counts: shorter ones are anybody's.
_LEAST_WORDS = 8
_LINE = re.compile(r"(\d+(?:\.\d+)?)\s*%|(\d+)", re.ASCII)


class CommonOptions(TypedDict, total=False):
    """What text is common.

    Args:
        common_above: What stands in more documents of the store is: a number of documents ("50"), or a share of all
            ("1%", of which at least `LEAST_DOCUMENTS` are taken). None, or not given, where nothing is by that.
        boilerplate: Texts of which it is what they have in common with others.
        ignore_common: Whether it counts for nothing.
    """

    common_above: str | None
    boilerplate: Sequence[str]
    ignore_common: bool


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many documents have a passage.

    Args:
        engine: The collection.
        scheme: What it keeps of passages.
        limit: What stands in more documents is common.
    """

    engine: Engine
    scheme: PassageScheme
    limit: int
    _known: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    def is_common(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return which numbers of passages are common; bool array of the same shape."""
        distinct, inverse = np.unique(numbers, return_inverse=True)
        wanted = distinct.tolist()
        # Texts that are compared with one another have many passages in common.
        unknown = [each for each in wanted if each not in self._known]
        if unknown:
            self._known.update(zip(unknown, self.engine.passage_counts(unknown), strict=True))
        counts = np.array([self._known[each] for each in wanted], np.int64)
        is_common: npt.NDArray[np.bool_] = counts[inverse] > self.limit
        return is_common


@dataclass(frozen=True, slots=True)
class Commons:
    """Tells which words of a text are common.

    Args:
        scheme: What words and shingles are.
        texts: The words of boilerplate.
        frequencies: Those of the collection; None where only `texts` count.
    """

    scheme: Scheme
    texts: tuple[TextWords, ...] = ()
    frequencies: Frequencies | None = None

    @property
    def edge(self) -> int:
        """By how many words at either end a common run may be longer than `words` tells."""
        # There the smallest hash of a window may be one of what stands beside the run.
        return self.frequencies.scheme.window - 1 if self.frequencies else 0

    def words(self, of_text: TextWords) -> npt.NDArray[np.bool_]:
        """Return which words of a text are common; bool array of shape (words,)."""
        is_common = np.zeros(len(of_text.words), np.bool_)
        if self.frequencies is not None:
            kept = self.frequencies.scheme
            places, numbers = kept_places(join(of_text.words), kept)
            _mark_runs(is_common, places, self.frequencies.is_common(numbers), kept.hashed_words)
        for own in self.texts:
            for passage in compare_words(of_text, own, self.scheme).passages:
                if passage.words >= _LEAST_WORDS:
                    start = int(np.searchsorted(of_text.spans[:, 0], passage.a[0]))
                    is_common[start : start + passage.words] = True
        return is_common


class Comparer:
    """Compares one text, as A, with others, also without what is common where somebody has said what that is.

    Args:
        text: Its words.
        scheme: What words and shingles are.
        commons: Tells what is common; None where nobody has said that.

    Attributes:
        is_common: Which of its words are; bool array of shape (words,).
    """

    def __init__(self, text: TextWords, scheme: Scheme, commons: Commons | None) -> None:
        self._text, self._scheme, self._commons = text, scheme, commons
        self.is_common = np.zeros(len(text.words), np.bool_) if commons is None else commons.words(text)

    def compare(self, other: str) -> Comparison:
        """Return how another text, as B, compares with it."""
        words, common = words_of(other, self._scheme), None
        if self._commons is not None:
            common = CommonWords(self.is_common, self._commons.words(words), self._commons.edge)
        return compare_words(self._text, words, self._scheme, common)


def _mark_runs(
    marked: npt.NDArray[np.bool_], places: npt.NDArray[np.int64], is_frequent: npt.NDArray[np.bool_], width: int
) -> None:
    """Mark the words of frequent hashes, and those between two frequent ones that are neighbours."""
    both = is_frequent[1:] & is_frequent[:-1]
    ends = places + width
    ends[:-1] = np.where(both, np.maximum(ends[:-1], places[1:]), ends[:-1])
    edges = np.zeros(marked.size + 1, np.int64)
    np.add.at(edges, places[is_frequent], 1)
    np.add.at(edges, ends[is_frequent], -1)
    marked |= np.cumsum(edges[:-1]) > 0


def commons(
    engine: Engine, common_above: str | None = None, boilerplate: Sequence[str] = (), *, ignore_common: bool = False
) -> Commons | None:
    """Return what tells the common words of texts; None where neither a line nor boilerplate is named.

    Args:
        engine: The collection.
        common_above: As in `CommonOptions`.
        boilerplate: Likewise.
        ignore_common: Likewise.

    Raises:
        ParameterError: The line is no number and no share, or the store keeps no passages; or what is common is
            ignored, and nothing says what that is.
    """
    if common_above is None and not boilerplate:
        if ignore_common:
            raise ParameterError("ignore_common needs common_above or boilerplate to say which text is common")
        # The engine is not asked: it may be away, and the query wrong.
        return None
    named = named_commons(boilerplate, engine.scheme)
    if common_above is None:
        return named
    limit = common_limit(common_above, engine.count())
    if engine.passage_scheme is None:
        raise ParameterError(
            "what is common in the collection is told by passages, and this store keeps none of all its documents: "
            "'whorl index --passages' makes them (docs/boilerplate.md); boilerplate can also be named as files"
        )
    return replace(named, frequencies=Frequencies(engine, engine.passage_scheme, limit))


def ignored(
    engine: Engine, common_above: str | None = None, boilerplate: Sequence[str] = (), *, ignore_common: bool = False
) -> Commons | None:
    """Return what tells the words that count for nothing; None where nothing is ignored. See `commons`."""
    return commons(engine, common_above, boilerplate, ignore_common=True) if ignore_common else None


def named_commons(texts: Sequence[str], scheme: Scheme) -> Commons:
    """Return what takes for common what stands in some texts, and nothing else."""
    return Commons(scheme, tuple(words_of(text, scheme) for text in texts))


def common_limit(above: str, documents: int) -> int:
    """Return the number of documents that what is common stands in more of.

    Args:
        above: As `common_above` in `CommonOptions`.
        documents: How many there are in all.

    Raises:
        ParameterError: It is neither a number nor a share.

    >>> common_limit("1%", 5_000), common_limit("1%", 30), common_limit("3", 30)
    (50, 10, 3)
    """
    found = _LINE.fullmatch(above.strip())
    if not found or (found[1] and not 0 < Fraction(found[1]) <= 100) or (found[2] and int(found[2]) < 1):
        raise ParameterError(f"common text is set by a number of documents (50) or a share (1%), got {above!r}")
    if found[2]:
        return int(found[2])
    return max(LEAST_DOCUMENTS, int(Fraction(found[1]) / 100 * documents))
