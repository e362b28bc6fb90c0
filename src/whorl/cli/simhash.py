"""Command `whorl simhash`: prints the SimHash codes of documents."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterator

import click

from whorl.cli.options import operation_options
from whorl.operations import SimhashOperation


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@operation_options(SimhashOperation)
def simhash(paths: tuple[str, ...], options: SimhashOperation) -> None:
    """Print the SimHash code of each document: 64 bits, and those of near-duplicates differ in few.

    Reads the same files as 'whorl index'; standard input (-) is one text, unless it holds rows. Codes are decimal
    numbers. A document with nothing to hash is left out and reported: all such documents would have the code 0.
    """
    from whorl.cli.render.console import problem_lines
    from whorl.hamming.simhash import DEFAULT_SCHEME, named, simhashes_of
    from whorl.ingest.files import Problem, Problems, documents_in, places
    from whorl.ingest.rows.rows import Columns

    columns = Columns(options.text_column or "text", options.id_column, further=frozenset())
    scheme = named(options.scheme) if options.scheme else DEFAULT_SCHEME
    problems = Problems()
    waiting: deque[str] = deque()
    printed = 0

    def texts() -> Iterator[str]:
        tables_are_text = options.text_column is None
        for place in places(paths, problems.append, follow_links=options.follow_links):
            for document in documents_in(place.file, problems.append, columns, tables_are_text=tables_are_text):
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
        for line in problem_lines(problems, "gave no code"):
            click.echo(line, err=True)
    if (problems and not printed) or problems.whole_files:
        sys.exit(1)


def _line(code: int, document_id: str, scheme: str, form: str) -> str:
    if form == "codes":
        return str(code)
    if form == "tsv":
        return f"{code}\t{document_id}"
    return json.dumps({"id": document_id, "scheme": scheme, "simhash": code})
