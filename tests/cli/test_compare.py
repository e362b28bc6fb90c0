"""Tests of `whorl compare`: its arguments, its output, and its errors."""

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

from whorl import Document, ParameterError, Scheme, StoreError, UnknownDocumentError, open_store
from whorl.cli.compare import read
from whorl.cli.main import main
from whorl.output.compare_documents import ReadText

WHORL = Path(sys.executable).parent / "whorl"
#: Nine words with five shingles; the second text has the first two.
FIRST = "The quick brown fox jumps over the lazy dog.\n"
SECOND = "So:\nTHE QUICK, brown\nfox jumps over a lazy dog.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with two files; the default store would be below it and does not exist."""
    for name in ("STORE", "SOLR_AUTH", "TIMEOUT", "API_KEY", "CONFIG"):
        monkeypatch.delenv(f"WHORL_{name}", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(FIRST, encoding="utf-8")
    (tmp_path / "b.txt").write_text(SECOND, encoding="utf-8")
    return tmp_path


@pytest.fixture
def store(folder: Path) -> str:
    """Name of a store with three documents."""
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
    """Run `whorl compare` in this process; re-raise an exception that the user would see as a traceback."""
    done = CliRunner().invoke(main, ["compare", *arguments], input=piped, env=environment)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def compare_json(*arguments: str, piped: str | None = None) -> dict[str, Any]:
    """Return the output of `whorl compare --json`."""
    done = whorl("--json", *arguments, piped=piped)
    assert (done.exit_code, done.stderr) == (0, "")
    output: dict[str, Any] = json.loads(done.stdout)
    return output


def test_printed_lines() -> None:
    """
    The output has sizes, shares as bars and in percent, then the passages with their positions in both texts.
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


def test_printed_differences() -> None:
    """
    `--differences` prints the words that only one text has, with their positions, among the words around them in A.
    """
    lines = whorl("a.txt", "b.txt", "--differences").stdout.splitlines()
    assert lines[7:] == [
        "2 differences, in the order of the texts",
        "",
        "1.  A line 1 [0:0], B line 1 [0:2]",
        "   {+So+}The quick brown fox jumps over the lazy dog.",
        "",
        "2.  A line 1 [31:34], B line 3 [36:37]",
        "   The quick brown fox jumps over [-the-]{+a+} lazy dog.",
    ]
    paged = whorl("a.txt", "b.txt", "--differences", "--rows", "1", "--start", "1").stdout.splitlines()
    assert paged[7:] == ["2 differences, in the order of the texts, 2 to 2 shown", "", *lines[-2:]]
    assert "\x1b" not in "".join(lines)
    none = whorl("a.txt", "a.txt", "--differences").stdout.splitlines()
    assert none[7:] == ["0 differences, in the order of the texts"]


def test_a_report_of_differences(folder: Path) -> None:
    """
    `--html` writes a report in addition to the usual output; it must not replace a compared file.
    """
    assert json.loads(whorl("a.txt", "b.txt", "--html", "r.html", "--json").stdout)["exact"]
    assert "over <del>the</del><ins>a</ins> lazy dog" in (folder / "r.html").read_text(encoding="utf-8")
    assert whorl("a.txt", "b.txt", "--html", "b.txt").exit_code == 2


def test_context_of_a_difference(folder: Path) -> None:
    """
    The words around a difference are cut between words, whatever lines they are on.
    """
    (folder / "c.txt").write_text("\n".join(["before"] * 30 + ["old"] + ["after"] * 30), encoding="utf-8")
    (folder / "d.txt").write_text("\n".join(["before"] * 30 + ["after"] * 30), encoding="utf-8")
    lines = whorl("c.txt", "d.txt", "--differences").stdout.splitlines()
    assert " ".join(map(str.strip, lines[10:])) == f"… {'before ' * 8}[-old-] {'after ' * 9}…"


def test_json_with_differences() -> None:
    """
    With `--differences`, JSON has all passages and all differences, whatever `--rows`.
    """
    compared = compare_json("a.txt", "b.txt", "--differences", "--rows", "1")
    assert len(compared["passages"]) == 1
    assert compared["differences"][1] == {
        "a": {"start": 31, "end": 34, "first_line": 1, "last_line": 1, "text": "the"},
        "b": {"start": 36, "end": 37, "first_line": 3, "last_line": 3, "text": "a"},
    }
    assert [each["b"]["text"] for each in compared["differences"]] == ["So", "a"]


def test_json() -> None:
    """
    JSON has all numbers, and positions as ranges of characters and as lines.
    """
    assert compare_json("a.txt", "b.txt") == {
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
    A text and itself have 100 percent, and one passage from the first word to the last.
    """
    comparison = compare_json("a.txt", "a.txt")
    assert (comparison["jaccard"], comparison["a_in_b"], comparison["b_in_a"], comparison["a"]["coverage"]) == (
        1,
        1,
        1,
        1,
    )
    assert [passage["a"]["text"] for passage in comparison["passages"]] == [FIRST.strip().strip(".")]
    assert whorl("a.txt", "a.txt").stdout.count("100.0%") == 5


def test_nothing_in_common(folder: Path) -> None:
    """
    Nothing in common is a message, not an error.
    """
    (folder / "c.txt").write_text("One two three four five six seven.", encoding="utf-8")
    done = whorl("a.txt", "c.txt")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.count("  0.0%  0 of the ") == 3
    assert done.stdout.endswith("\nNo passage of 5 words or more is in both.\n")
    assert compare_json("a.txt", "c.txt")["passages"] == []


@pytest.mark.parametrize("text", ["", "quick brown fox jumps", "…"])
def test_a_text_without_shingles(folder: Path, text: str) -> None:
    """
    For texts without shingles, a note says that they are too short to compare, even if they are equal; every share is
    0.
    """
    (folder / "short.txt").write_text(text, encoding="utf-8")
    for other, sides in (("a.txt", ["A"]), ("short.txt", ["A", "B"])):
        done = whorl("short.txt", other)
        assert done.exit_code == 0
        notes = done.stderr.splitlines()
        assert [note.partition(" has ")[0] for note in notes] == [f"note: {side}" for side in sides]
        assert all("fewer than the 5 of a shingle: there is nothing to count" in note for note in notes)
        assert "100" not in done.stdout
        output = json.loads(whorl("--json", "short.txt", other).stdout)
        assert (output["jaccard"], output["a_in_b"], output["b_in_a"]) == (0, 0, 0)
        assert len(output["warnings"]) == len(sides)


# The arguments A and B.


def test_documents_of_a_store(store: str) -> None:
    """
    A document is named by its id or any other of its names, also next to a file; the default is the configured store.
    """
    expected = compare_json("a.txt", "b.txt")
    for a in ("first", "4242", "a.txt"):
        comparison = compare_json("--store", store, a, "second")
        assert comparison["passages"] == expected["passages"]
        assert comparison["a"] == {**expected["a"], "name": a, "kind": "file" if a == "a.txt" else "document"}
    done = whorl("first", "second", WHORL_STORE=store)
    assert done.stdout.startswith("A  document first  9 words")


def test_a_document_comes_before_a_file(store: str) -> None:
    """
    A name that is both a path and an id means the document of the store, however the store is named, and a note says
    that the file differs.
    """
    for done in (
        whorl("--store", store, "b.txt", "a.txt", "--json"),
        whorl("b.txt", "a.txt", "--json", WHORL_STORE=store),
    ):
        read = json.loads(done.stdout)
        assert (read["a"]["kind"], read["b"]["kind"]) == ("document", "file")
        assert done.stderr.startswith("note: the file b.txt has changed since it was indexed")
    assert compare_json("b.txt", "a.txt")["a"]["kind"] == "file"


def test_files_of_documents_whose_text_is_not_stored(folder: Path) -> None:
    """
    A store without texts names the documents; their files are compared.
    """
    with open_store(folder / "bare", no_text=True) as opened:
        opened.index([Document("a.txt", FIRST), Document("gone.txt", SECOND)])
    answer = json.loads(whorl("a.txt", "b.txt", "--store", "bare", "--json").stdout)
    assert (answer["a"]["kind"], answer["b"]["kind"], answer["shared_shingles"]) == ("file", "file", 2)
    refused = whorl("a.txt", "gone.txt", "--store", "bare")
    assert (refused.exit_code, "keeps no texts" in refused.stderr) == (1, True)


def test_standard_input(store: str) -> None:
    """
    Standard input may be either of the two texts, but not both.
    """
    expected = compare_json("a.txt", "b.txt")["passages"]
    assert compare_json("-", "b.txt", piped=FIRST)["passages"] == expected
    comparison = compare_json("--store", store, "first", "-", piped=SECOND)
    assert (comparison["passages"], comparison["b"]["kind"]) == (expected, "standard input")
    one = whorl("-", "b.txt", piped="One two three four five.").stdout.splitlines()[0]
    assert one == "A  standard input  5 words, 1 different shingle of 5 words"
    done = whorl("--", "-", "-", piped=FIRST)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "which is read once" in done.stderr


@pytest.mark.process
def test_a_pipe_is_a_file() -> None:
    """
    A pipe from the shell's <(…) is read like a file.
    """
    done = subprocess.run(
        ["bash", "-c", f"'{WHORL}' compare --json <(cat a.txt) b.txt"], capture_output=True, check=True
    )
    assert json.loads(done.stdout)["shared_shingles"] == 2


@pytest.mark.process
def test_a_page_is_read_without_its_tags(folder: Path) -> None:
    """
    An HTML page is read without tags, and positions refer to the remaining text.
    """
    (folder / "page.html").write_text(f"<title>x</title><p>{FIRST[:-1]}</p>", encoding="utf-8")
    (place,) = [passage["b"] for passage in compare_json("a.txt", "page.html")["passages"]]
    assert place["text"] == FIRST.strip().strip(".")


def test_two_files_need_no_store(folder: Path) -> None:
    """
    Two files need no store: a missing configured one is ignored, but a missing --store is an error, since it determines
    the scheme.
    """
    assert whorl("a.txt", "b.txt", WHORL_STORE="tyop").exit_code == 0
    unreachable = whorl("a.txt", "b.txt", WHORL_STORE="http://127.0.0.1:1/solr/x")
    assert (unreachable.exit_code, "no Solr answers at" in unreachable.stderr) == (1, True)
    done = whorl("--store", "tyop", "a.txt", "b.txt")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("whorl: there is no store at tyop")
    assert not (folder / "tyop").exists()


def test_a_scheme(folder: Path) -> None:
    """
    --scheme determines the word breaks and the size of a shingle.
    """
    (folder / "c.txt").write_text("url:http", encoding="utf-8")
    assert compare_json("--scheme", "minhash1-icu74-w2-b512", "c.txt", "c.txt")["shared_shingles"] == 1
    assert compare_json("--scheme", "minhash1-icu77-w1-b512", "c.txt", "c.txt")["a"]["words"] == 1
    done = whorl("--scheme", "nosuch", "a.txt", "b.txt")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "there is no scheme 'nosuch'" in done.stderr


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        (
            "nosuch",
            2,
            "no document 'nosuch', and there is no such file; 'whorl list --store store' shows its documents",
        ),
        ("empty", 2, "document 'empty' has no stored text"),
        (".", 2, ". is a folder; name a file in it, or a document of the store"),
        ("", 2, "no document '', and there is no such file"),
        ("x" * 5000, 2, "and there is no such file"),
        ("nosuch\x1b[31m", 2, "no document 'nosuch\\x1b[31m', and there is no such file"),
        ("binary", 2, "binary: this is not text"),
    ],
)
def test_names_of_no_file_and_no_document(folder: Path, store: str, name: str, code: int, message: str) -> None:
    """
    A name that is neither a file nor a document is a one-line error with the name, both meanings, and a remedy; nothing
    else is printed.
    """
    (folder / "binary").write_bytes(bytes(1000))
    for arguments in ([name, "a.txt"], ["first", name]):
        done = whorl("--store", store, "--", *arguments)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (code, "", 1)
        assert message in done.stderr


