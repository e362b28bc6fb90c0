"""Tests of the tables of hits, similar documents and sources, and of the lines around the table of sources."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from rich.console import Console, RenderableType

from tests.output.test_sources import SOURCE, TEXT, example_attribution
from whorl.cli.render.result_tables import closing_line, page_table, similar_table, sources_table, totals_line
from whorl.cli.render.terminal import console
from whorl.fingerprint.compare_texts import CommonWords, compare_words, words_of
from whorl.fingerprint.statistics.metric import Shares
from whorl.fingerprint.statistics.overlap_estimates import Estimate
from whorl.model import Hit, Page
from whorl.search.attribution.results import Common
from whorl.search.similar.results import Similar, SimilarHit, exact_estimate


def shown(table: RenderableType, width: int = 100) -> list[str]:
    """Return the lines of a table, without trailing blanks."""
    out = Console(file=io.StringIO(), width=width, color_system=None)
    with out.capture() as captured:
        out.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_hits_of_words_have_scores() -> None:
    """
    Hits without a source have a score and no bar; brackets and control characters of ids and names are printed as text.
    """
    page = Page(2, (Hit("[bold]a[/]", "One", 2.0), Hit("b\x1b[31m", "\r", 0.5)))
    head, first, second = shown(page_table(page))
    assert head.split() == ["id", "name", "score"]
    assert first.split() == ["[bold]a[/]", "One", "2"]
    assert second.split() == ["b\ufffd[31m", "\ufffd", "0.5"]


def test_hits_of_one_source_have_their_share_of_it() -> None:
    """
    Half of the source's tokens is half a bar; a hit without counts has a dash, and no share exceeds 100 %.
    """
    hits = (Hit("a", "", 3.0, 512), Hit("b", "", 2.0, 256), Hit("c", "", 1.0), Hit("d", "", 1.0, 600))
    head, *rows = shown(page_table(Page(4, hits, source_tokens=512)))
    assert head.split() == ["id", "name", "shared", "tokens", "overlap"]
    assert [row.split() for row in rows] == [
        ["a", "512", "█" * 20, "100.0%"],
        ["b", "256", "█" * 10 + "░" * 10, "50.0%"],
        ["c", "–", "░" * 20, "0.0%"],
        ["d", "600", "█" * 20, "100.0%"],
    ]


def test_a_long_id_is_folded_and_a_long_name_is_cut() -> None:
    """
    A long id is wrapped over several lines without loss; a name is cut to forty characters.
    """
    lines = shown(page_table(Page(1, (Hit("i" * 200, "n" * 60, 1.0),))), width=80)
    assert sum(line.count("i") for line in lines[1:]) == 200
    assert "n" * 39 + "…" in lines[1]
    assert all(len(line) <= 80 for line in lines)


def rows(*hits: SimilarHit) -> list[list[str]]:
    """Return the cells of each row."""
    page = Similar(len(hits), True, hits, cast(Any, None), len(hits))
    return [line.split() for line in shown(similar_table(page, 120), width=120)]


def test_counted_shares_have_no_interval() -> None:
    """
    Exact shares have no interval. Texts of 40 and 80 shingles that share 20 have 20 of 100, of 40 and of 80; the bar
    shows the score.
    """
    head, row = rows(SimilarHit(Hit("[b]x", "a name", 25.0), exact_estimate(40, 80, 20)))
    assert head == ["id", "name", "jaccard", "A", "in", "B", "B", "in", "A", "shingles"]
    assert row == ["[b]x", "a", "name", "█" * 5 + "░" * 15, "20.0%", "50.0%", "25.0%", "80"]


def test_estimates_have_the_ends_of_their_intervals() -> None:
    """
    Estimates have intervals in whole percent, rounded outward, for each share; sizes have separators of thousands.
    """
    low, high = Shares(0.301, 0.402, 0.503), Shares(0.359, 0.458, 0.557)
    estimate = Estimate(Shares(0.333, 0.444, 0.555), low, high, 10, 30, 1_000, 12_345, is_exact=False)
    cells = rows(SimilarHit(Hit("x", "", 33.3), estimate))[1]
    assert cells[2:] == ["33.3%", "30–36", "44.4%", "40–46", "55.5%", "50–56", "12,345"]


@pytest.mark.parametrize("is_residual", [False, True])
@pytest.mark.parametrize("width", [70, 80, 100, 120, 160])
def test_a_narrow_table_keeps_ids_and_shares_whole(width: int, is_residual: bool) -> None:
    """
    In a narrow table the bar is dropped first, then the name, and shares without boilerplate go to a second line; no
    number is cut.
    """
    low, high = Shares(0.301, 0.402, 0.503), Shares(0.359, 0.458, 0.557)
    estimate = Estimate(Shares(0.333, 0.444, 0.555), low, high, 10, 30, 1_000, 12_345, is_exact=False)
    residual: Any = exact_estimate(40, 80, 20) if is_residual else None
    document_id, name = "folder/" + "i" * 60, "n" * 50
    hit = SimilarHit(Hit(document_id, name, 33.3), estimate, residual)
    lines = shown(similar_table(Similar(1, True, (hit,), cast(Any, None), 1), width), width=width)
    assert all(len(line) <= width for line in lines)
    cells = " ".join(lines).split()
    for number in ("33.3%", "30–36", "44.4%", "40–46", "55.5%", "50–56", "12,345", "jaccard", "shingles"):
        assert number in cells
    assert all((f"({number}%)" in cells) == is_residual for number in ("20.0", "50.0", "25.0"))
    assert sum(line.count("i") for line in lines[1:]) == 60
    assert (name[:12] in lines[1], "█" in lines[1]) == (
        width >= 100 + 20 * is_residual,
        width >= 120 + 40 * is_residual,
    )


def test_sources_in_a_table() -> None:
    """
    Shares of the words are in percent; markup in ids is text, control characters are replaced; only the given
    sources are shown.
    """
    attribution = example_attribution()
    source = replace(attribution.sources[0], id="[red]b\x1b")
    printer = console()
    with printer.capture() as shown:
        printer.print(sources_table(attribution, (source,), printer.width))
    head, *rows = shown.get().splitlines()
    assert head.split()[:5] == ["source", "name", "covers", "adds", "alone"]
    assert [row.split() for row in rows] == [
        ["[red]b�", "B", "50.0%", "50.0%", "0.0%", "16.6%", "16.6%", "100.0%", "1"]
    ]


@pytest.mark.parametrize("is_residual", [False, True])
@pytest.mark.parametrize(
    ("width", "length"), [(60, 70), (80, 12), (80, 60), (100, 30), (120, 30), (120, 58), (200, 60)]
)
def test_ids_of_sources_stay_whole(width: int, length: int, is_residual: bool) -> None:
    """
    A narrow table omits names, a narrower one has the numbers below each id; ids and numbers stay whole.
    """
    attribution = example_attribution()
    residual: Any = exact_estimate(40, 80, 20) if is_residual else None
    source = replace(attribution.sources[0], id="i" * length, name="n" * 20, residual=residual)
    lines = shown(sources_table(attribution, (source, source), width), width=width)
    assert all(len(line) <= width for line in lines)
    cells = " ".join(lines).split()
    for number in ("50.0%", "16.6%", "100.0%", "1", "passages", "covers"):
        assert cells.count(number) >= 1
    assert all(cells.count(f"({number}%)") == 2 * is_residual for number in ("20.0", "50.0", "25.0"))
    # Only an id that is longer than a line is folded.
    assert sum("i" * min(length, width) in line for line in lines) == 2
    assert sum(line.count("i") for line in lines[1:] if line.startswith("i")) == 2 * length
    assert ("n" * 12 in " ".join(lines)) == (length + 16 + 2 <= width - (81 if is_residual else 59) - 2)


def test_lines_around_the_sources() -> None:
    """
    The lines around the table have the covered share of the text, and the number of documents read.
    """
    assert (
        totals_line(example_attribution()) == "5 of 10 words (50.0%) are in 1 source; the longest passage has 5 words."
    )
    assert totals_line(replace(example_attribution(), sources=())) == (
        "No source: none of 10 words is in a passage of another document."
    )
    assert closing_line(example_attribution()).startswith(
        "2 documents read, 1 other document with nothing that the sources lack; at least"
    )


def test_sources_without_common_text() -> None:
    """
    Shares without common text follow the others, and the words are those without common text.
    """
    comparison = compare_words(
        words_of(TEXT), words_of(SOURCE), common=CommonWords(np.arange(10) < 6, np.arange(5) < 5, 0)
    )
    source = replace(example_attribution().sources[0], residual=comparison.residual)
    printer = console()
    with printer.capture() as shown:
        printer.print(sources_table(example_attribution(), (source,), printer.width))
    assert "16.6% (0.0%)  16.6% (0.0%)  100.0% (0.0%)" in shown.get()
    left = replace(example_attribution(), common=Common(50, 4, 3, is_ignored=True))
    assert totals_line(left).startswith("5 of 6 words (83.3%) are in 1 source")
