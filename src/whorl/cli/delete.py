"""`whorl delete`: documents out of a store."""

from __future__ import annotations

import click

from whorl.cli.options import STORE
from whorl.opening import open_store


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@STORE
def delete(ids: tuple[str, ...], store: str | None) -> None:
    """Take documents out of a store."""
    with open_store(store, create=False) as opened:
        gone = opened.delete(ids)
    click.echo(f"{gone:,} of {len(ids):,} documents deleted")
