"""Writes the result of a search for sources (the documents a text was taken from) as JSON or CSV.

Also writes lines about documents that were not read or compared, and about the promised recall.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import IO, Any, ClassVar, Literal, NamedTuple

from whorl.fingerprint.statistics.metric import Share, Shares
from whorl.output.compare_documents import LinedRange, Lines, Read
from whorl.output.formatting import cell, percent, plural
from whorl.output.json_conversion import values
from whorl.request_context import timely
from whorl.search.attribution.results import Attribution, Common, TextSource

#: Columns of the CSV file, one row per source; shares are fractions.
COLUMNS = ("id", "name", "words", "coverage", "new_words", "only_words", *Shares.NAMES, "shingles", "passages")


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A passage of the text (A) and of its source (B); its place in B is null if the store keeps no texts."""

    words: int
    a: LinedRange
    b: LinedRange | None


@dataclass(frozen=True, slots=True)
class LinedSource:
    """A source (B) of the text (A), with its shares and passages."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("id=source.id", "name=source.name", "words=source.words", "coverage", "new_words=source.new_words"),
        *("only_words=source.only_words", "*source.shares", "exact", "without_common=source.residual"),
        *("shingles=source.shingles", "passages"),
    )

    source: TextSource
    counted_words: int
    passages: tuple[SourcePassage, ...]

    @property
    def exact(self) -> bool:
        """Whether the words and shares are counted on the text of the source."""
        return self.source.shares is not None

    @property
    def coverage(self) -> Share:
        return self.source.words / self.counted_words


@dataclass(frozen=True, slots=True)
class SearchedText:
    """The text whose sources were searched: its name, where it came from, and its number of words."""

    name: str
    kind: str
    words: int


@dataclass(frozen=True, slots=True)
class CommonPart:
    """Word counts of the text: common words (boilerplate), other words, and other words that are in sources."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("above=common.limit", "ignored=common.is_ignored", "words=common.words", "other_words"),
        "other_covered_words=common.covered_words",
    )

    common: Common
    other_words: int


class NamedDocument(NamedTuple):
    """Id and name of a document."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class AttributedText:
    """Sources of a text, with totals and the recall of the search for them."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (
        *("text", "covered_words=found.covered_words", "common", "excluded_words=found.excluded_words"),
        *("coverage=found.coverage", "level=found.level", "longest_passage=found.longest_passage"),
        "min_words=found.min_words",
        *("candidates=found.candidates", "read=found.read", "unread=found.unread"),
        *("without_text=found.without_text", "recall=found.promise.recall", "promised_words=found.promise.words"),
        *("certain_words=found.promise.certain_words", "crowded=found.promise.crowded", "warnings", "sources"),
        *("also", "also_count=found.also_count"),
    )

    text: SearchedText
    found: Attribution
    common: CommonPart | None
    warnings: list[str]
    sources: tuple[LinedSource, ...]
    also: tuple[NamedDocument, ...]


def sources_values(
    read: Read, attribution: Attribution, *, texts: Literal["none", "passages"] = "passages"
) -> dict[str, Any]:
    """Return the sources (B) of a text (A) as JSON values: totals, and the shares and passages of each source.

    If `texts` is "passages", the texts of the passages are included.
    """
    lines, with_text, common = Lines(read.text), texts == "passages", attribution.common
    sources = (
        LinedSource(source, attribution.counted_words, _passages_with_lines(lines, source, with_text=with_text))
        for source in attribution.sources
    )
    attributed = AttributedText(
        SearchedText(read.name, read.kind, attribution.words),
        attribution,
        None if common is None else CommonPart(common, attribution.words - common.words),
        notes(attribution),
        tuple(sources),
        tuple(NamedDocument(*pair) for pair in attribution.also),
    )
    return values(attributed)


def _passages_with_lines(a: Lines, source: TextSource, *, with_text: bool) -> tuple[SourcePassage, ...]:
    b = Lines(source.content)
    return tuple(
        SourcePassage(
            passage.words,
            a.range(passage.a, with_text),
            None if passage.b is None else b.range(passage.b, with_text),
        )
        for passage in timely(source.passages)
    )


def common_line(common: Common, words: int) -> str:
    # The search finds given boilerplate texts exactly, but may miss the ends of text that is common in the store.
    bound = "" if common.limit is None else "at least "
    line = f"{bound}{common.words:,} of {plural(words, 'word')} are common"
    if common.is_ignored:
        return f"{line} and left out."
    others = words - common.words
    share = f" ({percent(common.covered_words / others)})" if others else ""
    return f"{line}; of the {others:,} others {common.covered_words:,}{share} are in sources."


def excluded_line(attribution: Attribution) -> str:
    of_all = f"{attribution.excluded_words:,} of {plural(attribution.words, 'word')}"
    return f"{of_all} are in quotations or references and are left out."


def write_sources(attribution: Attribution, out: IO[str]) -> None:
    rows = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    rows.writeheader()
    for source in attribution.sources:
        row = values(LinedSource(source, attribution.counted_words, ())) | {"passages": len(source.passages)}
        rows.writerow({name: cell(row[name]) for name in COLUMNS})


def notes(attribution: Attribution) -> list[str]:
    lines = list(attribution.warnings)
    if attribution.without_text:
        lines.append(f"not compared, for want of a stored text: {plural(attribution.without_text, 'candidate')}")
    if attribution.unread:
        lines.append(
            f"not read: {attribution.unread:,} of {plural(attribution.candidates, 'candidate')}, those that promised "
            "the least; there may be more sources among them"
        )
    return lines


def recall_line(attribution: Attribution) -> str:
    promise = attribution.promise
    if promise.certain_words is not None:
        line = f"every document with a passage of {plural(promise.certain_words, 'word')} is found"
        gaps = [f"{attribution.unread:,} not read"] if attribution.unread else []
        if promise.crowded:
            gaps.append(f"those of {plural(promise.crowded, 'place')} of the text that are in too many documents")
        return line + (f", but for {' and '.join(gaps)}" if gaps else "")
    if promise.words is None:
        return "best effort: nothing is promised"
    return (
        f"at least {float(100 * promise.recall):g} of 100 documents with a passage of "
        f"{plural(promise.words, 'word')} are found, more of those with a longer one"
    )
