"""Tests of rewriting files: rows are removed, unchanged or extended, and errors are raised before the search."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tests.families import true_pairs, version_documents
from whorl.cli.main import main
from whorl.duplicates import write_copies_of_files
from whorl.duplicates.input import InputReader
from whorl.duplicates.options import DuplicatesOptions, parse_pair_options
from whorl.duplicates.retention import Keep
from whorl.duplicates.run import duplicates_among
from whorl.duplicates.write_copies_of_files import (
    RetentionDecisions,
    decide_retention,
    require_columns,
    require_room,
    write_copies,
)
from whorl.errors import DocumentError, ParameterError
from whorl.ingest.files import FoundFile
from whorl.ingest.rows.arrow import ParquetFormat
from whorl.ingest.rows.row_format import Added, Decide, RowColumns, RowFormat, UnreadRowsError

WORDS = [f"w{at}" for at in range(60)]
PAGE, OTHER = " ".join(WORDS), " ".join(reversed(WORDS))
NEAR = PAGE.replace("w7 ", "x7 ")


def write_table(table: pa.Table, file: Path) -> None:
    """Write a Parquet or Arrow file, by its suffix."""
    if file.suffix == ".parquet":
        pq.write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


def read_table(file: Path) -> pa.Table:
    return pq.ParquetFile(file).read() if file.suffix == ".parquet" else pa.ipc.open_file(file.read_bytes()).read_all()


@contextmanager
def decisions_of(reading: InputReader, keep: Keep, *, with_columns: bool = True) -> Iterator[RetentionDecisions]:
    with duplicates_among(
        reading.documents(),
        DuplicatesOptions(parse_pair_options("jaccard", 80, 100), keep=keep),
        on_repeated=reading.note_repeated,
    ) as duplicates:
        yield decide_retention(duplicates.clusters(complete=True, keep=keep), with_columns=with_columns)


def write_filtered(*of: Any, with_columns: bool = False) -> tuple[int, int]:
    with write_copies(*of, with_columns=with_columns) as counts:
        return counts


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder of files in several formats, with duplicates of the first one's texts in the others."""
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    pq.write_table(pa.table({"text": [PAGE, OTHER], "n": [1, 2]}), folder / "a.parquet")
    rows = "".join(json.dumps({"text": text, "meta": {"n": n}}) + "\n" for n, text in enumerate([NEAR, "short"], 3))
    (folder / "sub" / "b.jsonl.gz").write_bytes(gzip.compress(f"{rows}broken\n".encode()))
    with (folder / "c.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["n", "text"], [5, PAGE], [6, "five words that are different"]])
    (folder / "d.txt").write_text(OTHER)
    (folder / "e.txt").write_text("and six words that stay here")
    return folder


@pytest.mark.parametrize("options", [["--annotated"], ["--level", "line", "--filtered"]])
def test_the_error_of_a_file_that_cannot_be_copied_names_a_remedy(tmp_path: Path, options: list[str]) -> None:
    """
    A file without rows or without a text cannot be copied; a pattern for the other files leaves it out.
    """
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "rows.jsonl").write_text(json.dumps({"text": PAGE}) + "\n")
    (folder / "page.html").write_text(f"<html><p>{PAGE}</p></html>")
    done = CliRunner().invoke(main, ["duplicates", str(folder), *options, str(tmp_path / "out")])
    assert (done.exit_code, "such as 'data/**/*.parquet'" in done.stderr) == (2, True)
    done = CliRunner().invoke(main, ["duplicates", f"{folder}/**/*.jsonl", *options, str(tmp_path / "out")])
    assert (done.exit_code, [path.name for path in (tmp_path / "out").iterdir()]) == (0, ["rows.jsonl"])


@pytest.mark.parametrize("change", ["append", "cut", "delete", "rewrite"])
@pytest.mark.parametrize("is_during_copy", [False, True])
def test_a_file_that_changes_before_the_copy_is_complete(tmp_path: Path, change: str, is_during_copy: bool) -> None:
    """
    If a file changes after the first reading, no folder is written, and the error names the file.
    """
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps({"text": text, "n": n}) + "\n" for n, text in enumerate([PAGE, NEAR, OTHER])]
    file.write_text("".join(lines))
    reading = InputReader([str(file)], is_rewritten=True)
    assert len(list(reading.documents())) == 3

    def change_file() -> None:
        if change == "delete":
            file.unlink(missing_ok=True)
        else:
            file.write_text("".join({"append": [*lines, lines[0]], "cut": lines[:2], "rewrite": lines[::-1]}[change]))

    class Ids(set[str]):
        def __contains__(self, document_id: object) -> bool:
            change_file()
            return super().__contains__(document_id)

    if not is_during_copy:
        change_file()
    with pytest.raises(DocumentError, match=r"rows.jsonl was changed or deleted during the run"):
        write_filtered(reading, RetentionDecisions(Ids() if is_during_copy else set()), tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} <= {"rows.jsonl"}


@pytest.mark.parametrize("change", [b"append", b"rewrite", b""])
def test_a_changed_remote_file_is_not_copied(tmp_path: Path, change: bytes) -> None:
    """
    A file at an address that was changed or deleted is an error, as a local one is; an unchanged one is copied.
    """
    memory = pytest.importorskip("fsspec").filesystem("memory")
    lines = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in (PAGE, OTHER))
    memory.pipe("/changed/rows.jsonl", lines)
    try:
        reading = InputReader(["memory://changed"], is_rewritten=True)
        assert len(list(reading.documents())) == 2
        assert write_filtered(reading, RetentionDecisions(), tmp_path / "same") == (2, 2)
        if change:
            memory.pipe("/changed/rows.jsonl", lines + lines if change == b"append" else lines)
        else:
            memory.rm("/changed/rows.jsonl")
        with pytest.raises(DocumentError, match=r"rows.jsonl was changed or deleted during the run"):
            write_filtered(reading, RetentionDecisions(), tmp_path / "out")
    finally:
        memory.store.clear()


