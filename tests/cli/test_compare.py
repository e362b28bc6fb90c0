"""`whorl compare` as a user meets it: what A and B may be, what is printed, and what happens when it goes wrong."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from whorl import Document, open_store
from whorl.cli.main import main

WHORL = Path(sys.executable).parent / "whorl"
#: Nine words; five shingles, of which the second text has the first two.
FIRST = "The quick brown fox jumps over the lazy dog.\n"
SECOND = "So:\nTHE QUICK, brown\nfox jumps over a lazy dog.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two files; the default store is below it and not there."""
    for name in ("STORE", "SOLR_AUTH", "TIMEOUT", "API_KEY", "CONFIG"):
        monkeypatch.delenv(f"WHORL_{name}", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(FIRST, encoding="utf-8")
    (tmp_path / "b.txt").write_text(SECOND, encoding="utf-8")
    return tmp_path


@pytest.fixture
def store(folder: Path) -> str:
    """The name of a store with three documents."""
    with open_store(folder / "store") as opened:
        opened.index(
            [
                Document("first", FIRST, properties={"DBID": 4242}),
                Document("second", SECOND),
                Document("b.txt", "What is stored under the path of a file."),
                Document("empty", ""),
            ]
        )
    return "store"


def whorl(*arguments: str, piped: str | None = None, **environment: str) -> Result:
    """Run `whorl compare` in this process; an exception that is no exit would be a traceback to the user."""
    done = CliRunner().invoke(main, ["compare", *arguments], input=piped, env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def told(*arguments: str, piped: str | None = None) -> dict[str, Any]:
    """Return what `whorl compare --json` prints."""
    done = whorl("--json", *arguments, piped=piped)
    assert (done.exit_code, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_is_printed() -> None:
    """
    Sizes, shares as bars and in percent, then the passages with their places in both texts.
    """
    done = whorl("a.txt", "b.txt")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "A  file a.txt  9 words, 5 different shingles of 5 words",
        "B  file b.txt  10 words, 6 different shingles of 5 words",
        "",
        "jaccard  ████░░░░░░░░░░░░░░░░  22.2%  2 of the 9 shingles of both",
        "A in B   ████████░░░░░░░░░░░░  40.0%  2 of the 5 of A",
        "B in A   ███████░░░░░░░░░░░░░  33.3%  2 of the 6 of B",
        "",
        "1 passage in both, with 66.6% of the words of A and 60.0% of those of B",
        "",
        "1. 6 words  A line 1 [0:30], B lines 2-3 [4:35]",
        "   The quick brown fox jumps over",
    ]


def test_json() -> None:
    """
    Everything that is known, places as ranges of characters and as lines.
    """
    assert told("a.txt", "b.txt") == {
        "a": {
            "name": "a.txt", "kind": "file", "words": 9, "shingles": 5, "shared_words": 6, "coverage": 0.666666,
        },
        "b": {
            "name": "b.txt", "kind": "file", "words": 10, "shingles": 6, "shared_words": 6, "coverage": 0.6,
        },
        "scheme": "minhash1-icu74-w5-b512",
        "shared_shingles": 2,
        "jaccard": 0.222222,
        "a_in_b": 0.4,
        "b_in_a": 0.333333,
        "exact": True,
        "without_common": None,
        "warnings": [],
        "passages": [
            {
                "words": 6,
                "a": {"start": 0, "end": 30, "first_line": 1, "last_line": 1, "text": "The quick brown fox jumps over"},
                "b": {
                    "start": 4, "end": 35, "first_line": 2, "last_line": 3, "text": "THE QUICK, brown\nfox jumps over",
                },
            }
        ],
    }  # fmt: skip


def test_a_text_and_itself() -> None:
    """
    100 percent, and one passage from the first word to the last.
    """
    found = told("a.txt", "a.txt")
    assert (found["jaccard"], found["a_in_b"], found["b_in_a"], found["a"]["coverage"]) == (1, 1, 1, 1)
    assert [each["a"]["text"] for each in found["passages"]] == [FIRST.strip().strip(".")]
    assert whorl("a.txt", "a.txt").stdout.count("100.0%") == 5


def test_nothing_in_common(folder: Path) -> None:
    """
    That is no error; it is said.
    """
    (folder / "c.txt").write_text("One two three four five six seven.", encoding="utf-8")
    done = whorl("a.txt", "c.txt")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.count("  0.0%  0 of the ") == 3
    assert done.stdout.endswith("\nNo passage of 5 words or more is in both.\n")
    assert told("a.txt", "c.txt")["passages"] == []


@pytest.mark.parametrize("text", ["", "quick brown fox jumps", "…"])
def test_a_text_without_shingles(folder: Path, text: str) -> None:
    """
    A note says that there is nothing to count, of equal texts too; no share is anything but 0.
    """
    (folder / "short.txt").write_text(text, encoding="utf-8")
    for other, sides in (("a.txt", ["A"]), ("short.txt", ["A", "B"])):
        done = whorl("short.txt", other)
        assert done.exit_code == 0
        notes = done.stderr.splitlines()
        assert [note.partition(" has ")[0] for note in notes] == [f"note: {side}" for side in sides]
        assert all("fewer than the 5 of a shingle: there is nothing to count" in note for note in notes)
        assert "100" not in done.stdout
        found = json.loads(whorl("--json", "short.txt", other).stdout)
        assert (found["jaccard"], found["a_in_b"], found["b_in_a"]) == (0, 0, 0)
        assert len(found["warnings"]) == len(sides)


# What A and B may be.


def test_documents_of_a_store(store: str) -> None:
    """
    By id or by whatever else names a document; beside a file, and the store may be the configured one.
    """
    expected = told("a.txt", "b.txt")
    for a in ("first", "4242", "a.txt"):
        found = told("--store", store, a, "second")
        assert found["passages"] == expected["passages"]
        assert found["a"] == {**expected["a"], "name": a, "kind": "file" if a == "a.txt" else "document"}
    done = whorl("first", "second", WHORL_STORE=store)
    assert done.stdout.startswith("A  document first  9 words")


def test_a_file_is_a_file(store: str) -> None:
    """
    What is both a path and an id is read from the path, as --source reads it.
    """
    assert told("--store", store, "first", "b.txt")["b"]["kind"] == "file"


def test_standard_input(store: str) -> None:
    """
    It is either of the two, and not both.
    """
    expected = told("a.txt", "b.txt")["passages"]
    assert told("-", "b.txt", piped=FIRST)["passages"] == expected
    found = told("--store", store, "first", "-", piped=SECOND)
    assert (found["passages"], found["b"]["kind"]) == (expected, "standard input")
    one = whorl("-", "b.txt", piped="One two three four five.").stdout.splitlines()[0]
    assert one == "A  standard input  5 words, 1 different shingle of 5 words"
    done = whorl("--", "-", "-", piped=FIRST)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "which is read once" in done.stderr


@pytest.mark.process
def test_a_pipe_is_a_file() -> None:
    """
    As the shell's <(…) gives one.
    """
    done = subprocess.run(
        ["bash", "-c", f"'{WHORL}' compare --json <(cat a.txt) b.txt"], capture_output=True, check=True
    )
    assert json.loads(done.stdout)["shared_shingles"] == 2


@pytest.mark.process
def test_a_page_is_read_without_its_tags(folder: Path) -> None:
    """
    Places are those in the text that is left.
    """
    (folder / "page.html").write_text(f"<title>x</title><p>{FIRST[:-1]}</p>", encoding="utf-8")
    (place,) = [each["b"] for each in told("a.txt", "page.html")["passages"]]
    assert place["text"] == FIRST.strip().strip(".")


def test_two_files_need_no_store(folder: Path) -> None:
    """
    One that is not there is no error then, unless it is named, since it would say the scheme.
    """
    assert whorl("a.txt", "b.txt", WHORL_STORE="tyop").exit_code == 0
    done = whorl("--store", "tyop", "a.txt", "b.txt")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("whorl: there is no store at tyop")
    assert not (folder / "tyop").exists()


def test_a_scheme(folder: Path) -> None:
    """
    --scheme says how words break and how many a shingle holds.
    """
    (folder / "c.txt").write_text("url:http", encoding="utf-8")
    assert told("--scheme", "minhash1-icu74-w2-b512", "c.txt", "c.txt")["shared_shingles"] == 1
    assert told("--scheme", "minhash1-icu77-w1-b512", "c.txt", "c.txt")["a"]["words"] == 1
    done = whorl("--scheme", "nosuch", "a.txt", "b.txt")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "there is no scheme 'nosuch'" in done.stderr


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("nosuch", 2, "'nosuch' is no file here, and the store store has no document of that id, or none with a text"),
        ("empty", 2, "or none with a text"),
        (".", 2, "'.' is a folder and no file, and the store store has no document of that id"),
        ("", 2, "'' is no file here"),
        ("x" * 5000, 2, "is no file here"),
        ("nosuch\x1b[31m", 2, "'nosuch\\x1b[31m' is no file here"),
        ("binary", 2, "binary: this is not text"),
    ],
)
def test_what_is_neither(folder: Path, store: str, name: str, code: int, message: str) -> None:
    """
    One line names what was typed, both ways to read it, and what would work; nothing is printed beside it.
    """
    (folder / "binary").write_bytes(bytes(1000))
    for arguments in ([name, "a.txt"], ["first", name]):
        done = whorl("--store", store, "--", *arguments)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (code, "", 1)
        assert message in done.stderr


