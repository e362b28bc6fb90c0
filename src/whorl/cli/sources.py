"""Command `whorl sources`: finds the documents that a text comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import click
from click.exceptions import Exit

from whorl.cli.render.result_tables import closing_line, sources_table, totals_line
from whorl.cli.render.terminal import console, print_notes, show_progress
from whorl.cli.shared.flags import HTML, operation_options, with_boilerplate_texts
from whorl.cli.shared.open_store_and_documents import (
    SearchScope,
    add_search_options,
    open_store_or_files,
    resolve_reference,
)
from whorl.cli.shared.output_files import open_output, report_file
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.errors import ParameterError
from whorl.operations import SourcesOperation
from whorl.output.compare_documents import ReadText
from whorl.output.formatting import as_json as json_text
from whorl.output.formatting import plural
from whorl.output.sources import (
    common_line,
    excluded_line,
    notes,
    report,
    sources_values,
    write_source_passages,
    write_sources,
)
from whorl.search.attribution.results import Attribution, Level
from whorl.search.similar.fetch_query_sources import SOURCE

_LEVELS: tuple[Level, ...] = get_args(Level)


@click.command(cls=SingleValueCommand)
@click.argument("named", metavar="TEXT")
@add_search_options
@operation_options(SourcesOperation)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all sources, with their passages in both texts.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one source per line.")
@click.option(
    "--csv-passages", is_flag=True, help="Print CSV, one passage per line, with its place and text in TEXT and source."
)
@HTML
def sources(
    named: str,
    scope: SearchScope,
    options: SourcesOperation,
    as_json: bool,
    as_csv: bool,
    csv_passages: bool,
    html: str | None,
) -> None:
    """Find the documents that a text comes from: a small set that covers as much of it as possible.

    TEXT is a document of the store, by its id, path or name, a file that is not in the store, or - for standard input.
    A document of the store is not one of its own sources; other texts are compared with all documents. With --fail-on,
    the current text of a file is compared with all documents, even if the store has an earlier text of the file. With
    --in FOLDER, the sources are files, and no store is needed.

    \b
    covers   words of the text in passages shared with the source
    adds     covered words that no source above covers; the first adds the most
    alone    covered words that no other document is known to cover
    jaccard  shared shingles (runs of words), in percent of all shingles of both
    A in B   … of the shingles of the text
    B in A   … of the shingles of the source

    All of these are counted on whole texts. The last line gives the recall of the search for documents.
    """  # noqa: D301 - click wants the control character
    if csv_passages and (as_json or as_csv):
        raise ParameterError("--csv-passages excludes --json and --csv; leave one of them out")
    target = report_file(html, [named, *options.boilerplate], as_json=as_json, as_csv=as_csv)
    options = with_boilerplate_texts(options, [named])
    with open_store_or_files(scope) as (opened, lost):
        # A document that the user names is not one of its own sources. But a document with the same text as a file is a
        # source of the file: otherwise, --fail-on would accept a complete copy.
        in_folders, gates = bool(scope.folders), options.fail_on is not None
        meant = resolve_reference(opened, named, is_file_expected=in_folders, finds_copy=False, prefers_file=gates)
        if meant.id is not None and meant.note is None:
            print_notes([f"{named} is in the store, and so none of its own sources"])
        with show_progress():
            attribution = opened.sources(meant.id or SOURCE, options, source=meant.text)
    if lost is not None:
        attribution = _without_promise(attribution, lost)
    read = ReadText(named, "document" if meant.text is None else "file", attribution.content)
    if target is not None:
        with open_output(target) as out:
            out.write(report(read, attribution))
    if as_json:
        click.echo(json_text(sources_values(read, attribution)))
    elif as_csv or csv_passages:
        print_notes(notes(attribution))
        with open_output(None) as out:
            if as_csv:
                write_sources(attribution, out)
            else:
                write_source_passages(read, attribution, out)
    else:
        _print(attribution, options)
    if options.fail_on is not None and not attribution.is_complete:
        cause = "the store has documents that are not found" if lost is None else "documents could not be read"
        print_notes([f"the level may be higher, as {cause}: --fail-on fails"])
        raise Exit(1)
    if options.fail_on is not None and _LEVELS.index(attribution.level) >= _LEVELS.index(options.fail_on):
        raise Exit(1)


def _without_promise(attribution: Attribution, lost: int) -> Attribution:
    """Return the result with a warning about unreadable documents, and without its promise of the recall."""
    warning = f"{plural(lost, 'document')} could not be read, so nothing is promised; they may be sources, too"
    return replace(
        attribution,
        is_complete=False,
        promise=replace(attribution.promise, words=None, certain_words=None),
        warnings=(warning, *attribution.warnings),
    )


def _print(attribution: Attribution, options: SourcesOperation) -> None:
    print_notes(notes(attribution))
    click.echo(totals_line(attribution))
    if attribution.common is not None:
        click.echo(common_line(attribution.common, attribution.words))
    if attribution.excluded_words:
        click.echo(excluded_line(attribution))
    shown = attribution.sources[options.start :][: options.rows]
    if shown:
        click.echo()
        out = console()
        out.print(sources_table(attribution, shown, out.width))
        click.echo()
    hidden = len(attribution.sources) - options.start - options.rows
    click.echo(f"… and {hidden:,} more\n" if hidden > 0 else "", nl=False)
    click.echo(closing_line(attribution))
