"""Formats the results of `search`, `similar` and `sources` as tables for a terminal, with lines of totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from whorl.cli.render.terminal import BAR_WIDTH, share_bar
from whorl.fingerprint.statistics.metric import Metric, Shares
from whorl.output.formatting import percent, percent_interval, plural, printable

if TYPE_CHECKING:
    from whorl.fingerprint.statistics.overlap_estimates import Estimate
    from whorl.model import Page
    from whorl.search.attribution.results import Attribution, TextSource
    from whorl.search.similar.results import Similar, SimilarHit

_COLUMNS = (Metric.JACCARD, Metric.A_IN_B, Metric.B_IN_A)
#: Titles of the columns with numbers, for a hit and for a source.
_SHARE_TITLES = ("jaccard", "A in B", "B in A", "shingles")
_SOURCE_TITLES = ("covers", "adds", "alone", "jaccard", "A in B", "B in A", "passages")
#: Widths in characters: space between columns, narrowest column of ids, narrowest and widest column of names.
_GAP, _LEAST_ID, _LEAST_NAME, _MOST_NAME = 2, 24, 16, 40


def page_table(page: Page) -> Table:
    """Return a page of hits as a table, with shared tokens and the overlap if the query has one source."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", overflow="fold", ratio=3)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=40)
    if page.source_tokens:
        table.add_column("shared tokens", justify="right")
        table.add_column("overlap", no_wrap=True)
    else:
        table.add_column("score", justify="right")
    if page.matches is not None:
        table.add_column("near-copies", justify="right")
    for hit in page.hits:
        # Use Text for ids and names, because rich would read brackets in strings as markup.
        row = [Text(printable(hit.id)), Text(printable(hit.name))]
        if page.source_tokens:
            overlap = min(1.0, (hit.shared_tokens or 0) / page.source_tokens)
            row.append(Text("–" if hit.shared_tokens is None else str(hit.shared_tokens)))
            row.append(share_bar(overlap).append(f" {percent(overlap):>6}", style="none"))
        else:
            row.append(Text(f"{hit.score:g}"))
        if page.matches is not None:
            row.append(Text(f"{hit.copies:,}" if hit.copies else ""))
        table.add_row(*row)
    return table


def similar_table(page: Similar, width: int) -> Table:
    """Return the hits as a table: a bar for the requested metric, and each share with its 95 % interval.

    Shares without common text (boilerplate) are in brackets, or in a narrow table on a second line. If space is short,
    the bar is omitted first, then the name.
    """
    shares = [_shares(similar, " ") for similar in page.found]
    if _width_left(shares, width) < _LEAST_ID:
        shares = [_shares(similar, "\n") for similar in page.found]
    room = _width_left(shares, width)
    has_bar = room >= _LEAST_ID + _LEAST_NAME + BAR_WIDTH + _GAP
    room -= (BAR_WIDTH + _GAP) * has_bar
    has_name = room >= _LEAST_ID + _LEAST_NAME
    longest = max((cell_len(printable(similar.hit.id)) for similar in page.found), default=0)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", overflow="fold", ratio=3)
    if has_name:
        most = max(room // 2, min(_MOST_NAME, room - longest - _GAP))
        table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=most)
    if has_bar:
        table.add_column("", no_wrap=True)
    for title in _SHARE_TITLES:
        table.add_column(title, justify="right", no_wrap=True)
    for similar, own in zip(page.found, shares, strict=True):
        names = [Text(printable(similar.hit.name))] if has_name else []
        bars = [share_bar(similar.hit.score / 100)] if has_bar else []
        table.add_row(Text(printable(similar.hit.id)), *names, *bars, *own)
    return table


def _shares(similar: SimilarHit, before_residual: str) -> list[Text]:
    """Return a hit's shares and size as cells.

    Each cell also has the share without boilerplate in brackets, if it is known; `before_residual` is the text between
    the two shares.
    """
    shares = [_percentage(similar.estimate, metric) for metric in _COLUMNS]
    if similar.residual is not None:
        for share, metric in zip(shares, _COLUMNS, strict=True):
            share.append(f"{before_residual}({percent(similar.residual.shares.measured_by(metric))})")
    return [*shares, Text(f"{similar.estimate.hit_size:,}")]


