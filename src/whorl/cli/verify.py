"""Command `whorl verify`: checks whether the quotations in a text match documents of the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal

import click
from click.exceptions import Exit
from rich.console import Console
from rich.text import Text

from whorl.cli.render.comparison import place_text, shorten
from whorl.cli.render.terminal import console, print_notes, show_progress
from whorl.cli.shared.flags import HTML, STORE, operation_options
from whorl.cli.shared.open_store_and_documents import STANDARD_INPUT, is_file, open_existing_store, resolve_reference
from whorl.cli.shared.output_files import open_output, report_file
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.errors import ParameterError
from whorl.ingest.files import SourceFile
from whorl.operations import VerifyOperation
from whorl.output.checked_quotations import (
    colour_of,
    difference_text,
    look_up_line,
    quotations_report,
    totals_line,
    verification_values,
    write_quotations,
)
from whorl.output.compare_documents import Lines, ReadText
from whorl.output.formatting import as_json as json_text
from whorl.output.formatting import plural, printable, title_of
from whorl.search.quotations.extract_quotations import quotations_in_json
from whorl.search.quotations.results import Verdict, Verification, VerifiedQuotation, parse_verdicts
from whorl.search.similar.fetch_query_sources import SOURCE
from whorl.store import Store

_INDENT = "   "


@click.command(cls=SingleValueCommand)
@click.argument("named", metavar="TEXT")
@STORE
@operation_options(VerifyOperation)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all quotations, with their places.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, one quotation per line.")
@HTML
def verify(
    named: str, store: str | None, options: VerifyOperation, as_json: bool, as_csv: bool, html: str | None
) -> None:
    """Check whether the quotations in a text are in the store, word for word, and where.

    TEXT is a file, - for standard input, or the id of a document in the store. With --fail-on, the current text of a
    file is checked, even if the store has an earlier text of the file.

    Quotations are texts between quotation marks or in block quotes; their sources are named by footnotes, brackets,
    links, or a line with a dash. Or TEXT holds quotations as JSON: [{"quote": "the words", "source": "the id or name of
    a document"}].

    \b
    exact          word for word in a document; if a source is named, in the source
    edited         in a document, with up to a quarter of the words changed
    stitched       put together from several passages
    misattributed  not in the named source, but in another document
    absent         in no document

    Added and dropped words count as changed. Differences in case, line breaks, hyphenation, quotation marks and loose
    punctuation are ignored; differences in numbers, signs and words are not. A quotation of fewer than 8 words is never
    called edited or stitched.
    """  # noqa: D301 - click wants the control character
    failing = parse_verdicts(options.fail_on) if options.fail_on is not None else frozenset()
    target = report_file(html, [named], as_json=as_json, as_csv=as_csv)
    with open_existing_store(store) as opened, show_progress():
        read, verification = _read_and_verify(opened, named, options)
    if target is not None:
        with open_output(target) as out:
            out.write(quotations_report(read, verification))
    if as_json:
        click.echo(json_text(verification_values(read, verification)))
    elif as_csv:
        with open_output(None) as out:
            write_quotations(read, verification, out)
    else:
        _print(verification, options)
    if failing & {quotation.verdict for quotation in verification.quotations}:
        raise Exit(1)


def _read_and_verify(store: Store, named: str, options: VerifyOperation) -> tuple[ReadText, Verification]:
    file = SourceFile.read(named) if is_file(named) else None
    is_json = file is not None and PurePath(named).suffix.lower() == ".json"
    markup = None if file is None else file.markup
    # Pipes and standard input cannot be read again.
    is_read_once = named == STANDARD_INPUT or not os.path.isfile(named)
    if file is not None and (is_json or markup is not None or is_read_once):
        text, own_id = file.text, (None if is_read_once else store.references.id_by_path(named)) or SOURCE
    else:
        meant = resolve_reference(store, named, is_file_expected=True, prefers_file=options.fail_on is not None)
        if meant.text is None:
            verification = store.verify(meant.id or named, options)
            return ReadText.from_text(named, verification.text), verification
        text, own_id = meant.text, meant.id or SOURCE
    kind: Literal["standard input", "file"] = "standard input" if named == STANDARD_INPUT else "file"
    if is_json and quotations_in_json(text) is None:
        raise ParameterError(
            f'{named} is not a JSON list of quotations, such as [{{"quote": "the words", "source": "a document"}}]'
        )
    verification = store.verify(own_id, options, source=text, markup=markup)
    return ReadText(named, kind, verification.text), verification


def _print(verification: Verification, options: VerifyOperation) -> None:
    print_notes(verification.warnings)
    shown = verification.quotations[options.start :][: options.rows]
    printer = console()
    for number, quotation in enumerate(shown, options.start + 1):
        for line in _quotation_lines(number, quotation, printer=printer):
            printer.print(line, soft_wrap=True)
    hidden = len(verification.quotations) - options.start - options.rows
    click.echo(f"… and {hidden:,} more\n" if hidden > 0 else "", nl=False)
    click.echo(totals_line(verification))


def _quotation_lines(number: int, quotation: VerifiedQuotation, *, printer: Console) -> Iterator[Text]:
    verdict = (f"{number}. {quotation.verdict.value}", f"bold {colour_of(quotation.verdict)}")
    source = quotation.quotation.source
    named = f", source named: {printable(source)}" if source else ""
    yield Text.assemble(verdict, (f"  {plural(quotation.words, 'word')}{named}", "dim"))
    quote = f"“{shorten(quotation.quotation.quote, 0, len(quotation.quotation.quote))}”"
    for line in Text(quote).wrap(printer, max(printer.width - len(_INDENT), 20)):
        line.rstrip()
        yield Text(_INDENT).append_text(line)
    for place in quotation.places:
        where = f"{title_of(place.id, place.name)}, {place_text(Lines(place.content), place.document)}"
        part = ""
        if quotation.verdict is Verdict.STITCHED:
            part = f"“{shorten(quotation.quotation.quote, *place.quote)}” in "
        yield Text(f"{_INDENT}{part}").append(where, "dim")
        for difference in place.differences:
            yield Text(f"{_INDENT}  {printable(difference_text(difference))}")
    for note in quotation.notes:
        yield Text(f"{_INDENT}{printable(note)}")
    if quotation.look_up is not None and quotation.verdict is Verdict.ABSENT:
        yield Text(f"{_INDENT}{look_up_line(quotation.look_up, quotation.verdict)}", "dim")
    yield Text()