@pytest.mark.parametrize(
    ("named", "message"), [("tyop", "there is no store at tyop"), ("http://127.0.0.1:1/solr/x", "no Solr answers at")]
)
def test_a_store_that_cannot_be_asked(named: str, message: str) -> None:
    """
    The message says why the store was asked at all.
    """
    done = whorl("--store", named, "nosuch", "a.txt")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"whorl: 'nosuch' is no file here, so it is an id, and the store says: {message}")


# How much is shown, and how.


def test_how_many_passages_are_shown(folder: Path) -> None:
    """
    Five unless --passages says otherwise; what is left out is said, and JSON has all.
    """
    parts = [" ".join(f"w{number}{each}" for each in range(12 - number)) for number in range(7)]
    (folder / "one.txt").write_text("\nx ".join(parts), encoding="utf-8")
    (folder / "two.txt").write_text("\ny ".join(parts[::-1]), encoding="utf-8")

    def shown(*options: str) -> tuple[str, list[str]]:
        lines = whorl(*options, "one.txt", "two.txt").stdout.splitlines()
        (head,) = [line for line in lines if line.startswith("7 passages in both")]
        return head.split(",")[1], [line.strip() for line in lines if line.startswith("   ")]

    assert shown() == (" the longest 5 shown", parts[:5])
    assert shown("--passages", "1") == (" the longest shown", parts[:1])
    assert shown("--passages", "0") == (" none shown", [])
    assert shown("--passages", "99") == (" with 91.3% of the words of A and 91.3% of those of B", parts)
    found = told("--passages", "1", "one.txt", "two.txt")["passages"]
    assert [each["a"]["text"] for each in found] == parts
    assert [each["b"]["first_line"] for each in found] == [7, 6, 5, 4, 3, 2, 1]
    assert whorl("--passages", "-1", "one.txt", "two.txt").exit_code == 2


