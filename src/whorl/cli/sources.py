"""Command `whorl sources`: finds the documents that account for a text."""

from __future__ import annotations

from pathlib import Path

import click

from whorl.cli.options import STORE, operation_options, require_writable, with_boilerplate_texts, written_file
from whorl.cli.render.comparison import is_file, read_file
from whorl.cli.render.console import console, reported_progress
from whorl.cli.render.sources import closing_line, sources_table, totals_line
from whorl.errors import ParameterError, UnknownDocumentError
from whorl.operations import SourcesOperation
from whorl.output.comparison import Read
from whorl.output.format import as_json as json_text
from whorl.output.format import printable
from whorl.output.report import report
from whorl.output.sources import common_line, excluded_line, notes, sources_values, write_sources
from whorl.search.similar.sources import SOURCE
from whorl.store import open_store


@click.command()
@click.argument("named", metavar="TEXT")
@STORE
@operation_options(SourcesOperation)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all sources, with their passages in both texts.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one source per line.")
@click.option(
    "--html", metavar="FILE", help="Write a report to read, print and send: a single file that loads nothing."
)
def sources(
    named: str,
    store: str | None,
    options: SourcesOperation,
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
        require_writable(report_file, [named, *options.boilerplate])
    options = with_boilerplate_texts(options, [named])
    given = read_file(named) if is_file(named) else None
    with open_store(store, create=False) as opened, reported_progress():
        try:
            attribution = opened.sources(
                named if given is None else SOURCE,
                options,
                source=None if given is None else given.text,
            )
        except UnknownDocumentError as error:
            if given is not None:
                raise
            raise ParameterError(f"{named!r} is no file here, and {error} (whorl search '*' lists some)") from error
    read = given or Read.of(named, attribution.content)
    if report_file is not None:
        with written_file(report_file) as out:
            out.write(report(read, attribution))
    if as_json:
        click.echo(json_text(sources_values(read, attribution)))
        return
    for note in notes(attribution):
        click.echo(f"note: {printable(note)}", err=True)
    if as_csv:
        with written_file(None) as out:
            write_sources(attribution, out)
        return
    click.echo(totals_line(attribution))
    if attribution.common is not None:
        click.echo(common_line(attribution.common, attribution.words))
    if attribution.excluded_words:
        click.echo(excluded_line(attribution))
    shown = attribution.sources[options.start :][: options.rows]
    if shown:
        click.echo()
        console().print(sources_table(attribution, shown))
        click.echo()
    hidden = len(attribution.sources) - options.start - options.rows
    click.echo(f"… and {hidden:,} more\n" if hidden > 0 else "", nl=False)
    click.echo(closing_line(attribution))
