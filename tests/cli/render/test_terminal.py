"""Tests of bars, problems and progress on a terminal and in a pipe."""

from __future__ import annotations

import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.cli.render.terminal import (
    console,
    explanation,
    problem_lines,
    progress_bar,
    reading_bar,
    share_bar,
)
from whorl.ingest.files import Problem, Problems


@given(st.floats(0, 1))
def test_a_bar_is_as_full_as_its_share(share: float) -> None:
    """
    A bar of twenty cells is filled to the nearest whole number.
    """
    bar = share_bar(share).plain
    assert len(bar) == 20
    assert bar == "█" * bar.count("█") + "░" * bar.count("░")
    assert abs(bar.count("█") - 20 * share) <= 0.5


def test_an_explanation_is_words_and_a_request() -> None:
    """
    Each line of the plan is indented; the request is JSON in ASCII.
    """
    words, _, request = explanation(["first", "second"], {"q": "é\x1b"}).partition("\n\nRequest\n")
    assert words == "Plan\n  first\n  second"
    assert request.isascii()
    assert "\x1b" not in request
    assert json.loads(request) == {"q": "é\x1b"}


@pytest.mark.parametrize(
    ("count", "lines", "last"), [(1, 2, "  p0"), (20, 21, "  p19"), (1021, 22, "  … and 1,001 more")]
)
def test_a_terminal_shows_the_first_twenty_problems(
    monkeypatch: pytest.MonkeyPatch, count: int, lines: int, last: str
) -> None:
    """
    The first line counts all problems, and the last line those not listed; a file or a pipe gets all.
    """
    names = [f"p{number}" for number in range(count)]
    assert problem_lines(names, "went wrong") == [f"{count:,} went wrong:", *(f"  {name}" for name in names)]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    problems = problem_lines(names, "went wrong")
    assert (problems[0], len(problems), problems[-1]) == (f"{count:,} went wrong:", lines, last)


def test_problems_that_a_terminal_would_act_on() -> None:
    """
    No problems print nothing; an escape sequence in the name of a file is replaced.
    """
    assert problem_lines([], "went wrong") == []
    assert problem_lines(["\x1b[2J\n"], "went wrong")[1] == "  \ufffd[2J\ufffd"


def test_a_pipe_gets_wide_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """
    A pipe gets 120 columns whatever the terminal's width, without colours, emoji codes, or highlighted paths and
    numbers.
    """
    console().print("a:key:b /tmp/x 12 " + "w" * 120, markup=False)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.startswith("a:key:b /tmp/x 12")
    assert max(map(len, out.splitlines())) == 120


def test_a_closed_reader_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Writing to a closed pipe raises the same error as any other print, which the command line handles.
    """

    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone())
    with pytest.raises(BrokenPipeError):
        console().print("one")


class Terminal(io.StringIO):
    """A fake terminal that records its output."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Progress on standard error shows the activity and the counts, and is erased at the end; standard output gets only
    results.
    """
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar("files") as bar:
        task = bar.add_task("indexing", total=7)
        bar.update(task, completed=3)
        bar.refresh()
        print("a result")
    assert "indexing" in terminal.getvalue()
    assert "3/7 files" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")
    assert capsys.readouterr().out == "a result\n"


def test_a_step_without_a_total_does_not_show_that_of_the_step_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A step without a total, such as 1,562 compared pairs, does not show the total of the step before, 21 MB.
    """
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with reading_bar(lambda: (21_000_000, 21_000_000)) as show:
        show("reading", 900, None)
        monkeypatch.setattr("whorl.cli.render.terminal._SHOWN_EVERY", 0)
        show("comparing", 1562, None)
    assert "21/21" in terminal.getvalue()
    assert "1562/21" not in terminal.getvalue()
    assert "1562/?" in terminal.getvalue()


def test_no_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """
    A log gets no progress bar, and closed standard error is not a failure.
    """
    for closed in (False, True):
        if closed:
            monkeypatch.setattr(sys, "stderr", None)
        with progress_bar() as bar:
            bar.update(bar.add_task("indexing", total=7), completed=7)
        assert capsys.readouterr() == ("", "")


def test_problems_of_whole_files_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A file that cannot be read to its end is named, however many of its rows before that are broken.
    """
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    rows = [Problem(f"a.csv, line {at}", "broken") for at in range(1000)]
    lines = problem_lines([*rows, Problem("a.csv", "too large", None)], "were not read")
    assert lines[:3] == ["1,001 were not read:", "  a.csv: too large", "  a.csv, line 0: broken"]
    assert lines[-1] == "  … and 981 more"


def test_a_problem_of_several_rows_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A line that stands for many rows leaves only other problems for the last line.
    """
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    problems = Problems([Problem("column 'a'", "nested", is_repeatable=True)] * 30)
    assert problem_lines(problems, "were not read") == ["30 were not read:", "  column 'a': nested (30 rows)"]
    for row in range(20):
        problems.append(Problem(f"a.csv, line {row}", "broken"))
    assert problem_lines(problems, "were not read")[-1] == "  … and 1 more"