def test_a_changed_file_leaves_no_delete_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A list of the rows to delete is not written for a file that has changed, since it would name wrong rows.
    """
    file, listed = tmp_path / "rows.jsonl", tmp_path / "list"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in (PAGE, NEAR)))

    def decide(*arguments: Any, **options: Any) -> RetentionDecisions:
        file.write_text("")
        return decide_retention(*arguments, **options)

    monkeypatch.setattr("whorl.cli.run_duplicates.decide_retention", decide)
    words = [file, "--keep", "first", "--delete-list", listed, "--filtered", tmp_path / "out", "-o", tmp_path / "o.csv"]
    done = CliRunner().invoke(main, ["duplicates", *map(str, words)])
    assert (done.exit_code, [path.name for path in tmp_path.iterdir()]) == (1, ["rows.jsonl"])
    assert "rows.jsonl was changed or deleted during the run" in done.stderr


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("unquoted.tsv", ["id\ttext\n", f'1\tHe said "{PAGE}"\n', f'2\t"He" said "{PAGE}"\n', '3\t5" disks\n']),
        ("quoted.csv", ['id,"text"\r\n', f'1,"{PAGE}"\r\n', f'"2","{PAGE},"\r\n', '"3","two\r\nlines"\r\n']),
        ("cut.csv", ["sep=;\nid;text\n", f"1;{PAGE}\n", f"2;{PAGE}\n", "3;no end of its line"]),
    ],
)
def test_rows_of_tables_that_stay_are_unchanged(tmp_path: Path, name: str, rows: list[str]) -> None:
    """
    The copy has the quotation marks, line ends and separators of the input, also before added cells.
    """
    file, out, marked = tmp_path / name, tmp_path / "out", tmp_path / "marked"
    file.write_text("".join(rows), newline="")
    words = ["duplicates", file, "--filtered", out, "--annotated", marked, "-o", tmp_path / "clusters.csv"]
    assert CliRunner().invoke(main, [*map(str, words)]).exit_code == 0
    assert (out / name).read_bytes().decode() == "".join([*rows[:2], *rows[3:]])
    annotated = (marked / name).read_bytes().decode()
    assert annotated.startswith(rows[0].rstrip("\r\n"))
    assert all(row.rstrip("\r\n") in annotated for row in rows[1:])
    assert annotated.count("\n") == len([line for row in rows for line in row.splitlines()])


def test_lines_of_json_that_stay_are_unchanged(tmp_path: Path) -> None:
    """
    The copy has the line ends, blanks and numbers of the input, also before added members.
    """
    file, out, marked = tmp_path / "rows.jsonl", tmp_path / "out", tmp_path / "marked"
    ends = ['"n": 1e400}\r\n', '"n": 1.10 }\n', '"n": 1}\r\n', '"n": 12345678901234567890123}']
    texts = [PAGE, OTHER, PAGE, "an end without a line break"]
    lines = [f'{{ "text": "{text}", {end}' for text, end in zip(texts, ends, strict=True)]
    file.write_text("".join(lines), newline="")
    words = ["duplicates", file, "--filtered", out, "--annotated", marked, "-o", tmp_path / "clusters.csv"]
    assert CliRunner().invoke(main, [*map(str, words)]).exit_code == 0
    assert (out / file.name).read_bytes().decode() == "".join([*lines[:2], lines[3], "\n"])
    annotated = (marked / file.name).read_bytes().decode().splitlines(keepends=True)
    assert [line.endswith("\r\n") for line in annotated] == [True, False, True, False]
    assert all(line.startswith(of.rstrip("}\r\n ")) for line, of in zip(annotated, lines, strict=True))


def test_unreadable_rows_do_not_count_as_read(tmp_path: Path) -> None:
    """
    A row whose text is an object is neither written nor counted, like a line that is not JSON.
    """
    file = tmp_path / "rows.jsonl"
    rows = [{"text": PAGE}, {"text": {"en": PAGE}}, {"text": OTHER}, {"text": PAGE}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "broken\n")
    done = CliRunner().invoke(main, ["duplicates", str(file), "--filtered", str(tmp_path / "out")])
    assert "1 cluster with 2 documents, of 3 documents in all" in done.stderr
    assert f"2 of 3 documents in {tmp_path / 'out'}" in done.stderr


@pytest.mark.process
def test_filtered_files_lack_the_duplicates(data: Path, tmp_path: Path) -> None:
    """
    The output has the same files in the same formats, with the first document of each cluster and without broken rows.
    """
    reading = InputReader([str(data)])
    with decisions_of(reading, Keep("first"), with_columns=False) as decisions:
        assert decisions.added_columns == {}
        counts = write_filtered(reading, decisions, tmp_path / "out")
    assert counts == (5, 8)
    assert [str(path.relative_to(tmp_path / "out")) for path in sorted((tmp_path / "out").rglob("*.*"))] == [
        "a.parquet",
        "c.csv",
        "e.txt",
        "sub/b.jsonl.gz",
    ]
    assert pq.read_table(tmp_path / "out" / "a.parquet").to_pydict() == {"text": [PAGE, OTHER], "n": [1, 2]}
    lines = gzip.decompress((tmp_path / "out" / "sub" / "b.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == [{"text": "short", "meta": {"n": 4}}]
    assert (tmp_path / "out" / "c.csv").read_bytes() == b"n,text\r\n6,five words that are different\r\n"
    assert not list(tmp_path.glob("*.part"))


#: File operations before which a run is killed: Python's audit event, and the end of the path.
KILLS = {
    "while it writes": [("open", "out.part/e.txt")],
    "before it renames the folder": [("os.rename", "out.part")],
    "before it deletes the marker": [("os.remove", ".whorl-unfinished")],
    "while it deletes the folder": [("os.rename", "out.part"), ("os.remove", "c.csv")],
}


@pytest.mark.process
@pytest.mark.parametrize("kills", KILLS.values(), ids=KILLS)
def test_a_killed_run_is_repeated(data: Path, tmp_path: Path, kills: list[tuple[str, str]]) -> None:
    """
    The same command replaces the folder that a killed run has not finished, and no other folder.
    """
    out, unfinished = tmp_path / "out", tmp_path / "out.part"
    command = ["duplicates", str(data), "--state", str(tmp_path / "state"), "--filtered", str(out)]
    for event, path in kills:
        killing = f"""
