"""Tests of `whorl duplicates --level passage`: its report, its removals, and its errors."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from whorl.cli.main import main

long_ago = "It was the best of times, it was the worst of times, it was the age of wisdom"


def run(*arguments: str | int | Path) -> Result:
    return CliRunner().invoke(main, ["duplicates", "--level", "passage", *map(str, arguments)])


@pytest.mark.process
def test_passages_of_files_are_cut(tmp_path: Path) -> None:
    """
    All passages but the first are removed from rows and texts; columns stay, rows without a word are dropped, and ids
    name the original row.
    """
    data = tmp_path / "data"
    data.mkdir()
    rows = {"text": [f"First. {long_ago}!", f"Here: {long_ago}, and more", long_ago], "n": [1, 2, 3]}
    pq.write_table(pa.table(rows), data / "a.parquet")
    (data / "b.txt").write_text(f"“{long_ago}.” That is how it begins.")
    done = run(
        data, "--words", 12, "--keep", "first", "--filtered", tmp_path / "out", "--delete-list", tmp_path / "ids",
        "--format", "json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    cluster = json.loads(done.stdout)
    size = len(long_ago)
    assert [member["id"] for member in cluster["members"]] == [
        f"{data}/a.parquet:1#7-{7 + size}",
        f"{data}/a.parquet:2#6-{6 + size}",
        f"{data}/a.parquet:3#0-{size}",
        f"{data}/b.txt#1-{1 + size}",
    ]
    assert {member["shingles"] for member in cluster["members"]} == {18}
    assert (tmp_path / "ids").read_text().split() == [
        member["id"].rpartition(" ")[2] for member in cluster["members"][1:]
    ]
    assert pq.read_table(tmp_path / "out" / "a.parquet").to_pydict() == {
        "text": [f"First. {long_ago}!", "Here: , and more"],
        "n": [1, 2],
    }
    assert (tmp_path / "out" / "b.txt").read_text() == "“.” That is how it begins."
    assert "1 cluster with 4 passages, of 4 documents in all" in done.stderr


def test_pairs_of_passages_and_a_reference(tmp_path: Path) -> None:
    """
    A is the first occurrence of a passage; if the reference has the passage, A is in the reference. Texts that are too
    short are counted.
    """
    for name, lines in {"test": [long_ago], "train": [f"So {long_ago}", "short", f"{long_ago} {long_ago}"]}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines))
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    done = run(train, "--reference", test, "--words", 10, "--pairs", "-o", tmp_path / "pairs.csv")
    assert done.exit_code == 0, done.output
    pairs = list(csv.DictReader((tmp_path / "pairs.csv").read_text().splitlines()))
    size = len(long_ago)
    assert [(pair["a"], pair["b"]) for pair in pairs] == [
        (f"{test}:1#0-{size}", f"{train}:1#3-{3 + size}"),
        (f"{test}:1#0-{size}", f"{train}:3#0-{size}"),
        (f"{test}:1#0-{size}", f"{train}:3#{size + 1}-{2 * size + 1}"),
    ]
    assert "1 document of fewer than 10 words was not compared" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threshold", "80"], "--threshold is not for passages"),
        (["--keep", "longest"], "--keep is not for passages"),
        (["--state", "x"], "--state is not for passages"),
        (["--annotated", "x"], "--annotated is for documents"),
    ],
)
def test_options_not_for_passages_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    """
    Options that --level passage does not support are refused before anything is read.
    """
    (tmp_path / "a.txt").write_text(long_ago)
    done = run(tmp_path, *arguments)
    assert done.exit_code == 2
    assert message in done.output
