"""Command `whorl upgrade`: converts a store of an earlier version to the current format."""

from __future__ import annotations

import os
from pathlib import Path

import click

from whorl.cli.render.console import progress_bar
from whorl.engine.embedded.records import PREVIOUS_FORMAT, previous_count, previous_documents
from whorl.errors import StoreError
from whorl.output.format import counted
from whorl.store import open_store


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
def upgrade(folder: Path) -> None:
    """Bring a store of an earlier version up to date.

    The documents are copied into a new folder next to the old one, which then takes its place. If this is interrupted,
    run it again. The old folder stays under another name until you delete it. Nobody may write to it meanwhile.
    """
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
