"""What is known of where a text comes from: its sources, each with what it covers, and what was not looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from whorl.fingerprint.passages import Passage, Rest
from whorl.fingerprint.statistics.metric import Shares


@dataclass(frozen=True, slots=True)
class TextSource:
    """A document that has passages of a text, which is A where the two are compared; the document is B.

    Args:
        id: The document's id.
        name: What people know it by, or "".
        words: Words of the text that stand in the passages.
        new_words: Those of them that no source before it covers, at least 1.
        only_words: Those of them that no other document that was read has in a passage.
        shares: What both share, counted on all of their shingles.
        shingles: The document's distinct shingles.
        passages: The longest first, equally long ones in the order of the text; they may overlap.
        content: The document's text, which the passages are ranges of.
        rest: What both share without what is common; None where nobody has told what that is.
    """

    id: str
    name: str
    words: int
    new_words: int
    only_words: int
    shares: Shares
    shingles: int
    passages: tuple[Passage, ...]
    content: str = field(repr=False)
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class Common:
    """What of a text is common, and what of the rest stands in passages.

    Args:
        limit: What stands in more documents is common; None where only texts named as boilerplate are.
        words: Words of the text that are common.
        covered_words: Words that are not, and stand in a passage of any document that was read.
        is_ignored: Whether the sources account for those alone.
    """

    limit: int | None
    words: int
    covered_words: int
    is_ignored: bool


@dataclass(frozen=True, slots=True)
class Promise:
    """How surely a document that has a passage of the text is looked at.

    Args:
        recall: The wanted chance, a fraction in (0, 1].
        words: With that chance at least a document that has a passage of so many words becomes a candidate, whatever
            the document's size; None where nothing can be promised, and all is best effort.
        certain_words: Every document that has a passage of so many words is a candidate, but for `crowded` places of
            the text; None where the store keeps nothing by which that is known.
        crowded: Places of the text that stand in so many documents that only some of these are candidates.
    """

    recall: Fraction
    words: int | None
    certain_words: int | None = None
    crowded: int = 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """The documents that account for a text: a small set that covers most of it, chosen greedily.

    Args:
        content: The text.
        words: Its words.
        min_words: Passages of fewer words were not counted.
        sources: Each adds something to those before it, the one that adds the most first.
        also: Documents read that share passages and add nothing to the sources: ids and names, those that share the
            most words first.
        longest_passage: Words of the longest passage of any document that was read; 0 where there is none.
        candidates: Documents that may have a passage of the text.
        read: How many of them were compared with it, word by word.
        without_text: How many could not be, since the store has no text of them.
        promise: How many of the documents with a passage are candidates.
        warnings: What the user should know beside it.
        common: What of the text is common; None where nobody has told what that is. Where it is ignored, words of the
            sources, and those that they add and have alone, are those that are not.
        excluded_words: Words of the text in parts that the sources need not account for, such as quotations.
    """

    content: str = field(repr=False)
    words: int
    min_words: int
    sources: tuple[TextSource, ...]
    also: tuple[tuple[str, str], ...]
    longest_passage: int
    candidates: int
    read: int
    without_text: int
    promise: Promise
    warnings: tuple[str, ...] = ()
    common: Common | None = None
    excluded_words: int = 0

    @property
    def counted_words(self) -> int:
        """Words of the text that the sources are to account for."""
        ignored = self.common.words if self.common and self.common.is_ignored else 0
        return self.words - ignored - self.excluded_words

    @property
    def covered_words(self) -> int:
        """Words of the text that are counted and stand in a passage of any document that was read."""
        return sum(source.new_words for source in self.sources)

    @property
    def coverage(self) -> float:
        """The share of the counted words that stand in a passage, 0 to 1; 0 where there are none."""
        return self.covered_words / self.counted_words if self.counted_words else 0.0

    @property
    def unread(self) -> int:
        """Candidates that were not read, since the means of one search were used up."""
        return self.candidates - self.read - self.without_text
