"""Tests of `whorl index`: stored, unchanged and unreadable documents, and interrupted runs."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import DEADLINE_SECONDS, FIRST, SECOND, WHORL, search_json, whorl
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import StoreError
from whorl.fingerprint.winnowing import PassageScheme


def _garbage_of_index(name: str, count: int) -> int:
    """Index new files, half of them unreadable; return the number of objects that only a garbage collection frees."""
    files = Path(name)
    files.mkdir()
    for number in range(count):
        (files / f"{number}.txt").write_text(f"{FIRST} {name} {number}", encoding="utf-8")
        (files / f"{number}.bin").write_bytes(bytes(100))
    gc.collect()
    gc.disable()
    try:
        assert whorl("index", "--store", "store", name).stdout.startswith(f"{count} documents stored")
        return gc.collect()
    finally:
        gc.enable()


def test_files_leave_no_garbage(folder: Path) -> None:
    """
    No file leaves objects in reference cycles, because commands collect garbage too rarely to free them.
    """
    # The first run also frees garbage of imports. A run itself leaves up to 200 objects, whatever the number of files.
    _garbage_of_index("few", 10)
    assert _garbage_of_index("many", 400) < 400


@pytest.mark.parametrize(("options", "count"), [([], 1), (["--text-column", "body"], 2)])
def test_a_table_on_standard_input(folder: Path, options: list[str], count: int) -> None:
    """
    A table on standard input is one text, unless the user names the text column.
    """
    done = CliRunner().invoke(main, ["index", "--store", "store", *options, "-"], input=f"id,body\n1,{FIRST}\n2,b\n")
    assert (done.exit_code, done.stdout) == (0, f"{count} document{'s' * (count > 1)} stored in store.\n")


def test_a_text_on_standard_input_can_be_searched_for(folder: Path) -> None:
    """
    The text has an id that the suggested command finds; a later text replaces it.
    """
    for text in ("another text of some words", FIRST):
        done = CliRunner().invoke(main, ["index", "--store", "store", "-"], input=text)
    assert "Documents like one of them: whorl similar --store store standard-input\n" in done.stderr
    with open_store("store") as store:
        assert (store.count(), store.text("standard-input")) == (1, FIRST)
    assert whorl("similar", "--store", "store", "standard-input").exit_code == 0


def test_excluded_and_hidden_files_are_left_out(folder: Path) -> None:
    """
    `index`, `simhash` and `duplicates` leave out what `--exclude` names, and hidden files.
    """
    for name in ("notes/a.txt", "notes/.git/b.txt", "notes/c.min.js", "notes/node_modules/d.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("one two three four five six seven", encoding="utf-8")
    options = ("--exclude", "*.min.js", "--exclude", "node_modules", "notes")
    assert whorl("index", "--store", "store", *options).stdout.startswith("1 document stored")
    assert len(whorl("simhash", *options).stdout.splitlines()) == 1
    (folder / "notes/e.txt").write_text("one two three four five six seven", encoding="utf-8")
    found = whorl("duplicates", "--pairs", "--format", "json", *options).stdout
    assert [(pair["a"], pair["b"]) for pair in map(json.loads, found.splitlines())] == [("notes/a.txt", "notes/e.txt")]


@pytest.mark.skipif(sys.platform == "darwin", reason="the file system has only names in UTF-8")
@pytest.mark.parametrize("command", [("index", "--store", "store"), ("duplicates",), ("simhash",)])
def test_names_that_are_not_utf_8(folder: Path, command: tuple[str, ...]) -> None:
    """
    A file name that is not UTF-8 is reported with a remedy, and the other files are read.
    """
    (folder / "notes").mkdir()
    for name in (b"caf\xe9.txt", b"a.txt", b"b.txt"):
        Path(os.fsdecode(os.fsencode(folder / "notes") + b"/" + name)).write_text("one two three four five six seven")
    done = whorl(*command, "notes")
    assert done.stderr.count("its name is not UTF-8") == 1
    assert "convmv" in done.stderr
    assert len(done.stdout) > 0


def test_json_whose_rows_are_not_read_is_noted(folder: Path) -> None:
    """
    JSON with rows in a member is noted, and is an error if the user names a column; other JSON is then noted.
    """
    (folder / "wrapped.json").write_text(json.dumps({"data": [{"id": 1, "text": FIRST}]}))
    (folder / "other.json").write_text('{"data": [{"id": 1}]}')
    note = "is JSON without rows, read as one text; JSON lines and objects in an array become documents"
    (folder / "lines.json").write_text('{"body": "a"}\n{"body": "b"}\n')
    for name in ("wrapped.json", "lines.json"):
        done = whorl("index", "--store", name.partition(".")[0], name)
        assert (done.stdout.split()[0], f"note: {name} {note}" in done.stderr) == ("1", True)
    for options in (["--text-column", "text"], ["--id-column", "id"]):
        done = CliRunner().invoke(main, ["index", "--store", options[1], *options, "wrapped.json", "other.json"])
        assert (done.exit_code, done.stdout) == (1, f"1 document stored in {options[1]}.\n")
        assert "wrapped.json: the rows of this JSON are in its member 'data'; write them as" in done.stderr
        assert (f"note: other.json {note}" in done.stderr) == ("text" in options)


def test_columns_that_cannot_be_fields_are_left_out(folder: Path) -> None:
    """
    Columns called `id`, `text`, `content` or nothing are left out with one note if they hold neither the id nor the
    text. Of pages with the same address as the id, the last one stays.
    """
    rows = [
        {"": number, "id": f"r{number}", "url": "http://a/1", "content": "x", "body": f"{FIRST} {number}", "text": "y"}
        for number in range(3)
    ]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    done = whorl("index", "--store", "store", "--id-column", "url", "--text-column", "body", "rows.jsonl")
    assert (done.exit_code, done.stdout) == (0, "1 document stored in store.\n")
    assert "columns left out, since no field can have their names: '', 'content', 'id', 'text'\n" in done.stderr
    with open_store("store") as store:
        assert (store.count(), store.text("http://a/1")) == (1, f"{FIRST} 2")
    found = whorl("similar", "--in", "rows.jsonl", "--id-column", "", "--text-column", "url", "rows.jsonl:1")
    assert "no field can have their names: 'content', 'id', 'text'\n" in found.stderr


def test_rows_with_hashes_of_64_bits_are_stored(folder: Path) -> None:
    """
    A number above 2^63 - 1 is stored as text, and one note names its column.
    """
    rows = [{"id": str(number), "text": FIRST, "hash": (1 << 63) + number, "rank": number} for number in range(3)]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    done = whorl("index", "--store", "store", "rows.jsonl")
    assert (done.exit_code, done.stdout) == (0, "3 documents stored in store.\n")
    assert done.stderr.count("note: ") == done.stderr.count("whole numbers of field 'hash' above 2^63 - 1") == 1
    found = json.loads(whorl("search", "--store", "store", "hash:9223372036854775809", "--json").stdout)
    assert [hit["id"] for hit in found["hits"]] == ["1"]


def test_tables_read_as_one_text_are_noted(folder: Path) -> None:
    """
    A note names a table or JSON array that is one document, and says how its rows become documents.
    """
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text(f"id,text\n{name},{FIRST}\n", encoding="utf-8")
    (folder / "c.json").write_text("[1, 2]")
    advice = "read as one text; --text-column NAME makes each row a document\n"
    stderr = whorl("index", "--store", "store", "a.csv", "c.json").stderr
    assert f"note: a.csv is a table and was {advice}" in stderr
    note = "is JSON without rows, read as one text; JSON lines and objects in an array become documents"
    assert f"note: c.json {note}" in stderr
    assert f"note: a.csv and 1 more are tables and were {advice}" in whorl("simhash", "a.csv", "b.csv").stderr
    rows = whorl("index", "--store", "rows", "a.csv", "--text-column", "text")
    assert advice not in rows.stderr
    similar = whorl("similar", "a.csv", "--in", "b.csv")
    assert (f"note: b.csv is a table and was {advice}" in similar.stderr, "1 document" in similar.stdout) == (
        True,
        True,
    )
    done = whorl(
        "similar",
        "--text",
        f"{FIRST} and more",
        "--in",
        "b.csv",
        "--text-column",
        "text",
        "--id-column",
        "id",
        "--json",
    )
    assert ([hit["id"] for hit in json.loads(done.stdout)["hits"]], done.stderr) == (["b.csv"], "")
    refused = whorl("sources", "a.csv", "--store", "store", "--id-column", "id")
    assert (refused.exit_code, "--id-column is for the rows of files" in refused.stderr) == (2, True)


def test_unreadable_files_are_reported_at_the_end(folder: Path) -> None:
    """
    Readable files are stored, the others counted and named on standard error. A missing path, or a run that stores
    nothing, is a failure at the end.
    """
    (folder / "a.txt").write_text(FIRST, encoding="utf-8")
    (folder / "b.bin").write_bytes(bytes(1000))
    (folder / "c.jsonl").write_text('{"id": "c", "text": "t"}\nnot json\n', encoding="utf-8")
    result = whorl("index", "--store", "store", "a.txt", "b.bin", "c.jsonl", "gone")
    assert result.exit_code == 1
    assert result.stdout == "2 documents stored in store.\n"
    head, *problems, example = result.stderr.splitlines()
    assert (head, example) == (
        "3 could not be stored:",
        "Documents like one of them: whorl similar --store store a.txt",
    )
    assert [line.split(": ")[0].strip() for line in problems] == ["gone", "b.bin", "c.jsonl, line 2"]

    result = whorl("index", "--store", "store", "a.txt", "b.bin", "c.jsonl")
    assert (result.exit_code, result.stdout) == (0, "0 documents stored in store, 2 unchanged and left alone.\n")
    result = whorl("index", "--store", "store", "--strict", "a.txt", "b.bin", "c.jsonl")
    assert (result.exit_code, result.stdout) == (1, "0 documents stored in store, 2 unchanged and left alone.\n")
    for rows, status in (('{"id": "c", "text": "t"}\n' * 2, 1), ('{"id": "c", "text": "t"}\n', 0)):
        (folder / "d.jsonl").write_text(rows, encoding="utf-8")
        assert whorl("index", "--store", "store", "--strict", "d.jsonl").exit_code == status
    result = whorl("index", "--store", "store", "b.bin", "b" * 5000)
    assert (result.exit_code, result.stdout) == (1, "0 documents stored in store.\n")
    assert [line[:2] for line in result.stderr.splitlines()] == ["2 ", "  ", "  "]


def test_a_mistyped_path_creates_no_store(folder: Path) -> None:
    """
    Without any file to read, the command fails and creates no store.
    """
    result = whorl("index", "--store", "store", "gone", "nothing/*.txt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("2 could not be stored:\n  gone: ")
    assert not (folder / "store").exists()


def test_repeats_are_reported(folder: Path) -> None:
    """
    Repeats of earlier documents are reported for the new ones only; an invalid threshold is an error before anything is
    stored.
    """
    text = " ".join(f"w{at}" for at in range(40))
    for name, more in (("a", ""), ("b", " more"), ("c", " and more")):
        (folder / f"{name}.txt").write_text(f"{text}{more}")
    result = whorl("index", "--store", "store", "--warn", "8000", "a.txt")
    assert (result.exit_code, "warn" in result.stderr or "threshold" in result.stderr) == (2, True)
    result = whorl("index", "--store", "store", "--warn", "80", "a.txt")
    message = "1 document stored in store.\n0 of 1 document stored repeat others by 80.0% or more.\n"
    assert (result.exit_code, result.stdout) == (0, message)
    result = whorl("index", "--store", "store", "--warn", "0.8", "a.txt", "b.txt", "c.txt")
    assert result.stdout.splitlines() == [
        "2 documents stored in store, 1 unchanged and left alone.",
        "b.txt repeats", "     97.2%  a.txt",
        "c.txt repeats", "     94.7%  a.txt", "     92.3%  b.txt",
        "2 of 2 documents stored repeat others by 80.0% or more.",
    ]  # fmt: skip
    assert "note: 1 unchanged document not compared; with --all," in result.stderr
    assert "threshold 1 means 100 %" in whorl("index", "--store", "store", "--warn", "1", "a.txt").stderr
    (folder / "d.txt").write_text(" ".join(f"w{at}" for at in range(20)))
    result = whorl("index", "--store", "store", "--warn", "80", "--metric", "contains", "d.txt")
    assert "    100.0%  a.txt" in result.stdout.splitlines()


def test_passages(notes: Path) -> None:
    """
    A store needs --passages once, with its first documents or later.
    """
    whorl("index", "--store", "store", "notes")
    with open_store("store") as opened:
        assert opened.engine.passage_scheme is None
    result = whorl("index", "--store", "store", "--passages", "notes")
    assert result.stdout == "0 documents stored in store, 3 unchanged and left alone.\n"
    with open_store("store") as opened:
        assert opened.engine.passage_scheme is not None


def test_without_minhash(notes: Path) -> None:
    """
    A store without MinHash tokens explains why it cannot answer FINGERPRINT; similar works.
    """
    whorl("index", "--store", "store", "--without-minhash", "notes")
    result = whorl("search", "--store", "store", "FINGERPRINT:notes/a.txt")
    assert result.exit_code == 1
    assert "keeps no MINHASH tokens" in result.stderr
    assert whorl("similar", "--store", "store", "notes/a.txt").exit_code == 0


def test_short_minhash(notes: Path) -> None:
    """
    A store with short MINHASH tokens answers FINGERPRINT; it cannot also be one without them.
    """
    assert whorl("index", "--store", "store", "--short-minhash", "notes").exit_code == 0
    assert whorl("search", "--store", "store", "FINGERPRINT:notes/a.txt").exit_code == 0
    result = whorl("index", "--store", "store", "--short-minhash", "--without-minhash", "notes")
    assert (result.exit_code, "give one of them" in result.stderr) == (2, True)


def test_passages_of_another_length(notes: Path) -> None:
    """
    --passages N chooses the length for a new store; without N it is 20 words.
    """
    assert whorl("index", "--store", "store", "--passages", "8", "notes").exit_code == 0
    with open_store("store") as opened:
        assert opened.engine.passage_scheme == PassageScheme.for_runs(8)
    result = whorl("index", "--store", "store", "--passages", "notes")
    assert result.exit_code == 1
    assert "finds passages of 8 words, not of 20; use 8" in result.stderr
    assert whorl("index", "--store", "store", "--passages", "7", "notes").exit_code == 2


def test_passages_by_a_setting(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The setting for passages applies when a store is written to; a search does not change the store.
    """
    whorl("index", "--store", "store", "notes")
    monkeypatch.setenv("WHORL_PASSAGES", "true")
    assert whorl("search", "--store", "store", "*").exit_code == 0
    whorl("index", "--store", "new", "notes")
    monkeypatch.delenv("WHORL_PASSAGES")
    with open_store("store") as old, open_store("new") as new:
        assert old.engine.passage_scheme is None
        assert new.engine.passage_scheme is not None


