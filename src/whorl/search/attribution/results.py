"""Results of `sources`: the source documents of a text, and the words that each document covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

from whorl.fingerprint.compare_texts import Passage, ResidualOverlap
from whorl.fingerprint.statistics.metric import Share, Shares

#: How much of a text its sources contain; the user sets the two thresholds between the levels.
Level = Literal["low", "medium", "high"]


class WordPlace(NamedTuple):
    """Words of a document: the numbers of the first and the last one, from 1, and the number of all its words.

    Words that are broken at line ends count as two.
    """

    first_word: int
    last_word: int
    document_words: int


@dataclass(frozen=True, slots=True)
class HashedPassage:
    """A passage found by its hashes only, so its characters in the document are unknown; both ends may lack some words.

    Args:
        a: Position in the text: a half-open range of characters.
        words: Number of words.
        b_words: Position in the document; None if it is unknown.
    """

    a: tuple[int, int]
    words: int
    b_words: WordPlace | None = None
    b: None = None


@dataclass(frozen=True, slots=True)
class TextSource:
    """A document with passages of a text; in comparisons, the text is A and the document is B.

    Args:
        words: Number of the text's words that are in the passages.
        new_words: Number of words in the passages that no earlier source contains, at least 1.
        only_words: Number of words in the passages that are in no known passage of another candidate. This is an upper
            bound if some candidates were not read, because their passages may be longer than known.
        shares: Overlap of the text and the document, counted on all shingles; None if the store keeps no texts.
        shingles: Number of the document's distinct shingles; None if the store keeps no texts.
        passages: The passages, longest first, ties in the order of the text; they may overlap.
        content: The document's text, which the ranges of the passages refer to.
        residual: Overlap of the text and the document without boilerplate; None if boilerplate is not defined.
    """

    id: str
    name: str
    words: int
    new_words: int
    only_words: int
    shares: Shares | None
    shingles: int | None
    passages: Sequence[Passage | HashedPassage]
    content: str = field(repr=False)
    residual: ResidualOverlap | None = None


@dataclass(frozen=True, slots=True)
class Common:
    """Boilerplate in a text, and the number of the text's other words that the sources contain.

    Args:
        limit: A passage in more than this number of documents is boilerplate; None if only given texts define
            boilerplate.
        words: Number of the text's words that are known to be boilerplate; a lower bound, because up to twelve words at
            either end of boilerplate may go unrecognised.
        covered_words: Number of words that are in a passage of a source and are not boilerplate.
        is_ignored: Whether the word counts of the sources leave out boilerplate.
    """

    limit: int | None
    words: int
    covered_words: int
    is_ignored: bool


@dataclass(frozen=True, slots=True)
class Promise:
    """Promised recall: the chance that a document with a passage of the text becomes a candidate.

    Args:
        recall: The requested chance, a fraction in (0, 1].
        words: Minimum length in words of a passage that makes a document of any size a candidate with this chance; None
            if this is promised for no length.
        certain_words: Minimum length in words of a passage that certainly makes a document a candidate, except where
            many documents have the same hash (`crowded`). None if the store keeps no passage hashes.
        crowded: Number of passage hashes of the text that too many documents have; only some of these documents become
            candidates.
    """

    recall: Fraction
    words: int | None
    certain_words: int | None = None
    crowded: int = 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """Sources of a text: a small set of documents that covers most of the text, chosen greedily.

    Args:
        min_words: Minimum length of a passage in words.
        sources: Sources, sorted by the number of words that each adds to the sources before it, most first; each adds
            at least one word.
        also: Ids and names of documents that share passages but add nothing to the sources, the largest overlap first;
            at most 300.
        also_count: Number of all documents that share passages but add nothing to the sources.
        longest_passage: Number of words of the longest passage of the sources; 0 if the text has no sources.
        candidates: Number of documents that may have a passage of the text.
        read: Number of candidates whose texts were read.
        without_text: Number of candidates without a stored text.
        unread: Number of possible sources that were not read because of a limit. Other unread candidates would add no
            words.
        common: Boilerplate of the text; None if it is not defined. If it is ignored, the word counts of the sources
            leave it out.
        excluded_words: Number of the text's words in excluded ranges, for example in quotations.
        is_complete: Whether the search can find all documents; false if the index lacks some.
    """

    content: str = field(repr=False)
    words: int
    min_words: int
    sources: tuple[TextSource, ...]
    also: tuple[tuple[str, str], ...]
    also_count: int
    longest_passage: int
    candidates: int
    read: int
    without_text: int
    unread: int
    promise: Promise
    warnings: tuple[str, ...] = ()
    common: Common | None = None
    excluded_words: int = 0
    level: Level = "low"
    is_complete: bool = True

    @property
    def counted_words(self) -> int:
        """Number of words of the text without ignored boilerplate and excluded parts."""
        ignored = self.common.words if self.common and self.common.is_ignored else 0
        return self.words - ignored - self.excluded_words

    @property
    def covered_words(self) -> int:
        """Number of counted words of the text that are in a passage of a source."""
        return sum(source.new_words for source in self.sources)

    @property
    def coverage(self) -> Share:
        """Fraction of the counted words that are in a passage of a source, 0 to 1; 0 if no word is counted."""
        return self.covered_words / self.counted_words if self.counted_words else 0.0
