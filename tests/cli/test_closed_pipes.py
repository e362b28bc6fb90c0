"""Tests of commands whose standard output is a closed pipe: their files and stores are still written completely."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import DEADLINE_SECONDS, FIRST, WHORL, ids, search_json, whorl
from tests.sampling import combine, sample
from whorl.engine.opensearch.client import IndexClient

pytestmark = pytest.mark.process


@pytest.fixture
def letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of three texts, two of them equal, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = Path("letters")
    folder.mkdir()
    for name, text in {"a": FIRST, "b": FIRST, "c": "A quite different letter about pears and plums."}.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def into_closed_pipe(*command: str | Path, with_messages: bool) -> int:
    """Run a command whose standard output and standard error are a pipe without a reader; return its exit code."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing if with_messages else subprocess.PIPE,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
    finally:
        os.close(writing)
    assert not done.stderr or b"Traceback" not in done.stderr
    assert not done.stderr or b"Broken pipe" not in done.stderr
    return done.returncode


@pytest.mark.parametrize(
    ("level", "printing", "with_messages"),
    combine(["document", "passage"], ["table", "csv", "json"], [False, True]),
)
def test_files_and_lists_of_duplicates(letters: Path, *, with_messages: bool, printing: str, level: str) -> None:
    """
    The folder without duplicates and the delete list are complete.
    """
    options = ["--level", level, *(["--words", "5"] if level == "passage" else [])]
    outputs = ["--keep", "first", "--delete-list", "ids", "--filtered", "clean", "--format", printing]
    command: list[str | Path] = [WHORL, "duplicates", letters, *options, *outputs]
    assert into_closed_pipe(*command, with_messages=with_messages) == 0
    assert sorted(path.name for path in Path("clean").iterdir()) == ["a.txt", "c.txt"]
    assert Path("ids").read_text().startswith("letters/b.txt")


def test_rows_with_columns(letters: Path) -> None:
    """
    All rows are written.
    """
    rows = [{"id": path.name, "text": path.read_text()} for path in sorted(letters.iterdir())]
    Path("all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert into_closed_pipe(WHORL, "duplicates", "all.jsonl", "--annotated", "marked", with_messages=True) == 0
    marked = [json.loads(line) for line in Path("marked/all.jsonl").read_text().splitlines()]
    assert [(row["id"], row["is_principal"]) for row in marked] == [("a.txt", True), ("b.txt", False), ("c.txt", True)]


@pytest.mark.parametrize("with_messages", sample([True, False], 2))
def test_stores(letters: Path, *, with_messages: bool) -> None:
    """
    Documents are stored, clusters labelled, documents deleted, and reports of sources written.
    """

    def run(*arguments: str) -> int:
        return into_closed_pipe(WHORL, *arguments, with_messages=with_messages)

    assert run("index", "--store", "store", str(letters)) == 0
    assert len(ids(search_json("*"))) == 3
    assert run("index", "--store", "store", "--all", "--warn", "50", str(letters)) == 0
    assert run("duplicates", "--store", "store", "--keep", "first", "--write-ids", "--delete-list", "ids") == 0
    assert ids(search_json("whorl_is_principal:true")) == ["letters/a.txt"]
    assert Path("ids").read_text() == "letters/b.txt\n"
    assert run("sources", "--store", "store", "letters/a.txt", "--html", "report.html") == 0
    assert Path("report.html").read_text().rstrip().endswith("</html>")
    assert run("similar", "--store", "store", "letters/a.txt") == 0
    assert run("delete", "--store", "store", "letters/b.txt") == 0
    assert run("delete", "--store", "store", "--query", "pears") == 0
    assert ids(search_json("*")) == ["letters/a.txt"]


@pytest.mark.parametrize("with_messages", [False, True])
def test_simhashes(letters: Path, *, with_messages: bool) -> None:
    """
    Pairs and clusters of codes are in their files.
    """
    Path("codes").write_text("8\n9\n")
    for command in ("simhash-find-all", "simhash-find-clusters"):
        options = ["--blocks", "4", "--distance", "3", "--input", "codes", "--output", "found"]
        assert into_closed_pipe(WHORL.parent / command, *options, with_messages=with_messages) == 0
        assert len(json.loads(Path("found").read_text())) == 2
        Path("found").unlink()
        for printing in (options[:-2], ["--help"]):
            assert into_closed_pipe(WHORL.parent / command, *printing, with_messages=with_messages) == 141


@pytest.mark.parametrize("with_messages", sample([False, True], 2))
def test_errors_before_a_closed_pipe(letters: Path, *, with_messages: bool) -> None:
    """
    A failed run keeps its exit code although its output goes to a closed pipe.
    """
    rows = [{"id": str(at), "text": f"{at} {FIRST}" * 50} for at in range(2000)]
    Path("many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    limited = f"ulimit -f 500; exec '{WHORL}' index --store store many.jsonl"
    assert into_closed_pipe("bash", "-c", limited, with_messages=with_messages) == 1


def test_an_index_of_opensearch(letters: Path, other_url: str) -> None:
    """
    The index gets all of its fields, and its documents get their fingerprints.
    """
    client = IndexClient(other_url)
    client.create({"mappings": {"properties": {"text": {"type": "text"}}}})
    client.raw.index(index=client.index, id="a", body={"text": FIRST}, params={"refresh": "true"})
    client.close()
    assert into_closed_pipe(WHORL, "opensearch", "init", "--content", "text", other_url, with_messages=True) == 0
    assert "nothing to add" in whorl("opensearch", "init", "--content", "text", other_url).stdout
    assert into_closed_pipe(WHORL, "opensearch", "backfill", "--content", "text", other_url, with_messages=True) == 0
    assert "0 documents given" in whorl("opensearch", "backfill", "--content", "text", other_url).stdout