def test_many_problems_are_listed_in_a_pipe(folder: Path) -> None:
    """
    What is not a terminal gets all problems, so that a list of the files that were left out can be kept.
    """
    (folder / "a.jsonl").write_text("no\n" * 100, encoding="utf-8")
    lines = whorl("index", "--store", "store", "a.jsonl").stderr.splitlines()
    assert (lines[0], len(lines)) == ("100 could not be stored:", 101)
    assert lines[-1].startswith("  a.jsonl, line 100: ")


def test_rows_with_the_ids_of_other_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Two tables that number their rows from 1 overwrite each other's rows, and a note says so.
    """
    monkeypatch.chdir(tmp_path)
    for name, words in (("fruit", "apples and pears and plums"), ("ships", "ships and boats and harbours")):
        Path(f"{name}.csv").write_text(f"id,text\n1,a row about {words}\n2,another row about {words}\n")
    result = whorl("index", "--store", "store", "--text-column", "text", "fruit.csv", "ships.csv")
    assert result.stdout == "2 documents stored in store.\n"
    assert "note: 2 documents have the ids of earlier ones, such as '1'; only the last document" in result.stderr
    (tmp_path / "one.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n')
    result = whorl("index", "--store", "store", "one.jsonl")
    assert "note: 1 document has the id of an earlier one, such as 'a'" in result.stderr


def test_a_second_run_skips_unchanged_documents(notes: Path) -> None:
    """
    A second run stores only the changed file, under the same id.
    """
    (notes / "a.txt").write_text(SECOND, encoding="utf-8")
    result = whorl("index", "--store", "store", "notes")
    assert result.stdout == "1 document stored in store, 2 unchanged and left alone.\n"
    assert [hit["score"] for hit in search_json("FINGERPRINT:notes/b.txt")["hits"]] == [512, 512]
    assert (
        whorl("index", "--store", "store", "notes").stdout
        == "0 documents stored in store, 3 unchanged and left alone.\n"
    )


@pytest.mark.slow
def test_batches_make_no_difference(folder: Path) -> None:
    """
    The batch size does not change the result; the last document of an id counts.
    """
    documents = [{"id": f"d{number % 7}", "text": f"{FIRST} {number}"} for number in range(20)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    for batch in ("1", "3", "10000"):
        assert whorl("index", "--store", f"by{batch}", "--batch", batch, "a.jsonl").exit_code == 0
        assert search_json("*", store=f"by{batch}")["total"] == 7
        with open_store(folder / f"by{batch}") as store:
            signatures = {
                name: signature.tokens
                for name, signature in store.engine.signatures({f"d{n}": True for n in range(7)}).items()
            }
            last = {f"d{number % 7}": number for number in range(20)}
        with open_store(folder / f"expected{batch}") as store:
            store.index(Document(name, f"{FIRST} {number}") for name, number in last.items())
            assert signatures == {
                name: signature.tokens for name, signature in store.engine.signatures(dict.fromkeys(last, True)).items()
            }


def test_a_store_that_is_something_else(folder: Path) -> None:
    """
    A file, or a folder with other content, is not used as a store, and the error names it.
    """
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text(FIRST, encoding="utf-8")
    for store in ("notes", "notes/a.txt"):
        result = whorl("index", "--store", store, "notes")
        assert result.exit_code == 1
        assert store in result.stderr
    assert [path.name for path in (folder / "notes").iterdir()] == ["a.txt"]


#: `whorl index` that stores a number of documents and then waits, so that a signal always comes before the end.
UNENDING = """
import signal, sys
from whorl.cli.main import main
from whorl.engine.embedded.engine import EmbeddedEngine

