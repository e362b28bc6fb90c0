"""Steps that `whorl solr` and `whorl opensearch` share: wait for a server, print findings, show backfill progress."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.cli.flags import operation_option, store_flag
from whorl.cli.open_store_and_documents import print_problems
from whorl.errors import EngineUnavailableError, WhorlError
from whorl.operations import IndexOperation

if TYPE_CHECKING:
    from whorl.engine.backfill import BackfillReport
    from whorl.engine.check_findings import Finding
    from whorl.engine.configured_and_guessed_fields import FieldNames
    from whorl.engine.local.server import RunningServer
    from whorl.fingerprint.winnowing import PassageScheme


def wait(running: RunningServer, name: str, url: str) -> None:
    """Print how to use a local server, and wait for Ctrl-C; raise EngineUnavailableError if the server stops."""
    click.echo(f"{name} is up. In another terminal:\n  whorl index --store {url} PATH…\n  export WHORL_STORE={url}")
    try:
        running.process.wait()
    except KeyboardInterrupt:
        click.echo(f"Stopping {name} …")
        return
    raise EngineUnavailableError(f"{name} has stopped by itself; its log is {running.log}")


def show(findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print the findings of a check, and exit with status 1 if fingerprint search cannot work."""
    from whorl.engine.check_findings import Severity

    if as_json:
        click.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(str(finding))
    if any(finding.level is Severity.ERROR for finding in findings):
        sys.exit(1)


#: Options of `up`.
FOLDER = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where documents are kept. [default: data folder]",
)
HEAP = click.option("--heap", default="768m", show_default=True, help="The JVM's largest heap.")
#: Options of `init` for the fields of a collection or index.
CONTENT = click.option("--content", metavar="FIELD", help="The field with the texts, if whorl.toml does not name it.")
NAME = click.option("--name", metavar="FIELD", help="The field with the names to show, if whorl.toml does not name it.")

PASSAGES = operation_option(IndexOperation, "passages")


def passage_scheme(passages: int | None) -> PassageScheme | None:
    from whorl.fingerprint.winnowing import PassageScheme

    return None if passages is None else PassageScheme.for_runs(passages)


def choose_fields(fields: FieldNames, content: str | None, name: str | None = None) -> FieldNames:
    """Return the fields of a collection, with the fields for texts and names that the user chose."""
    return replace(fields, content=content or fields.content, name=name or fields.name)


def watch(
    run: Callable[[Callable[[BackfillReport], None]], BackfillReport], *, url: str, doing: str, given: str
) -> BackfillReport:
    """Run a backfill with a progress bar, print its result and return it.

    In messages, `doing` names the work ("making sketches"), and `given` its result for a document ("a sketch").
    """
    from whorl.cli.render.plans_and_progress import progress_bar
    from whorl.engine.backfill import BackfillReport
    from whorl.output.formatting import plural
    from whorl.settings.settings import Settings

    so_far = BackfillReport(0)
    try:
        with progress_bar("documents") as bar:
            task = bar.add_task(doing, total=None)

            def note(report: BackfillReport) -> None:
                nonlocal so_far
                so_far = report
                bar.update(task, total=report.total, completed=report.done)

            done = run(note)
    except (WhorlError, KeyboardInterrupt):
        if so_far.total:
            progress = f"{so_far.sent:,} of {plural(so_far.total, 'document')} given {given}"
            click.echo(f"stopped: {progress}. Run the same command again to go on.")
        raise
    click.echo(f"{plural(done.sent, 'document')} given {given}.")
    if done.example:
        flag = store_flag(None if Settings.load().store == url else url)
        click.echo(f"Ask for the near-copies of a document: whorl similar{flag} {shlex.quote(done.example)}")
    if done.left:
        click.echo(f"{plural(done.left, 'document')} changed meanwhile or new: run the same command again.")
    return done


def show_refused(refused: Sequence[tuple[str, str]], given: str) -> None:
    print_problems([f"{document_id}: {reason}" for document_id, reason in refused], f"could not be given {given}")
