"""Command `whorl sources`: finds the documents that account for a text."""

from __future__ import annotations

from pathlib import Path

import click

from whorl.cli.options import (
    BOILERPLATE,
    COMMON_ABOVE,
    IGNORE_COMMON,
    STORE,
    boilerplate_texts,
    line_or_usual,
    require_writable,
    written_file,
)
from whorl.cli.render.comparison import is_file, read_file
from whorl.cli.render.console import console, reported_progress
from whorl.cli.render.sources import closing_line, sources_table, totals_line
from whorl.errors import ParameterError, UnknownDocumentError
from whorl.output.comparison import Read
from whorl.output.format import as_json as json_text
from whorl.output.format import printable
from whorl.output.report import report
from whorl.output.sources import common_line, excluded_line, notes, sources_values, write_sources
from whorl.search.attribution.exclusions import Exclusion
from whorl.search.attribution.search import DEFAULT_READ, MIN_WORDS, MOST_READ
from whorl.search.similar.sources import SOURCE
from whorl.store import open_store


@click.command()
@click.argument("named", metavar="TEXT")
@STORE
@click.option(
    "--min-words",
    default=MIN_WORDS,
    show_default=True,
    type=click.IntRange(1),
    help="Words in the shortest passage that counts; at least as many as in a shingle.",
)
@click.option("--except", "except_for", metavar="QUERY", help="Leave out the documents that this query matches.")
@COMMON_ABOVE
@BOILERPLATE
@IGNORE_COMMON
@click.option(
    "--without",
    multiple=True,
    type=click.Choice([each.value for each in Exclusion]),
    help="Leave out these parts of the text; can be given twice.",
)
@click.option("--recall", default="95", show_default=True, metavar="PERCENT", help="How many of the sources to find.")
@click.option(
    "--most-read",
    default=DEFAULT_READ,
    show_default=True,
    type=click.IntRange(1, MOST_READ),
    help="The most documents to compare the text with.",
)
@click.option("--rows", default=10, show_default=True, type=click.IntRange(0), help="Sources to show in the table.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all sources, with their passages in both texts.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one source per line.")
@click.option(
    "--html", metavar="FILE", help="Write a report to read, print and send: a single file that loads nothing."
)
def sources(
    named: str,
    store: str | None,
    min_words: int,
    except_for: str | None,
    common_above: str | None,
    boilerplate_files: tuple[str, ...],
    ignore_common: bool,
    without: tuple[str, ...],
    recall: str,
    most_read: int,
    rows: int,
    as_json: bool,
    as_csv: bool,
    html: str | None,
) -> None:
    """Find the documents that a text comes from: a small set that covers as much of it as possible.

    TEXT is a file, - for standard input, or the id of a document in the store, which is not one of its own sources. If
    there is a file of that name, it is used.

    \b
    covers   words of the text in passages shared with the source
    adds     … without words that a source above covers; the first adds the most
    alone    … without words that any other document read covers
    jaccard  shared shingles (runs of words) as a share of those in either
    A in B   … of those in the text
    B in A   … of those in the source

    All of these are counted on whole texts. The last line gives the recall with which documents were found.
    """  # noqa: D301 - click wants the control character
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other; leave one of the two out")
    report_file = None if html is None else Path(html)
    if report_file is not None:
        require_writable(report_file, [named, *boilerplate_files])
    boilerplate = boilerplate_texts(boilerplate_files, [named])
    given = read_file(named) if is_file(named) else None
    with open_store(store, create=False) as opened, reported_progress():
        try:
            found = opened.sources(
                named if given is None else SOURCE,
                source=None if given is None else given.text,
                recall=recall,
                min_words=min_words,
                except_for=except_for,
                most_read=most_read,
                common_above=line_or_usual(common_above, boilerplate, is_ignored=ignore_common),
                boilerplate=boilerplate,
                ignore_common=ignore_common,
                without=without,
            )
        except UnknownDocumentError as error:
            if given is not None:
                raise
            raise ParameterError(f"{named!r} is no file here, and {error} (whorl search '*' lists some)") from error
    read = given or Read.of(named, found.content)
    if report_file is not None:
        with written_file(report_file) as out:
            out.write(report(read, found))
    if as_json:
        click.echo(json_text(sources_values(read, found)))
        return
    for note in notes(found):
        click.echo(f"note: {printable(note)}", err=True)
    if as_csv:
        with written_file(None) as out:
            write_sources(found, out)
        return
    click.echo(totals_line(found))
    if found.common is not None:
        click.echo(common_line(found.common, found.words))
    if found.excluded_words:
        click.echo(excluded_line(found))
    if found.sources[:rows]:
        click.echo()
        console().print(sources_table(found, rows))
        click.echo()
    hidden = len(found.sources) - rows
    click.echo(f"… and {hidden:,} more\n" if hidden > 0 else "", nl=False)
    click.echo(closing_line(found))