import os, sys
from whorl.cli.main import main
def kill(event, arguments):
    if event == {event!r} and str(arguments[0]).endswith({path!r}):
        os._exit(9)
sys.addaudithook(kill)
main({command!r})
"""
        killed = subprocess.run([sys.executable, "-c", killing], check=False, capture_output=True)
        assert killed.returncode == 9, killed.stderr
        assert out.is_dir() or unfinished.is_dir()
    done = CliRunner().invoke(main, command)
    assert (out / "a.parquet").is_file(), done.output
    assert not unfinished.exists()
    assert not [path for path in out.rglob(".*") if path.is_file()]
    again = CliRunner().invoke(main, command)
    assert f"{out} exists already; name a folder that does not exist" in again.output
    out.rename(unfinished)
    other = CliRunner().invoke(main, command)
    assert f"{unfinished} exists already" in other.output
    assert (unfinished / "a.parquet").is_file()


@pytest.mark.process
@pytest.mark.parametrize("killed_at", ["pairs.csv", "ids.txt", "marked.part/a.parquet"])
def test_a_run_killed_before_its_last_file_is_complete_is_repeated(tmp_path: Path, killed_at: str) -> None:
    """
    Copies get their names after the other copies, the delete list and the output file, so the same command completes
    the run. A state, new documents and `--keep` do not change this.
    """
    data = tmp_path / "data"
    data.mkdir()
    write_table(pa.table({"text": [PAGE, OTHER, NEAR], "n": [1, 2, 3]}), data / "a.parquet")
    targets = {name: tmp_path / name for name in ("clean", "marked", "pairs.csv", "ids.txt")}
    flags = zip(("--filtered", "--annotated", "-o", "--delete-list"), map(str, targets.values()), strict=True)
    state = ["--state", str(tmp_path / "state"), "--new", "--keep", "first"]
    command = ["duplicates", str(data), *state, *(word for flag in flags for word in flag)]
    killing = f"""
import os, sys
from whorl.cli.main import main
def kill(event, arguments):
    if event == "open" and {killed_at!r} in str(arguments[0]):
        os._exit(9)