def test_a_long_passage_is_shortened_in_the_middle(folder: Path) -> None:
    """
    Its beginning and its end stand on a few lines, without line breaks of its own.
    """
    (folder / "long.txt").write_text("\n\t".join(f"word{number}" for number in range(10_000)), encoding="utf-8")
    lines = [line for line in whorl("long.txt", "long.txt").stdout.splitlines() if line.startswith("   ")]
    shown = " ".join(line.strip() for line in lines)
    assert shown.startswith("word0 word1 word2 ")
    assert shown.endswith(" word9998 word9999")
    assert " … word" in shown
    assert len(shown) < 340
    assert all(len(line) <= 120 and line == line.rstrip() for line in lines)


def on_a_terminal(**environment: str) -> bytes:
    """Return what `whorl compare` writes on a terminal."""
    above, below = pty.openpty()
    with os.fdopen(above, "rb", buffering=0) as screen:
        terminal = {**os.environ, "TERM": "xterm-256color", **environment}
        done = subprocess.Popen([WHORL, "compare", "a.txt", "b.txt"], stdout=below, env=terminal)
        os.close(below)
        shown = b"".join(pieces(screen.fileno()))
        assert done.wait(timeout=240) == 0
    return shown


def pieces(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux says so that nobody writes any more
            return
        if not piece:
            return
        yield piece


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="opens a POSIX terminal")
def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Bars are green there, unless NO_COLOR is set; a pipe gets plain text.
    """
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert b"\x1b[32m" in on_a_terminal()
    assert b"\x1b[32m" not in on_a_terminal(NO_COLOR="1")
    assert "\x1b" not in whorl("a.txt", "b.txt").stdout


@pytest.mark.process
def test_an_encoding_that_lacks_the_bars() -> None:
    """
    Question marks stand for what cannot be shown.
    """
    done = subprocess.run(
        [WHORL, "compare", "a.txt", "b.txt"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert b"jaccard  ???" in done.stdout


def test_what_is_common(folder: Path) -> None:
    """
    What a file has is told apart, without a store; what a store's documents have only where it keeps passages, and
    under its own scheme.
    """
    (folder / "form.txt").write_text("the quick brown fox jumps over it all", encoding="utf-8")
    (folder / "c.txt").write_text(f"{FIRST} and the quick brown fox jumps over it all", encoding="utf-8")
    (folder / "d.txt").write_text("so the quick brown fox jumps over it all the same", encoding="utf-8")
    asked = ("compare", "c.txt", "d.txt", "--boilerplate", "form.txt")
    shown = CliRunner().invoke(main, asked)
    assert "Common are 14 words of A and 8 words of B. Without them:" in shown.output
    told = json.loads(CliRunner().invoke(main, [*asked, "--json"]).output)["without_common"]
    assert (told["a"]["common_words"], told["b"]["common_words"], told["shared_shingles"]) == (14, 8, 0)

    with open_store("forms", passages=True) as store:
        store.index(Document(f"{number}", " ".join(f"w{word}" for word in range(30))) for number in range(3))
    form = " ".join(f"w{word}" for word in range(30))
    (folder / "e.txt").write_text(f"one {form}", encoding="utf-8")
    (folder / "f.txt").write_text(f"{form} two", encoding="utf-8")
    by_store = ["compare", "--store", "forms", "e.txt", "f.txt", "--common-above", "2"]
    told = json.loads(CliRunner().invoke(main, [*by_store, "--json"]).output)
    assert (told["a_in_b"] > 0.9, told["without_common"]["a_in_b"]) == (True, 0.0)
    refused = CliRunner().invoke(main, [*by_store, "--scheme", "icu77"])
    assert (refused.exit_code, "leave --scheme out" in refused.output) == (1, True)