@pytest.mark.parametrize(
    ("named", "message"), [("tyop", "there is no store at tyop"), ("http://127.0.0.1:1/solr/x", "no Solr answers at")]
)
def test_an_unreachable_store(named: str, message: str) -> None:
    """
    The error of an unreachable store says why the store was needed.
    """
    done = whorl("--store", named, "nosuch", "a.txt")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"whorl: 'nosuch' is not a file here, so it is an id, and the store says: {message}")


# Number and form of the printed passages.


def test_rows_limit_the_passages(folder: Path) -> None:
    """
    --rows limits the printed passages (default ten), --start skips some; the number of omitted ones is printed, and
    JSON has all.
    """
    parts = [" ".join(f"w{number}{word}" for word in range(12 - number)) for number in range(7)]
    (folder / "one.txt").write_text("\nx ".join(parts), encoding="utf-8")
    (folder / "two.txt").write_text("\ny ".join(parts[::-1]), encoding="utf-8")

    def shown(*options: str) -> tuple[str, list[str]]:
        lines = whorl(*options, "one.txt", "two.txt").stdout.splitlines()
        (head,) = [line for line in lines if line.startswith("7 passages in both")]
        return head.split(",")[1], [line.strip() for line in lines if line.startswith("   ")]

    everything = (" with 91.3% of the words of A and 91.3% of those of B", parts)
    assert shown() == everything
    assert shown("--rows", "5") == (" the longest 5 shown", parts[:5])
    assert shown("--rows", "2", "--start", "4") == (" 5 to 6 by length shown", parts[4:6])
    assert shown("--rows", "1") == (" the longest shown", parts[:1])
    assert shown("--rows", "0") == (" none shown", [])
    assert shown("--rows", "99") == everything
    comparison = compare_json("--rows", "1", "one.txt", "two.txt")["passages"]
    assert [passage["a"]["text"] for passage in comparison] == parts
    assert [passage["b"]["first_line"] for passage in comparison] == [7, 6, 5, 4, 3, 2, 1]
    assert whorl("--rows", "-1", "one.txt", "two.txt").exit_code == 2


