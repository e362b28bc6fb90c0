"""`whorl compare`: what two texts share."""

from __future__ import annotations

import click

from whorl.cli.options import STORE
from whorl.cli.render.comparison import read, summary_lines
from whorl.cli.render.console import console
from whorl.fingerprint.passages import compare as compare_texts
from whorl.fingerprint.scheme import Scheme
from whorl.wire.comparison import comparison_values, warnings
from whorl.wire.text import as_json as json_text


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@STORE
@click.option("--scheme", "scheme_name", metavar="NAME", help="What words and shingles are. Default: the store's.")
@click.option("--passages", "most", default=5, show_default=True, type=click.IntRange(0), help="Passages to show.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: counts, shares, and all passages with their texts.")
def compare(a: str, b: str, store: str | None, scheme_name: str | None, most: int, as_json: bool) -> None:
    """Count exactly what two texts share, and show the passages.

    A and B are files, ids of documents in the store, or one of them - for standard input. What is the path of a file
    is that file; the store is asked for the rest.

    \b
    jaccard  shingles (words in a row) that both have, of all that either has
    A in B   … of those of A: all of it, when A is an excerpt
    B in A   … of those of B

    A passage is as long as both texts go on alike, whatever the case and what stands between the words. [start:end]
    counts characters from 0, of a file as whorl reads it: a page without its tags.
    """  # noqa: D301 - click wants the control character
    read_a, read_b, scheme = read(a, b, store, Scheme.named(scheme_name) if scheme_name else None)
    found = compare_texts(read_a.text, read_b.text, scheme)
    if as_json:
        click.echo(json_text(comparison_values(read_a, read_b, found)))
        return
    for warning in warnings(found):
        click.echo(f"note: {warning}", err=True)
    printer = console()
    for line in summary_lines(read_a, read_b, found, most=most, printer=printer):
        printer.print(line, soft_wrap=True)
