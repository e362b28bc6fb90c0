"""Tests of the job from texts to files, started as a command."""

from __future__ import annotations

import csv
import fcntl
import io
import itertools
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from tests.duplicates.spark.output_files import cluster_of_line, files_of, pair_of_line
from tests.duplicates.spark.spark_runtime import MASTER, QUIET, SETTINGS
from tests.families import family_documents, true_pairs, version_documents
from tests.sampling import combine
from whorl.duplicates import duplicates_among, parse_pair_options
from whorl.duplicates.spark.run import JobSummary, run, summary_lines
from whorl.errors import ParameterError
from whorl.operations import DuplicatesOperation
from whorl.output.duplicates import write_clusters

ROOT = Path(__file__).parents[3]
COMMAND = ("duplicates", "--engine", "spark")


if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET


def test_unreadable_lines_are_reported(spark: SparkSession, tmp_path: Path) -> None:
    """
    Bad lines and repeated ids are reported, and all other documents are compared: `whorl duplicates --engine spark`
    writes the pairs that it prints without Spark. CSV has standard quotes.
    """
    from whorl.cli.main import main

    text = "one two three four five six seven eight nine ten"
    lines = [
        {"id": 'a "quoted", id', "text": text},
        {"id": "b", "text": f"{text} eleven"},
        {"id": "c", "text": text},
        {"id": "c", "text": "too short"},
        {"id": "d"},
        {"id": 5, "text": "a document of a number for an id"},
        {"id": "bad\tid", "text": text},
    ]
    documents = family_documents(12, seed=2, longest=200)
    families, file = tmp_path / "families.jsonl", tmp_path / "lines.jsonl"
    families.write_text(
        "".join(json.dumps({"id": document.id, "text": document.text}) + "\n" for document in documents)
    )
    file.write_text("\n".join(map(json.dumps, lines)) + '\n{"id": "broken\n' + families.read_text(), encoding="utf-8")
    options = ["--pairs", "--threshold", "60", "--format"]
    local = CliRunner().invoke(main, ["duplicates", str(families), *options, "json"])
    pairs = {pair_of_line(line) for line in local.stdout.splitlines()}
    assert len(pairs) > 10
    done = CliRunner().invoke(main, [*COMMAND, str(file), *options, "csv", "-o", str(tmp_path / "out")])
    # More than one in a hundred could not be read.
    assert done.exit_code == 1, done.output
    assert f"{5 + len(documents)} documents, {3 + len(pairs)} pairs written" in done.output
    assert "1 ids came more than once" in done.output
    assert "2 could not be read" in done.output
    assert f'  {file}: {{"id": "broken: a document has an id' in done.output
    assert "control characters" in done.output
    written = {line for path in (tmp_path / "out").glob("*.csv") for line in path.read_text("utf-8").splitlines()}
    head = "a,b,jaccard,a_in_b,b_in_a,exact,a_name,b_name"
    own = {
        '"a ""quoted"", id",b,0.857142,1.0,0.857142,true,"",""',
        '"a ""quoted"", id",c,1.0,1.0,1.0,true,"",""',
        'b,c,0.857142,0.857142,1.0,true,"",""',
    }
    assert written >= {head, *own}
    rows = csv.DictReader([head, *written - own - {head}])
    assert {
        (
            *sorted([(row["a"], float(row["a_in_b"])), (row["b"], float(row["b_in_a"]))]),
            float(row["jaccard"]),
            row["exact"] == "true",
        )
        for row in rows
    } == pairs


