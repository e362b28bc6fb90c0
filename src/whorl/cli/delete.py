"""Command `whorl delete`: deletes documents from a store."""

from __future__ import annotations

import click

from whorl.cli.options import STORE
from whorl.output.format import counted
from whorl.store import open_store


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID…]")
@click.option("--query", metavar="QUERY", help="Delete the documents that a query matches.")
@click.option("--everything", is_flag=True, help="Allow deleting all documents, if the query matches all.")
@click.option("--dry-run", is_flag=True, help="Only say how many documents would be deleted.")
@STORE
def delete(ids: tuple[str, ...], query: str | None, everything: bool, dry_run: bool, store: str | None) -> None:
    """Delete documents from a store, by their ids or by a query."""
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
