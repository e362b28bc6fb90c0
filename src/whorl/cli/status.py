"""Command `whorl status`: prints the state of a store."""

from __future__ import annotations

import sys

import click

from whorl.cli.options import STORE
from whorl.engine.lag import lag_message
from whorl.errors import without_login
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
