"""`whorl delete`: documents out of a store."""

from __future__ import annotations

import click

from whorl.cli.options import STORE
from whorl.opening import open_store
from whorl.wire.text import counted


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID…]")
@click.option("--query", metavar="QUERY", help="Take out the documents that a query matches.")
@click.option("--everything", is_flag=True, help="Take out all documents, if these are what the query matches.")
@click.option("--dry-run", is_flag=True, help="Say how many documents these are, and leave them there.")
@STORE
def delete(ids: tuple[str, ...], query: str | None, everything: bool, dry_run: bool, store: str | None) -> None:
    """Take documents out of a store, by their ids or by a query."""
    if bool(ids) == (query is not None):
        raise click.UsageError("name documents by their ids, or by a --query")
    with open_store(store, create=False) as opened:
        if dry_run:
            there = opened.count(query) if query is not None else len(opened.documents(ids))
            click.echo(f"{counted(there, 'document')} would be deleted")
        elif query is not None:
            click.echo(f"{counted(opened.delete_matching(query, everything=everything), 'document')} deleted")
        else:
            click.echo(f"{opened.delete(ids):,} of {len(ids):,} documents deleted")
