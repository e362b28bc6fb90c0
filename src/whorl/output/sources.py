"""Sources of a text as JSON and CSV, with notes and totals in words."""

from __future__ import annotations

import csv
from typing import IO, Literal

from typing_extensions import TypedDict

from whorl.fingerprint.statistics.metric import Shares
from whorl.output.comparison import Lines, PassageValues, Read, RestShares, rest_shares
from whorl.output.format import SharesValues, cell, counted, fraction, fractions, percent, shares_values
from whorl.search.attribution.results import Attribution, Common, TextSource

#: The columns of CSV, one row per source; shares are fractions.
COLUMNS = ("id", "name", "words", "coverage", "new_words", "only_words", *Shares.NAMES, "shingles", "passages")


class SourceNumbers(TypedDict):
    """A source, with the numbers of the text's words that it covers, adds to earlier sources, and covers alone."""

    id: str
    name: str
    words: int
    coverage: float
    new_words: int
    only_words: int


class SourceValues(SourceNumbers, SharesValues):
    """A source with its shares and passages; A is the text, B the source."""

    without_common: RestShares | None
    shingles: int
    passages: list[PassageValues]


class TextValues(TypedDict):
    """The searched text."""

    name: str
    kind: str
    words: int


class CommonValues(TypedDict):
    """Numbers of the text's common words, and of the other words in total and in sources."""

    above: int | None
    ignored: bool
    words: int
    other_words: int
    other_covered_words: int


class Named(TypedDict):
    """A document."""

    id: str
    name: str


class SourcesValues(TypedDict):
    """The sources of a text, and the recall of the search."""

    text: TextValues
    covered_words: int
    common: CommonValues | None
    excluded_words: int
    coverage: float
    longest_passage: int
    min_words: int
    candidates: int
    read: int
    unread: int
    without_text: int
    recall: float
    promised_words: int | None
    certain_words: int | None
    crowded: int
    warnings: list[str]
    sources: list[SourceValues]
    also: list[Named]
    also_count: int


def sources_values(read: Read, found: Attribution, *, texts: Literal["none", "passages"] = "passages") -> SourcesValues:
    """Return the sources of a text as JSON values: totals, and each source with its shares and passages.

    Args:
        read: The text, which is A in shares and passages; a source is B.
        found: Its sources.
        texts: Whether to include the texts of passages, not only their positions.
    """
    lines, with_text = Lines(read.text), texts == "passages"

    def source(each: TextSource) -> SourceValues:
        own = Lines(each.content)
        return {
            **_numbers(each, found),
            **shares_values(each.shares, each.shares, each.shares, is_exact=True),
            "without_common": None if each.rest is None else rest_shares(each.rest),
            "shingles": each.shingles,
            "passages": [
                {
                    "words": passage.words,
                    "a": lines.values(passage.a, with_text),
                    "b": own.values(passage.b, with_text),
                }
                for passage in each.passages
            ],
        }

    return {
        "text": {"name": read.name, "kind": read.kind, "words": found.words},
        "covered_words": found.covered_words,
        "common": None if found.common is None else _common(found.common, found.words),
        "excluded_words": found.excluded_words,
        "coverage": fraction(found.coverage),
        "longest_passage": found.longest_passage,
        "min_words": found.min_words,
        "candidates": found.candidates,
        "read": found.read,
        "unread": found.unread,
        "without_text": found.without_text,
        "recall": float(found.promise.recall),
        "promised_words": found.promise.words,
        "certain_words": found.promise.certain_words,
        "crowded": found.promise.crowded,
        "warnings": notes(found),
        "sources": [source(each) for each in found.sources],
        "also": [{"id": document_id, "name": name} for document_id, name in found.also],
        "also_count": found.also_count,
    }


def _common(common: Common, words: int) -> CommonValues:
    return {
        "above": common.limit,
        "ignored": common.is_ignored,
        "words": common.words,
        "other_words": words - common.words,
        "other_covered_words": common.covered_words,
    }


def common_line(common: Common, words: int) -> str:
    """Return a line with the numbers of a text's common words, and of the other words in sources."""
    line = f"{common.words:,} of {counted(words, 'word')} are common"
    if common.is_ignored:
        return f"{line} and left out."
    others = words - common.words
    share = f" ({percent(common.covered_words / others)})" if others else ""
    return f"{line}; of the {others:,} others {common.covered_words:,}{share} stand in sources."


def excluded_line(found: Attribution) -> str:
    """Return a line with the number of words excluded from the search for sources."""
    of_all = f"{found.excluded_words:,} of {counted(found.words, 'word')}"
    return f"{of_all} stand in quotations or references and are left out."


def write_sources(found: Attribution, out: IO[str]) -> None:
    """Write the sources as CSV, one row each."""
    rows = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    rows.writeheader()
    for each in found.sources:
        shares = fractions(each.shares)
        row = {**_numbers(each, found), **shares, "shingles": each.shingles, "passages": len(each.passages)}
        rows.writerow({name: cell(value) for name, value in row.items()})


def notes(found: Attribution) -> list[str]:
    """Return notes about the sources for the user."""
    lines = list(found.warnings)
    if found.without_text:
        lines.append(f"not compared, for want of a stored text: {counted(found.without_text, 'candidate')}")
    if found.unread:
        lines.append(
            f"not read: {found.unread:,} of {counted(found.candidates, 'candidate')}, those that promised the least; "
            "there may be more sources among them"
        )
    return lines


def recall_line(found: Attribution) -> str:
    """Return a line with the recall for documents with a passage of the text."""
    promise = found.promise
    if promise.certain_words is not None:
        line = f"every document with a passage of {counted(promise.certain_words, 'word')} is found"
        gaps = [f"{found.unread:,} not read"] if found.unread else []
        if promise.crowded:
            gaps.append(f"those of {counted(promise.crowded, 'place')} of the text that stand in too many documents")
        return line + (f", but for {' and '.join(gaps)}" if gaps else "")
    if promise.words is None:
        return "best effort: nothing is promised"
    return (
        f"at least {float(100 * promise.recall):g} of 100 documents with a passage of "
        f"{counted(promise.words, 'word')} are found, more of those with a longer one"
    )


def _numbers(each: TextSource, found: Attribution) -> SourceNumbers:
    return {
        "id": each.id,
        "name": each.name,
        "words": each.words,
        "coverage": fraction(each.words / found.counted_words),
        "new_words": each.new_words,
        "only_words": each.only_words,
    }
