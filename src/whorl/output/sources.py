"""Writes the sources of a text (the documents it was taken from) as JSON, CSV, or a printable HTML report in one file.

The report shows the whole text. Each passage has the colour of its first source, and links to the same passage in the
source, which the rule for `:target` in `report.css` shows next to the text. Other functions write lines about documents
that were not read or compared, and about the promised recall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np

from whorl.fingerprint.compare_texts import Passage
from whorl.fingerprint.statistics.metric import Share, Shares
from whorl.output.compare_documents import LinedRange, Lines, ReadText
from whorl.output.formatting import RESIDUAL_COLUMNS, percent, plural, write_csv
from whorl.output.html_pages import (
    html_in_context,
    html_list,
    html_name,
    html_shortened,
    html_text,
    lines_named,
    report_page,
)
from whorl.output.json_conversion import values
from whorl.request_context import timely
from whorl.search.attribution.results import Attribution, Common, HashedPassage, TextSource, WordPlace

#: Columns of the CSV file, one row per source; shares are fractions.
COLUMNS = ("id", "name", "words", "coverage", "new_words", "only_words", *Shares.NAMES, "shingles", "passages")
#: Columns of the CSV file with one row per passage: its place in the text (A) and in its source (B).
PASSAGE_COLUMNS = (
    *("id", "name", "words"),
    *(f"{name}_{side}" for side in ("a", "b") for name in ("start", "end", "first_line", "last_line", "text")),
    *(f"{name}_b" for name in WordPlace._fields),
)
#: Maximum number of passages that the report shows for a source; the longest come first.
MOST_SHOWN = 200
#: Number of colours. More sources share colours; a number next to a passage identifies its source.
_COLOURS = 8


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A passage of the text (A) and of its source (B).

    If the store keeps no texts, the range in B is null, and `b_words` has the place in B if it is known.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("words", "a", "b", "b_words?")

    words: int
    a: LinedRange
    b: LinedRange | None
    b_words: WordPlace | None


@dataclass(frozen=True, slots=True)
class LinedSource:
    """A source (B) of the text (A), with its shares and passages."""

    JSON_FIELDS = (
        *("id=source.id", "name=source.name", "words=source.words", "coverage", "new_words=source.new_words"),
        *("only_words=source.only_words", "*source.shares", "exact", "without_common=source.residual"),
        *("shingles=source.shingles", "passages"),
    )

    source: TextSource
    counted_words: int
    passages: tuple[SourcePassage, ...]

    @property
    def exact(self) -> bool:
        """Whether words and shares were counted in the text of the source, not by hashes."""
        return self.source.shares is not None

    @property
    def coverage(self) -> Share:
        return self.source.words / self.counted_words


class SearchedText(NamedTuple):
    """The text whose sources were searched: its name, where it came from, and its number of words."""

    name: str
    kind: str
    words: int


@dataclass(frozen=True, slots=True)
class CommonPart:
    """Word counts of a text: common words (boilerplate), other words, and other words that sources cover."""

    JSON_FIELDS = (
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

    JSON_FIELDS = (
        *("text", "covered_words=found.covered_words", "common", "excluded_words=found.excluded_words"),
        *("coverage=found.coverage", "level=found.level", "longest_passage=found.longest_passage"),
        *("min_words=found.min_words", "candidates=found.candidates", "read=found.read", "unread=found.unread"),
        *("without_text=found.without_text", "recall=found.promise.recall", "promised_words=found.promise.words"),
        *("certain_words=found.promise.certain_words", "crowded=found.promise.crowded"),
        *("is_complete=found.is_complete", "warnings", "sources", "also", "also_count=found.also_count"),
    )

    text: SearchedText
    found: Attribution
    common: CommonPart | None
    warnings: list[str]
    sources: tuple[LinedSource, ...]
    also: tuple[NamedDocument, ...]


def sources_values(read: ReadText, attribution: Attribution, *, with_texts: bool = True) -> dict[str, Any]:
    """Return the sources (B) of a text (A) as JSON values: totals, and the shares and passages of each source."""
    lines, common = Lines(read.text), attribution.common

    def lined(source: TextSource) -> LinedSource:
        own = Lines(source.content)
        passages = (
            SourcePassage(
                each.words,
                lines.range(each.a, with_texts),
                own.range(each.b, with_texts) if isinstance(each, Passage) else None,
                None if isinstance(each, Passage) else each.b_words,
            )
            for each in timely(source.passages)
        )
        return LinedSource(source, attribution.counted_words, tuple(passages))

    attributed = AttributedText(
        SearchedText(read.name, read.kind, attribution.words),
        attribution,
        None if common is None else CommonPart(common, attribution.words - common.words),
        notes(attribution),
        tuple(map(lined, attribution.sources)),
        tuple(NamedDocument(*pair) for pair in attribution.also),
    )
    return values(attributed)


def common_line(common: Common, words: int) -> str:
    # The search may miss the ends of text that is common in the store, so the number of its words is a lower bound. It
    # finds given boilerplate texts completely.
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
    def row(source: TextSource) -> dict[str, object]:
        fields = values(LinedSource(source, attribution.counted_words, ())) | {"passages": len(source.passages)}
        residual = fields["without_common"] or {}
        return fields | {column: residual.get(name) for name, column in RESIDUAL_COLUMNS.items()}

    columns = COLUMNS if attribution.common is None else (*COLUMNS, *RESIDUAL_COLUMNS.values())
    write_csv(columns, map(row, attribution.sources), out)


def write_source_passages(read: ReadText, attribution: Attribution, out: IO[str]) -> None:
    def row(source: dict[str, Any], passage: dict[str, Any]) -> dict[str, object]:
        sides = {"a": passage["a"], "b": (passage["b"] or {}) | passage.get("b_words", {})}
        places = {f"{name}_{side}": value for side, place in sides.items() for name, value in place.items()}
        return {"id": source["id"], "name": source["name"], "words": passage["words"], **places}

    sources = sources_values(read, attribution)["sources"]
    write_csv(PASSAGE_COLUMNS, (row(source, each) for source in sources for each in source["passages"]), out)


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


def report(read: ReadText, attribution: Attribution) -> str:
    title = read.name or "a text"
    also = ", ".join(html_name(name or document_id) for document_id, name in attribution.also)
    return report_page(
        "Sources of",
        title,
        [
            f'<p class="total"><strong>{percent(attribution.coverage)}</strong> of the '
            f"{plural(attribution.counted_words, 'word')} are in {plural(len(attribution.sources), 'source')}. The "
            f"longest passage has {plural(attribution.longest_passage, 'word')}.</p>",
            *(
                [f"<p>{common_line(attribution.common, attribution.words)} Shares in brackets are without them.</p>"]
                if attribution.common
                else []
            ),
            *([f"<p>{excluded_line(attribution)}</p>"] if attribution.excluded_words else []),
            html_list(notes(attribution)),
            "</header>",
            "<main>",
            *_legend(attribution),
            f"<p>Also with passages, but none that the sources lack: {also}.</p>" if also else "",
            '<section aria-labelledby="text"><h2 id="text">The text</h2>',
            f'<div class="text" dir="auto">{"".join(_mark_passages(attribution))}</div></section>',
            "</main>",
            '<aside aria-label="The passage in its source">',
            *_passages(read, attribution),
            '<p class="hint">Choose a coloured passage of the text: what its source has is shown here.</p>'
            if attribution.sources
            else "",
            "</aside>",
            f"<footer><p>{plural(attribution.read, 'document')} read; {html_text(recall_line(attribution))}. "
            f"{'Shares are counted on whole texts; passages' if attribution.read else 'Passages'} of fewer than "
            f"{plural(attribution.min_words, 'word')} are not counted. Made by whorl.</p></footer>",
        ],
    )


def _legend(attribution: Attribution) -> Iterator[str]:
    if not attribution.sources:
        return
    titles = (
        ("covers", "Words of the text that are in passages of the source"),
        ("adds", "Those of them that no source above has"),
        ("alone", "Those of them that no other document has that was read"),
        ("A in B", "Shingles that both have, of those of the text"),
        ("B in A", "Shingles that both have, of those of the source"),
    )
    yield '<table><caption class="unseen">The sources, and what each has of the text</caption><thead><tr>'
    yield '<th scope="col">source</th>'
    yield from (f'<th scope="col"><abbr title="{meaning}">{title}</abbr></th>' for title, meaning in titles)
    yield "</tr></thead><tbody>"
    for number, source in enumerate(attribution.sources, start=1):
        shares = [words / attribution.counted_words for words in (source.words, source.new_words, source.only_words)]
        cells = "".join(f"<td>{share}</td>" for share in (*map(percent, shares), *_shares_of_texts(source)))
        name = f"<b>{number}</b> {html_name(source.name or source.id)}"
        own_id = f" <small>{html_name(source.id)}</small>" if source.name and source.name != source.id else ""
        yield (
            f'<tr><th scope="row"><a class="{_colour(number)}" href="#p{number}-1">{name}</a>{own_id}</th>{cells}</tr>'
        )
    yield "</tbody></table>"


def _shares_of_texts(source: TextSource) -> list[str]:
    """Return the shares A in B and B in A, each with the share without common text in brackets if it is known."""
    if source.shares is None:
        return ["–", "–"]
    whole = [percent(share) for share in (source.shares.a_in_b, source.shares.b_in_a)]
    if source.residual is None:
        return whole
    rest = source.residual.shares
    return [f"{share} ({percent(part)})" for share, part in zip(whole, (rest.a_in_b, rest.b_in_a), strict=True)]


def _mark_passages(attribution: Attribution) -> Iterator[str]:
    content, seen = attribution.content, set[tuple[int, int]]()
    for start, end, place in _ranges_by_passage(attribution):
        part = html_text(content[start:end])
        if place is None:
            yield part
            continue
        number, passage = place
        name = f"{number}-{passage}"
        own_id = "" if place in seen else f' id="t{name}"'
        seen.add(place)
        if passage > MOST_SHOWN:
            yield f'<span class="{_colour(number)}">{part}<sup>{number}</sup></span>'
        else:
            yield f'<a class="{_colour(number)}"{own_id} href="#p{name}">{part}<sup>{number}</sup></a>'


def _ranges_by_passage(attribution: Attribution) -> Iterator[tuple[int, int, tuple[int, int] | None]]:
    """Divide the text into ranges; yield the start and end of each, and the numbers (from 1) of its source and passage.

    A range without a source has None instead of the numbers. Where passages overlap, the longest passage of the first
    source counts.
    """
    places = [
        (number, at, passage.a)
        for number, source in enumerate(attribution.sources, start=1)
        for at, passage in enumerate(source.passages, start=1)
    ]
    edges = sorted({0, len(attribution.content), *(edge for *_, place in places for edge in place)})
    position = {edge: number for number, edge in enumerate(edges)}
    owners = np.full(len(edges) - 1, -1)
    # Go backwards, so that earlier passages replace later ones.
    for at, (*_, (start, end)) in reversed([*enumerate(places)]):
        owners[position[start] : position[end]] = at
    for owner, ranges in groupby(range(len(owners)), owners.tolist().__getitem__):
        numbers = [*ranges]
        yield edges[numbers[0]], edges[numbers[-1] + 1], None if owner < 0 else places[owner][:2]


def _passages(read: ReadText, attribution: Attribution) -> Iterator[str]:
    lines = Lines(read.text)
    painted = {place for *_, place in _ranges_by_passage(attribution)}
    for number, source in enumerate(attribution.sources, start=1):
        own, name = Lines(source.content), html_name(source.name or source.id)
        for at, passage in enumerate(source.passages[:MOST_SHOWN], start=1):
            yield f'<article id="p{number}-{at}" aria-labelledby="h{number}-{at}">'
            yield f'<h2 id="h{number}-{at}"><span class="{_colour(number)}"><b>{number}</b> {name}</span></h2>'
            yield f"<p>{plural(passage.words, 'word')}, passage {at} of {len(source.passages):,}</p>"
            if isinstance(passage, Passage):
                place = html_in_context(source.content, *passage.b)
                yield f"<h3>In the source, {lines_named(own, passage.b)}</h3>{place}"
            else:
                yield f"<p>{_word_place(passage)}</p>"
            part = html_shortened(read.text, *passage.a)
            yield f'<h3>In the text, {lines_named(lines, passage.a)}</h3><blockquote dir="auto">{part}</blockquote>'
            links = [f'<a href="#t{number}-{at}">its place in the text</a>'] if (number, at) in painted else []
            if at < min(len(source.passages), MOST_SHOWN):
                links.append(f'<a href="#p{number}-{at + 1}">next passage of this source</a>')
            yield f'<p class="links">{" · ".join(links)}</p></article>'


def _word_place(passage: HashedPassage) -> str:
    if passage.b_words is None:
        return "The store keeps no texts, so the place in the source is not known."
    first, last, words = passage.b_words
    return f"In the source, words {first:,} to {last:,} of {words:,}. The store keeps no texts."


def _colour(number: int) -> str:
    return f"source c{(number - 1) % _COLOURS}"
