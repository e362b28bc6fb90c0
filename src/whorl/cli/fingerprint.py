"""Command `whorl fingerprint`: prints the tokens of a file."""

from __future__ import annotations

import click

from whorl.fingerprint.batch import as_json, as_npy, as_text
from whorl.fingerprint.scheme import Scheme
from whorl.ingest.files import source_text


@click.command()
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
    """Print the fingerprint of FILE, or of standard input (-): the 512 tokens that Solr makes of the same text.

    JSON is {"scheme", "size", "tokens": […]}: size is the number of distinct shingles, and the tokens are in the order
    of their buckets, with empty ones filled by rotation. npy is an array of 64-bit integers for numpy.load.
    """
    scheme = Scheme.named(scheme_name) if scheme_name else Scheme()
    text = source_text(file)
    if form == "npy":
        click.echo(as_npy(text, scheme, codec), nl=False)
    else:
        click.echo((as_json if form == "json" else as_text)(text, scheme, codec))