sys.addaudithook(kill)
main({command!r})
"""
    killed = subprocess.run([sys.executable, "-c", killing], check=False, capture_output=True)
    assert killed.returncode == 9, killed.stderr
    assert not targets["clean"].exists()
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert read_table(targets["clean"] / "a.parquet")["n"].to_pylist() == [1, 2]
    assert read_table(targets["marked"] / "a.parquet")["is_principal"].to_pylist() == [True, True, False]
    assert targets["pairs.csv"].read_text().count("\n") == 3
    assert targets["ids.txt"].read_text() == f"{data}/a.parquet:3\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*targets, "data", "state"])


def test_no_copy_without_the_output_file(data: Path, tmp_path: Path) -> None:
    """
    If the output file cannot be written, no folder remains, and no line says that one was written.
    """
    out = tmp_path / "out"
    done = CliRunner().invoke(main, ["duplicates", str(data), "--filtered", str(out), "-o", "/dev/full"])
    assert (done.exit_code, "/dev/full cannot be written" in done.stderr) == (2, True)
    assert str(out) not in done.output
    assert not [path for path in tmp_path.iterdir() if path != data]


def test_notes_are_printed_without_the_output_file(tmp_path: Path) -> None:
    """
    If the output file cannot be written, the notes still show what is wrong with the input.
    """
    file, output = tmp_path / "rows.jsonl", tmp_path / "clusters.csv"
    rows = [{"text": PAGE, "n": "many"}, {"text": PAGE, "n": "many"}, {"text": OTHER, "n": 1}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "broken\n")
    done = CliRunner().invoke(main, ["duplicates", str(file), "--keep", "largest:n", "-o", str(output)])
    assert (done.exit_code, output.exists()) == (2, False)
    assert "2 documents have no number that can be read in the column 'n', such as 'many'" in done.stderr
    assert f"{file}, line 4: this is not JSON" in done.stderr


@pytest.mark.process
def test_two_runs_at_once(data: Path, tmp_path: Path) -> None:
    """
    A run does not replace the folder that another run is writing, however late it notices the other run.
    """
    out, unfinished = tmp_path / "out", tmp_path / "out.part"
    other_file = unfinished / "other"
    unfinished.mkdir()
    other_file.touch()
    reading = InputReader([str(data)])
    with closing(sqlite3.connect(unfinished / ".whorl-unfinished", isolation_level=None)) as other_run:
        other_run.execute("BEGIN EXCLUSIVE")
        early = CliRunner().invoke(main, ["duplicates", str(data), "--filtered", str(out)])
        assert early.exit_code == 2
        assert f"another run is writing {unfinished}" in early.output
        with pytest.raises(ParameterError, match="another run is writing"):
            write_filtered(reading, RetentionDecisions(), out)
        assert other_file.is_file()
    require_room(reading, out)
    assert not unfinished.exists()


@pytest.mark.process
def test_annotated_files_have_all_rows(data: Path, tmp_path: Path) -> None:
    """
    Similarities refer to the kept document and are rounded down. Rows outside clusters are principal, without cluster
    and similarity.
    """
    for file in data.glob("*.txt"):
        file.unlink()
    reading = InputReader([str(data)], DuplicatesOptions(keep=Keep("largest", "n")))
    # In JSON the number is inside another column, so those rows have no rank.
    with decisions_of(reading, Keep("largest", "n")) as decisions:
        counts = write_filtered(reading, decisions, tmp_path / "out", with_columns=True)
    assert counts == (6, 6)
    principal = f"{data}/c.csv:2"
    rows = pq.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [{key: value for key, value in row.items() if key != "text"} for row in rows] == [
        {"n": 1, "cluster": principal, "is_principal": False, "similarity": 1.0},
        {"n": 2, "cluster": None, "is_principal": True, "similarity": None},
    ]
    lines = gzip.decompress((tmp_path / "out" / "sub" / "b.jsonl.gz").read_bytes()).splitlines()
    near = json.loads(lines[0])
    assert (near["cluster"], near["is_principal"]) == (principal, False)
    # They share 51 shingles, and each has five of its own: 51 / 61, rounded down.
    assert near["similarity"] == 0.836065
    unique = {"cluster": None, "is_principal": True, "similarity": None}
    assert json.loads(lines[1]) == {"text": "short", "meta": {"n": 4}, **unique}
    table = list(csv.DictReader((tmp_path / "out" / "c.csv").read_text().splitlines()))
    assert [(row["cluster"], row["is_principal"], row["similarity"]) for row in table] == [
        (principal, "true", "1.0"),
        ("", "true", ""),
    ]


def write_rows(file: Path, columns: Mapping[str, Sequence[object]]) -> None:
    """Write columns to a file, in the format of its suffix."""
    table = pa.table(dict(columns))
    if file.suffix == ".parquet":
        pq.write_table(table, file)
    elif file.suffix == ".arrow":
        with pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    elif file.suffix == ".csv":
        with file.open("w", newline="") as opened:
            csv.writer(opened).writerows([columns, *zip(*columns.values(), strict=True)])
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
@pytest.mark.process
def test_clusters_have_the_type_of_the_ids(tmp_path: Path, kind: str) -> None:
    """
    Whole numbers as ids give whole numbers as clusters, equal to the id of the kept row; text gives text, also if the
    kept row of a cluster has an id that is not a number.
    """
    names: dict[str, list[object]] = {
        "numbers": [7, 8, 9],
        "floats": [7.0, None, 9.0],
        "texts": ["7", "8", "9"],
        "missing": [None, 8, 9],
    }
    for name, ids in names.items():
        file = tmp_path / f"{name}.{kind}"
        write_rows(file, {"id": ids, "text": [PAGE, PAGE, OTHER]})
        out = tmp_path / f"{name}-out"
        assert CliRunner().invoke(main, ["duplicates", str(file), "--annotated", str(out)]).exit_code == 0
        written = out / file.name
        if kind == "jsonl":
            clusters = [json.loads(line)["cluster"] for line in written.read_text().splitlines()]
        else:
            table = pq.read_table(written) if kind == "parquet" else pa.ipc.open_file(written).read_all()
            clusters = table["cluster"].to_pylist()
            assert table.schema.field("cluster").type == (pa.string() if name in ("texts", "missing") else pa.int64())
        kept = f"{file}:1" if name == "missing" else ids[0]
        assert clusters == [kept, kept, None]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.jsonl.gz"])
@pytest.mark.process
def test_a_cluster_has_one_type_in_a_file(tmp_path: Path, name: str) -> None:
    """
    If any row of a file has a text as its id, all rows of a cluster have the same text as the cluster.
    """
    rows = [json.dumps({"id": row_id, "text": PAGE}) for row_id in (1, 2, "b", None, 3)]
    raw = (f"[{','.join(rows)}]" if name == "rows.json" else "\n".join(rows)).encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    out = tmp_path / "out"
    assert CliRunner().invoke(main, ["duplicates", str(tmp_path / name), "--annotated", str(out)]).exit_code == 0
    written = (out / name).read_bytes()
    text = (gzip.decompress(written) if name.endswith(".gz") else written).decode()
    copy = json.loads(text) if name == "rows.json" else [*map(json.loads, text.splitlines())]
    assert [row["cluster"] for row in copy] == ["1"] * 5


@pytest.mark.process
def test_several_files_with_whole_numbers_as_ids(tmp_path: Path) -> None:
    """
    If the id of any row of a cluster is text, the cluster is text, even if the kept row has a number. A number beyond
    64 bits counts as text.
    """
    folder = tmp_path / "in"
    folder.mkdir()
    write_rows(folder / "a.parquet", {"id": pa.array([5], pa.int32()), "text": [PAGE]})
    write_rows(folder / "b.parquet", {"id": ["six", None], "text": [PAGE, PAGE]})
    (folder / "c.jsonl").write_text(f'{{"text": "{PAGE}"}}\n{{"id": {1 << 63}, "text": "{OTHER}"}}\n')
    assert CliRunner().invoke(main, ["duplicates", str(folder), "--annotated", str(tmp_path / "out")]).exit_code == 0
    tables = [pq.read_table(tmp_path / "out" / name)["cluster"].to_pylist() for name in ("a.parquet", "b.parquet")]
    rows = [json.loads(line)["cluster"] for line in (tmp_path / "out" / "c.jsonl").read_text().splitlines()]
    assert (tables, rows) == ([[5], ["5", "5"]], [5, None])
    (folder / "d.jsonl").write_text(f'{{"id": 3, "text": "{OTHER}"}}\n')
    assert CliRunner().invoke(main, ["duplicates", str(folder), "--annotated", str(tmp_path / "all")]).exit_code == 0
    assert pq.read_table(tmp_path / "all" / "a.parquet")["cluster"].to_pylist() == ["5"]
    assert json.loads((tmp_path / "all" / "d.jsonl").read_text())["cluster"] == f"{1 << 63}"


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv"])
@pytest.mark.process
def test_columns_of_the_user_are_not_replaced(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A column with the name of an added one is an error before the search, also if only a later row of JSON lines has
    it.
    """
    file, out = tmp_path / f"rows.{kind}", tmp_path / "out"
    write_rows(file, {"id": ["1", "2"], "text": [PAGE, PAGE], "similarity": [0.5, 0.7]})
    command = ["duplicates", str(file), "--annotated", str(out)]
    message = f"{file} has a column 'similarity' already, which --annotated writes; give it another name"
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.stdout, message in done.stderr) == (2, "", True)
    if kind == "jsonl":
        first, second = file.read_text().splitlines()
        file.write_text(f"{first.replace('similarity', 'score')}\n{second}\n")
        # A search would fail.
        monkeypatch.setattr("whorl.duplicates.run._find_duplicates", None)
        for workers in "12":
            done = CliRunner().invoke(main, [*command, "--workers", workers])
            assert (done.exit_code, message in done.stderr) == (2, True)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.process
