"""Steps shared by `whorl solr …` and `whorl opensearch …`: waiting for a server, findings, progress of a backfill."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from whorl.errors import EngineUnavailableError, WhorlError

if TYPE_CHECKING:
    from whorl.engine.backfill import BackfillReport
    from whorl.engine.findings import Finding
    from whorl.engine.local.server import RunningServer


def wait(running: RunningServer, name: str, url: str) -> None:
    """Print how to use a local server, and wait until Ctrl-C ends it.

    Raises:
        EngineUnavailableError: The server has stopped by itself.
    """
    click.echo(f"{name} is up. In another terminal:\n  whorl index --store {url} PATH…\n  export WHORL_STORE={url}")
    try:
        running.process.wait()
    except KeyboardInterrupt:
        click.echo(f"Stopping {name} …")
        return
    raise EngineUnavailableError(f"{name} has stopped by itself; its log is {running.log}")


def show(findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print the findings of a check, and exit with status 1 if fingerprint search cannot work."""
    from whorl.engine.findings import Severity

    if as_json:
        click.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(str(finding))
    if any(finding.level is Severity.ERROR for finding in findings):
        sys.exit(1)


def watch(
    run: Callable[[Callable[[BackfillReport], None]], BackfillReport], *, doing: str, given: str
) -> BackfillReport:
    """Run a backfill under a progress bar, print its result and return it.

    Args:
        run: The backfill; called with a function for its progress.
        doing: Description of the bar: "making sketches".
        given: Description of the result: "a sketch".
    """
    from whorl.cli.render.console import progress_bar
    from whorl.engine.backfill import BackfillReport
    from whorl.output.format import counted

    so_far = BackfillReport(0)
    try:
        with progress_bar("documents") as bar:
            task = bar.add_task(doing, total=None)

            def note(each: BackfillReport) -> None:
                nonlocal so_far
                so_far = each
                bar.update(task, total=each.total, completed=each.done)

            done = run(note)
    except (WhorlError, KeyboardInterrupt):
        if so_far.total:
            got = f"{so_far.sent:,} of {counted(so_far.total, 'document')} given {given}"
            click.echo(f"stopped: {got}. Run the same command again to go on.")
        raise
    click.echo(f"{counted(done.sent, 'document')} given {given}.")
    if done.left:
        click.echo(f"{counted(done.left, 'document')} changed meanwhile or new: run the same command again.")
    return done


def show_refused(refused: Sequence[tuple[str, str]], given: str) -> None:
    """List the documents that the backfill could not change, with the reasons."""
    from whorl.cli.render.console import problem_lines

    problems = [f"{document_id}: {reason}" for document_id, reason in refused]
    for line in problem_lines(problems, f"could not be given {given}"):
        click.echo(line, err=True)