def test_rows_without_an_id_are_named(spark: SparkSession, tmp_path: Path) -> None:
    """
    Rows of Parquet are named by file and number, objects of JSON by file and text. Without any document, the exit
    status is 1, as without Spark.
    """
    from whorl.cli.main import main

    table, lines = tmp_path / "rows.parquet", tmp_path / "a b+c.jsonl"
    rows = [(f"d{number}" if number != 6 else None, f"text {number}") for number in range(9)]
    spark.createDataFrame(rows, "id string, text string").coalesce(1).write.parquet(str(table))
    (part,) = table.glob("*.parquet")
    lines.write_text('{"text": "no id\\u001b here"}\n{}\n')
    done = CliRunner().invoke(main, [*COMMAND, str(table), str(lines), "-o", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert "failed: 3 of 11 documents could not be read" in done.output
    for place in (f"{part}, row 7", f"{lines}: no id\N{REPLACEMENT CHARACTER} here", f"{lines}: a row without text"):
        assert f"  {place}: a document has an id" in done.output, done.output
    lines.write_text("")
    for options in ([], ["--engine", "spark", "-o", str(tmp_path / "none")]):
        done = CliRunner().invoke(main, ["duplicates", str(lines), *options])
        assert done.exit_code == 1, done.output


def test_retained_lines(spark: SparkSession, tmp_path: Path) -> None:
    """
    The remaining lines, complete, and the retained documents equal those of `whorl duplicates`; rows without a text
    stay.
    """
    from whorl.cli.main import main

    file = tmp_path / "rows.jsonl"
    made = family_documents(15, seed=6, longest=200) + version_documents(15)
    documents = sorted(made, key=lambda document: document.id)
    rows = [
        {"id": document.id, "text": document.text, "quality": at * 7 % 5, "more": {"at": at}}
        for at, document in enumerate(documents)
    ]
    rows += [{"id": "null", "text": None}, {"id": "empty", "text": ""}, {"id": "missing"}]
    line_ends = itertools.cycle(["\n", "\r\n", "\n"])
    file.write_text("".join(json.dumps(row) + next(line_ends) for row in rows), encoding="utf-8", newline="")
    arguments = [
        "duplicates",
        str(file),
        "--threshold",
        "60",
        "--format",
        "json",
        "--keep",
        "largest:quality",
        "--strict",
    ]
    folders = [tmp_path / "filtered by one", tmp_path / "filtered by spark"]
    local = CliRunner().invoke(main, [*arguments, "--filtered", str(folders[0])])
    on_spark = ["--engine", "spark", "-o", str(tmp_path / "out"), "--filtered", str(folders[1])]
    done = CliRunner().invoke(main, [*arguments, *on_spark])
    assert done.exit_code == 0, done.output
    left = [
        sorted(line for path in files_of(folder) for line in path.read_bytes().splitlines(keepends=True))
        for folder in folders
    ]
    assert left[0] == left[1]
    assert set(left[0]) <= {*file.read_bytes().splitlines(keepends=True)}
    assert 10 < len(left[1]) < len(rows)
    pairs, ids = true_pairs(made, "jaccard", 60), {json.loads(line)["id"] for line in left[1]}
    assert not any(pair <= ids for pair in pairs)
    assert ids >= {"null", "empty", "missing"}
    assert f"{len(left[1]):,} rows written to {folders[1]}" in done.output
    written = [line for part in (tmp_path / "out").glob("*.json") for line in part.read_text("utf-8").splitlines()]
    assert {cluster_of_line(line) for line in written} == {cluster_of_line(line) for line in local.stdout.splitlines()}


@pytest.mark.parametrize(("form", "ids"), combine(["jsonl", "parquet"], [str, int]))
def test_annotated_copies(spark: SparkSession, tmp_path: Path, form: str, ids: type) -> None:
    """
    A copy has all rows with the columns that it has in process; clusters have the type of the ids. A line of JSON is
    otherwise unchanged, and a line that is not an object is left out.
    """
    import pyarrow as pa
    from pyarrow import parquet

    from whorl.cli.main import main

    file = tmp_path / f"rows.{form}"
    made = family_documents(15, seed=6, longest=200) + version_documents(15)
    texts = [*(document.text for document in made), None, ""]
    rows = [{"id": ids(1000 + at), "text": text, "n": 1.10, "quality": at * 7 % 5} for at, text in enumerate(texts)]
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), file)
    else:
        lines = [json.dumps(row).replace("1.1", "1.10") + at % 3 * "\r" for at, row in enumerate(rows)]
        file.write_text("\n".join([*lines[:9], "broken", "", *lines[9:]]), encoding="utf-8", newline="")
    arguments = ["duplicates", str(file), "--threshold", "60", "--keep", "largest:quality", "--format", "json"]
    copies = []
    for engine in ("local", "spark"):
        folder = tmp_path / f"{engine} marked"
        pairs = ["--pairs"] if form == "parquet" else []
        target = ["--engine", engine, "-o", str(tmp_path / f"{engine} out"), "--annotated", str(folder)]
        done = CliRunner().invoke(main, [*arguments, *pairs, *target])
        assert done.exit_code == 0, done.output
        if form == "parquet":
            copies.append([row for part in files_of(folder) for row in parquet.read_table(part).to_pylist()])
        else:
            copies.append([line for part in files_of(folder) for line in part.read_bytes().split(b"\n") if line])
    in_order = [sorted(copy, key=str) for copy in copies]
    assert in_order[0] == in_order[1]
    actual = copies[1] if form == "parquet" else list(map(json.loads, copies[1]))
    assert len(actual) == len(rows)
    assert {type(row["cluster"]) for row in actual} == {ids, type(None)}
    removed = {row["id"] for row in actual if not row["is_principal"]}
    assert 3 < len(removed) < len(rows)
    assert all(row["similarity"] >= 0.6 for row in actual if row["id"] in removed)
    assert f"{len(rows):,} rows written to {tmp_path / 'spark marked'}" in done.output


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_annotated_copies_are_refused(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """
    Rows that have one of the columns already are refused before the search, and so are two outputs in one folder.
    """
    import pyarrow as pa
    from pyarrow import parquet

    from whorl.cli.main import main

    file = tmp_path / f"rows.{form}"
    rows = [{"id": "a", "text": "text"}, {"id": "b", "text": "text", "similarity": 1.0}]
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows[::-1]), file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out, marked = str(tmp_path / "out"), str(tmp_path / "marked")
    done = CliRunner().invoke(main, [*COMMAND, str(file), "-o", out, "--annotated", marked])
    assert done.exit_code == 2
    assert f"{file} has a column 'similarity' already" in done.output
    done = CliRunner().invoke(main, [*COMMAND, str(file), "-o", out, "--annotated", marked, "--filtered", marked])
    assert done.exit_code == 2
    assert "name different ones" in done.output
    assert not list(tmp_path.glob("out*")) + list(tmp_path.glob("marked*"))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        *itertools.product(["jsonl", "parquet"], ["body.doc.text", "turns.parts.text", "body.lines", "a.dot"]),
        ("parquet", "lines"),
    ],
)
def test_nested_columns(spark: SparkSession, tmp_path: Path, form: str, text: str) -> None:
    """
    Columns named by their paths are the same as without Spark: clusters, names and rows that stay. A column that is
    called like a path comes first.
    """
    import pyarrow as pa
    from pyarrow import parquet

    from whorl.cli.main import main

    file, words = tmp_path / f"rows.{form}", [f"w{number}" for number in range(60)]
    texts = [" ".join(words), " ".join(words[::-1]), " ".join([*words[:30], "x", *words[31:]]), None, '["quoted"] {']
    rows = [
        {
            "meta": {"key": f"k{number}", "quality": number, "name": f"n{number}"},
            "body": {"doc": {"text": own}, "lines": ["title", own]},
            "turns": [{"content": own, "parts": [{"text": own}, {"text": "end"}]}, {"content": None, "parts": []}],
            "a.dot": own,
            "a": {"dot": "another text"},
            "lines": ["title", own, None],
        }
        for number, own in enumerate(texts)
    ]
    if form == "parquet":
        # A time keeps its time zone.
        made = datetime(2026, 1, 1, tzinfo=UTC)
        parquet.write_table(pa.Table.from_pylist([{**row, "made": made} for row in rows]), file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    columns = ["--id-column", "meta.key", "--text-column", text, "--keep", "largest:meta.quality"]
    clusters, left = [], []
    for engine in ("local", "spark"):
        folder, out = tmp_path / f"left by {engine}", tmp_path / f"told by {engine}"
        own_columns = ["--name-column", "meta.name"] if engine == "spark" else []
        options = [*columns, *own_columns, "--engine", engine, "--format", "json", "-o", str(out)]
        done = CliRunner().invoke(main, ["duplicates", str(file), *options, "--filtered", str(folder), "--strict"])
        assert done.exit_code == 0, done.output
        lines = [line for part in files_of(out) for line in part.read_text("utf-8").splitlines()]
        assert engine == "local" or ('"n0"' in lines[0] and '"n2"' in lines[0])
        clusters.append({cluster_of_line(re.sub(r'"n\d"', '""', line)) for line in lines})
        parts = list(files_of(folder))
        if form == "parquet":
            left.append(sorted(str(row) for part in parts for row in parquet.ParquetFile(part).read().to_pylist()))
        else:
            left.append(sorted(line for part in parts for line in part.read_text("utf-8").splitlines()))
    assert clusters[0] == clusters[1]
    assert len(clusters[0]) == 1
    assert left[0] == left[1]
    assert len(left[0]) == 4


@pytest.mark.parametrize(
    ("form", "column", "told"),
    [
        ("jsonl", "turns", "column 'turns' has other values than texts; name the one of the text (--text-column)"),
        (
            "parquet",
            "turns",
            "column 'turns' has other values than texts; name the one of the text (--text-column)",
        ),
        ("jsonl", "n", "column 'n' has other values than texts"),
        ("parquet", "n", "column 'n' has other values than texts"),
        ("jsonl", "lines", "column 'lines' has lists, which Spark joins in Parquet only; use --engine local"),
    ],
)
def test_a_column_without_texts_is_refused(
    spark: SparkSession, tmp_path: Path, form: str, column: str, told: str
) -> None:
    """
    Objects and numbers are not compared as JSON; a column that begins with missing values is no exception.
    """
    import pyarrow as pa
    from pyarrow import parquet

    from whorl.cli.main import main

    file = tmp_path / f"rows.{form}"
    rows: list[dict[str, object]] = [{"id": "a", "turns": None, "n": None, "lines": None}]
    rows += [{"id": name, "turns": [{"content": "one two"}], "n": 1, "lines": ["one", "two"]} for name in "bc"]
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = CliRunner().invoke(main, [*COMMAND, str(file), "--text-column", column, "-o", str(tmp_path / "out")])
    assert (done.exit_code, told in done.stderr) == (1, True), done.output


@pytest.mark.process
def test_a_killed_run_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    """
    The same command replaces the folder that a killed run has not finished, unless another run is writing it.
    """
    from whorl.cli.main import main

    file, out, marker = tmp_path / "rows.jsonl", tmp_path / "out", tmp_path / ".out.whorl-unfinished"
    file.write_text(json.dumps({"id": "a", "text": "one two three four five"}) + "\n")
    command = [*COMMAND, str(file), "-o", str(out)]
    killing = f"""
import os
from whorl.cli.main import main
from whorl.duplicates.spark import run
def write(rows, form, output):
    os.makedirs(output + "/_temporary/0")
    os.kill(os.getpid(), 9)
run._write = write
main({command!r})
"""
    killed = subprocess.run([sys.executable, "-c", killing], check=False, capture_output=True)
    assert (killed.returncode, marker.exists()) == (-9, True), killed.stderr
    with marker.open("r+") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        done = CliRunner().invoke(main, command)
        assert f"another run is writing {out}" in done.stderr
        assert (out / "_temporary" / "0").is_dir()
    done = CliRunner().invoke(main, command)
    assert (out / "_SUCCESS").exists(), done.output
    assert not (out / "_temporary").exists()
    assert not marker.exists()


def test_no_output_is_replaced(spark: SparkSession, tmp_path: Path) -> None:
    """
    An output folder is not replaced. The message names an existing output, or a folder with only Spark's unfinished
    files, which a running job may still need.
    """
    from whorl.cli.main import main

    file, out = tmp_path / "rows.jsonl", tmp_path / "out"
    file.write_text(json.dumps({"id": "a", "text": "one two three four five"}) + "\n")
    unfinished = out / "_temporary" / "0"
    unfinished.mkdir(parents=True)
    command = [*COMMAND, str(file), "-o", str(out)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert f"{out} exists, but is unfinished; if no job is writing it, delete it, or name" in done.stderr
    assert unfinished.is_dir()
    (out / "_SUCCESS").touch()
    assert f"{out} exists already; name" in CliRunner().invoke(main, command).stderr


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_unread_dates_are_reported(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """
    Values that are no date are counted in the words of the local run, and fail with --strict; missing ones are not.
    """
    from whorl.cli.main import main

    text, file = "one two three four five six seven eight nine ten", tmp_path / f"rows.{form}"
    dates = ["2024-03-01", "soon", None, "", "later", "soon", "1750000000"]
    rows = [{"id": str(at), "text": text, "day": day} for at, day in enumerate(dates)]
    if form == "parquet":
        spark.createDataFrame(rows, "id string, text string, day string").coalesce(1).write.parquet(str(file))
    else:
        # JSON also has the number itself, which is not text.
        file.write_text("".join(json.dumps(row) + "\n" for row in rows).replace('"1750000000"', "1750000000"))
    state = ["--state", str(tmp_path / "state")]
    for number, strict in enumerate(([], ["--strict"])):
        options = ["duplicates", str(file), "--keep", "newest:day", *strict]
        local = CliRunner().invoke(main, [*options, "--format", "json"])
        done = CliRunner().invoke(main, [*options, "--engine", "spark", *state, "-o", str(tmp_path / f"out{number}")])
        (line,) = [line for line in local.stderr.splitlines() if "no date that can be read" in line]
        assert line.startswith("note: 3 documents have")
        assert "'soon'" in line
        assert line in done.stderr.splitlines()
        assert "could not be read, among them" not in done.stderr
        assert ("failed: 3 values could not be read as a date or number" in done.stderr) == bool(strict)
        assert done.exit_code == local.exit_code == len(strict)
        on_spark = "".join(part.read_text("utf-8") for part in (tmp_path / f"out{number}").glob("*.json"))
        for cluster in (local.stdout, on_spark):
            assert [member["id"] for member in json.loads(cluster)["members"] if member["is_principal"]] == ["6"]


def test_rows_of_parquet_without_a_text(spark: SparkSession, tmp_path: Path) -> None:
    """
    Rows without a text stay.
    """
    from whorl.cli.main import main

    text = "one two three four five six seven eight nine ten"
    rows = [(str(at), own) for at, own in enumerate([None, text, "", text, None])]
    file, out, left = (str(tmp_path / name) for name in ("rows.parquet", "out", "left"))
    spark.createDataFrame(rows, "id string, text string").write.parquet(file)
    done = CliRunner().invoke(main, [*COMMAND, "--strict", file, "-o", out, "--filtered", left])
    assert done.exit_code == 0, done.output
    assert {row.id for row in spark.read.parquet(left).collect()} == {name for name, _ in rows} - {"3"}


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_file_of_a_folder_without_the_text_column(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """
    A file without the text column is reported, and the exit status is 1; a file of empty texts is not reported.
    """
    from whorl.cli.main import main

    folder, text = tmp_path / f"some.{form}", "one two three four five six"
    folder.mkdir()
    files = {"a": ("text", text), "b [1] %20": ("body", text), "c": ("text", ""), "d": ("text", text)}
    for name, (column, value) in files.items():
        rows = spark.createDataFrame([(name, value)], f"id string, {column} string").coalesce(1)
        rows.write.format("json" if form == "jsonl" else form).save(str(tmp_path / name))
        (part,) = (tmp_path / name).glob("part-*")
        part.rename(folder / f"{name}.{form}")
    done = CliRunner().invoke(main, [*COMMAND, str(folder), "-o", str(tmp_path / "out")])
    assert done.exit_code == 1, done.output
    told = f"{folder / 'b [1] %20'}.{form}: there is no column 'text'; name the one of the text (--text-column)"
    assert [line.startswith(told) for line in done.output.splitlines() if "column" in line] == [True]
    assert "failed: 1 path could not be read" in done.output
    assert "4 documents, 2 documents in clusters" in done.output


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_path_without_the_text_column(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """
    A path that lacks the text column is an error, even if another path has it.
    """
    from whorl.cli.main import main

    paths = [str(tmp_path / f"{name}.{form}") for name in ("a", "b")]
    for path, column in zip(paths, ("text", "body"), strict=True):
        rows = spark.createDataFrame([("1", "one two three four five six")], f"id string, {column} string")
        rows.write.format("json" if form == "jsonl" else form).save(path)
    done = CliRunner().invoke(main, [*COMMAND, *paths, "-o", str(tmp_path / "out")])
    assert done.exit_code != 0
    assert f"{paths[1]}: there is no column 'text'; name the one of the text (--text-column)" in done.stderr
    assert not (tmp_path / "out").exists()


def test_parquet_files_with_different_columns(spark: SparkSession, tmp_path: Path) -> None:
    """
    The copy has the columns of all files, and --keep can rank by a column that only some have. A missing column is
    named among the columns of the files alone.
    """
    import pyarrow as pa
    from pyarrow import parquet

    from whorl.cli.main import main

    text, folder = "one two three four five six seven eight nine ten", tmp_path / "rows"
    rows = [
        [{"id": "a", "text": text}, {"id": "b", "text": "another text of this file that has no other like it"}],
        [{"id": "c", "text": text, "made": 1, "more": {"x": 1}}, {"id": "d", "text": text, "made": 2, "more": {}}],
        [{"id": "e", "text": "yet another one that is in the file with still other columns", "more": {"y": "z"}}],
    ]
    for at, part in enumerate(rows):
        file = folder / f"half={at % 2}" / f"{at}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(part), file)
    options = ["--input", "parquet", str(folder), "-o", str(tmp_path / "out"), "--filtered", str(tmp_path / "left")]
    done = CliRunner().invoke(main, [*COMMAND, *options, "--keep", "largest:made"])
    assert done.exit_code == 0, done.output
    left = sorted(spark.read.parquet(str(tmp_path / "left")).collect(), key=lambda row: str(row.id))
    assert [(row.id, row.made, row.half) for row in left] == [("b", None, 0), ("d", 2, 1), ("e", None, 0)]
    assert left[2].more.y == "z"
    done = CliRunner().invoke(main, [*COMMAND, *options[:3], "-o", str(tmp_path / "none"), "--keep", "largest:size"])
    told, _, known = done.output.strip().partition("; those there are: ")
    assert told == "whorl: there is no column size"
    assert set(known.split(", ")) == {"id", "text", "made", "more.x", "more.y", "half"}


def test_parquet_files_with_different_types(spark: SparkSession, tmp_path: Path) -> None:
    """
    Files whose columns differ in their types are compared as without Spark; a copy of them is refused with the files,
    the column and both types.
    """
    import pyarrow as pa
    from pyarrow import parquet

    from whorl.cli.main import main

    text, folder = "one two three four five six seven eight nine ten", tmp_path / "rows.parquet"
    folder.mkdir()
    rows = [
        [{"id": 1, "text": text, "score": 5, "made": None}, {"id": 2, "text": text, "score": 6, "made": None}],
        [{"id": "3", "text": text, "score": 7.5, "made": "2020-01-01", "name": "n"}],
        [{"id": "4", "text": text, "made": "2021-01-01"}],
    ]
    for name, part in zip(("a [1] b", "b", "c"), rows, strict=True):
        parquet.write_table(pa.Table.from_pylist(part), folder / f"{name}.parquet")
    kept = {"largest:score": "3", "newest:made": "4", "first": "1"}
    for number, (keep, expected) in enumerate(kept.items()):
        out = tmp_path / f"out{number}"
        done = CliRunner().invoke(main, [*COMMAND, str(folder), "--keep", keep, "-o", str(out)])
        assert done.exit_code == 0, done.output
        (line,) = [line for part in files_of(out) for line in part.read_text("utf-8").splitlines()]
        members = {member["id"]: member["is_principal"] for member in json.loads(line)["members"]}
        assert members == {own: own == expected for own in "1234"}
    command = [*COMMAND, str(folder), "-o", str(tmp_path / "none"), "--filtered", str(tmp_path / "left")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1
    files = [folder / f"{name}.parquet" for name in ("a [1] b", "b")]
    assert f"column id is bigint in {files[0]} and string in {files[1]}; " in done.output
    assert not (tmp_path / "none").exists()
    done = CliRunner().invoke(main, [*COMMAND, str(folder), "--text-column", "body", "-o", str(tmp_path / "none")])
    assert "there is no column 'body'" in done.output


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("a b.csv", [], "a b.csv is a table, which Spark would read as one text; use --engine local"),
        ("x/rows.tsv.gz", [], "rows.tsv.gz is a table, which Spark would read as one text"),
        ("x/lang=en/0.parquet", [], "0.parquet has rows, but would be read as one text; name the format of the"),
        ("x/lang=en/0.parquet", ["--filtered", "left"], "--input names the format of a folder"),
        ("x/rows.jsonl.gz", [], "files with --input json"),
        ("x/rows", ["--text-column", "body"], "would be read as texts, which have no columns; name the format"),
        ("a.csv", ["--input", "text", "--id-column", "key"], "would be read as texts, which have no columns"),
        ("x/rows.json", [], ""),
        ("a.csv", ["--input", "text"], ""),
    ],
)
def test_rows_are_not_read_as_texts(
    spark: SparkSession, tmp_path: Path, file: str, options: list[str], message: str
) -> None:
    """
    Tables, and files of rows in a folder, are refused with the way out, unless `--input text` asks for texts.
    """
    from whorl.cli.main import main

    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("id,text\n1,one two three four five six\n", encoding="utf-8")
    path = tmp_path / file.partition("/")[0]
    done = CliRunner().invoke(main, [*COMMAND, str(path), *options, "-o", str(tmp_path / "out")])
    assert done.exit_code == (2 if message else 0), done.output
    assert message in done.output


@pytest.mark.parametrize("options", [["--pairs"], ["--keep", "largest:quality", "--filtered"]])
def test_reference_documents_stay(spark: SparkSession, tmp_path: Path, options: list[str]) -> None:
    """
    Pairs, remaining rows and clusters with a reference equal those of one process. Ids may occur in both sets, and a
    file in both sets counts as reference.
    """
    from whorl.cli.main import main

    documents = sorted(family_documents(20, seed=6, longest=200), key=lambda document: document.id)
    files = {"a b+c.jsonl": documents[::3], "both.jsonl": documents[1:30:3], "new.jsonl": documents[2::3]}
    for name, part in files.items():
        rows = ({"id": f"{at:03}", "text": document.text, "quality": at * 7 % 5} for at, document in enumerate(part))
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    known, both, new = (str(tmp_path / name) for name in files)
    command = ["duplicates", both, new, "--reference", known, "--reference", both, "--threshold", "60"]
    actual, left = [], []
    for engine in ("local", "spark"):
        folder, out = tmp_path / f"left by {engine}", tmp_path / f"told by {engine}"
        own = [*options, str(folder)] if options[-1] == "--filtered" else options
        done = CliRunner().invoke(main, [*command, *own, "--engine", engine, "--format", "json", "-o", str(out)])
        assert done.exit_code == 0, done.output
        lines = [line for part in files_of(out) for line in part.read_text("utf-8").splitlines()]
        actual.append({(pair_of_line if "--pairs" in options else cluster_of_line)(line) for line in lines})
        left.append(sorted(line for part in files_of(folder) for line in part.read_text("utf-8").splitlines()))
    assert actual[0] == actual[1]
    assert len(actual[0]) > 5
    assert left[0] == left[1]
    assert (0 < len(left[0]) < len(files["new.jsonl"])) == ("--filtered" in options)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nowhere.jsonl", "-o", "out"], 1, "nowhere.jsonl"),
        (["there.jsonl", "-o", "there.jsonl"], 2, "exists already"),
        (["there.jsonl", "-o", "out", "--pairs", "--complete"], 2, "--complete"),
        (["there.jsonl", "-o", "out", "--threshold", "0"], 2, "threshold"),
        (["there.jsonl", "-o", "out", "--reference", "there-empty.jsonl"], 2, "--reference has no text"),
        (["there.jsonl", "-o", "out", "--reference", "there.jsonl"], 2, "all files of PATHs are in --reference"),
        (["there.parquet", "-o", "out", "--text-column", "body"], 1, "(--text-column), of 'id', 'text'"),
        (["there.jsonl", "-o", "out", "--text-column", "body"], 1, "(--text-column), of 'id', 'text'"),
        (["there.jsonl", "-o", "out", "--text-column", "a.b"], 1, "no column 'a.b'; name the one of the text"),
        (["there.parquet", "-o", "out", "--text-column", "a.b"], 1, "no column 'a.b'; name the one of the text"),
    ],
)
def test_invalid_options_are_refused(
    spark: SparkSession, tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    """
    An invalid option, path or column is reported in one line, with the exit status of a run without Spark, and no file
    is written.
    """
    from whorl.cli.main import main

    (tmp_path / "there.jsonl").write_text('{"id": "a", "text": "b"}\n', encoding="utf-8")
    (tmp_path / "there-empty.jsonl").touch()
    if "there.parquet" in arguments:
        spark.createDataFrame([("a", "b")], "id string, text string").write.parquet(str(tmp_path / "there.parquet"))
    paths = [
        str(tmp_path / argument) if argument.startswith(("nowhere", "there", "out")) else argument
        for argument in arguments
    ]
    done = CliRunner().invoke(main, [*COMMAND, *paths])
    assert done.exit_code == status
    assert message in done.output
    assert "Traceback" not in done.output
    assert not (tmp_path / "out").exists()
    if "exists already" not in message:
        assert CliRunner().invoke(main, ["duplicates", *paths]).exit_code == status


def test_an_empty_folder_is_not_in_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    """
    A folder without files has no file that is also in the reference, so there are no duplicates, but no error.
    """
    from whorl.cli.main import main

    (tmp_path / "known.jsonl").write_text('{"id": "a", "text": "one two three four five six"}\n', encoding="utf-8")
    (tmp_path / "empty").mkdir()
    known, empty, out = (str(tmp_path / name) for name in ("known.jsonl", "empty", "out"))
    done = CliRunner().invoke(main, [*COMMAND, empty, "--input", "json", "--reference", known, "-o", out])
    assert (done.exit_code, "0 documents in clusters" in done.output) == (0, True), done.output


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without PySpark the error names the extra.
    """
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ParameterError, match=r"pip install 'whorl\[spark\]'"):
        run(["x"], DuplicatesOperation(output="y"))


@pytest.mark.process
def test_without_java(tmp_path: Path) -> None:
    """
    Without Java the error names it, in one line after PySpark's own output.
    """
    pytest.importorskip("pyspark")
    command = [str(Path(sys.executable).with_name("whorl")), *COMMAND, "x.jsonl", "-o", str(tmp_path / "out")]
    environment = {"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("whorl: Spark did not start; it needs Java 17 or 21")
    assert "Traceback" not in done.stdout


def test_strict_refuses_repeated_ids(spark: SparkSession, tmp_path: Path) -> None:
    """
    An id that comes more than once is a failure with --strict only.
    """
    from whorl.cli.main import main

    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"id": "same", "text": f"{at} b c d e f g"}) + "\n" for at in range(2)))
    done = [
        CliRunner().invoke(main, [*COMMAND, str(file), "-o", str(tmp_path / f"out{at}"), *strict])
        for at, strict in enumerate(([], ["--strict"]))
    ]
    assert [one.exit_code for one in done] == [0, 1]
    assert "failed: 1 repetition of ids; only one document of each id was compared\n" in done[1].stderr


def test_spark_submit(spark: SparkSession, tmp_path: Path) -> None:
    """
    The example under spark-submit writes the clusters that one process finds.
    """
    made = family_documents(8, seed=4, longest=300)
    file = tmp_path / "some.jsonl"
    lines = [json.dumps({"id": document.id, "text": document.text, "name": document.name}) for document in made]
    file.write_text("\n".join(lines), encoding="utf-8")
    command = [str(Path(sys.executable).parent / "spark-submit"), "--master", MASTER]
    for name, value in {**SETTINGS, "spark.pyspark.python": sys.executable}.items():
        command += ["--conf", f"{name}={value}"]
    command += [
        str(ROOT / "examples" / "spark_duplicates.py"),
        str(file),
        "--threshold",
        "50",
        "-o",
        str(tmp_path / "out"),
    ]
    # As in an active environment: Spark's script looks for Python in the PATH.
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = [json.loads(line) for path in (tmp_path / "out").glob("*.json") for line in path.open(encoding="utf-8")]
    actual = {row["cluster"]: {member["id"] for member in row["members"]} for row in result}
    with duplicates_among(
        sorted(made, key=lambda document: document.id), parse_pair_options("jaccard", 50, 95)
    ) as local:
        assert actual == {group.members[0].id: {member.id for member in group.members} for group in local.clusters()}
        written = io.StringIO()
        write_clusters(local.clusters(), "json", written)
        assert {row["cluster"]: row for row in result} == {
            row["cluster"]: row for row in map(json.loads, written.getvalue().splitlines())
        }
    assert f"{len(made)} documents, {sum(map(len, actual.values()))} documents in clusters written" in done.stdout


def test_summary_of_a_job() -> None:
    """
    The summary counts compared and written rows, and skipped rows with their reasons.
    """
    done = JobSummary(documents=12_345, too_short=0, repeated=0, bad_rows=0, problems=(), written=7)
    assert summary_lines(done, "out", clusters=False) == ["12,345 documents, 7 pairs written to out"]
    done = JobSummary(documents=1, too_short=0, repeated=1, bad_rows=0, problems=(), written=0)
    assert len(summary_lines(done, "out", clusters=True)) == 2
    done = JobSummary(documents=5, too_short=2, repeated=1, bad_rows=3, problems=("a: no text", "b: no id"), written=4)
    assert summary_lines(done, "out", clusters=True) == [
        "5 documents, 4 documents in clusters written to out",
        "2 of fewer words than a shingle has were not compared",
        "1 ids came more than once; of each the largest document counts",
        "3 could not be read, among them:",
        "  a: no text",
        "  b: no id",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"format": "table"}, "Spark writes json, csv, parquet, got 'table'"), ({"output": None}, "name it as output")],
)
def test_unknown_formats_are_refused(options: dict[str, Any], message: str) -> None:
    """
    A format that Spark cannot write, or no output, is reported before Spark is started.
    """
    pytest.importorskip("pyspark")
    with pytest.raises(ParameterError, match=message):
        run(["x"], DuplicatesOperation(**{"output": "y", **options}))