index, most, stored = EmbeddedEngine.index, int(sys.argv.pop(1)), 0

def some(self, documents, **options):
    global stored
    batch = list(documents)
    index(self, batch, **options)
    stored += len(batch)
    while stored >= most:
        signal.pause()

EmbeddedEngine.index = some
main()
"""


class Indexing:
    """A `whorl index` process over 3,000 documents."""

    count = 3_000
    most_at_once = 1_200

    def __init__(self, folder: Path) -> None:
        documents = [{"id": f"d{number:04}", "text": f"{FIRST} {number} {SECOND}"} for number in range(self.count)]
        (folder / "many.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
        self.store = folder / "many"
        self.arguments = ["index", "--store", str(self.store), "--batch", "10", "many.jsonl"]

    def stopped_by(self, number: int, after: int) -> tuple[int, str, str]:
        """Start, wait until this many documents are stored, send a signal; return exit code and output."""
        # A test run in the background makes its children ignore SIGINT.
        process = subprocess.Popen(
            [sys.executable, "-c", UNENDING, str(self.most_at_once), *self.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        wait_until(lambda: self.stored() >= after, process)
        process.send_signal(number)
        out, error = process.communicate(timeout=DEADLINE_SECONDS)
        return process.returncode, out, error

    def stored(self) -> int:
        # Do not wait for the writer: a store in creation has no index to open.
        engine = partial(EmbeddedEngine, self.store, create=False, wait_seconds=0.1)
        with contextlib.suppress(StoreError), Store(engine()) as store:
            return store.count()
        return 0


def wait_until(reached: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.01)


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_ctrl_c_and_kill_in_the_middle_and_again(folder: Path) -> None:
    """
    Ctrl-C prints the number of stored documents and how to continue, kill -9 prints nothing, and the last run stores
    every document once.
    """
    indexing = Indexing(folder)
    code, out, error = indexing.stopped_by(signal.SIGINT, after=50)
    assert code == 1
    assert out.startswith("stopped: ")
    assert out.endswith("Run the same command again to complete it.\n")
    acknowledged = int(out.split()[1].replace(",", ""))
    assert error.strip() == "Aborted!"
    # The batch that is being stored may not be counted yet.
    assert 40 <= acknowledged <= indexing.stored() < indexing.count

    code, _, _ = indexing.stopped_by(signal.SIGKILL, after=acknowledged + 200)
    assert code == -signal.SIGKILL
    before = indexing.stored()
    assert acknowledged + 200 <= before < indexing.count

    done = subprocess.run([WHORL, *indexing.arguments], capture_output=True, text=True, check=True)
    stored = f"{indexing.count - before:,} documents stored in {indexing.store}"
    assert done.stdout == f"{stored}, {before:,} unchanged and left alone.\n"
    with open_store(indexing.store) as store:
        assert store.count() == store.search("*", rows=0).total == indexing.count
        assert len({hit.id for hit in store.search("*", rows=indexing.count).hits}) == indexing.count
        assert store.search("FINGERPRINT:d2999_100", rows=1).hits[0].score == 512


def test_a_file_keeps_its_id_after_cd(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    From another folder, the same file is the same document, also after a change; the example names the store.
    """
    monkeypatch.chdir(notes)
    assert whorl("index", "--store", "../store", ".").stdout == (
        "0 documents stored in ../store, 3 unchanged and left alone.\n"
    )
    (notes / "a.txt").write_text("another text of five words", encoding="utf-8")
    done = whorl("index", "--store", "../store", str(notes / "a.txt"))
    assert done.stdout == "1 document stored in ../store.\n"
    assert done.stderr.endswith("whorl similar --store ../store notes/a.txt\n")
    with open_store(notes.parent / "store") as store:
        assert store.count() == 3
        assert store.text("notes/a.txt") == "another text of five words"


