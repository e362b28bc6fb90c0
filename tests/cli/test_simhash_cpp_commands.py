"""Tests of simhash-find-all and simhash-find-clusters: messages, exit codes, input and output."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from whorl.cli.main import main
from whorl.cli.simhash_cpp_commands import find_all, find_clusters
from whorl.hamming import find_pairs

MOST = 2**64 - 1
ROUTE_BLIND = [find_all, find_clusters]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command on some text, and return its exit code, output, and messages with F for the folder."""

    def run(command: Callable[[list[str]], int], text: str, *options: str) -> tuple[int, str, str]:
        source, target = tmp_path / "codes", tmp_path / "out"
        source.write_bytes(text.encode())
        code = command([*options, "-i", str(source), "-o", str(target)])
        messages = capsys.readouterr().err.replace(str(tmp_path), "F")
        return code, target.read_text() if target.exists() else "", messages

    return run


@pytest.mark.slow
def test_pairs(route: str, run: Callable[..., tuple[int, str, str]]) -> None:  # noqa: F811
    """
    Pairs are printed as lines, with the messages of simhash-cpp.
    """
    code, output, messages = run(find_all, "1\n3\n1024\n3\n", "-b", "5", "-d", "2")
    assert (code, sorted(output.splitlines())) == (0, ["[1, 1024]", "[1, 3]"])
    assert messages == "Reading hashes from F/codes\nComputing matches...\nWriting matches to F/out\n"


def test_clusters(route: str, run: Callable[..., tuple[int, str, str]]) -> None:  # noqa: F811
    """
    Clusters are printed as lines; the last line of the input needs no newline.
    """
    code, output, messages = run(find_clusters, "15\n7\n3\n0\n18446744073709551615", "--bl=5", "--dist", "1")
    assert (code, output) == (0, "[3, 7, 15]\n")
    assert messages == "Reading hashes from F/codes\nComputing clusters...\nWriting results to F/out\n"


def test_documents_by_their_codes(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """
    Output of `whorl simhash` with ids is accepted, and the result has ids; equal codes are in one cluster.
    """
    texts = {"a": "one two three four", "b": "one two three four", "c": "something else altogether", "d": "one"}
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    for form in ("tsv", "json"):
        codes = CliRunner().invoke(
            main, ["simhash", *(str(tmp_path / f"{name}.txt") for name in texts), "--format", form]
        )
        wanted = f'["{tmp_path}/a.txt", "{tmp_path}/b.txt"]\n'
        for command in (find_all, find_clusters):
            assert run(command, codes.stdout, "-b", "5", "-d", "2")[:2] == (0, wanted)
    code, _, messages = run(find_all, "1\ta\nx\tb\n", "-b", "5", "-d", "2")
    assert (code, "F/codes:2: expected a code, a tab and an id" in messages) == (9, True)


@pytest.mark.parametrize("text", ["1\n3\n", '{"id": "a", "simhash": 1}\n{"id": "b", "simhash": 3}\n', "1\ta\n3\tb\n"])
def test_a_byte_order_mark(run: Callable[..., tuple[int, str, str]], text: str) -> None:
    """
    A byte order mark at the beginning of a file is ignored.
    """
    assert run(find_all, f"\ufeff{text}", "-b5", "-d3")[:2] == run(find_all, text, "-b5", "-d3")[:2]
    assert run(find_all, "\ufeff", "-b5", "-d3")[:2] == (0, "")


def test_no_codes_are_no_pairs(run: Callable[..., tuple[int, str, str]]) -> None:
    """
    Empty input gives empty output.
    """
    assert run(find_all, "", "-b5", "-d3")[:2] == (0, "")


@pytest.mark.parametrize("command", ROUTE_BLIND)
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--nothing"], 1, "option --nothing not recognized"),
        (["-x"], 1, "option -x not recognized"),
        (["-b"], 1, "option -b requires argument"),
        (["-b", "5", "-d", "3", "codes.txt"], 1, "'codes.txt' is not an option; a file is read with --input FILE"),
        (["-d", "3"], 2, "Blocks must be provided and > 0"),
        (["-b", "0", "-d", "3"], 2, "Blocks must be provided and > 0"),
        (["-b", "many", "-d", "3"], 2, "Blocks must be provided and > 0"),
        (["-b", "5"], 3, "Distance must be provided and > 0"),
        (["-b", "5", "-d", "0"], 3, "Distance must be provided and > 0"),
        (["-b", "5", "-d", "3", "-i", ""], 4, "Input must be provided and non-empty."),
        (["-b", "5", "-d", "3", "-o", ""], 5, "Output must be provided and non-empty."),
        (["-b", "3", "-d", "3"], 6, "Blocks (3) must be > distance (3)"),
        (["-b", "65", "-d", "3"], 6, "Blocks (65) must be <= 64"),
        (["-b", "1" * 5_000, "-d", "3"], 6, "must be <= 64"),
        (["-b", "0" * 5_000, "-d", "3"], 2, "Blocks must be provided and > 0"),
    ],
)
def test_refusals(
    command: Callable[[list[str]], int],
    options: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """
    Each error in the options has its message and its exit code, before anything is read.
    """
    assert command(options) == code
    assert capsys.readouterr().err.splitlines()[-1].endswith(message)


@pytest.mark.parametrize(("stream", "code"), [("stdin", 7), ("stdout", 8)])
def test_streams_that_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stream: str, code: int
) -> None:
    """
    Closed standard input or output is an error with a message.
    """
    (tmp_path / "codes").write_text("1\n3\n")
    monkeypatch.setattr(sys, stream, None)
    source = "-" if stream == "stdin" else str(tmp_path / "codes")
    assert find_all(["-b5", "-d3", "-i", source]) == code
    assert capsys.readouterr().err.endswith("-\n")


