"""Options that several commands have."""

from __future__ import annotations

import click

STORE = click.option(
    "--store",
    metavar="STORE",
    help="A Solr URL (http://host:8983/solr/NAME), one of an index (opensearch+http://host:9200/NAME), or a folder. "
    "Default: WHORL_STORE, or a folder of your own.",
)
SOURCE = click.option(
    "--source",
    "source_file",
    metavar="FILE",
    help="A file, or - for standard input, that the query calls FINGERPRINT:source; it need not be in the store.",
)
PLAN = click.option(
    "--plan",
    type=click.Choice(["stock", "calibrated"]),
    default="stock",
    show_default=True,
    help="What FINGERPRINT means: the tokens and bands of Alfresco and Solr, or what 'whorl similar' finds.",
)
AFTS = click.option(
    "--afts",
    type=click.Choice(["lenient", "strict"]),
    default="lenient",
    show_default=True,
    help="How the query is read: as its author means it, or as Alfresco does, to the letter.",
)
ROWS = click.option("--rows", default=10, show_default=True, type=click.IntRange(0, 10_000), help="Hits to show.")
START = click.option(
    "--start", default=0, show_default=True, type=click.IntRange(0, 1_000_000), help="Hits to leave out."
)
EXPLAIN = click.option("--explain", "explained", is_flag=True, help="Print the plan and the request as well.")