def test_a_changed_file_that_cannot_be_read(notes: Path) -> None:
    """
    A note says that the store still has the earlier text. A new unreadable file gets none.
    """
    broken = b"\x00\x01\x02\xff" * 50
    (notes / "new.bin").write_bytes(broken)
    assert "note:" not in whorl("index", "--store", "store", "notes").stderr
    (notes / "a.txt").write_bytes(broken)
    stderr = whorl("index", "--store", "store", "notes").stderr
    assert stderr.splitlines()[-1] == (
        "note: 1 document of these, such as 'notes/a.txt', still has its earlier text in the store; 'whorl delete' "
        "removes it"
    )
    assert search_json("quick")["total"] == 2
    assert whorl("delete", "--store", "store", "notes/a.txt").stdout == "1 of 1 documents deleted\n"
    assert "note:" not in whorl("index", "--store", "store", "notes").stderr


@pytest.mark.process
def test_a_mail_with_a_part_that_cannot_be_decoded(notes: Path) -> None:
    """
    The mail is stored and the part is reported, without a note about an earlier text.
    """
    body = b"--b\n\nread\n--b\nContent-Type: text/plain\n\n" + b"\x00\x01\x02\xff" * 50 + b"\n--b--\n"
    (notes / "a.eml").write_bytes(b"Subject: S\nContent-Type: multipart/mixed; boundary=b\n\n" + body)
    done = whorl("index", "--store", "store", "notes/a.eml")
    assert done.stdout.startswith("1 document stored")
    assert "notes/a.eml: a part of this e-mail (text/plain) was left out: this is not text" in done.stderr
    assert "note:" not in done.stderr
