"""JSON values of a comparison of two texts."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from whorl.context import timely
from whorl.fingerprint.compare import Comparison, Passage, Rest, Size
from whorl.output.format import Fractions, SharesValues, counted, fraction, fractions, shares_values

#: Maximum number of characters quoted from a longest passage.
_SAID = 240


class CharRange(TypedDict):
    """A half-open range of characters as Python counts them, from 0."""

    start: int
    end: int


class Place(CharRange):
    """A range of a text with its lines, counted from 1, and, if requested, its text."""

    first_line: int
    last_line: int
    text: NotRequired[str]


class PassageValues(TypedDict):
    """A passage in both texts, and its position in each."""

    words: int
    a: Place
    b: Place


class RestShares(Fractions):
    """The shares of two texts without common text."""

    shared_shingles: int


class RestSide(TypedDict):
    """The common text in one side; `shingles` is the number of distinct shingles outside it."""

    common_words: int
    shingles: int
    common: list[CharRange]


class RestValues(RestShares):
    """The shares of two texts without common text, and the common text in each."""

    a: RestSide
    b: RestSide


class Side(TypedDict):
    """One of two texts; `coverage` is the share of its words that are inside shingles of the other text."""

    name: str
    kind: str
    words: int
    shingles: int
    shared_words: int
    coverage: float
    text: NotRequired[str]


class ComparisonValues(SharesValues):
    """The comparison of two texts, counted on all of their shingles."""

    a: Side
    b: Side
    scheme: str
    shared_shingles: int
    without_common: RestValues | None
    warnings: list[str]
    passages: list[PassageValues]


class Longest(TypedDict):
    """Size and beginning of the longest passage of two texts."""

    words: int
    text: str


class LongestPassage(SharesValues):
    """The shares of two texts, the number of their passages, and the longest passage."""

    without_common: RestShares | None
    shared_shingles: int
    source_shingles: int
    shingles: int
    passages: int
    longest: Longest | None


@dataclass(frozen=True, slots=True)
class Read:
    """A text for a comparison.

    Args:
        name: Name as typed, or title; "" for a text without a name.
        kind: Origin of the text.
        text: The whole text.
    """

    name: str
    kind: Literal["file", "document", "standard input", "text"]
    text: str

    @classmethod
    def of(cls, document_id: str | None, text: str, name: str = "") -> Read:
        """Return a document's text, or a given text (id None); a document without a name is named by its id."""
        return cls(name or document_id or "", "text" if document_id is None else "document", text)


def warnings(found: Comparison) -> list[str]:
    """Return warnings about a comparison."""
    size = found.scheme.shingle_size
    return [
        f"{side} has {counted(each.words, 'word')}, fewer than the {size} of a shingle: there is nothing to count, and "
        "every share is 0"
        for side, each in (("A", found.a), ("B", found.b))
        if not each.shingles
    ]


def comparison_values(
    a: Read, b: Read, found: Comparison, *, texts: Literal["none", "passages", "whole"] = "passages"
) -> ComparisonValues:
    """Return a comparison as JSON values: both sides, counts, shares, warnings, and passages with their positions.

    Args:
        a: The first text.
        b: The second text.
        found: Their comparison.
        texts: Texts to include with the positions: none, those of the passages on both sides, or the whole of A and B.
    """
    lines_a, lines_b, with_text = Lines(a.text), Lines(b.text), texts == "passages"

    def passage(each: Passage) -> PassageValues:
        return {"words": each.words, "a": lines_a.values(each.a, with_text), "b": lines_b.values(each.b, with_text)}

    return {
        "a": _side(a, found.a, texts == "whole"),
        "b": _side(b, found.b, texts == "whole"),
        "scheme": found.scheme.name,
        "shared_shingles": found.shared_shingles,
        **shares_values(found.shares, found.shares, found.shares, is_exact=True),
        "without_common": None if found.rest is None else _rest(found.rest),
        "warnings": warnings(found),
        "passages": [passage(each) for each in timely(found.passages)],
    }


def _rest(rest: Rest) -> RestValues:
    """Return the shares without common text, and its ranges in characters as Python counts them."""

    def side(words: int, shingles: int, places: tuple[tuple[int, int], ...]) -> RestSide:
        ranges: list[CharRange] = [{"start": start, "end": end} for start, end in places]
        return {"common_words": words, "shingles": shingles, "common": ranges}

    return {
        **rest_shares(rest),
        "a": side(rest.common_words_a, rest.shingles_a, rest.common_a),
        "b": side(rest.common_words_b, rest.shingles_b, rest.common_b),
    }


def longest_passage_values(text: str, found: Comparison) -> LongestPassage:
    """Return a comparison as JSON values with the beginning of its longest passage only.

    Args:
        text: The first text.
        found: Its comparison with the second.
    """
    longest = found.passages[0] if found.passages else None
    return {
        **shares_values(found.shares, found.shares, found.shares, is_exact=True),
        "without_common": None if found.rest is None else rest_shares(found.rest),
        "shared_shingles": found.shared_shingles,
        "source_shingles": found.a.shingles,
        "shingles": found.b.shingles,
        "passages": len(found.passages),
        "longest": None if longest is None else {"words": longest.words, "text": _beginning(text, longest.a)},
    }


def _beginning(text: str, place: tuple[int, int]) -> str:
    start, end = place
    said = " ".join(text[start : min(end, start + _SAID)].split())
    # Cut between words, if the text has blanks.
    return f"{said.rpartition(' ')[0] or said} …" if end - start > _SAID else said


def rest_shares(rest: Rest) -> RestShares:
    """Return the shares without common text as JSON values."""
    return {**fractions(rest.shares), "shared_shingles": rest.shared_shingles}


def _side(read: Read, size: Size, with_text: bool) -> Side:
    values: Side = {
        "name": read.name,
        "kind": read.kind,
        "words": size.words,
        "shingles": size.shingles,
        "shared_words": size.shared_words,
        "coverage": fraction(size.coverage),
    }
    if with_text:
        values["text"] = read.text
    return values


class Lines:
    """Index of the lines of a text; lines end with a line feed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the numbers of the first and the last line of a range, from 1."""
        return bisect_right(self._starts, start), bisect_right(self._starts, end - 1)

    def values(self, place: tuple[int, int], with_text: bool) -> Place:
        """Return a range as JSON values: characters as Python counts them, and lines."""
        (start, end), (first, last) = place, self.span(*place)
        values: Place = {"start": start, "end": end, "first_line": first, "last_line": last}
        if with_text:
            values["text"] = self.text[start:end]
        return values
