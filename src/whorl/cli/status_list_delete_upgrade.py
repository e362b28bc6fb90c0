"""Commands `whorl status`, `list`, `delete` and `upgrade`, which manage a store."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from whorl.cli.render.terminal import print_notes
from whorl.cli.shared.flags import STORE, operation_options, store_flag
from whorl.cli.shared.open_store_and_documents import open_existing_store
from whorl.cli.shared.single_value_options import SingleValueCommand
from whorl.engine.protocol import Engine, MinHashPart
from whorl.errors import ParameterError, StoreError, format_names, shorten_repr, without_login
from whorl.operations import DeleteOperation, Paging
from whorl.output.formatting import as_json as as_json_text
from whorl.output.formatting import plural, title_of
from whorl.settings.settings import Settings
from whorl.store import open_store

_MINHASH: Mapping[MinHashPart, str] = {
    "whole": "whole tokens",
    "short": "short tokens, so FINGERPRINT also reads texts",
    "none": "none, so FINGERPRINT works only with '--plan calibrated'",
}
#: Maximum number of missing documents that `delete` names.
_LISTED = 5


@click.command(cls=SingleValueCommand)
@STORE
@click.option("--verify", is_flag=True, help="Compare all files of a store on disk with their check sums.")
def status(store: str | None, verify: bool) -> None:
    """Print the state of a store: where it is, its engine, documents and size, and what is missing.

    The exit status is 1 if the index is not complete, or if --verify finds a damaged file or an index that was just
    repaired.
    """
    settings = Settings.load()
    with open_store(store, settings, create=False) as opened:
        engine = opened.engine
        kind = type(engine).__name__.removesuffix("Engine").lower()
        name = without_login(store or settings.store)
        click.echo(f"store: {name if '://' in name else Path(name).expanduser().absolute()}")
        click.echo(f"engine: {kind}")
        click.echo(f"documents: {engine.count():,}")
        size = engine.size()
        click.echo(f"size: {'not known' if size is None else f'{size / 1_000_000:,.1f} MB'}")
        click.echo(f"scheme: {engine.scheme.name}")
        if engine.keeps_texts:
            click.echo(f"MINHASH: {_MINHASH[engine.minhash]}")
        if base := engine.file_base():
            click.echo(f"ids of files: paths from {base}")
        if not engine.keeps_texts:
            click.echo("texts: none, so only 'whorl sources' and searches of names and properties work")
        for part in _missing(engine, kind, name, store_flag(store)) if engine.keeps_texts else ():
            click.echo(f"missing: {part}")
        lag = engine.index_lag()
        gaps = tuple(dict.fromkeys((*engine.gaps("sketches"), *engine.gaps("tokens"))))
        for gap in (*([str(lag)] if lag else []), *gaps) or ["complete"]:
            click.echo(f"index: {gap}")
        if verify:
            is_verified = engine.verify()
            click.echo(
                "files: as they were written" if is_verified else "files: those of a server, which verifies them"
            )
    if gaps or (lag and not lag.is_pending):
        sys.exit(1)


def _missing(engine: Engine, kind: str, name: str, flag: str) -> Iterator[str]:
    if engine.sketch_scheme is None:
        yield f"sketches, so percentages are rough; 'whorl {kind} check {name}' says how documents get them"
    if engine.passage_scheme is None:
        for_server = f"'whorl {kind} init {name} --passages' and 'whorl {kind} backfill {name}' add them"
        remedy = for_server if "://" in name else f"'whorl index --passages{flag} PATH…' adds them"
        yield f"passages, so sources with short passages can be missed; {remedy}"


@click.command("list", cls=SingleValueCommand)
@STORE
@operation_options(Paging)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the total, and each document's id and name.")
def list_documents(store: str | None, options: Paging, as_json: bool) -> None:
    """List the documents of a store, in the order of their ids."""
    with open_store(store, create=False) as opened:
        page = opened.search("*", rows=options.rows, start=options.start)
    print_notes(page.warnings)
    if as_json:
        documents = [{"id": hit.id, "name": hit.name} for hit in page.hits]
        click.echo(as_json_text({"total": page.total, "documents": documents}))
        return
    for hit in page.hits:
        click.echo(title_of(hit.id, hit.name))
    until = options.start + len(page.hits)
    shown = "" if len(page.hits) == page.total else f", {options.start + 1:,} to {until:,} shown" if page.hits else ""
    more = f"; --start {until} shows more" if page.hits and until < page.total else ""
    click.echo(f"{plural(page.total, 'document')}{shown}{more}")


@click.command(cls=SingleValueCommand)
@click.argument("ids", nargs=-1, metavar="[ID…]")
@STORE
@operation_options(DeleteOperation)
def delete(ids: tuple[str, ...], store: str | None, options: DeleteOperation) -> None:
    """Delete documents from a store, by their ids, paths or names, or by a query.

    A name that matches no document is reported, but is not an error, so the command can be repeated.
    """
    if bool(ids) == (options.query is not None):
        raise click.UsageError("name documents by their ids, or by a --query")
    with open_existing_store(store) as opened:
        known = opened.references.keys(ids)
        print_notes(
            f"{name} is in the store as {shorten_repr(document_id)}"
            for name, document_id in known.items()
            if name != document_id
        )
        missing = [name for name in dict.fromkeys(ids) if name not in known]
        hints = {name: hint for name in missing[:_LISTED] if (hint := opened.references.names_hint(name))}
        print_notes(f"the store has no document {shorten_repr(name)}{hint}" for name, hint in hints.items())
        if unknown := [shorten_repr(name) for name in missing if name not in hints]:
            print_notes([f"the store has no document {format_names(unknown, _LISTED)}"])
        count = opened.delete_chosen({*known.values()} if ids else None, options)
    if options.dry_run:
        print_notes(count.warnings)
        click.echo(f"{'' if count.is_exact else 'at least '}{plural(count, 'document')} would be deleted")
    elif ids:
        click.echo(f"{count:,} of {len(ids):,} documents deleted")
    else:
        click.echo(f"{plural(count, 'document')} deleted")


@click.command(cls=SingleValueCommand)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--rewrite",
    is_flag=True,
    help="Also copy a store of this version: nothing of deleted documents is in the files of the copy.",
)
def upgrade(folder: Path, rewrite: bool) -> None:
    """Bring a store of an earlier version up to date.

    The documents are copied into a new folder, which then replaces the old one. The new store has passage hashes and
    MINHASH tokens if the old one had them. If the command is interrupted, run it again. The old folder stays under
    another name until you delete it. Do not write to the store during the upgrade.
    """
    from whorl.cli.render.terminal import progress_bar
    from whorl.engine.embedded.database import previous_store
    from whorl.engine.embedded.store_files import BASE, LOCK, WriteLock, busy_message

    if re.match(r"[a-z+]+:/", str(folder)):
        raise ParameterError(
            "upgrade is for a store in a folder; for a store in a server, see 'whorl solr check URL' and 'whorl "
            "opensearch check URL'"
        )
    # If the folder is a link, upgrade its target, so that the link stays and the data remain on the same disk.
    folder = Path(os.path.realpath(folder))
    fresh, old = (Path(f"{folder}{ending}") for ending in (".upgraded", ".old"))
    if not folder.exists() and old.exists() and fresh.exists():
        # The last upgrade was interrupted between the two renames, so do the second one.
        fresh.rename(folder)
    with previous_store(folder, or_current=rewrite) as previous:
        if previous is None:
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
        # Without the lock, a running service could acknowledge documents that are then only in the old folder.
        lock = WriteLock(folder / LOCK)
        click.get_current_context().call_on_close(lock.release)
        if not lock.acquire(0.0):
            raise StoreError(busy_message(folder, 0.0))
        total, options = previous.count(), previous.options()
        if not options.keeps_texts:
            raise StoreError(f"{folder} keeps no texts, so nothing can be upgraded; index its files into a new folder")
        with (
            open_store(
                fresh,
                passages=options.passages.run_words if options.passages else False,
                without_minhash=options.minhash == "none",
                short_minhash=options.minhash == "short",
            ) as store,
            progress_bar("documents") as bar,
        ):
            documents = (numbered.document for numbered in previous.all_documents())
            store.index(bar.track(documents, total=total, description="upgrading"), takes_reserved=True)
            count = store.engine.count()
            if (folder / BASE).exists():
                shutil.copyfile(folder / BASE, fresh / BASE)
    if count != total:
        raise StoreError(f"{folder} has {total:,} documents and {fresh} {count:,}; delete {fresh}, and run this again")
    if os.name == "nt":
        # Release the lock first: Windows does not rename a folder with open files.
        lock.release()
    folder.rename(old)
    fresh.rename(folder)
    done = "copied" if rewrite else "upgraded"
    click.echo(f"{plural(count, 'document')} {done}; the old store is {old}: delete it when all is well")
