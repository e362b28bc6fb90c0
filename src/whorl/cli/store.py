"""Commands that look after a store: `whorl status`, `whorl delete` and `whorl upgrade`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from whorl.cli.options import STORE, operation_options
from whorl.engine.lag import lag_message
from whorl.errors import StoreError, without_login
from whorl.operations import DeleteOperation
from whorl.output.format import counted
from whorl.settings.settings import Settings
from whorl.store import open_store


@click.command()
@STORE
@click.option("--verify", is_flag=True, help="Compare all files of a store on disk with their check sums.")
def status(store: str | None, verify: bool) -> None:
    """Print the state of a store: its engine, its documents, and whether its index is complete.

    The exit status is 1 if the index is not complete, or if --verify finds a damaged file or an index that was just
    repaired.
    """
    settings = Settings.load()
    with open_store(store, settings, create=False) as opened:
        engine = opened.engine
        click.echo(f"store: {without_login(store or settings.store)}")
        click.echo(f"engine: {type(engine).__name__.removesuffix('Engine').lower()}")
        click.echo(f"documents: {engine.count():,}")
        lag = engine.index_lag()
        click.echo(f"index: {lag_message(lag)}" if lag else "index: complete")
        if verify:
            is_verified = engine.verify()
            click.echo(
                "files: as they were written" if is_verified else "files: those of a server, which verifies them"
            )
    if lag:
        sys.exit(1)


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


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def upgrade(folder: Path) -> None:
    """Bring a store of an earlier version up to date.

    The documents are copied into a new folder next to the old one, which then takes its place. If this is interrupted,
    run it again. The old folder stays under another name until you delete it. Nobody may write to it meanwhile.
    """
    from whorl.cli.render.console import progress_bar
    from whorl.engine.embedded.records import PREVIOUS_FORMAT, previous_count, previous_documents

    # Upgrade the target of a link: the link stays, and the data stays on its disk.
    folder = Path(os.path.realpath(folder))
    fresh, old = (Path(f"{folder}{ending}") for ending in (".upgraded", ".old"))
    if not folder.exists() and old.exists() and fresh.exists():
        # The last upgrade was interrupted between the two renames.
        fresh.rename(folder)
    total = previous_count(folder)
    if total is None:
        open_store(folder, create=False).close()
        click.echo(f"{folder} is a store of this version already; nothing to do")
        return
    if not os.access(folder.absolute().parent, os.W_OK):
        raise StoreError(
            f"{folder} is upgraded into a folder beside it, and {folder.absolute().parent} may not be written to; "
            "see who owns it"
        )
    if old.exists():
        raise StoreError(f"{old} is in the way; move it, and run the same command again")
    with open_store(fresh) as store, progress_bar("documents") as bar:
        documents = previous_documents(folder)
        store.index(bar.track(documents, total=total, description="upgrading"))
        count = store.engine.count()
    if count != total:
        raise StoreError(f"{folder} has {total:,} documents and {fresh} {count:,}; delete {fresh}, and run this again")
    folder.rename(old)
    fresh.rename(folder)
    click.echo(
        f"{counted(count, 'document')} upgraded from format {PREVIOUS_FORMAT}; the old store is {old}: delete it when "
        "all is well"
    )
