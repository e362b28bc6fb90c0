"""Commands `whorl fingerprint` and `whorl simhash`: print the MinHash tokens or the SimHash code of texts."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterator

import click

from whorl.cli.shared.flags import operation_options
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.fingerprint.fingerprint_texts import as_json, as_npy, as_text
from whorl.fingerprint.shingling import Scheme
from whorl.ingest.files import source_text
from whorl.operations import SimhashOperation


@click.command(cls=SingleValueCommand)
@click.argument("file")
@click.option("--scheme", "scheme_name", metavar="NAME", help="What the fingerprint depends on: icu70, icu74 or icu77.")
@click.option(
    "--codec",
    type=click.Choice(["u64", "lucene", "alfresco"]),
    default="u64",
    show_default=True,
    help="Numbers; terms as a Lucene index holds them; hexadecimal as Alfresco stores it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "text", "npy"]),
    default="json",
    show_default=True,
    help="A JSON object; one token per line; an array for numpy.load.",
)
def fingerprint(file: str, scheme_name: str | None, codec: str, form: str) -> None:
    """Print the fingerprint of FILE, or of standard input (-): the 512 tokens that Solr makes from the same text.

    JSON is {"scheme", "size", "tokens": […]}: size is the number of distinct shingles, and the tokens are in the order
    of their buckets, with empty ones filled by rotation. npy is an array of 64-bit integers for numpy.load.
    """
    scheme = Scheme.parse(scheme_name) if scheme_name else Scheme()
    text = source_text(file)
    if form == "npy":
        click.echo(as_npy(text, scheme, codec), nl=False)
    else:
        click.echo((as_json if form == "json" else as_text)(text, scheme, codec))


@click.command(cls=SingleValueCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@operation_options(SimhashOperation)
def simhash(paths: tuple[str, ...], options: SimhashOperation) -> None:
    """Print the SimHash code of each document: 64 bits; near-duplicates differ in only a few.

    Reads the same files as 'whorl index'; standard input (-) is one text, unless it holds rows. Codes are decimal
    numbers. A document with nothing to hash is left out and reported: all such documents would have the code 0.
    """
    from whorl.cli.render.terminal import print_notes, print_problems
    from whorl.cli.shared.open_store_and_documents import table_notes
    from whorl.hamming.simhash import DEFAULT_SCHEME, full_scheme_name, simhashes_of
    from whorl.ingest.files import Problem, Problems, documents_in, find_files, skip_known
    from whorl.ingest.rows.row_format import RowColumns

    columns = RowColumns.from_names(options.text_column, options.id_column, properties=frozenset())
    scheme = full_scheme_name(options.scheme) if options.scheme else DEFAULT_SCHEME
    problems = Problems()
    text_tables: list[str] = []
    waiting: deque[str] = deque()
    printed = 0

    def texts() -> Iterator[str]:
        for found in skip_known(
            find_files(paths, problems.append, follow_links=options.follow_links, exclude=options.exclude), set()
        ):
            for document in documents_in(found.file, problems.append, columns, on_text_table=text_tables.append):
                waiting.append(document.id)
                yield document.text

    try:
        for code in simhashes_of(texts(), scheme):
            document_id = waiting.popleft()
            if code:
                click.echo(_line(code, document_id, scheme, options.format))
                printed += 1
            else:
                problems.append(Problem(document_id, f"there is nothing in it that {scheme} hashes"))
    finally:
        print_notes(table_notes(text_tables))
        print_problems(problems, "gave no code")
    if (problems and not printed) or problems.whole_files:
        sys.exit(1)


def _line(code: int, document_id: str, scheme: str, form: str) -> str:
    if form == "codes":
        return str(code)
    if form == "tsv":
        return f"{code}\t{document_id}"
    return json.dumps({"id": document_id, "scheme": scheme, "simhash": code})
