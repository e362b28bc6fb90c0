"""Command `whorl delete`: deletes documents from a store."""

from __future__ import annotations

import click

from whorl.cli.options import STORE, operation_options
from whorl.operations import DeleteOperation
from whorl.output.format import counted
from whorl.store import open_store


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID…]")
@STORE
@operation_options(DeleteOperation)
def delete(ids: tuple[str, ...], store: str | None, options: DeleteOperation) -> None:
    """Delete documents from a store, by their ids or by a query."""
    if bool(ids) == (options.query is not None):
        raise click.UsageError("name documents by their ids, or by a --query")
    with open_store(store, create=False) as opened:
        count = opened.delete_chosen(ids or None, options)
    if options.dry_run:
        click.echo(f"{counted(count, 'document')} would be deleted")
    elif ids:
        click.echo(f"{count:,} of {len(ids):,} documents deleted")
    else:
        click.echo(f"{counted(count, 'document')} deleted")
