"""Tests of `whorl fingerprint` and `whorl simhash`: output formats, and unreadable input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tests.cli.running import whorl
from whorl import simhash
from whorl.cli.main import main
from whorl.hamming.simhash import SCHEMES

SHORT = "six words in a row here"


def test_fingerprint(folder: Path) -> None:
    """
    Each format has the 512 tokens, in the same order, for a file or for standard input.
    """
    (folder / "a.txt").write_text(SHORT, encoding="utf-8")
    output = json.loads(whorl("fingerprint", "a.txt").stdout)
    assert (output["size"], len(output["tokens"])) == (2, 512)
    lines = CliRunner().invoke(main, ["fingerprint", "-", "--format", "text"], input=SHORT).stdout.splitlines()
    assert list(map(int, lines)) == output["tokens"]
    numbers = np.load(io.BytesIO(whorl("fingerprint", "--format", "npy", "a.txt").stdout_bytes))
    assert numbers.tolist() == output["tokens"]
    assert whorl("fingerprint", "--scheme", "nosuch", "a.txt").exit_code == 2


def test_fingerprint_of_nothing(folder: Path) -> None:
    """
    A text with fewer words than a shingle has no tokens, which is not an error.
    """
    (folder / "a.txt").touch()
    assert json.loads(whorl("fingerprint", "a.txt").stdout)["tokens"] == []
    assert whorl("fingerprint", "--format", "text", "a.txt").stdout.strip() == ""
    assert len(np.load(io.BytesIO(whorl("fingerprint", "--format", "npy", "a.txt").stdout_bytes))) == 0


FIRST = "The quick brown fox jumps over the lazy dog."
SECOND = "Съешь ещё этих мягких французских булок, да выпей же чаю."


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two texts, one of them in a subfolder, and JSON lines; also the working directory."""
    (tmp_path / "notes" / "below").mkdir(parents=True)
    (tmp_path / "notes" / "a.txt").write_text(FIRST)
    (tmp_path / "notes" / "below" / "b.html").write_text(f"<p>{SECOND}</p>", encoding="utf-8")
    lines = [{"id": 7, "text": "three four"}, {"id": "naïve", "text": FIRST}]
    (tmp_path / "more.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(main, ["simhash", *arguments], input=given)


@pytest.mark.process
def test_codes_are_one_a_line(notes: Path) -> None:
    """
    Codes are decimal, one a line in the order of the files, and equal those of the Python function.
    """
    done = run("notes", "more.jsonl")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [str(simhash(text)) for text in (FIRST, SECOND, "three four", FIRST)]


def test_a_table_names_the_documents(notes: Path) -> None:
    """
    A line of the table has the code, a tab and the id.
    """
    done = run("more.jsonl", "notes/a.txt", "--format", "tsv")
    assert [line.split("\t") for line in done.stdout.splitlines()] == [
        [str(simhash("three four")), "7"],
        [str(simhash(FIRST)), "naïve"],
        [str(simhash(FIRST)), "notes/a.txt"],
    ]


def test_a_file_that_is_named_twice_has_one_code(notes: Path) -> None:
    """
    A file is read once, also if it is named by several paths.
    """
    done = run("notes/a.txt", "./notes/a.txt", str(notes / "notes" / "a.txt"), "--format", "tsv")
    assert done.stdout == f"{simhash(FIRST)}\tnotes/a.txt\n"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_json_says_the_scheme(notes: Path, scheme: str) -> None:
    """
    JSON has one object a line; every scheme can be chosen, and the help lists it.
    """
    done = run("notes/a.txt", "--format", "json", "--scheme", scheme)
    assert json.loads(done.stdout) == {"id": "notes/a.txt", "scheme": scheme, "simhash": simhash(FIRST, scheme)}
    assert scheme in "".join(run("--help").stdout.split())


def test_standard_input_is_one_text(notes: Path) -> None:
    """
    Standard input is one text with the id "-", and may be combined with other paths.
    """
    done = run("-", "notes/a.txt", "--format", "tsv", "--scheme", "icu77", given=SECOND)
    assert done.stdout == f"{simhash(SECOND, 'icu77')}\t-\n{simhash(FIRST, 'icu77')}\tnotes/a.txt\n"
    assert run("-", given=b"\x00\x01" * 100).exit_code == 1


def test_documents_without_a_code_are_reported(notes: Path) -> None:
    """
    Texts without words, broken lines and missing paths are reported on standard error, and the other codes are printed.
    """
    (notes / "odd.jsonl").write_text('{"id": "empty", "text": "..."}\nnonsense\n{"id": "good", "text": "a b"}\n')
    done = run("odd.jsonl", "nowhere", "--format", "tsv")
    assert done.stdout == f"{simhash('a b')}\tgood\n"
    assert done.stderr.splitlines() == [
        "3 gave no code:",
        "  nowhere: there is no such file or folder",
        "  odd.jsonl, line 2: this is not JSON: Expecting value, at character 1",
        "  empty: there is nothing in it that simhash1-icu74 hashes",
    ]
    assert done.exit_code == 1
    assert run("odd.jsonl").exit_code == 0
    (notes / "blank.txt").write_text(" \n")
    assert (run("blank.txt").exit_code, run("blank.txt").stdout) == (1, "")


def test_schemes_that_are_none(notes: Path) -> None:
    """
    An unknown scheme is an error that lists the schemes, before anything is read.
    """
    done = run("notes", "--scheme", "md5")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no SimHash scheme 'md5'" in done.stderr
    assert all(scheme in done.stderr for scheme in SCHEMES)
