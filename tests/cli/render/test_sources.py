"""The table of sources, and the lines around it."""

from __future__ import annotations

from dataclasses import replace

from tests.wire.test_sources import found
from whorl.cli.render.console import console
from whorl.cli.render.sources import closing_line, sources_table, totals_line


def test_the_table() -> None:
    """
    Shares of the words in percent; markup in ids is text, control characters are replaced; no more rows than asked.
    """
    some = found()
    source = replace(some.sources[0], id="[red]b\x1b")
    printer = console()
    with printer.capture() as shown:
        printer.print(sources_table(replace(some, sources=(source, source)), 1))
    head, *rows = shown.get().splitlines()
    assert head.split()[:5] == ["source", "name", "covers", "adds", "alone"]
    assert [row.split() for row in rows] == [
        ["[red]b�", "B", "50.0%", "50.0%", "0.0%", "16.6%", "16.6%", "100.0%", "1"]
    ]


def test_the_lines_around() -> None:
    """
    What is covered in all, and what was read for it.
    """
    assert totals_line(found()) == "5 of 10 words (50.0%) stand in 1 source; the longest passage has 5 words."
    assert totals_line(replace(found(), sources=())) == (
        "No source: none of 10 words stands in a passage of another document."
    )
    assert closing_line(found()).startswith("2 documents read, 1 of them with nothing that the sources lack; at least")
