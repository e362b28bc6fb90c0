"""Command `whorl duplicates`: finds all near-duplicates in a store or among files."""

from __future__ import annotations

import click

from whorl.cli.shared.flags import operation_options
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.operations import DuplicatesOperation


@click.command(cls=SingleValueCommand)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--store", metavar="STORE", help="The store to search if no PATH is given, as in other commands.")
@operation_options(DuplicatesOperation)
def duplicates(paths: tuple[str, ...], store: str | None, options: DuplicatesOperation) -> None:
    """Find all near-duplicates in a store, or among the documents in PATHs, without a store.

    Pairs come with three shares: how similar two documents are (Jaccard), how much of A is in B, and how much of B is
    in A. Clusters are documents linked by pairs; each document comes with its similarity to the first document of its
    cluster. A chain of pairs can link documents that are not similar; --complete prevents such clusters.

    JSON is one object per line. Documents with fewer words than a shingle are not compared. If documents have the same
    id, only the last document is compared, and a note names the id.

    The exit status is 1 if more than one in a hundred documents, or a whole file of many documents, could not be read.
    With --strict, it is also 1 if documents have the same id.
    """
    from whorl.cli.run_duplicates import DuplicatesCommand, run

    run(DuplicatesCommand(**vars(options), paths=paths, store=store))
