"""Tests of the table of sources and of the lines around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.output.test_sources import SOURCE, TEXT, found
from whorl.cli.render.console import console
from whorl.cli.render.tables import closing_line, sources_table, totals_line
from whorl.fingerprint.compare import CommonWords, compare_words, words_of
from whorl.search.attribution.results import Common


def test_the_table() -> None:
    """
    Shares of the words are in percent; markup in ids is text, control characters are replaced; only the given
    sources are shown.
    """
    some = found()
    source = replace(some.sources[0], id="[red]b\x1b")
    printer = console()
    with printer.capture() as shown:
        printer.print(sources_table(some, (source,)))
    head, *rows = shown.get().splitlines()
    assert head.split()[:5] == ["source", "name", "covers", "adds", "alone"]
    assert [row.split() for row in rows] == [
        ["[red]b�", "B", "50.0%", "50.0%", "0.0%", "16.6%", "16.6%", "100.0%", "1"]
    ]


def test_the_lines_around() -> None:
    """
    The lines around the table have the covered share of the text, and the number of documents read.
    """
    assert totals_line(found()) == "5 of 10 words (50.0%) stand in 1 source; the longest passage has 5 words."
    assert totals_line(replace(found(), sources=())) == (
        "No source: none of 10 words stands in a passage of another document."
    )
    assert closing_line(found()).startswith(
        "2 documents read, 1 other document with nothing that the sources lack; at least"
    )


def test_shares_without_what_is_common() -> None:
    """
    Shares without common text follow the others, and the words are those without common text.
    """
    comparison = compare_words(
        words_of(TEXT), words_of(SOURCE), common=CommonWords(np.arange(10) < 6, np.arange(5) < 5, 0)
    )
    source = replace(found().sources[0], residual=comparison.residual)
    printer = console()
    with printer.capture() as shown:
        printer.print(sources_table(found(), (source,)))
    assert "16.6% (0.0%)  16.6% (0.0%)  100.0% (0.0%)" in shown.get()
    left = replace(found(), common=Common(50, 4, 3, is_ignored=True))
    assert totals_line(left).startswith("5 of 6 words (83.3%) stand in 1 source")
