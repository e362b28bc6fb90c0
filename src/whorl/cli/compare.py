"""Command `whorl compare`: exact comparison of two texts."""

from __future__ import annotations

import click

from whorl.cli.options import STORE, operation_options, with_boilerplate_texts
from whorl.cli.render.comparison import read, summary_lines
from whorl.cli.render.console import console
from whorl.errors import SchemeMismatchError
from whorl.fingerprint.compare import Comparison, words_of
from whorl.fingerprint.scheme import Scheme
from whorl.operations import CompareOperation
from whorl.output.comparison import comparison_values, warnings
from whorl.output.format import as_json as json_text
from whorl.search.boilerplate import Comparer, commons_for_comparison, named_commons
from whorl.store import open_store


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@STORE
@operation_options(CompareOperation)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: counts, shares, and all passages with their texts.")
def compare(a: str, b: str, store: str | None, options: CompareOperation, as_json: bool) -> None:
    """Count exactly what two texts share, and show the passages.

    A and B are files or ids of documents in the store; one of them can be - for standard input. If there is a file of
    that name, it is used; anything else is looked up in the store.

    \b
    jaccard  shared shingles (runs of words) as a share of those in either
    A in B   … of those in A: 100% if A is an excerpt of B
    B in A   … of those in B

    A passage is the longest run of words in both texts; case, and anything between the words, does not matter.
    [start:end] counts characters from 0 in the text as whorl reads it: HTML without its tags.
    """  # noqa: D301 - click wants the control character
    options = with_boilerplate_texts(options, [a, b])
    read_a, read_b, scheme = read(a, b, store, Scheme.named(options.scheme) if options.scheme else None)
    comparison = _comparison(read_a.text, read_b.text, scheme, store, options)
    if as_json:
        click.echo(json_text(comparison_values(read_a, read_b, comparison)))
        return
    for warning in warnings(comparison):
        click.echo(f"note: {warning}", err=True)
    printer = console()
    for line in summary_lines(read_a, read_b, comparison, options, printer=printer):
        printer.print(line, soft_wrap=True)


def _comparison(a: str, b: str, scheme: Scheme, store: str | None, options: CompareOperation) -> Comparison:
    words = words_of(a, scheme)
    if options.common_above is None:
        # Boilerplate files need no store.
        boilerplate = named_commons(options.boilerplate, scheme) if options.boilerplate else None
        return Comparer(words, scheme, boilerplate).compare(b)
    with open_store(store, create=False) as opened:
        if opened.engine.scheme != scheme:
            raise SchemeMismatchError(
                f"what is common is known under the store's scheme, {opened.engine.scheme.name}; leave --scheme out"
            )
        common = commons_for_comparison(opened.engine, options.common_above, options.boilerplate)
        return Comparer(words, scheme, common).compare(b)