def test_files_that_cannot_be_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    The exit code is 7 for an unreadable input and 8 for an unwritable output.
    """
    (tmp_path / "codes").write_text("1\n")
    options = ["-b", "5", "-d", "3"]
    assert find_all([*options, "-i", str(tmp_path / "none")]) == 7
    assert capsys.readouterr().err.endswith(f"Error reading {tmp_path / 'none'}\n")
    assert find_all([*options, "-i", str(tmp_path / "codes"), "-o", str(tmp_path)]) == 8
    assert capsys.readouterr().err.endswith(f"Writing matches to {tmp_path}\nError writing {tmp_path}\n")
    (tmp_path / "link").symlink_to(tmp_path / "codes")
    assert find_all([*options, "-i", str(tmp_path / "codes"), "-o", str(tmp_path / "link")]) == 8
    assert capsys.readouterr().err == f"Output {tmp_path / 'link'} is the input, which it would replace\n"
    assert (tmp_path / "codes").read_text() == "1\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("", "an empty line"),
        (" ", "an empty line"),
        ("1abc", "'1abc'"),
        ("-1", "'-1'"),
        ("+1", "'+1'"),
        ("1_0", "'1_0'"),
        ("0x10", "'0x10'"),
        ("1 2", "'1 2'"),
        ("18446744073709551616", "'18446744073709551616'"),
        ("99999999999999999999999", "'99999999999999999999999'"),
        ("٣", "'٣'"),
    ],
)
def test_bad_lines(route: str, run: Callable[..., tuple[int, str, str]], line: str, shown: str) -> None:  # noqa: F811
    """
    Lines on which simhash-cpp aborts, or which it reads as another number, are errors with their line, and nothing is
    written.
    """
    code, output, messages = run(find_all, f"1\n2\n{line}\n4\n", "-b", "5", "-d", "3")
    assert (code, output) == (9, "")
    assert messages.splitlines()[1:] == [f"F/codes:3: expected a number from 0 to {MOST}, got {shown}"]


def test_blocks_do_not_matter(run: Callable[..., tuple[int, str, str]]) -> None:
    """
    Any number of blocks above the distance gives the library's pairs.
    """
    codes = [number * number for number in range(300)]
    text = "".join(f"{code}\n" for code in codes)
    expected = sorted(f"{pair}" for pair in find_pairs(codes, 3).tolist())
    for blocks in ("4", "6", "64"):
        assert sorted(run(find_all, text, "-b", blocks, "-d", "3")[1].splitlines()) == expected


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the current standard error a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)


def test_progress_on_a_terminal(run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The progress bar equals that of the other commands, and is erased at the end.
    """
    on_a_terminal(monkeypatch)
    code, output, messages = run(find_all, "1\n3\n1024\n", "-b", "5", "-d", "2")
    assert (code, len(output.splitlines())) == (0, 2)
    assert re.search(r"comparing .* [1-9]\d*/100 %", messages)
    assert messages.endswith("\x1b[2K")


def test_no_progress_among_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    If the results go to the terminal, the progress bar is off, since it would erase parts of them.
    """
    (tmp_path / "codes").write_text("1\n3\n")
    on_a_terminal(monkeypatch)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert find_all(["-b5", "-d3", "-i", str(tmp_path / "codes")]) == 0
    assert "\x1b" not in capsys.readouterr().err


def test_messages_with_closed_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    With standard error closed (2>&-), messages are dropped, and do not appear among the results.
    """
    (tmp_path / "codes").write_text("1\n3\n")
    monkeypatch.setattr(sys, "stderr", None)
    assert find_all(["-b5", "-d3", "-i", str(tmp_path / "codes")]) == 0
    assert capsys.readouterr().out == "[1, 3]\n"
    assert find_all(["-b5", "-d5"]) == 6
    assert capsys.readouterr().out == ""


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """
    Help goes to standard output with exit code 0, whatever the other options.
    """
    assert find_clusters(["-h", "-b", "0"]) == 0
    assert capsys.readouterr().out.startswith("usage: simhash-find-clusters --blocks BLOCKS --distance DISTANCE")


@pytest.mark.process
@pytest.mark.parametrize("name", ["simhash-find-all", "simhash-find-clusters"])
def test_as_a_process(name: str) -> None:
    """
    Without --input and --output, the command filters stdin to stdout; a small input imports neither numba nor the rest
    of whorl.
    """
    program = Path(sys.executable).parent / name
    command = [sys.executable, "-X", "importtime", str(program), "-b", "5", "-d", "3"]
    done = subprocess.run(command, input="1\n3\n", capture_output=True, text=True, check=True)
    assert done.stdout == "[1, 3]\n"
    messages = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert messages[0] == "Reading hashes from stdin."
    assert messages[-1] == "Writing results to stdout."
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert not imported & {"numba", "click", "rich", "whorl.store", "whorl.cli.main"}


def test_an_output_that_fails_during_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A full disk is an error of the output.
    """
    (tmp_path / "codes").write_text("1\n3\n")
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=full))
        assert find_all(["-b", "5", "-d", "3", "-i", str(tmp_path / "codes")]) == 8
