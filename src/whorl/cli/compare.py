"""Command `whorl compare`: compares two texts exactly."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from whorl.cli.render.comparison import summary_lines
from whorl.cli.render.terminal import console, print_notes
from whorl.cli.shared.flags import HTML, STORE, operation_options, with_boilerplate_texts
from whorl.cli.shared.open_store_and_documents import STANDARD_INPUT, is_file, open_existing_store, resolve_reference
from whorl.cli.shared.output_files import open_output, report_file
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.errors import EngineError, ParameterError, SchemeMismatchError, StoreError
from whorl.fingerprint.compare_texts import Comparison
from whorl.fingerprint.shingling import Scheme
from whorl.ingest.files import source_text
from whorl.operations import CompareOperation
from whorl.output.compare_documents import ReadText, comparison_values, warnings
from whorl.output.comparison_report import differences_report
from whorl.output.formatting import as_json as json_text
from whorl.search.boilerplate import compare_two_texts, detector_of_texts

if TYPE_CHECKING:
    from whorl.store import Store


@click.command(cls=SingleValueCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@STORE
@operation_options(CompareOperation)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: counts, shares, and all passages with their texts; with --differences also these.",
)
@HTML
def compare(a: str, b: str, store: str | None, options: CompareOperation, as_json: bool, html: str | None) -> None:
    """Count exactly what two texts share, and show the passages, or the differences.

    A and B are documents of the store, by id, path or name, or else files; one of them can be - for standard input. Two
    files can also be compared without a store.

    \b
    jaccard  shared shingles (runs of words), in percent of all shingles of both
    A in B   … of the shingles of A: 100% if A is an excerpt of B
    B in A   … of the shingles of B

    A passage is the longest run of words in both texts; case, and anything between the words, does not matter.
    [start:end] counts characters from 0 in the text as whorl reads it: HTML and TEI without tags.
    """  # noqa: D301 - click wants the control character
    options = with_boilerplate_texts(options, [a, b])
    target = report_file(html, [a, b], as_json=as_json, as_csv=False)
    read_a, read_b, scheme = read(a, b, store, Scheme.parse(options.scheme) if options.scheme else None)
    comparison = _comparison(read_a.text, read_b.text, scheme, store, options)
    if target is not None:
        with open_output(target) as out:
            out.write(differences_report(read_a, read_b, comparison))
    if as_json:
        click.echo(json_text(comparison_values(read_a, read_b, comparison, differences=options.differences)))
        return
    print_notes(warnings(comparison))
    printer = console()
    for line in summary_lines(read_a, read_b, comparison, options, printer=printer):
        printer.print(line, soft_wrap=True)


def read(a: str, b: str, store: str | None, scheme: Scheme | None) -> tuple[ReadText, ReadText, Scheme]:
    """Read two texts by their names, and choose the scheme for the comparison, by default that of the store.

    A name is a reference to a document, the path of a file, or `-`. If the configured store is a folder that does not
    exist, two files are read without a store. Raises ParameterError for a bad name or file, StoreError if the store
    cannot be opened.
    """
    if a == b == STANDARD_INPUT:
        raise ParameterError("- is standard input, which is read once; name a file or an id beside it")
    if store is None and is_file(a) and is_file(b) and not _is_store_configured():
        return _file(a), _file(b), scheme or Scheme()
    try:
        with open_existing_store(store) as opened:
            texts = {name: _read_text(opened, name) for name in (a, b)}
            return texts[a], texts[b], scheme or opened.engine.scheme
    except (StoreError, EngineError) as error:
        name = next((name for name in (a, b) if not is_file(name)), None)
        if name is None:
            raise
        kind = "a folder, not a file" if os.path.isdir(name) else "not a file here"
        raise StoreError(f"{name!r} is {kind}, so it is an id, and the store says: {error}") from error


def _is_store_configured() -> bool:
    from whorl.settings.settings import Settings

    configured = Settings.load().store
    return "://" in configured or os.path.isdir(configured)


def _file(name: str) -> ReadText:
    return ReadText(name, "standard input" if name == STANDARD_INPUT else "file", source_text(name))


def _read_text(opened: Store, name: str) -> ReadText:
    if name == STANDARD_INPUT or (is_file(name) and not opened.references.ids([name])):
        return _file(name)
    meant = resolve_reference(opened, name)
    if meant.text is not None:
        return ReadText(name, "file", meant.text)
    document_id = meant.id or name
    return ReadText(name, "document", opened.texts([document_id])[document_id])


def _comparison(a: str, b: str, scheme: Scheme, store: str | None, options: CompareOperation) -> Comparison:
    if options.common_above is None:
        # Only `common_above` counts the documents of a store, so open no store here.
        boilerplate = detector_of_texts(options.boilerplate, scheme) if options.boilerplate else None
        return compare_two_texts(a, b, scheme, boilerplate)
    try:
        opened = open_existing_store(store)
    except StoreError as error:
        raise StoreError(
            f"--common-above {options.common_above} counts the documents of a store that have a text; name a store "
            f"with --store STORE, or the common text itself with --boilerplate FILE ({error})"
        ) from error
    with opened:
        if opened.engine.scheme != scheme:
            raise SchemeMismatchError(
                f"what is common is known under the store's scheme, {opened.engine.scheme.name}; leave --scheme out"
            )
        return opened.compare("a", "b", options, source={"a": a, "b": b})
