"""Compares two texts, and converts the comparison to JSON, with the line numbers of shared passages."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from whorl.fingerprint.compare_texts import Comparison, ResidualOverlap, Size
from whorl.fingerprint.text_differences import find_differences
from whorl.output.formatting import plural
from whorl.output.json_conversion import values
from whorl.request_context import timely

if TYPE_CHECKING:
    from whorl.store import Store

#: Maximum number of characters that are quoted from the longest passage.
_SHOWN = 240


class ReadText(NamedTuple):
    """A text that was read for a comparison, and where it came from (`kind`).

    The name is the user's name for the text, the title of the document, or "".
    """

    name: str
    kind: Literal["file", "document", "standard input", "text"]
    text: str

    @classmethod
    def from_text(cls, document_id: str | None, text: str, name: str = "") -> ReadText:
        """Return a text to compare, with the id of its document, if any; the id is also the default name."""
        return cls(name or document_id or "", "text" if document_id is None else "document", text)


@dataclass(frozen=True, slots=True)
class LinedRange:
    """Range of characters of a text, with its lines and page, counted from 1, and its content if requested.

    `page` is the page where the range begins; None for a text without form feeds.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("start", "end", "first_line", "last_line", "page?", "text?")

    start: int
    end: int
    first_line: int
    last_line: int
    page: int | None = None
    text: str | None = None


class LinedPassage(NamedTuple):
    """A passage that two texts share: its number of words, and its range in each text."""

    words: int
    a: LinedRange
    b: LinedRange


class LinedDifference(NamedTuple):
    """Words of A and the words of B that replace them; a range is empty if its text has no such words."""

    a: LinedRange
    b: LinedRange


class ResidualSide(NamedTuple):
    """A compared text: its common text (boilerplate), and the number of its distinct shingles that are not common."""

    common_words: int
    shingles: int
    common: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ResidualOfBoth:
    """Comparison of two texts without their common text (boilerplate), and the common text of each."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("*residual", "a", "b")

    residual: ResidualOverlap

    @property
    def a(self) -> ResidualSide:
        return ResidualSide(self.residual.common_words_a, self.residual.shingles_a, self.residual.common_a)

    @property
    def b(self) -> ResidualSide:
        return ResidualSide(self.residual.common_words_b, self.residual.shingles_b, self.residual.common_b)


@dataclass(frozen=True, slots=True)
class Side:
    """One of two compared texts; `coverage` is the share of its words that are in shared shingles."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("name=read.name", "kind=read.kind", "*size", "text?")

    read: ReadText
    size: Size
    text: str | None


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """Comparison of two texts by all of their shingles."""

    JSON_FIELDS = (
        *("a", "b", "scheme=comparison.scheme.name", "shared_shingles=comparison.shared_shingles"),
        *("*comparison.shares", "exact", "without_common", "warnings", "passages", "differences?"),
    )

    a: Side
    b: Side
    comparison: Comparison
    without_common: ResidualOfBoth | None
    warnings: list[str]
    passages: tuple[LinedPassage, ...]
    differences: tuple[LinedDifference, ...] | None
    exact: bool = True


class LongestPassage(NamedTuple):
    """Size and beginning of the longest passage that two texts share."""

    words: int
    text: str


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """A document (B), and the longest passage that it shares with the text (A)."""

    JSON_FIELDS = (
        *("id", "*comparison.shares", "exact", "without_common=comparison.residual"),
        *("shared_shingles=comparison.shared_shingles", "source_shingles=comparison.a.shingles"),
        *("shingles=comparison.b.shingles", "passages", "longest"),
    )

    id: str
    comparison: Comparison
    longest: LongestPassage | None
    exact: bool = True

    @property
    def passages(self) -> int:
        return len(self.comparison.passages)


def warnings(comparison: Comparison) -> list[str]:
    size = comparison.scheme.shingle_size
    return [
        f"{side} has {plural(text.words, 'word')}, fewer than the {size} of a shingle: there is nothing to count, and "
        "every share is 0"
        for side, text in (("A", comparison.a), ("B", comparison.b))
        if not text.shingles
    ]


def read_texts(store: Store, *sides: tuple[str | None, str | None]) -> list[ReadText]:
    """Return the texts to compare; each of `sides` is (reference, None) or (None, text)."""
    references = [reference for reference, _ in sides if reference is not None]
    texts, ids = store.texts(references), store.references.ids(references)
    stored = store.documents({*ids.values()})

    def read(reference: str | None, text: str | None) -> ReadText:
        if reference is None:
            return ReadText.from_text(None, text or "")
        document_id = ids[reference]
        return ReadText.from_text(
            document_id, texts[reference], stored[document_id].name if document_id in stored else ""
        )

    return [read(*side) for side in sides]


def comparison_values(
    a: ReadText,
    b: ReadText,
    comparison: Comparison,
    *,
    texts: Literal["none", "passages", "whole"] = "passages",
    differences: bool = False,
) -> dict[str, Any]:
    """Return a comparison as JSON values: both sides, counts, shares, warnings, and passages with their positions.

    Args:
        texts: Texts to include: none, those of passages and differences, or both whole texts.
        differences: Include the differences of both texts.
    """
    whole_a, whole_b = (a.text, b.text) if texts == "whole" else (None, None)
    lines_a, lines_b, with_text = Lines(a.text), Lines(b.text), texts == "passages"
    passages = (
        LinedPassage(passage.words, lines_a.range(passage.a, with_text), lines_b.range(passage.b, with_text))
        for passage in timely(comparison.passages)
    )
    compared = ComparedTexts(
        Side(a, comparison.a, whole_a),
        Side(b, comparison.b, whole_b),
        comparison,
        None if comparison.residual is None else ResidualOfBoth(comparison.residual),
        warnings(comparison),
        tuple(passages),
        tuple(
            LinedDifference(lines_a.range(found.a, with_text), lines_b.range(found.b, with_text))
            for found in timely(find_differences(a.text, b.text, comparison))
        )
        if differences
        else None,
    )
    return values(compared)


def document_passages(document_id: str, text: str, comparison: Comparison) -> DocumentPassages:
    longest = comparison.passages[0] if comparison.passages else None
    beginning = None if longest is None else LongestPassage(longest.words, _beginning(text, longest.a))
    return DocumentPassages(document_id, comparison, beginning)


def _beginning(text: str, place: tuple[int, int]) -> str:
    start, end = place
    shown = " ".join(text[start : min(end, start + _SHOWN)].split())
    # Cut between words, if the text has blanks.
    return f"{shown.rpartition(' ')[0] or shown} …" if end - start > _SHOWN else shown


class Lines:
    """Finds the lines and pages of character ranges in a text; lines end with a line feed, pages with a form feed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts, self._pages = (
            list(accumulate((len(part) + 1 for part in text.split(end)), initial=0)) for end in "\n\f"
        )

    def span(self, start: int, end: int) -> tuple[int, int]:
        return bisect_right(self._starts, start), bisect_right(self._starts, max(start, end - 1))

    def page(self, start: int) -> int | None:
        """Return the page of a character; None for a text without form feeds."""
        return bisect_right(self._pages, start) if "\f" in self.text else None

    def range(self, place: tuple[int, int], with_text: bool) -> LinedRange:
        return LinedRange(
            *place, *self.span(*place), self.page(place[0]), self.text[slice(*place)] if with_text else None
        )
