"""Results of `verify`: a verdict on each quotation, and where it occurs in documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TypedDict

from whorl.errors import ParameterError
from whorl.search.quotations.cited_sources import NamedSource


class VerifyOptions(TypedDict, total=False):
    """Keywords of `Store.verify`; `VerifyOperation` describes them."""

    all: bool
    min_words: int
    exclude: str | None


@dataclass(frozen=True, slots=True)
class GivenQuotation:
    """A quotation that was given alone, not in a text.

    Args:
        quote: The quotation; it has at least one word.
        source: Id, path or name of the document that should contain it.
    """

    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}

    quote: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation of a text.

    Args:
        quote: The quotation, without its quotation marks.
        place: Half-open range of characters in the text, including the quotation marks; None without a text.
        sources: Sources that the text names for the quotation.
        missing_footnotes: Marks of footnotes that the text does not have.
    """

    quote: str
    place: tuple[int, int] | None = None
    sources: tuple[NamedSource, ...] = ()
    missing_footnotes: tuple[str, ...] = ()

    @property
    def source(self) -> str | None:
        """Text of the named sources, separated by semicolons; None if the text names no source."""
        return "; ".join(source.text for source in self.sources) or None


class Verdict(Enum):
    """Result of checking a quotation."""

    #: A document contains the quotation word for word.
    EXACT = "exact"
    #: A document contains the quotation with a few words changed, added or left out.
    EDITED = "edited"
    #: Documents contain pieces of the quotation, but none contains it in one piece.
    STITCHED = "stitched"
    #: A document contains the quotation, but the named source does not.
    MISATTRIBUTED = "misattributed"
    #: No document contains the quotation.
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between a quotation and a document.

    Args:
        quote: Text of the quotation; "" if the quotation leaves out words.
        document: Text of the document; "" if the quotation adds words.
        quote_place: Position in the quotation, as a half-open range of characters; empty between two words.
        document_place: Position in the document.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("kind", "quote", "document", "quote_place", "document_place")

    quote: str
    document: str
    quote_place: tuple[int, int]
    document_place: tuple[int, int]

    @property
    def kind(self) -> str:
        """Kind of difference: the quotation has `changed`, `added` or `dropped` words."""
        return "dropped" if not self.quote else "changed" if self.document else "added"


@dataclass(frozen=True, slots=True)
class QuotedPlace:
    """A place in a document that contains a quotation or a part of it.

    Args:
        quote: The part, as a half-open range of characters of the quotation.
        document: The place, as a half-open range of characters of the document's text.
        differences: Differences between the quotation and the place; empty if they are equal word for word.
    """

    id: str
    name: str
    quote: tuple[int, int]
    document: tuple[int, int]
    differences: tuple[Difference, ...] = ()
    content: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class LookUp:
    """Runs of a quotation's words that were looked up in the store.

    Args:
        documents: Number of documents in the store.
        read: Number of documents that were read, because they contain a run or other words of the quotation.
        is_complete: Whether the search has read every document that could contain the quotation word for word.
    """

    runs: tuple[str, ...]
    documents: int
    read: int
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class VerifiedQuotation:
    """A quotation with its verdict.

    Args:
        words: Number of words of the quotation.
        source_id: Id of the named source that is most similar to the quotation; None if the text names no source, or
            the store lacks it.
        places: Places in documents, in the order of the quotation, at most 10; empty for `Verdict.ABSENT`.
        look_up: Runs that were looked up in the store; None if a named source decides the verdict.
    """

    quotation: Quotation
    words: int
    verdict: Verdict
    source_id: str | None
    places: tuple[QuotedPlace, ...]
    look_up: LookUp | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """The verified quotations of a text.

    Args:
        text: The text that the quotations' positions refer to; "" if the quotations were given without a text.
        documents: Number of documents in the store.
        is_html: Whether the text was extracted from HTML. Positions then refer to the text, not to the HTML.
    """

    text: str = field(repr=False)
    quotations: tuple[VerifiedQuotation, ...]
    documents: int
    warnings: tuple[str, ...] = ()
    is_html: bool = False

    @property
    def counts(self) -> Mapping[str, int]:
        found = Counter(quotation.verdict for quotation in self.quotations)
        return {verdict.value: found[verdict] for verdict in Verdict}


def parse_verdicts(names: str) -> frozenset[Verdict]:
    """Return the verdicts in a list of names separated by commas; raise ParameterError for an unknown name."""
    known, chosen = [verdict.value for verdict in Verdict], [name.strip() for name in names.split(",")]
    if unknown := [name for name in chosen if name not in known]:
        raise ParameterError(f"--fail-on takes {', '.join(known)}, separated by commas, got {unknown[0]!r:.80}")
    return frozenset(map(Verdict, chosen))
