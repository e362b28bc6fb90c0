"""The command line as a user meets it: what it prints, where, with which exit code, and what it survives."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import solr_runtime
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import FieldError, QueryError, StoreError

WHORL = Path(sys.executable).parent / "whorl"
FIRST = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the warm sun."
SECOND = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the cold rain."
ESCAPE = "\x1b[31m"
_DEADLINE_SECONDS = 60.0


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, where the default store and the caches are as well."""
    for name in ("STORE", "SOLR_AUTH", "TIMEOUT", "API_KEY", "CONFIG"):
        monkeypatch.delenv(f"WHORL_{name}", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def notes(folder: Path) -> Path:
    """Three texts, two of them nearly the same, indexed into `store`."""
    made = folder / "notes"
    made.mkdir()
    for name, text in {"a.txt": FIRST, "b.txt": SECOND, "c.txt": "Nothing of the kind is said in here, is it?"}.items():
        (made / name).write_text(text, encoding="utf-8")
    assert whorl("index", "--store", "store", "notes").exit_code == 0
    return made


def whorl(*arguments: str) -> Result:
    """Run a command in this process; an exception that is no exit would be a traceback to the user."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return result


def asked(query: str, *options: str, store: str = "store") -> dict[str, Any]:
    """Search, as JSON."""
    result = whorl("search", "--store", store, "--json", *options, "--", query)
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def ids(told: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in told["hits"]]


def in_shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command as bash does, `whorl` being ours."""
    called = f"set -o pipefail; whorl() {{ '{WHORL}' \"$@\"; }}; {command}"
    return subprocess.run(
        ["bash", "-c", called],
        capture_output=True,
        check=False,
        timeout=_DEADLINE_SECONDS,
        env={**os.environ, **environment},
    )


def commands() -> Iterator[list[str]]:
    """Every command with the words that lead to it."""

    def below(command: click.Command, words: list[str]) -> Iterator[list[str]]:
        yield words
        for name, each in getattr(command, "commands", {}).items():
            yield from below(each, [*words, name])

    yield from below(main, [])


# What is printed.


@pytest.mark.parametrize("words", list(commands()), ids=lambda words: " ".join(words) or "whorl")
def test_every_command_has_help(words: list[str]) -> None:
    """
    --help and -h say the same: usage, what the command is for, and every option with an explanation.
    """
    result = whorl(*words, "--help")
    assert result.exit_code == 0
    assert result.stdout == whorl(*words, "-h").stdout
    assert result.stdout.startswith("Usage: ")
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.process
def test_help_imports_nothing_that_takes_time() -> None:
    """
    The search engine, the terminal's tables, HTML and the service are imported by the commands that need them.
    """
    program = "import sys; from whorl.cli.main import main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"tantivy", "rich", "bs4", "fastapi", "uvicorn"}.intersection(loaded)


def test_json_has_one_shape(notes: Path) -> None:
    """
    query, total, warnings, hits of id, name, score and, with one source, shared_tokens; nothing else.
    """
    told = asked("FINGERPRINT:notes/a.txt")
    first, second = told["hits"]
    assert list(told) == ["query", "total", "total_is_exact", "warnings", "hits"]
    assert (told["query"], told["total"], told["warnings"]) == ("FINGERPRINT:notes/a.txt", 2, [])
    assert first == {"id": "notes/a.txt", "name": "a.txt", "score": 512.0, "shared_tokens": 512}
    assert list(second) == ["id", "name", "score", "shared_tokens"]
    assert 0 < second["shared_tokens"] == second["score"] < 512


def test_to_the_letter(notes: Path) -> None:
    """
    --afts strict reads a query as Alfresco does: it takes 10.fox apart, and refuses a path without quotes.
    """
    assert ids(asked("dog.zzz", "--afts", "strict")) == []
    assert ids(asked("1.dog", "--afts", "strict")) == ["notes/a.txt", "notes/b.txt"]
    assert ids(asked("1.dog")) == []
    refused = whorl("search", "--store", "store", "--afts", "strict", "/etc/hosts")
    assert refused.exit_code == 2
    assert "^" in refused.stderr
    assert whorl("explain", "--store", "store", "--afts", "strict", "1.dog").exit_code == 0


def test_json_without_a_source(notes: Path) -> None:
    """
    A query of words has no shared tokens; warnings are in the JSON and not beside it.
    """
    result = whorl("search", "--store", "store", "--json", 'fox AND "..." OR sun')
    told = json.loads(result.stdout)
    assert told["hits"] == [{"id": "notes/a.txt", "name": "a.txt", "score": 1.0}]
    assert any("there is no word in '...'" in warning for warning in told["warnings"])
    assert result.stderr == ""


def test_a_table_shows_tokens_and_share(notes: Path) -> None:
    """
    A hit's row holds its id, its name, the shared tokens and their share; the last line counts.
    """
    lines = whorl("search", "--store", "store", "FINGERPRINT:notes/a.txt").stdout.splitlines()
    assert lines[0].split() == ["id", "name", "shared", "tokens", "overlap"]
    assert lines[1].split() == ["notes/a.txt", "a.txt", "512", "█" * 20, "100.0%"]
    assert lines[-1] == "2 documents"


def test_pages(notes: Path) -> None:
    """
    --rows and --start cut the list, and what is left out is said.
    """
    assert ids(asked("*", "--rows", "1", "--start", "1")) == ["notes/b.txt"]
    assert "3 documents, 2 to 2 shown" in whorl("search", "--store", "store", "--rows", "1", "--start", "1", "*").stdout
    assert "3 documents, none shown" in whorl("search", "--store", "store", "--rows", "0", "*").stdout
    assert "3 documents, none shown" in whorl("search", "--store", "store", "--start", "9", "*").stdout


@pytest.mark.parametrize("option", [("--rows", "-1"), ("--rows", "10001"), ("--rows", "x"), ("--start", "1000001")])
def test_pages_out_of_range(notes: Path, option: tuple[str, str]) -> None:
    """
    The message names the option and its range; the exit code is that of a mistake.
    """
    result = whorl("search", "--store", "store", *option, "*")
    assert result.exit_code == 2
    assert option[0] in result.stderr


def test_explain(notes: Path) -> None:
    """
    The plan in numbers and the request as JSON, without searching; --explain shows the same beside the hits.
    """
    result = whorl("explain", "--store", "store", "FINGERPRINT:notes/a.txt_70 AND fox")
    words, _, request = result.stdout.partition("\nRequest\n")
    assert "at least 359 of its 512 tokens" in words
    assert json.loads(request)["store"] == "store"
    beside = whorl("search", "--store", "store", "--explain", "--json", "FINGERPRINT:notes/a.txt_70 AND fox")
    assert beside.stderr.strip() == result.stdout.strip()
    assert json.loads(beside.stdout)["total"] == 2


def test_delete(notes: Path) -> None:
    """
    It says how many there were; ids that were not there are no error.
    """
    assert whorl("delete", "--store", "store", "notes/a.txt", "gone").stdout == "1 of 2 documents deleted\n"
    assert ids(asked("*")) == ["notes/b.txt", "notes/c.txt"]


@pytest.mark.parametrize("reference", ["*", "*:*", "notes/*", "{!lucene}*:*", "", "\ud800", "notes/a.txt\0"])
def test_delete_takes_ids_and_no_queries(notes: Path, reference: str) -> None:
    """
    Nothing that would mean many documents elsewhere means more than one here.
    """
    assert whorl("delete", "--store", "store", reference).stdout == "0 of 1 documents deleted\n"
    assert asked("*")["total"] == 3


def test_the_default_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without --store it is WHORL_STORE's, or the folder of the user's own.
    """
    (folder / "a.txt").write_text(FIRST, encoding="utf-8")
    assert whorl("index", "a.txt").exit_code == 0
    assert whorl("search", "--json", "*").exit_code == 0
    monkeypatch.setenv("WHORL_STORE", str(folder / "other"))
    assert whorl("search", "*").exit_code == 1
    assert whorl("index", "a.txt").exit_code == 0
    assert (folder / "other").is_dir()


# Mistakes.


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("", "", "the query is empty"),
        (" \t", " \t", "the query is empty"),
        ("*:* AND", "", ""),
        ('big "brown fox', '"brown fox', "this quote is never closed"),
        ("'fox", "'fox", "this quote is never closed"),
        ("(fox", "", ""),
        ("fox)", ")", ""),
        ("FINGERPRINT:a_140", "140", "140"),
        ("FINGERPRINT:", "", ""),
        ("{!frange l=0}fox", "{", ""),
        ("fox\0", "\0", "U+0000 is a control character"),
        ("fox \x1b[31m", "\x1b", "U+001B is a control character"),
        ("fox \udcff", "\udcff", "U+DCFF is half of a surrogate pair"),
        ("(" * 5000 + "x" + ")" * 5000, "(", "levels deep"),
        ("NOT " * 5000 + "x", "", "levels deep"),
        ("a " * 2000, "a", "at most 1,000"),
        ("a" * 100_000, "a", "at most 65,536 characters, got 100,000"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_a_mistake_in_a_query_is_shown_at_its_place(notes: Path, query: str, place: str, message: str) -> None:
    """
    One message: what is wrong, the line of the query, the caret below, a hint; exit code 2, no output, no traceback.
    """
    for command in (["search"], ["search", "--json"], ["explain"]):
        result = whorl(*command, "--store", "store", "--", query)
        assert result.exit_code == 2
        assert result.stdout == ""
        said, shown, carets, *hint = result.stderr.splitlines()
        assert said.startswith("whorl: ")
        assert message in said
        assert set(carets) <= {" ", "^"}
        assert "^" in carets
        assert len(shown) < 160
        assert len(hint) <= 1
        under = shown[carets.index("^") : carets.index("^") + len(place)]
        assert under == "".join(char if char.isprintable() else "·" for char in place)


def test_a_query_that_begins_with_a_minus(notes: Path) -> None:
    """
    It stands after "--"; without that it is read as options, and the help says so.
    """
    assert ids(asked("-fox")) == ["notes/c.txt"]
    result = whorl("search", "--store", "store", "-fox")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert '"--"' in whorl("search", "--help").stdout


@pytest.mark.parametrize(
    "words",
    [
        ["serach", "x"],
        ["search"],
        ["search", "a", "b"],
        ["index"],
        ["delete"],
        ["solr", "chekc"],
        ["index", "--batch", "0", "."],
    ],
    ids=" ".join,
)
def test_wrong_usage(words: list[str]) -> None:
    """
    Exit code 2 and the way to the help.
    """
    result = whorl(*words)
    assert result.exit_code == 2
    assert "--help" in result.stderr


def test_a_store_that_is_not_there(folder: Path) -> None:
    """
    Asking does not make one: a mistyped --store is an error with exit code 1, and leaves nothing behind.
    """
    for words in (["search", "x"], ["explain", "x"], ["delete", "x"]):
        result = whorl(*words, "--store", "tyop")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("whorl: there is no store at tyop; make one by indexing")
    assert not (folder / "tyop").exists()


def test_a_store_that_is_something_else(folder: Path) -> None:
    """
    A file, or a folder with other things, is left alone and named.
    """
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text(FIRST, encoding="utf-8")
    for store in ("notes", "notes/a.txt"):
        result = whorl("index", "--store", store, "notes")
        assert result.exit_code == 1
        assert store in result.stderr
    assert [each.name for each in (folder / "notes").iterdir()] == ["a.txt"]


def test_bad_settings_are_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Exit code 2 and the variable's name.
    """
    monkeypatch.setenv("WHORL_TIMEOUT", "soon")
    result = whorl("search", "x")
    assert (result.exit_code, result.stderr) == (
        2, "whorl: WHORL_TIMEOUT must be seconds, above 0 and below a day, got 'soon'\n",
    )  # fmt: skip


# Indexing.


def test_unreadable_files_are_told_at_the_end(folder: Path) -> None:
    """
    What can be read is stored, the rest is counted and named on standard error. A path that is not there and a run
    that stores nothing are failures in the end.
    """
    (folder / "a.txt").write_text(FIRST, encoding="utf-8")
    (folder / "b.bin").write_bytes(bytes(1000))
    (folder / "c.jsonl").write_text('{"id": "c", "text": "t"}\nnot json\n', encoding="utf-8")
    result = whorl("index", "--store", "store", "a.txt", "b.bin", "c.jsonl", "gone")
    assert result.exit_code == 1
    assert result.stdout == "2 documents stored.\n"
    head, *told = result.stderr.splitlines()
    assert head == "3 could not be stored:"
    assert [line.split(": ")[0].strip() for line in told] == ["gone", "b.bin", "c.jsonl, line 2"]

    result = whorl("index", "--store", "store", "a.txt", "b.bin", "c.jsonl")
    assert (result.exit_code, result.stdout) == (0, "0 documents stored, 2 unchanged and left alone.\n")
    result = whorl("index", "--store", "store", "b.bin", "b" * 5000)
    assert (result.exit_code, result.stdout) == (1, "0 documents stored.\n")
    assert [line[:2] for line in result.stderr.splitlines()] == ["2 ", "  ", "  "]


def test_many_problems_are_counted(folder: Path) -> None:
    """
    The first twenty are named.
    """
    (folder / "a.jsonl").write_text("no\n" * 100, encoding="utf-8")
    lines = whorl("index", "--store", "store", "a.jsonl").stderr.splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("100 could not be stored:", 22, "  … and 80 more")


def test_a_second_run_leaves_what_is_unchanged_alone(notes: Path) -> None:
    """
    Only the changed file is stored again, under the id it had.
    """
    (notes / "a.txt").write_text(SECOND, encoding="utf-8")
    result = whorl("index", "--store", "store", "notes")
    assert result.stdout == "1 document stored, 2 unchanged and left alone.\n"
    assert [hit["score"] for hit in asked("FINGERPRINT:notes/b.txt")["hits"]] == [512, 512]  # type: ignore[attr-defined]
    assert whorl("index", "--store", "store", "notes").stdout == "0 documents stored, 3 unchanged and left alone.\n"


def test_batches_make_no_difference(folder: Path) -> None:
    """
    One document at a time or all at once, and of one id twice the last.
    """
    told = [{"id": f"d{number % 7}", "text": f"{FIRST} {number}"} for number in range(20)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
    for batch in ("1", "3", "10000"):
        assert whorl("index", "--store", f"by{batch}", "--batch", batch, "a.jsonl").exit_code == 0
        assert asked("*", store=f"by{batch}")["total"] == 7
        with open_store(folder / f"by{batch}") as store:
            found = {
                name: each.tokens for name, each in store.engine.signatures({f"d{n}": True for n in range(7)}).items()
            }
            last = {f"d{number % 7}": number for number in range(20)}
        with open_store(folder / f"expected{batch}") as store:
            store.index(Document(name, f"{FIRST} {number}") for name, number in last.items())
            assert found == {
                name: each.tokens for name, each in store.engine.signatures(dict.fromkeys(last, True)).items()
            }


class Indexing:
    """`whorl index` of 3,000 documents in a process of its own, seen at work."""

    count = 3_000

    def __init__(self, folder: Path) -> None:
        told = [{"id": f"d{number:04}", "text": f"{FIRST} {number} {SECOND}"} for number in range(self.count)]
        (folder / "many.jsonl").write_text("\n".join(map(json.dumps, told)), encoding="utf-8")
        self.store = folder / "many"
        self.command = [str(WHORL), "index", "--store", str(self.store), "--batch", "10", "many.jsonl"]

    def stopped_by(self, number: int, after: int) -> tuple[int, str, str]:
        """Start, wait until so many documents are stored, send a signal; return exit code and output."""
        # A suite that runs in the background hands down that SIGINT is ignored.
        process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        wait_until(lambda: self.stored() >= after, process)
        process.send_signal(number)
        out, error = process.communicate(timeout=_DEADLINE_SECONDS)
        return process.returncode, out, error

    def stored(self) -> int:
        # Not waiting for the writer: a store that is only being made has no index yet to be opened with.
        engine = partial(EmbeddedEngine, self.store, create=False, wait_seconds=0.1)
        with contextlib.suppress(StoreError), Store(engine()) as store:
            return store.count()
        return 0


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.01)


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_ctrl_c_and_kill_in_the_middle_and_again(folder: Path) -> None:
    """
    Ctrl-C says what is stored and how to go on; kill -9 says nothing; the last run finds all, once each.
    """
    indexing = Indexing(folder)
    code, out, error = indexing.stopped_by(signal.SIGINT, after=50)
    assert code == 1
    assert out.startswith("stopped: ")
    assert out.endswith("Run the same command again to complete it.\n")
    acknowledged = int(out.split()[1].replace(",", ""))
    assert error.strip() == "Aborted!"
    # The batch that is stored when the signal comes may not be counted yet.
    assert 40 <= acknowledged <= indexing.stored() < indexing.count

    code, _, _ = indexing.stopped_by(signal.SIGKILL, after=acknowledged + 200)
    assert code == -signal.SIGKILL
    before = indexing.stored()
    assert acknowledged + 200 <= before < indexing.count

    done = subprocess.run(indexing.command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{indexing.count - before:,} documents stored, {before:,} unchanged and left alone.\n"
    with open_store(indexing.store) as store:
        assert store.count() == store.search("*", rows=0).total == indexing.count
        assert len({hit.id for hit in store.search("*", rows=indexing.count).hits}) == indexing.count
        assert store.search("FINGERPRINT:d2999_100", rows=1).hits[0].score == 512


# Output that something else reads.


def test_ids_with_markup_and_very_long_ones(folder: Path) -> None:
    """
    Brackets and :key: are text; an id of 1,000 characters is folded and not cut; JSON gives all back.
    """
    odd = [
        "[bold red]x[/]",
        "a:key:b",
        "[/]",
        "\\[x]",
        "x" * 1000,
        "日本語のテキスト",
        "{!lucene}*:*",
        'quo"te',
        "under_score_70",
    ]
    with open_store(folder / "store") as store:
        store.index([Document(each, FIRST, name=each[:30]) for each in odd])
    assert set(ids(asked("*", "--rows", "100"))) == set(odd)
    printed = whorl("search", "--store", "store", "FINGERPRINT:a:key:b").stdout
    for each in odd:
        assert each in printed or each == "x" * 1000
    assert printed.count("x") >= 1000
    assert all(len(line) <= 120 for line in printed.splitlines())


def test_no_control_characters_reach_the_terminal(folder: Path) -> None:
    """
    Names, C1 controls in ids, names of files that cannot be read, warnings and errors: what moves a cursor is replaced.
    """
    (folder / f"a{ESCAPE}.bin").write_bytes(bytes(100))
    with open_store(folder / "store") as store:
        store.index([Document("c1\x9b31m", FIRST, name=f"{ESCAPE}red\r\n\x9b")])
    outputs = [
        whorl("search", "--store", "store", "*"),
        whorl("search", "--store", "store", "--json", "*"),
        whorl("search", "--store", "store", "--explain", "FINGERPRINT:c1\\u009b31m"),
        whorl("search", "--store", "store", 'FINGERPRINT:"\\u001b[31m" "\\u009b"'),
        whorl("explain", "--store", "store", '"\\u001b[31m" \\u009bx:y'),
        whorl("index", "--store", "store", f"a{ESCAPE}.bin"),
        whorl("search", "--store", f"no{ESCAPE}store", "*"),
        whorl("index", "--store", f"a{ESCAPE}.bin", "store"),
    ]
    for result in outputs:
        assert result.output
        assert set(filter(lambda char: not char.isprintable(), result.output)) <= {"\n"}
    assert ids(json.loads(outputs[1].stdout)) == ["c1\x9b31m"]


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="needs bash")
@pytest.mark.parametrize("options", ["", "--json", "--explain"])
def test_a_reader_that_has_seen_enough(notes: Path, options: str) -> None:
    """
    `whorl search … | head -1` and a reader that is gone at once are no errors and print none.
    """
    done = in_shell(f"whorl search --store store {options} '*' | head -1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    done = in_shell(f"whorl search --store store {options} '*' | true")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_the_output(notes: Path) -> None:
    """
    It is one message and exit code 1.
    """
    done = in_shell("whorl search --store store --json '*' > /dev/full")
    assert (done.returncode, done.stderr) == (1, b"whorl: [Errno 28] No space left on device\n")


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="needs bash")
def test_no_output_and_no_input_at_all(notes: Path) -> None:
    """
    Closed standard output or standard error are no reason to fail; closed standard input is, where it is to be read.
    """
    assert in_shell("whorl search --store store '*' >&-").returncode == 0
    assert in_shell("whorl fingerprint --format npy notes/a.txt >&-").returncode == 0
    done = in_shell("whorl fingerprint - <&-")
    assert (done.returncode, done.stderr) == (2, b"whorl: - is standard input, and that is closed; name a file\n")
    done = in_shell("whorl index --store store notes 2>&-")
    assert (done.returncode, done.stdout) == (0, b"0 documents stored, 3 unchanged and left alone.\n")


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_terminals_with_few_characters(notes: Path, encoding: str) -> None:
    """
    What the encoding lacks is shown as a question mark in tables and escaped in JSON.
    """
    (notes / "日本.txt").write_text(FIRST, encoding="utf-8")
    table = in_shell(
        "whorl index --store store notes && whorl search --store store FINGERPRINT:notes/日本.txt",
        PYTHONIOENCODING=encoding,
    )
    assert table.returncode == 0, table.stderr
    assert b"notes/??.txt" in table.stdout
    told = in_shell("whorl search --store store --json FINGERPRINT:notes/日本.txt", PYTHONIOENCODING=encoding)
    assert "notes/日本.txt" in ids(json.loads(told.stdout.decode(encoding)))


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes")
def test_arguments_that_are_no_utf_8(notes: Path) -> None:
    """
    A query is refused at the byte, a file is told; neither is a traceback.
    """
    done = in_shell(r"whorl search --store store $'fox \xff'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"whorl: U+DCFF")
    done = in_shell(r"echo x > $'notes/\xff.txt'; whorl index --store store notes")
    assert done.returncode == 0
    assert b"1 could not be stored" in done.stderr


# The other commands.

SHORT = "six words in a row here"


@pytest.mark.process
def test_a_text_that_is_not_in_the_store(notes: Path) -> None:
    """
    --source takes a file or standard input, in any encoding; a document called "source" is not meant.
    """
    with open_store("store") as store:
        store.index([Document("source", "something else entirely that nobody asks for")])
    (notes / "d.html").write_bytes(f"<p>{FIRST}".encode("utf-16"))
    for arguments, piped in ((["notes/d.html"], b""), (["-"], FIRST.encode("utf-8-sig"))):
        query = ["search", "--store", "store", "--json", "FINGERPRINT:source_30", "--source"]
        result = CliRunner().invoke(main, [*query, *arguments], input=piped)
        told = json.loads(result.stdout)
        assert ids(told) == ["notes/a.txt", "notes/b.txt"]
        assert told["hits"][0]["shared_tokens"] == 512
    assert "at least 154 of its 512 tokens" in whorl(
        "explain", "--store", "store", "FINGERPRINT:source_30", "--source", "notes/a.txt"
    ).stdout  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("file", ["gone", ".", "binary", "gone\x1b[31m", "page.html"])
def test_a_source_that_cannot_be_read(notes: Path, file: str) -> None:
    """
    It is named, with exit code 2 and no more than one line.
    """
    Path("binary").write_bytes(bytes(1000))
    Path("page.html").write_text(f"&#{'9' * 5000};", encoding="utf-8")
    for words in (["search", "FINGERPRINT:source", "--store", "store", "--source"], ["fingerprint"]):
        result = whorl(*words, file)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert file.replace("\x1b", "\ufffd") in result.stderr


def test_fingerprint(folder: Path) -> None:
    """
    Each form gives the 512 tokens, in the same order, of a file or of standard input.
    """
    (folder / "a.txt").write_text(SHORT, encoding="utf-8")
    told = json.loads(whorl("fingerprint", "a.txt").stdout)
    assert (told["size"], len(told["tokens"])) == (2, 512)
    lines = CliRunner().invoke(main, ["fingerprint", "-", "--format", "text"], input=SHORT).stdout.splitlines()
    assert list(map(int, lines)) == told["tokens"]
    numbers = np.load(io.BytesIO(whorl("fingerprint", "--format", "npy", "a.txt").stdout_bytes))
    assert numbers.tolist() == told["tokens"]
    assert whorl("fingerprint", "--scheme", "nosuch", "a.txt").exit_code == 2


def test_fingerprint_of_nothing(folder: Path) -> None:
    """
    A text of fewer words than a shingle has no tokens; that is no error.
    """
    (folder / "a.txt").touch()
    assert json.loads(whorl("fingerprint", "a.txt").stdout)["tokens"] == []
    assert whorl("fingerprint", "--format", "text", "a.txt").stdout.strip() == ""
    assert len(np.load(io.BytesIO(whorl("fingerprint", "--format", "npy", "a.txt").stdout_bytes))) == 0


@pytest.mark.slow
def test_demo(folder: Path) -> None:
    """
    It finds texts on this machine and asks three questions, each with hits, as the commands that it shows do.
    """
    result = whorl("demo", "--store", "demo")
    assert result.exit_code == 0
    assert result.stdout.count("whorl search --store demo 'FINGERPRINT:") == 3
    assert "documents stored, 0 were there already" in result.stdout
    for query in [
        line.split("'", 1)[1].rstrip("'") for line in result.stdout.splitlines() if "search --store demo 'F" in line
    ]:
        assert asked(query, store="demo")["total"]


def test_demo_where_nothing_can_be_written(folder: Path) -> None:
    """
    A store that cannot be made is an error like any other.
    """
    (folder / "file").touch()
    result = whorl("demo", "--store", "file/below")
    assert result.exit_code == 1
    assert "file/below" in result.stderr


@pytest.mark.parametrize("command", ["check", "init"])
def test_solr_commands_name_what_does_not_answer(command: str) -> None:
    """
    Exit code 1 and the address; 2 for what is no address.
    """
    result = whorl("solr", command, "http://127.0.0.1:1/solr/whorl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("whorl: no Solr answers at http://127.0.0.1:1/solr/whorl")
    assert whorl("solr", command, "whorl").exit_code == 2


@contextlib.contextmanager
def own_collection(url: str) -> Iterator[str]:
    """Give the URL of an empty core or collection beside another."""
    base_url, name = url.rpartition("/")[0], f"whorl_test_{uuid.uuid4().hex[:8]}"
    try:
        yield solr_runtime.make_collection(base_url, name)
    finally:
        solr_runtime.drop(base_url, name)


@pytest.fixture(scope="module")
def core(solr_standalone_url: str) -> Iterator[str]:
    """URL of a core of these tests' own."""
    with own_collection(solr_standalone_url) as url:
        yield url


def test_solr_check_and_init(core: str) -> None:
    """
    whorl's own configset has no error, init finds nothing to add, and JSON says what the lines say.
    """
    result = whorl("solr", "check", core)
    assert result.exit_code == 0
    findings = json.loads(whorl("solr", "check", "--json", core).stdout)
    assert [finding["message"] in result.stdout for finding in findings] == [True] * len(findings)
    assert all(list(finding) == ["level", "code", "message", "remedy"] for finding in findings)
    assert whorl("solr", "init", "--dry-run", core).exit_code == whorl("solr", "init", core).exit_code == 0


def test_solr_check_of_what_cannot_work(core: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """
    A wrong field name in whorl.toml is found, with the exit code of an error.
    """
    (folder / "whorl.toml").write_text('[fields]\nminhash = "content_of_nothing"', encoding="utf-8")
    monkeypatch.setenv("WHORL_CONFIG", "whorl.toml")
    result = whorl("solr", "check", core)
    assert result.exit_code == 1
    assert "content_of_nothing" in result.stdout


# Syntax of Solr's own, in every place where a user can write.

INJECTIONS = [
    "{!lucene}*:*",
    "{!frange l=0 u=9}1",
    "{!func}sum(1,1)",
    "{!terms f=id}canary",
    "{!join from=id to=id}*:*",
    "{!parent which=*:*}*:*",
    "{!xmlparser}<MatchAllDocsQuery/>",
    "{!v=$q}",
    "_query_:{!lucene}*:*",
    "${solr.data.dir}",
    "${limit}",
    "${q:canary}",
    "$q",
    "*:*",
    "[* TO *]",
    "/.*/",
    "canary OR *:*",
    'canary" OR "',
    "canary\\",
    "canary~2 canary*",
    "canary^=5 AND NOT x",
    "') OR *:* OR ('",
    '","params":{"fq":"*:*"},"x":"',
    "canary&fq=*:*#",
    "%7B!lucene%7D*:*",
    "<delete><query>*:*</query></delete>",
]


def quoted(text: str) -> str:
    return (
        '"'
        + text.replace("\\", "\\\\").replace('"', '\\"').replace("*", "\\*").replace("?", "\\?").replace("_", "\\_")
        + '"'
    )


def escaped(text: str) -> str:
    return "".join(char if char.isalnum() else f"\\{char}" for char in text)


ODD = [
    *(Document(text, f"{FIRST} number {number}", properties={"kind": "odd"}) for number, text in enumerate(INJECTIONS)),
    *(Document(f"plain{number}", f"{SECOND} {number}", properties={"kind": "plain"}) for number in range(100)),
    Document("canary", "canary birds are sung about in songs of nobody", properties={"kind": "canary"}),
]


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("solr_standalone_url", marks=pytest.mark.solr),
        pytest.param("solr_cloud_url", marks=pytest.mark.cloud),
    ],
)
def injected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    """A store with documents whose ids are Solr's syntax, and a hundred that must not be found by it; and its name."""
    made: contextlib.AbstractContextManager[str]
    if request.param == "embedded":
        made = contextlib.nullcontext(str(tmp_path_factory.mktemp("injected") / "store"))
    else:
        made = own_collection(request.getfixturevalue(request.param))
    with made as name, open_store(name) as store:
        store.index(ODD)
        yield name, store


@pytest.mark.parametrize("text", INJECTIONS)
def test_syntax_of_solr_is_text(injected: tuple[str, Store], text: str) -> None:
    """
    As an id it finds the document of that id; as words, fields or values nothing of the hundred; bare it is the
    language's own or a mistake; in no place is it a failure of the engine.
    """
    name, store = injected

    def found(query: str) -> list[str]:
        return [hit.id for hit in store.search(query, rows=200).hits]

    for form in (quoted, escaped):
        assert found(f"id:{form(text)}") == found(f"FINGERPRINT:{form(text)}_100") == [text]
        assert found(f"FINGERPRINT:{form(text + 'x')}") == []
        for place in ("{}", "kind:{}", "content:{}", "name:{}", "+{}"):
            assert set(found(place.format(form(text)))) <= {"canary"}, place
        with pytest.raises(FieldError, match="no field 'nosuch'"):
            found(f"nosuch:{form(text)}")
        assert len(found(f"NOT {form(text)}")) >= len(ODD) - 1
    for sign in ("", "@"):
        with pytest.raises(FieldError, match="no field"):
            found(f"{sign}{escaped(text)}:fox")
    for bare in (text, f"id:{text}", f"kind:{text}", f"FINGERPRINT:{text}", f"{text}:fox", f"fox AND {text}"):
        assert whorl("search", "--store", name, "--json", "--", bare).exit_code in (0, 2)
    assert whorl("explain", "--store", name, "--", text).exit_code in (0, 2)
    assert ids(asked(f"FINGERPRINT:{quoted(text)}_100", store=name)) == [text]


def test_syntax_of_solr_deletes_nothing(injected: tuple[str, Store]) -> None:
    """
    Each is an id, of one document or none.
    """
    name, store = injected
    for text in ("*", "[* TO *]x", "id:canary", "{!terms f=id}plain1", "plain*", '"plain1"', "plain1\\"):
        assert whorl("delete", "--store", name, "--", text).stdout == "0 of 1 documents deleted\n"
    assert whorl("delete", "--store", name, "--", "*:*", "{!lucene}*:*").stdout == "2 of 2 documents deleted\n"
    assert store.search("*").total == len(ODD) - 2
    assert store.index(ODD).stored == 2


@pytest.fixture(scope="module")
def both(core: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """The same few documents in process and in a real Solr."""
    documents = [Document(f"d{number}", f"{FIRST} {number}", properties={"kind": "a b"}) for number in range(5)]
    with open_store(tmp_path_factory.mktemp("both") / "store") as embedded, open_store(core) as solr:
        for store in (embedded, solr):
            store.index(documents)
        yield embedded, solr
        solr.delete([each.id for each in documents])


CHARACTERS = "{}!()[]:^\"'\\*?~/&|+-_.,;=<>$%#@ \t\n\u3000\u00ad\u200bxß日0\U0001f600"
PIECES = ["fox", "d1", "kind:", "id:", "FINGERPRINT:", " AND ", " OR ", "NOT ", "_50", "{!lucene}", "*:*"]
PIECES += ["\\u0000", "\\ud83d"]


@settings(max_examples=250, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.sampled_from([*CHARACTERS, *PIECES]),
        min_size=1,
        max_size=12,
    ).map("".join)
)
def test_any_characters_mean_the_same_to_both_engines(both: tuple[Store, Store], query: str) -> None:
    """
    Whatever is typed is a mistake that is shown, or gives the same hits in process and in Solr.
    """
    answers = []
    for store in both:
        try:
            page = store.search(query, rows=100)
            answers.append([(hit.id, hit.score) for hit in page.hits])
        except QueryError as error:
            answers.append([(str(error), 0.0)])
    assert answers[0] == answers[1]