def test_a_data_set_of_hugging_face(tmp_path: Path) -> None:
    """
    The metadata files are copied without the entries about all rows, and with a new fingerprint.
    """
    train = tmp_path / "ds" / "train"
    train.mkdir(parents=True)
    table = pa.table({"text": [PAGE, PAGE, OTHER]})
    with (train / "data-00000-of-00001.arrow").open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "ds" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    (train / "dataset_info.json").write_text('{"features": {"text": {}}, "dataset_size": 3}')
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "x"}
    (train / "state.json").write_text(json.dumps(state))
    reading = InputReader([str(tmp_path / "ds")])
    with decisions_of(reading, Keep("first")) as decisions:
        for name in ("filtered", "annotated"):
            write_filtered(reading, decisions, tmp_path / name, with_columns=name == "annotated")
    out = tmp_path / "filtered"
    assert json.loads((out / "dataset_dict.json").read_text()) == {"splits": ["train"]}
    assert json.loads((out / "train" / "dataset_info.json").read_text()) == {"features": {"text": {}}}
    state = json.loads((out / "train" / "state.json").read_text())
    assert state["_data_files"] == [{"filename": "data-00000-of-00001.arrow"}]
    assert state["_fingerprint"] not in ("", "x")
    with pa.ipc.open_stream((out / "train" / "data-00000-of-00001.arrow").read_bytes()) as stream:
        assert stream.read_all()["text"].to_pylist() == [PAGE, OTHER]
    assert json.loads((tmp_path / "annotated" / "train" / "dataset_info.json").read_text()) == {}


def test_damaged_metadata_is_left_out(tmp_path: Path) -> None:
    """
    A lone state.json is an input file with rows, not metadata, and its removed text stays removed; damaged metadata is
    left out.
    """
    state = json.dumps({"id": "b", "text": PAGE})
    for name, notes in {
        "rows": {"state.json": state},
        "set": {"state.json": '{"a":', "dataset_info.json": "[]"},
    }.items():
        (tmp_path / name).mkdir()
        for file, text in {"a.txt": PAGE, **notes}.items():
            (tmp_path / name / file).write_text(text)
        reading = InputReader([str(tmp_path / name)])
        with decisions_of(reading, Keep("first")) as decisions:
            write_filtered(reading, decisions, tmp_path / f"{name}-out")
    actual = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.glob("*-out/*")}
    assert actual == {"rows-out/a.txt": PAGE, "rows-out/state.json": "", "set-out/a.txt": PAGE}


@pytest.mark.process
def test_a_truncated_file_is_written_up_to_its_error(tmp_path: Path) -> None:
    """
    The readable part of a truncated file is written, to a complete file.
    """
    lines = "".join(json.dumps({"id": at, "text": str(hash((at, at)))}) + "\n" for at in range(3000)).encode()
    packed = gzip.compress(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    reading = InputReader([str(tmp_path / "a.jsonl.gz")])
    written, read = write_filtered(reading, RetentionDecisions({"0"}), tmp_path / "out")
    assert written == read - 1 > 1000
    assert len(gzip.decompress((tmp_path / "out" / "a.jsonl.gz").read_bytes()).splitlines()) == written


@pytest.mark.process
def test_unwritable_output_is_refused_before_the_search(data: Path, tmp_path: Path) -> None:
    """
    A target with content, a target that cannot be created, two files with one path, and files without rows are refused.
    """
    reading = InputReader([str(data)])
    (tmp_path / "empty").mkdir()
    require_room(reading, tmp_path / "empty")
    require_room(reading, tmp_path / "new" / "folder")
    assert not list(tmp_path.glob("*.part"))
    for target in (data, data / "e.txt", data / "e.txt" / "x", Path("."), Path("/"), Path("..")):
        with pytest.raises(ParameterError, match=r"exists already|cannot be written"):
            require_room(reading, target)
    (tmp_path / "killed.part").mkdir()
    (tmp_path / "killed.part" / "a.parquet").touch()
    with pytest.raises(ParameterError, match=r"killed\.part exists already, perhaps of a run that was killed"):
        require_room(reading, tmp_path / "killed")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "d.txt").write_text("x")
    several = InputReader([str(data), str(tmp_path / "other")])
    with pytest.raises(ParameterError, match=r"data/d\.txt and .*other/d\.txt would both be"):
        require_room(several, tmp_path / "out")
    with pytest.raises(ParameterError, match=r"d\.txt has no rows"):
        require_columns(reading)


