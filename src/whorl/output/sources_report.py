"""Writes the sources of a text as a self-contained, printable HTML report.

The report shows the whole text. Each passage has the colour of its first source, and links to the same passage in the
source. The rule for `:target` in `report.css` shows the linked passage next to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files

import numpy as np

from whorl.fingerprint.compare_texts import Passage
from whorl.output.compare_documents import Lines, Read
from whorl.output.formatting import percent, plural
from whorl.output.sources import common_line, excluded_line, notes, recall_line
from whorl.search.attribution.results import Attribution

#: The report shows up to `MOST_SHOWN` passages of a source, the longest first. It shows up to `_LONGEST` characters of
#: a passage, and up to `_AROUND` characters before and after it.
MOST_SHOWN, _LONGEST, _AROUND = 200, 3_000, 160
#: Number of colours. If there are more sources, colours are repeated; the number next to a passage identifies its
#: source.
_COLOURS = 8
#: Characters that HTML does not permit, and lone surrogates, which UTF-8 does not permit.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def report(read: Read, attribution: Attribution) -> str:
    """Return the HTML report on the sources of a text."""
    title = read.name or "a text"
    warnings = "".join(f"<li>{html_text(note)}</li>" for note in notes(attribution))
    also = ", ".join(html_name(name or document_id) for document_id, name in attribution.also)
    return report_page(
        "Sources of",
        title,
        [
            f'<p class="total"><strong>{percent(attribution.coverage)}</strong> of the '
            f"{plural(attribution.counted_words, 'word')} are in {plural(len(attribution.sources), 'source')}. The "
            f"longest passage has {plural(attribution.longest_passage, 'word')}.</p>",
            *([f"<p>{common_line(attribution.common, attribution.words)}</p>"] if attribution.common else []),
            *([f"<p>{excluded_line(attribution)}</p>"] if attribution.excluded_words else []),
            f"<ul>{warnings}</ul>" if warnings else "",
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


def report_page(heading: str, called: str, parts: Iterable[str]) -> str:
    """Return an HTML page without scripts and external resources; `parts` follow the heading."""
    style = files("whorl.output").joinpath("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
            f"<title>{heading} {html_text(called)}</title>",
            f"<style>\n{style}</style>",
            f'<header class="top"><h1>{heading} {html_name(called)}</h1>',
            *parts,
            "</html>\n",
        ]
    )


def _legend(attribution: Attribution) -> Iterator[str]:
    """Yield the table of sources with their colours and shares."""
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
        own_shares = (source.shares.a_in_b, source.shares.b_in_a) if source.shares else (None, None)
        cells = "".join(f"<td>{'–' if share is None else percent(share)}</td>" for share in (*shares, *own_shares))
        name = f"<b>{number}</b> {html_name(source.name or source.id)}"
        own_id = f" <small>{html_name(source.id)}</small>" if source.name and source.name != source.id else ""
        yield (
            f'<tr><th scope="row"><a class="{_colour(number)}" href="#p{number}-1">{name}</a>{own_id}</th>{cells}</tr>'
        )
    yield "</tbody></table>"


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
    """Divide the text into ranges; yield each with the numbers of its source and passage, or None for no source.

    If passages overlap, the longest passage of the first source is shown.
    """
    places = [
        (number, at, passage.a)
        for number, source in enumerate(attribution.sources, start=1)
        for at, passage in enumerate(source.passages, start=1)
    ]
    edges = np.unique([0, len(attribution.content), *(edge for *_, place in places for edge in place)])
    owners = np.full(len(edges) - 1, -1)
    for at, (*_, (start, end)) in enumerate(places):
        first, last = np.searchsorted(edges, (start, end))
        part = owners[first:last]
        part[part < 0] = at
    starts = np.flatnonzero(np.diff(owners, prepend=-2))
    # An empty text has no ranges, so it also gets no end.
    ends = np.append(starts[1:], [len(owners)] * bool(starts.size)).astype(int)
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        owner = int(owners[first])
        yield int(edges[first]), int(edges[last]), None if owner < 0 else places[owner][:2]


def _passages(read: Read, attribution: Attribution) -> Iterator[str]:
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
                yield "<p>The store keeps no texts, so the place in the source is not known.</p>"
            part = _shorten(read.text, *passage.a)
            yield f'<h3>In the text, {lines_named(lines, passage.a)}</h3><blockquote dir="auto">{part}</blockquote>'
            links = [f'<a href="#t{number}-{at}">its place in the text</a>'] if (number, at) in painted else []
            if at < min(len(source.passages), MOST_SHOWN):
                links.append(f'<a href="#p{number}-{at + 1}">next passage of this source</a>')
            yield f'<p class="links">{" · ".join(links)}</p></article>'


def html_in_context(content: str, start: int, end: int) -> str:
    """Return the HTML of a range of a text, with the surrounding text."""
    before, after = content[max(0, start - _AROUND) : start], content[end : end + _AROUND]
    return (
        f'<blockquote dir="auto"><span class="around">{"…" if start > _AROUND else ""}{html_text(before)}</span>'
        f"<mark>{_shorten(content, start, end)}</mark>"
        f'<span class="around">{html_text(after)}{"…" if end + _AROUND < len(content) else ""}</span></blockquote>'
    )


def _shorten(text: str, start: int, end: int) -> str:
    if end - start <= _LONGEST:
        return html_text(text[start:end])
    return f"{html_text(text[start : start + _LONGEST // 2])} […] {html_text(text[end - _LONGEST // 2 : end])}"


def lines_named(lines: Lines, place: tuple[int, int]) -> str:
    first, last = lines.span(*place)
    return f"line {first:,}" if first == last else f"lines {first:,}–{last:,}"


def _colour(number: int) -> str:
    return f"source c{(number - 1) % _COLOURS}"


def html_name(text: str) -> str:
    """Return the HTML of a name, isolated so that a right-to-left name does not reorder the text around it."""
    return f"<bdi>{html_text(text)}</bdi>"


def html_text(text: str) -> str:
    return escape(_NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text))