def test_a_long_passage_is_shortened_in_the_middle(folder: Path) -> None:
    """
    A long passage shows its beginning and its end on a few lines, without its own line breaks.
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
    """Return the output of `whorl compare` on a terminal."""
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
        except OSError:  # Linux reports the end of a terminal as an error
            return
        if not piece:
            return
        yield piece


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="opens a POSIX terminal")
def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Bars are green on a terminal unless NO_COLOR is set; a pipe gets plain text.
    """
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert b"\x1b[32m" in on_a_terminal()
    assert b"\x1b[32m" not in on_a_terminal(NO_COLOR="1")
    assert "\x1b" not in whorl("a.txt", "b.txt").stdout


@pytest.mark.process
def test_an_encoding_that_lacks_the_bars() -> None:
    """
    Characters that the encoding lacks are printed as question marks.
    """
    done = subprocess.run(
        [WHORL, "compare", "a.txt", "b.txt"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert b"jaccard  ???" in done.stdout


def test_common_text_of_files_and_stores(folder: Path) -> None:
    """
    Boilerplate from a file works without a store; frequencies need a store with passages and its own scheme.
    """
    (folder / "form.txt").write_text("the quick brown fox jumps over it all", encoding="utf-8")
    (folder / "c.txt").write_text(f"{FIRST} and the quick brown fox jumps over it all", encoding="utf-8")
    (folder / "d.txt").write_text("so the quick brown fox jumps over it all the same", encoding="utf-8")
    arguments = ("compare", "c.txt", "d.txt", "--boilerplate", "form.txt")
    shown = CliRunner().invoke(main, arguments)
    assert "Common are 8 words of A and 8 words of B. Without them:" in shown.output
    without_common = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)["without_common"]
    assert (
        without_common["a"]["common_words"],
        without_common["b"]["common_words"],
        without_common["shared_shingles"],
    ) == (8, 8, 0)

    with open_store("forms", passages=True) as store:
        store.index(Document(f"{number}", " ".join(f"w{word}" for word in range(30))) for number in range(3))
    form = " ".join(f"w{word}" for word in range(30))
    (folder / "e.txt").write_text(f"one {form}", encoding="utf-8")
    (folder / "f.txt").write_text(f"{form} two", encoding="utf-8")
    by_store = ["compare", "--store", "forms", "e.txt", "f.txt", "--common-above", "2"]
    without_common = json.loads(CliRunner().invoke(main, [*by_store, "--json"]).output)
    assert (without_common["a_in_b"] > 0.9, without_common["without_common"]["a_in_b"]) == (True, 0.0)
    refused = CliRunner().invoke(main, [*by_store, "--scheme", "icu77"])
    assert (refused.exit_code, "leave --scheme out" in refused.output) == (1, True)


def test_common_text_needs_a_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without any store, the error says why one is needed, and how to name it.
    """
    monkeypatch.setenv("WHORL_STORE", str(folder / "nowhere"))
    for name in "ef":
        (folder / f"{name}.txt").write_text("one two three four five six", encoding="utf-8")
    done = whorl("e.txt", "f.txt", "--common-above", "1%")
    assert done.exit_code == 1, done.output
    assert "counts the documents of a store that have a text; name a store with --store STORE" in done.stderr
    assert "--boilerplate FILE (there is no store at" in done.stderr


def test_two_files_choose_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Two files need no store: the scheme is `--scheme` or the default one, and the configured store may be missing.
    """
    monkeypatch.setenv("WHORL_STORE", str(tmp_path / "nosuch"))
    (tmp_path / "a.txt").write_text("one two")
    name, named = str(tmp_path / "a.txt"), Scheme.parse("minhash1-icu74-w2-b512")
    assert read(name, name, None, None) == (
        ReadText(name, "file", "one two"),
        ReadText(name, "file", "one two"),
        Scheme(),
    )
    assert read(name, name, None, named)[2] == named
    # A named store is asked for its documents before files are read.
    with pytest.raises(StoreError, match="there is no store at"):
        read(name, name, str(tmp_path / "nosuch"), None)


def test_a_name_without_a_file_is_an_id(tmp_path: Path) -> None:
    """
    A name without a file is a document id; an unknown name is an error that mentions both; standard input may be used
    once.
    """
    (tmp_path / "a.txt").write_text("from the file")
    store, file = str(tmp_path / "store"), str(tmp_path / "a.txt")
    with open_store(store) as opened:
        opened.index([Document("id", "from the store"), Document("empty", "")])
    a, b, scheme = read("id", file, store, None)
    assert (a, b, scheme) == (
        ReadText("id", "document", "from the store"),
        ReadText(file, "file", "from the file"),
        Scheme(),
    )
    with pytest.raises(UnknownDocumentError, match="and there is no such file; 'whorl list --store"):
        read(file, "nosuch", store, None)
    with pytest.raises(ParameterError, match="is a folder; name a file in it"):
        read(file, str(tmp_path), store, None)
    with pytest.raises(ParameterError, match="document 'empty' has no stored text"):
        read(file, "empty", store, None)
    with pytest.raises(ParameterError, match="which is read once"):
        read("-", "-", store, None)
