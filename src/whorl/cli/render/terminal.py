"""Prints notes, problems, plans and progress bars on a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from whorl.output.formatting import printable
from whorl.request_context import reporting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.text import Text

    from whorl.request_context import Reporter

BAR_WIDTH = 20
#: Maximum number of problems to list on a terminal; further problems are only counted.
_PROBLEMS_SHOWN = 20


def console(*, stderr: bool = False) -> Console:
    """Return a console without markup, 120 columns wide if the output is not a terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream is not None and stream.isatty() else 120
    printer = Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)
    printer.on_broken_pipe = _raise_broken_pipe  # type: ignore[method-assign]  # rich would end the process
    return printer


def _raise_broken_pipe() -> None:
    raise BrokenPipeError


def share_bar(share: float) -> Text:
    from rich.text import Text

    full = round(share * BAR_WIDTH)
    return Text("█" * full, style="green").append("░" * (BAR_WIDTH - full), style="dim")


def explanation(plan: Iterable[str], request: Mapping[str, object]) -> str:
    steps = "\n".join(f"  {line}" for line in plan)
    return f"Plan\n{steps}\n\nRequest\n{json.dumps(request, ensure_ascii=True, indent=2)}"


def problem_lines(problems: Collection[object], what: str) -> list[str]:
    """Return lines that list problems (those of whole files first), on a terminal only some, and count the rest."""
    if not problems:
        return []
    shown = sorted(problems, key=lambda problem: getattr(problem, "documents", 1) is not None)
    if sys.stderr is not None and sys.stderr.isatty():
        shown = shown[:_PROBLEMS_SHOWN]
    lines = [f"{len(problems):,} {what}:", *(f"  {printable(str(problem))}" for problem in shown)]
    hidden = len(problems) - sum(getattr(problem, "problem_count", 1) for problem in shown)
    return [*lines, f"  … and {hidden:,} more"] if hidden else lines


def print_notes(notes: Iterable[str | None]) -> None:
    # If standard error is closed, drop the notes, but continue.
    with suppress(BrokenPipeError):
        for note in notes:
            if note is not None:
                click.echo(f"note: {printable(note)}", err=True)


def print_problems(problems: Collection[object], what: str) -> None:
    """List the first problems on standard error, and count the rest."""
    for line in problem_lines(problems, what):
        click.echo(line, err=True)


#: Unit of each step's progress.
_UNITS = {"reading": "documents", "comparing": "pairs", "reading whole": "pairs"}
_MEGABYTE = 1_000_000
#: Minimum time in seconds between two updates of a progress bar.
_SHOWN_EVERY = 0.1


def progress_bar(unit: str = "", *, is_alone: bool = False) -> Progress:
    """Return a progress bar on standard error, disabled outside terminals; `unit` is the unit of its counts.

    With `is_alone`, no thread refreshes the bar, so the caller must call `refresh`.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn(),
        # Draw on standard error, because standard output has the results.
        console=console(stderr=True), redirect_stdout=False, disable=not _is_watched(),
        transient=True, auto_refresh=not is_alone,
    )  # fmt: skip


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _update(bar: Progress, task: TaskID, step: str, done: int, total: int | None, **fields: Any) -> None:
    bar.update(task, description=step, completed=done, total=total, **fields)
    bar.tasks[bar.task_ids.index(task)].total = total


@contextmanager
def show_progress(unit: str = "") -> Iterator[None]:
    with progress_bar(unit) as bar:
        task = bar.add_task("reading", total=None)

        def show(step: str, done: int, total: int | None) -> None:
            _update(bar, task, step, done, total)

        with reporting(show):
            yield


@contextmanager
def reading_bar(bytes_read: Callable[[], tuple[int, int]]) -> Iterator[Reporter]:
    """Yield a reporter (see `reporting`) that shows on a terminal how many bytes of the files were read.

    `bytes_read` returns the number of bytes read so far, and the total. To end the bar, report a step named "".
    """
    if not _is_watched():
        yield lambda step, done, total: None
        return
    # This process may be forked, so no thread may refresh the bar.
    with progress_bar("{task.fields[unit]}", is_alone=True) as bar:
        task = bar.add_task("reading", total=None, unit="documents")
        shown = -_SHOWN_EVERY

        def show(step: str, done: int, total: int | None) -> None:
            nonlocal shown
            if step and time.monotonic() < shown + _SHOWN_EVERY:
                return
            shown = time.monotonic()
            read, size = (part // _MEGABYTE for part in bytes_read())
            if step == "reading" and size:
                _update(bar, task, f"reading {done:,} documents", read, size, unit="MB")
            elif step:
                _update(bar, task, step, done, total, unit=_UNITS.get(step, ""))
            else:
                bar.stop()
            bar.refresh()

        yield show