def _width_left(shares: Sequence[Sequence[Text]], width: int) -> int:
    """Return the width, in characters, that the columns of shares leave for ids, names and bars."""
    widths = _widths(_SHARE_TITLES, [[cell.plain for cell in row] for row in shares])
    return width - sum(widths) - _GAP * len(widths)


def _percentage(estimate: Estimate, metric: Metric) -> Text:
    value, low, high = (shares.measured_by(metric) for shares in (estimate.shares, estimate.low, estimate.high))
    text = Text(percent(value))
    return text if low == high else text.append(f" {percent_interval(low, high)}", "dim")


def sources_table(attribution: Attribution, shown: Sequence[TextSource], width: int) -> RenderableType:
    """Return a table of the shown sources.

    Three columns count the words that a source covers: all words, words that no earlier source covers, and words that
    no other source covers. Shares without common text are in brackets. If `width` is too small for whole ids next to
    the numbers, names are omitted; if it is still too small, the numbers are below each id.
    """
    rows = [_source_cells(attribution, source, " ") for source in shown]
    widths = _widths(_SOURCE_TITLES, rows)
    room = width - sum(widths) - _GAP * len(widths)
    ids, names = ([printable(getattr(source, part)) for source in shown] for part in ("id", "name"))
    longest, longest_name = _widths(("source", "name"), [*zip(ids, names, strict=True)])
    if longest > room:
        return _sources_below_ids(attribution, shown, width)
    cells = [map(Text, ids)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("source")
    if longest + _GAP + min(longest_name, _LEAST_NAME) <= room:
        table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=min(30, room - longest - _GAP))
        cells.append(map(Text, names))
    for title in _SOURCE_TITLES:
        table.add_column(title, justify="right", no_wrap=True)
    for *beginning, numbers in zip(*cells, rows, strict=True):
        table.add_row(*beginning, *numbers)
    return table


def _sources_below_ids(attribution: Attribution, shown: Sequence[TextSource], width: int) -> Text:
    rows = [_source_cells(attribution, source, " ") for source in shown]
    if sum(_widths(_SOURCE_TITLES, rows)) + _GAP * len(_SOURCE_TITLES) > width:
        rows = [_source_cells(attribution, source, "\n") for source in shown]
    widths = _widths(_SOURCE_TITLES, rows)

    def lines(cells: Sequence[str]) -> Iterator[str]:
        for parts in zip_longest(*(cell.split("\n") for cell in cells), fillvalue=""):
            yield "".join(f"{'':{_GAP}}{part:>{columns}}" for part, columns in zip(parts, widths, strict=True))

    text = Text("\n").join([Text("source", "bold"), *(Text(line, "bold") for line in lines(_SOURCE_TITLES))])
    for source, cells in zip(shown, rows, strict=True):
        for line in (printable(source.id), *lines(cells)):
            text.append(f"\n{line}")
    text.overflow = "fold"
    return text


def _source_cells(attribution: Attribution, source: TextSource, before_residual: str) -> list[str]:
    covered = (source.words, source.new_words, source.only_words)
    shares = [percent(getattr(source.shares, name)) if source.shares else "–" for name in Shares.NAMES]
    if source.residual is not None:
        residual = (percent(getattr(source.residual.shares, name)) for name in Shares.NAMES)
        shares = [f"{share}{before_residual}({part})" for share, part in zip(shares, residual, strict=True)]
    passages = f"{len(source.passages):,}"
    return [*(percent(words / attribution.counted_words) for words in covered), *shares, passages]


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(cell_len(line) for cell in cells for line in cell.split("\n")) for cells in zip(titles, *rows, strict=True)
    ]


def totals_line(attribution: Attribution) -> str:
    if not attribution.sources:
        return f"No source: none of {plural(attribution.counted_words, 'word')} is in a passage of another document."
    sources, longest = plural(len(attribution.sources), "source"), plural(attribution.longest_passage, "word")
    words, share = plural(attribution.counted_words, "word"), percent(attribution.coverage)
    return f"{attribution.covered_words:,} of {words} ({share}) are in {sources}; the longest passage has {longest}."


def closing_line(attribution: Attribution) -> str:
    # Imported here, so that `whorl similar` starts faster.
    from whorl.output.sources import recall_line

    also = plural(attribution.also_count, "other document")
    also = f", {also} with nothing that the sources lack" if attribution.also_count else ""
    return f"{plural(attribution.read, 'document')} read{also}; {recall_line(attribution)}"