def test_a_failed_run_leaves_no_folder(tmp_path: Path) -> None:
    """
    If the disk is full, simulated by a limit on the size of a file, neither the folder nor a part of it is left.
    """
    resource = pytest.importorskip("resource")
    file, out = tmp_path / "all.jsonl", tmp_path / "out"
    file.write_text(json.dumps({"text": PAGE}) + "\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(ParameterError, match=r"out cannot be written: File too large"):
            write_filtered(InputReader([str(file)]), RetentionDecisions(), out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == [file]


def test_repeated_ids_are_refused(tmp_path: Path) -> None:
    """
    Repeated ids cannot identify rows and are refused, even if a state knows the texts. A file named twice is read once.
    """
    file = tmp_path / "a.jsonl"
    file.write_text((json.dumps({"id": "x", "text": PAGE}) + "\n") * 2)
    for state in (None, tmp_path / "state", tmp_path / "state"):
        reading = InputReader([str(file)], DuplicatesOptions(state=state), is_rewritten=True)
        with (
            pytest.raises(ParameterError, match="--id-column"),
            duplicates_among(
                reading.documents(),
                DuplicatesOptions(parse_pair_options("jaccard", 80, 100), state=state),
                on_repeated=reading.note_repeated,
            ),
        ):
            pass
    file.write_text(json.dumps({"id": "x", "text": PAGE}) + "\n")
    assert len(InputReader([str(file), str(tmp_path / "a.*")]).files) == 1


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet", "arrow"])
@pytest.mark.parametrize("level", ["document", "paragraph", "line", "passage"])
@pytest.mark.process
def test_rows_without_a_text(tmp_path: Path, kind: str, level: str) -> None:
    """
    Rows whose text is null, missing, empty or blank have no duplicates and stay unchanged.
    """
    texts = [None, PAGE, "", PAGE, None, " ", OTHER]
    rows = [{"id": str(at), "text": text, "n": at / 2} for at, text in enumerate(texts)]
    file = tmp_path / f"all.{kind}"
    if kind.startswith("json"):
        rows.insert(0, {"id": "missing", "n": 0.5})
        lines = [json.dumps(row) for row in rows]
        file.write_text("".join(f"{line}\n" for line in lines) if kind == "jsonl" else f"[{','.join(lines)}]")
    elif kind == "csv":
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([["id", "text", "n"], *(row.values() for row in rows)])
    else:
        table = pa.table({name: [row[name] for row in rows] for name in ("id", "text", "n")})
        if kind == "parquet":
            pq.write_table(table, file)
        else:
            with pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table)

    def read(folder: str) -> list[dict[str, object]]:
        written = tmp_path / folder / file.name
        if kind == "jsonl":
            return [json.loads(line) for line in written.read_text().splitlines()]
        if kind == "json":
            decisions: list[dict[str, object]] = json.loads(written.read_text())
            return decisions
        if kind == "csv":
            with written.open(newline="") as opened:
                return [{**row, "text": row["text"] or None, "n": float(row["n"])} for row in csv.DictReader(opened)]
        table = pq.read_table(written) if kind == "parquet" else pa.ipc.open_file(written).read_all()
        return table.to_pylist()  # type: ignore[no-any-return]

    if kind == "csv":
        rows = [{**row, "text": row["text"] or None} for row in rows]
    options = ["duplicates", str(file), "--strict", "--level", level, "--filtered", str(tmp_path / "filtered")]
    done = CliRunner().invoke(main, options)
    assert done.exit_code == 0, done.output
    assert read("filtered") == [row for row in rows if row["id"] != "3"]
    if level == "document":
        done = CliRunner().invoke(main, ["duplicates", str(file), "--strict", "--annotated", str(tmp_path / "all")])
        assert done.exit_code == 0, done.output
        actual = {row["id"]: row for row in read("all")}
        assert list(actual) == [row["id"] for row in rows]
        assert {key for key, row in actual.items() if row.get("cluster")} == {"1", "3"}


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "arrow"])
@pytest.mark.process
def test_nested_columns(tmp_path: Path, kind: str) -> None:
    """
    Columns in other columns are named by their paths; the rows that stay are unchanged. Parts of nested texts cannot
    be removed, which is an error before the search.
    """
    made = [("a", 1, [PAGE, OTHER]), ("b", 2, [NEAR, OTHER]), ("c", 3, ["and six words that stay here", "or not"])]
    rows = [
        {
            "meta": {"key": key, "score": score, "lang": "en"},
            "messages": [{"role": "x", "content": text} for text in texts],
        }
        for key, score, texts in made
    ]
    file = tmp_path / f"all.{kind}"
    if kind.startswith("json"):
        lines = [json.dumps(row) for row in rows]
        file.write_text("".join(f"{line}\n" for line in lines) if kind == "jsonl" else f"[{','.join(lines)}]")
    else:
        write_table(pa.Table.from_pylist(rows), file)
    folder, levels = tmp_path / "out", tmp_path / "levels"
    columns = ["--text-column", "messages.content", "--id-column", "meta.key", "--within-column", "meta.lang"]
    command = ["duplicates", str(file), *columns]
    done = CliRunner().invoke(main, [*command, "--keep", "largest:meta.score", "--filtered", str(folder)])
    assert done.exit_code == 0, done.output
    if kind.startswith("json"):
        written = (folder / file.name).read_text()
        assert (json.loads(written) if kind == "json" else list(map(json.loads, written.splitlines()))) == rows[1:]
    else:
        assert read_table(folder / file.name).to_pylist() == rows[1:]
    done = CliRunner().invoke(main, [*command, "--level", "paragraph", "--filtered", str(levels)])
    assert done.exit_code == 2
    assert "the text 'messages.content' is a list or in another column" in done.output
    done = CliRunner().invoke(main, [*command, "--keep", "newest:meta.made"])
    assert "(--keep newest:COLUMN, of messages.role, meta.lang, meta.score)" in done.output


