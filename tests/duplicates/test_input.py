"""Tests of reading the files to compare: progress, dates, reference."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from whorl.cli.main import main
from whorl.duplicates.input import InputReader
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.retention import Keep
from whorl.errors import ParameterError
from whorl.ingest.rows.row_format import RowColumns
from whorl.model import Document


def written(path: Path, *rows: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_progress_reaches_all_bytes(tmp_path: Path) -> None:
    """
    Progress counts the bytes of all named files, up to their total.
    """
    rows: list[dict[str, object]] = [{"text": f"text {at}"} for at in range(5000)]
    paths = [written(tmp_path / name, *rows) for name in ("a.jsonl", "b.jsonl")]
    size = sum(os.path.getsize(path) for path in paths)
    reading = InputReader(paths)
    shares = [reading.byte_progress for _ in reading.documents()]
    assert shares[0] == (0, size)
    assert shares == sorted(shares)
    assert 0 < shares[2500][0] < size / 2 < shares[7500][0] < size
    assert reading.byte_progress == (size, size)
    assert reading.count == 10_000


def test_reference_ids_have_the_file_as_prefix(tmp_path: Path) -> None:
    """
    The ids of reference rows start with their file's name, once; a file in both inputs is reference, and a file named
    twice is read once.
    """
    reference = written(tmp_path / "r.jsonl", {"id": "1", "text": "a"}, {"text": "b"})
    looked_at = written(tmp_path / "p.jsonl", {"id": "1", "text": "c"})
    reading = InputReader([str(tmp_path), looked_at], reference=[reference])
    assert [document.id for document in reading.reference()] == [f"{reference}:1", f"{reference}:2"]
    assert [document.id for document in reading.documents()] == ["1"]


@pytest.mark.parametrize(
    ("named", "ids"),
    [
        (["c.txt", "."], ["c.txt", "a.txt"]),
        ([".", "c.txt"], ["a.txt", "b.txt"]),
        (["b.txt", "a.txt", "c.txt"], ["b.txt", "a.txt"]),
        (["./c.txt", "b.txt", "a.txt"], ["c.txt", "a.txt"]),
    ],
)
def test_a_file_with_several_names_has_the_first_as_id(
    named: list[str], ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A file that is named twice, also by the link b.txt to c.txt, is read once, in the place of its first name.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "c.txt"):
        Path(name).write_text(name)
    Path("b.txt").symlink_to("c.txt")
    assert [document.id for document in InputReader(named).documents()] == ids


def test_only_needed_columns_become_properties(tmp_path: Path) -> None:
    """
    Documents have only the needed columns as properties.
    """
    path = written(tmp_path / "a.jsonl", {"text": "t", "meta": {"a": [{}]}, "q": 1, "lang": "de"})
    (document,) = InputReader([path], DuplicatesOptions(keep=Keep("largest", "q"), within="lang")).documents()
    assert document.properties == {"q": (1,), "lang": ("de",)}


@pytest.mark.process
@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "json", "csv", "parquet"])
def test_rows_without_the_text_column_are_no_documents(tmp_path: Path, kind: str) -> None:
    """
    A file without the text column is one problem, and its rows are skipped: as documents, they would replace others
    with the same ids. A file whose first row lacks the column has documents.
    """
    whole = written(tmp_path / "a.jsonl", {"id": "0", "text": "t"}, {"id": "1", "text": "t"})
    mixed = written(tmp_path / "m.jsonl", {"id": "m"}, {"id": "n", "text": "t"})
    rows = [{"id": str(number), "body": "b"} for number in range(3)]
    lacking = tmp_path / f"b.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), lacking, row_group_size=1)
    else:
        lines = [json.dumps(row) for row in rows]
        content = {"json": f"[{','.join(lines)}]", "csv": "id,body\n0,b\n1,b\n2,b\n"}.get(
            kind, "\n".join(lines)
        ).encode()
        lacking.write_bytes(gzip.compress(content) if kind == "jsonl.gz" else content)
    for is_divided in (False, True):
        reading = InputReader([whole, str(lacking), mixed])
        documents = reading.documents()
        if is_divided:
            read = list[Document]()
            for part in documents.parts():
                read += part
                documents.note(part)
        else:
            read = list(documents)
        assert [(document.id, document.text) for document in read] == [
            *(("0", "t"), ("1", "t"), ("m", ""), ("n", "t")),
        ]
        assert reading.count == 4
        (problem,) = reading.problems
        assert "there is no column 'text'; name the one of the text (--text-column), of 'id', 'body'" in str(problem)


def test_a_missing_within_column_is_an_error(tmp_path: Path) -> None:
    """
    A column to compare within that no file has is an error; a column without any values is not.
    """
    first = written(tmp_path / "a.jsonl", {"text": "t", "lang": None})
    second = written(tmp_path / "b.jsonl", {"text": "t", "topic": None})
    for within in ("lang", "topic"):
        assert len(list(InputReader([first, second], DuplicatesOptions(within=within)).documents())) == 2
    with pytest.raises(ParameterError, match=r"no document has a column 'language'.*--within-column COLUMN, of lang\)"):
        list(InputReader([first, second], DuplicatesOptions(within="language")).documents())
    parts = InputReader([first, second], DuplicatesOptions(within="language")).documents()
    for part in parts.parts():
        assert len(list(part)) == 1
        parts.note(part)
    with pytest.raises(ParameterError, match="'language'"):
        parts.finish()


def test_a_missing_retention_column_is_an_error(tmp_path: Path) -> None:
    """
    A missing column of the retention policy raises an error with the columns of the first file that has some.
    """
    (tmp_path / "0.txt").write_text("text")
    path = written(tmp_path / "a.jsonl", {"body": "t", "id": 1, "quality": 1, "made": "2020"})
    reading = InputReader(
        [str(tmp_path)], DuplicatesOptions(keep=Keep("largest", "made_up")), columns=RowColumns(text="body")
    )
    with pytest.raises(
        ParameterError, match=r"no document has a number .* \(--keep largest:COLUMN, of made, quality\)"
    ):
        list(reading.documents())
    (document,) = InputReader([path], columns=RowColumns(text="body")).documents()
    newest, stored = (
        InputReader([path], options).dates
        for options in (DuplicatesOptions(keep=Keep("newest")), DuplicatesOptions(state=tmp_path))
    )
    assert newest is not None
    assert stored is not None
    with pytest.raises(ParameterError, match=r"no date of its own.*--keep newest:COLUMN"):
        newest(document)
    assert stored(document) is None
    assert InputReader([path]).dates is None


def test_texts_are_read_again(tmp_path: Path) -> None:
    """
    The texts of files with one document each can be read again; the texts of rows cannot.
    """
    (tmp_path / "a.txt").write_text("the text")
    (tmp_path / "b.jsonl").write_text('{"id": "row", "text": "another"}\n')
    reading = InputReader([str(tmp_path)])
    file = (tmp_path / "a.txt").as_posix()
    assert reading.texts([file, "row", "nowhere"]) == {file: "the text"}


FOOTER = "this footer stands in every one of them"
TEXTS = {
    "a": f"one text of some words about apples\n\n{FOOTER}\n",
    "b": f"another text that is about pears\r\n\r\n{FOOTER}",
    "c": f"{FOOTER}\n \n",
    "d": f"words\n\n\n{FOOTER}\n\nmore words that stand behind it",
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["duplicates", *map(str, arguments)])


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv", "txt"])
@pytest.mark.process
def test_repeated_paragraphs_are_removed(tmp_path: Path, kind: str) -> None:
    """
    In every format, only the first of equal paragraphs stays; columns keep their order, and empty texts are left out.
    """
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    rows = [{"id": key, "text": text, "n": str(at)} for at, (key, text) in enumerate(TEXTS.items())]
    if kind == "jsonl":
        (folder / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "parquet":
        schema = pa.schema([("id", pa.string()), ("text", pa.large_string()), ("n", pa.string())])
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "all.parquet")
    elif kind == "csv":
        with (folder / "all.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["id", "text", "n"])
            writer.writeheader()
            writer.writerows(rows)
    else:
        for key, text in TEXTS.items():
            (folder / key).write_bytes(text.encode())
    done = run(folder, "--level", "paragraph", "--filtered", out, "--format", "json")
    assert done.exit_code == 0, done.output
    (cluster,) = map(json.loads, done.stdout.splitlines())
    first = (folder / "a").as_posix() if kind == "txt" else "a"
    assert (cluster["cluster"], cluster["documents"]) == (f"{first}#2", 4)
    assert "1 cluster with 4 paragraphs, of 8 paragraphs in all" in done.stderr
    assert "1 paragraph of fewer than 5 words was not compared" in done.stderr
    wanted = {
        "a": TEXTS["a"],
        "b": "another text that is about pears\r\n\r\n",
        "d": "words\n\n\nmore words that stand behind it",
    }
    if kind == "txt":
        actual = {path.name: path.read_bytes().decode() for path in out.iterdir()}
    else:
        written = out / f"all.{kind}"
        if kind == "jsonl":
            result = [json.loads(line) for line in written.read_text().splitlines()]
        elif kind == "parquet":
            assert pq.read_schema(written) == schema
            result = pq.read_table(written).to_pylist()
        else:
            with written.open(newline="") as file:
                result = list(csv.DictReader(file))
        assert [list(row) for row in result] == [["id", "text", "n"]] * 3
        actual = {row["id"]: row["text"] for row in result}
        assert {row["id"]: row["n"] for row in result} == {"a": "0", "b": "1", "d": "3"}
    assert actual == wanted


def test_lines_work_without_incompatible_options(tmp_path: Path) -> None:
    """
    Repeated lines are reported by number; options for whole documents, and texts extracted from other formats, are
    refused.
    """
    (tmp_path / "a.txt").write_text(f"{FOOTER}\n\n{FOOTER}\nand a line that is another one")
    actual = run(tmp_path / "a.txt", "--level", "line", "--pairs", "--format", "csv")
    a = (tmp_path / "a.txt").as_posix()
    assert actual.stdout.splitlines()[1].startswith(f"{a}#1,{a}#3,1.0")
    for more in (("--annotated", str(tmp_path / "out")), ("--versions",)):
        assert "is for documents; leave it out, or --level line" in run(a, "--level", "line", *more).output
    assert "--level line is for PATHs" in run("--level", "line").output
    (tmp_path / "b.html").write_text(f"<p>{FOOTER}</p>")
    refused = run(tmp_path / "b.html", "--level", "line", "--filtered", tmp_path / "out")
    assert "b.html has no text that a line could be taken out of" in refused.output


def test_a_state_refuses_another_granularity(tmp_path: Path) -> None:
    """
    A state of documents cannot be used for lines.
    """
    (tmp_path / "a.txt").write_text(FOOTER)
    assert run(tmp_path / "a.txt", "--state", tmp_path / "state").exit_code == 0
    assert (
        "by lines; name another folder"
        in run(tmp_path / "a.txt", "--state", tmp_path / "state", "--level", "line").output
    )


def test_a_long_repeated_id_is_shortened(tmp_path: Path) -> None:
    """
    Messages show the beginning and the end of a long id, as of a column of texts.
    """
    row: dict[str, object] = {"id": f"begin {'x' * 900} end", "text": "a"}
    reading = InputReader([written(tmp_path / "rows.jsonl", row)])
    reading.note_repeated(str(row["id"]))
    assert [(problem.where[:6], problem.where[-5:], len(problem.where)) for problem in reading.problems] == [
        ("'begin", " end'", 80)
    ]
    rewriting = InputReader([written(tmp_path / "rows.jsonl", row)], is_rewritten=True)
    with pytest.raises(ParameterError, match=r"the id 'begin x+…x+ end' comes more than once"):
        rewriting.note_repeated(str(row["id"]))