def test_files_without_a_text_column(tmp_path: Path) -> None:
    """
    A file without the text column is an error, also next to files that have it; only the other files are written.
    """
    (tmp_path / "in").mkdir()
    for name, column in {"a": "text", "b": "body"}.items():
        (tmp_path / "in" / f"{name}.jsonl").write_text(json.dumps({"id": name, column: PAGE}) + "\n")
    done = CliRunner().invoke(main, ["duplicates", str(tmp_path / "in"), "--filtered", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert (
        "b.jsonl: there is no column 'text'; name the one of the text (--text-column), of 'id', 'body'" in done.stderr
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.jsonl"]


@pytest.mark.parametrize("policy", ["largest", "smallest"])
@pytest.mark.process
def test_unsigned_64_bit_ids(tmp_path: Path, policy: str) -> None:
    """
    Unsigned 64-bit numbers work as ranks, also with smaller ones, and as parts of a collection, to the last bit.
    """
    numbers = [5, 1 << 63, (1 << 64) - 1, 7, (1 << 63) + 1]
    table = pa.table({"id": list("abcde"), "text": [PAGE] * 5, "n": pa.array(numbers, pa.uint64())})
    pq.write_table(table, tmp_path / "all.parquet")
    options = ["duplicates", str(tmp_path / "all.parquet"), "--strict", "--keep", f"{policy}:n"]
    done = CliRunner().invoke(main, [*options, "--filtered", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "out" / "all.parquet")["id"].to_pylist() == ["c" if policy == "largest" else "a"]
    done = CliRunner().invoke(main, ["duplicates", str(tmp_path / "all.parquet"), "--within-column", "n"])
    assert "0 clusters" in done.stderr


@pytest.mark.process
def test_a_row_without_a_rank_is_not_kept(tmp_path: Path) -> None:
    """
    A row with NaN in the rank column is compared, but not kept.
    """
    table = pa.table({"id": list("abc"), "text": [PAGE] * 3, "n": [float("nan"), 1.0, float("inf")]})
    pq.write_table(table, tmp_path / "all.parquet")
    options = ["--keep", "largest:n", "--filtered", str(tmp_path / "out"), "--strict"]
    done = CliRunner().invoke(main, ["duplicates", str(tmp_path / "all.parquet"), *options])
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "out" / "all.parquet")["id"].to_pylist() == ["b"]


@pytest.mark.parametrize("options", [[], ["--keep", "longest"], ["--keep", "largest:n"], ["--level", "line"]])
@pytest.mark.parametrize("has_reference", [False, True])
def test_remaining_documents_are_no_duplicates(tmp_path: Path, *, options: list[str], has_reference: bool) -> None:
    """
    No two remaining documents are a pair, with each other or with the reference, and each removed document is a
    duplicate of its kept document.
    """
    documents = version_documents()
    for name, part in {"known": documents[:50], "new": documents[50 if has_reference else 0 :]}.items():
        rows = [{"id": document.id, "text": document.text, "n": at * 7 % 5} for at, document in enumerate(part)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["duplicates", str(tmp_path / "new.jsonl"), *options, "--recall", "100", "--format", "json"]
    command += ["--reference", str(tmp_path / "known.jsonl")] if has_reference else []
    outputs = ["--filtered", str(tmp_path / "out"), "--delete-list", str(tmp_path / "list")]
    outputs += [] if "--keep" in options else ["--keep", "first"]
    done = CliRunner().invoke(main, [*command, *outputs])
    assert done.exit_code == 0, done.output
    left = {row["id"] for row in map(json.loads, (tmp_path / "out" / "new.jsonl").read_text().splitlines())}
    gone = {document.id for document in documents[50 if has_reference else 0 :]} - left
    ending = "#1" if "--level" in options else ""
    listed = set((tmp_path / "list").read_text().splitlines())
    assert listed == {f"{line}{ending}" for line in gone}
    assert len(gone) > 50
    pairs = true_pairs(documents, "jaccard", 80)
    known = {document.id for document in documents[:50]} if has_reference else set()
    assert not [pair for pair in pairs if pair <= left | known and not pair <= known]
    kept_for = {
        member["id"].removesuffix(ending): principal["id"].removesuffix(ending).rpartition(":")[2]
        for cluster in map(json.loads, done.stdout.splitlines())
        for principal in [next(member for member in cluster["members"] if member["is_principal"])]
        for member in cluster["members"]
        if not member["is_principal"]
    }
    assert all(frozenset((line, kept_for[line])) in pairs for line in gone)
    assert {kept_for[line] for line in gone} <= left | known
    again = command.copy()
    again[1] = str(tmp_path / "out")
    assert CliRunner().invoke(main, [*again, "--pairs"]).stdout == ""


@pytest.mark.process
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("names", [("x", "x"), ("", "")])
def test_other_columns_of_one_name_are_copied(tmp_path: Path, kind: str, names: tuple[str, str]) -> None:
    """
    A copy has all kept rows and columns, although several columns that are not compared have the same name.
    """
    columns: list[list[Any]] = [["a", "b", "c"], [PAGE, NEAR, OTHER], [1, 2, 3], [4, 5, 6]]
    table = pa.Table.from_arrays([pa.array(column) for column in columns], ["id", "text", *names])
    file, folders = tmp_path / f"rows.{kind}", [tmp_path / "filtered", tmp_path / "annotated"]
    write_table(table, file)
    options = ["--id-column", "", "--filtered", str(folders[0]), "--annotated", str(folders[1])]
    done = CliRunner().invoke(main, ["duplicates", str(file), *options])
    assert done.exit_code == 0
    assert [line for line in done.stderr.splitlines() if " in " in line] == [
        "1 cluster with 2 documents, of 3 documents in all",
        f"2 of 3 documents in {folders[0]}",
        f"3 of 3 documents in {folders[1]}",
    ]
    for folder, rows in zip(folders, ([0, 2], [0, 1, 2]), strict=True):
        copy = read_table(folder / file.name)
        assert copy.schema.names[:4] == ["id", "text", *names]
        assert [column.to_pylist() for column in copy.columns[:4]] == [
            [column[at] for at in rows] for column in columns
        ]


@pytest.mark.process
def test_an_unread_file_is_not_copied(tmp_path: Path) -> None:
    """
    A file that cannot be read is reported, and neither copied nor counted.
    """
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "read.txt").write_text(PAGE)
    (tmp_path / "data" / "unread.zip").write_bytes(b"PK\x03\x04 and no archive")
    done = CliRunner().invoke(main, ["duplicates", str(tmp_path / "data"), "--filtered", str(tmp_path / "filtered")])
    assert (done.exit_code, "1 of 1 document in" in done.stderr) == (1, True)
    assert [file.name for file in (tmp_path / "filtered").iterdir()] == ["read.txt"]


@pytest.mark.process
def test_a_column_that_cannot_be_copied_is_reported(tmp_path: Path) -> None:
    """
    Damage in a column that is not compared shortens the copy, so the command reports the file and fails.
    """
    file = tmp_path / "rows.parquet"
    table = pa.table({"text": [PAGE, NEAR, OTHER], "other": [f"damaged {at}" * 9 for at in range(3)]})
    pq.write_table(table, file, compression="NONE", use_dictionary=False, write_statistics=False)
    raw, at = bytearray(file.read_bytes()), file.read_bytes().index(b"damaged") - 4
    raw[at : at + 4] = b"\xff\xff\xff\x7f"
    file.write_bytes(raw)
    assert CliRunner().invoke(main, ["duplicates", str(file)]).exit_code == 0
    done = CliRunner().invoke(main, ["duplicates", str(file), "--filtered", str(tmp_path / "filtered")])
    assert (done.exit_code, "this Parquet cannot be read, or not completely" in done.stderr) == (1, True)


VIEWS = {
    "text": (pa.string_view(), [PAGE, NEAR, OTHER]),
    "bytes": (pa.binary_view(), [b"a", b"b", None]),
    "list": (pa.list_(pa.string_view()), [["a"], ["b"], None]),
    "record": (pa.struct([("a", pa.string_view()), ("b", pa.timestamp("us"))]), [{"a": "x", "b": None}, None, None]),
    "pairs": (pa.map_(pa.string(), pa.string_view()), [[("a", "x")], [], None]),
}


@pytest.mark.process
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_views_are_copied(tmp_path: Path, kind: str) -> None:
    """
    Copies have the rows and types of columns with views of strings, which polars writes and Arrow cannot filter.
    """
    table = pa.table({name: pa.array(values, type_) for name, (type_, values) in VIEWS.items()})
    file, folders = tmp_path / f"rows.{kind}", [tmp_path / "filtered", tmp_path / "annotated"]
    write_table(table, file)
    options = ["--filtered", str(folders[0]), "--annotated", str(folders[1])]
    done = CliRunner().invoke(main, ["duplicates", str(file), *options])
    assert done.exit_code == 0
    for folder, rows in zip(folders, ([0, 2], [0, 1, 2]), strict=True):
        copy = read_table(folder / file.name)
        assert copy.schema.types[: len(VIEWS)] == table.schema.types
        assert copy.select(list(VIEWS)).to_pylist() == [table.to_pylist()[at] for at in rows]


@pytest.mark.process
def test_a_file_that_cannot_be_copied_counts_no_rows(tmp_path: Path) -> None:
    """
    A file whose rows can be read but not copied, here with two members of one name, has no copy, and its rows no count.
    """
    record = pa.array(["a", "b", "c"], pa.string_view())
    table = pa.table({"text": [PAGE, NEAR, OTHER], "more": pa.StructArray.from_arrays([record] * 2, ["a", "a"])})
    with pa.ipc.new_file(tmp_path / "rows.arrow", table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "b.txt").write_text(OTHER)
    inputs = [str(tmp_path / name) for name in ("b.txt", "rows.arrow")]
    done = CliRunner().invoke(main, ["duplicates", *inputs, "--filtered", str(tmp_path / "out")])
    assert (done.exit_code, "rows.arrow: this cannot be copied" in done.stderr) == (1, True)
    assert f"1 of 1 document in {tmp_path / 'out'}" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.txt"]


@pytest.mark.process
def test_a_damaged_parquet_file_is_written_up_to_its_error(tmp_path: Path) -> None:
    """
    The rows before a damaged part are in the copy and in its count.
    """
    file = tmp_path / "rows.parquet"
    table = pa.table({"text": [f"{OTHER} {at}" for at in range(3000)], "other": ["x"] * 2000 + ["damaged"] * 1000})
    pq.write_table(table, file, compression="NONE", use_dictionary=False, write_statistics=False, row_group_size=1000)
    raw = file.read_bytes()
    at = raw.index(b"damaged") - 4
    file.write_bytes(raw[:at] + b"\xff\xff\xff\x7f" + raw[at + 4 :])
    reading = InputReader([str(file)])
    written, read = write_filtered(reading, RetentionDecisions(), tmp_path / "out")
    assert written == read == pq.ParquetFile(tmp_path / "out" / file.name).metadata.num_rows > 1000


class _DyingFormat(ParquetFormat):
    """Parquet whose reader dies after it has written most of the copy."""

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: RowColumns, decide: Decide, added: Added) -> None:
        copy = io.BytesIO()
        super().rewrite(opened, copy, columns, decide, added)
        out.write(copy.getvalue()[:-100])
        raise UnreadRowsError("this cannot be read, or not completely: its reader was killed")


def test_a_cut_off_copy_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If the reader dies while it writes, the folder has no part of that file, the problem is listed, and no row counts.
    """
    for name in ("a.parquet", "b.parquet"):
        write_table(pa.table({"text": [PAGE, NEAR, OTHER]}), tmp_path / name)
    reading = InputReader([str(tmp_path / name) for name in ("a.parquet", "b.parquet")])
    formats = [_DyingFormat(), ParquetFormat()]

    def format_of_input(found: FoundFile, *_: object) -> RowFormat:
        return formats["b" in found.file.name]

    monkeypatch.setattr(write_copies_of_files, "_format_of", format_of_input)
    assert write_filtered(reading, RetentionDecisions(), tmp_path / "out") == (3, 3)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.parquet"]
    [problem] = reading.problems
    assert "its reader was killed; the file is left out of the copy" in str(problem)


@pytest.mark.process
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_column_of_lists_of_texts(tmp_path: Path, kind: str) -> None:
    """
    The texts of a list are one text, and copies keep the list; a line cannot be taken out of it, even if the first row
    has none.
    """
    file = tmp_path / f"rows.{kind}"
    rows = [{"turns": turns, "n": n} for n, turns in enumerate([None, [PAGE, "end"], [OTHER], [PAGE, None, "end"], []])]
    if kind == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        write_table(pa.Table.from_pylist(rows), file)
    command = ["duplicates", str(file), "--text-column", "turns"]
    done = CliRunner().invoke(main, [*command, "--filtered", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    written = tmp_path / "out" / file.name
    left = (
        list(map(json.loads, written.read_text().splitlines())) if kind == "jsonl" else read_table(written).to_pylist()
    )
    assert left == [*rows[:3], rows[4]]
    done = CliRunner().invoke(main, [*command, "--level", "line", "--filtered", str(tmp_path / "lines")])
    assert (done.exit_code, "the text 'turns' is a list or in another column" in done.output) == (2, True)
    assert not (tmp_path / "lines").exists()
