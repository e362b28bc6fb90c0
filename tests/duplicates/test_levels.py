"""Tests of the granularity: texts in paragraphs and lines, compared, and written without repeated pieces."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from whorl.cli.main import main
from whorl.duplicates.levels import Level, pieces, pieces_of, without
from whorl.errors import DocumentError
from whorl.model import Document

FOOTER = "this footer stands in every one of them"
TEXTS = {
    "a": f"one text of some words about apples\n\n{FOOTER}\n",
    "b": f"another text that is about pears\r\n\r\n{FOOTER}",
    "c": f"{FOOTER}\n \n",
    "d": f"words\n\n\n{FOOTER}\n\nmore words that stand behind it",
}
parts = st.lists(st.sampled_from(["a b", "x", " ", "\n", "\r\n", "\n\n", "\t", "é\u2028"]), max_size=12).map("".join)


@given(parts, st.sampled_from(Level), st.sets(st.integers(1, 6)))
def test_pieces_make_up_their_text(text: str, level: Level, numbers: set[int]) -> None:
    """
    Pieces and their separators make up the text, and the removed pieces are those compared under their numbers.
    """
    cut = pieces(text, level)
    assert "".join(text[begin:after] for begin, _, after in cut) == text
    made = {each.id: each.text for each in pieces_of(Document("d", text), level)} if level != "document" else {}
    assert all(made[f"d#{at}"] == text[begin:end] for at, (begin, end, _) in enumerate(cut, 1) if f"d#{at}" in made)
    if level != "document":
        left = without(text, "d", {f"d#{number}" for number in numbers}, level)
        kept = "".join(text[begin:after] for at, (begin, _, after) in enumerate(cut, 1) if at not in numbers)
        assert left == (text if kept == text else kept if kept.strip() else None)


def test_pieces_have_names_and_properties() -> None:
    """
    Pieces have the name and the properties of their document; an id too long for the ids of its pieces is an error.
    """
    document = Document("d", "one\n\ntwo\nthree", "the name", {"k": [1, 2]})
    assert pieces_of(document, Level.PARAGRAPH) == [
        Document("d#1", "one", "the name", {"k": [1, 2]}), Document("d#2", "two\nthree", "the name", {"k": [1, 2]})
    ]  # fmt: skip
    with pytest.raises(DocumentError, match="too long"):
        pieces_of(Document("d" * 999, "one"), Level.LINE)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["duplicates", *map(str, arguments)])


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv", "txt"])
def test_paragraphs_that_come_again_are_taken_out(tmp_path: Path, kind: str) -> None:
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
        found = {each.name: each.read_bytes().decode() for each in out.iterdir()}
    else:
        written = out / f"all.{kind}"
        if kind == "jsonl":
            told = [json.loads(line) for line in written.read_text().splitlines()]
        elif kind == "parquet":
            assert pq.read_schema(written) == schema
            told = pq.read_table(written).to_pylist()
        else:
            with written.open(newline="") as file:
                told = list(csv.DictReader(file))
        assert [list(row) for row in told] == [["id", "text", "n"]] * 3
        found = {row["id"]: row["text"] for row in told}
        assert {row["id"]: row["n"] for row in told} == {"a": "0", "b": "1", "d": "3"}
    assert found == wanted


def test_lines_and_what_does_not_go_with_them(tmp_path: Path) -> None:
    """
    Repeated lines are reported by number; options for whole documents, and texts extracted from other formats, are
    refused.
    """
    (tmp_path / "a.txt").write_text(f"{FOOTER}\n\n{FOOTER}\nand a line that is another one")
    told = run(tmp_path / "a.txt", "--level", "line", "--pairs", "--format", "csv")
    a = (tmp_path / "a.txt").as_posix()
    assert told.stdout.splitlines()[1].startswith(f"{a}#1,{a}#3,1.0")
    for more in (("--annotated", str(tmp_path / "out")), ("--versions",)):
        assert "is for documents; leave it out, or --level line" in run(a, "--level", "line", *more).output
    assert "--level is for PATHs" in run("--level", "line").output
    (tmp_path / "b.html").write_text(f"<p>{FOOTER}</p>")
    refused = run(tmp_path, "--level", "line", "--filtered", tmp_path / "out")
    assert "b.html has no text that a line could be taken out of" in refused.output


def test_a_state_keeps_to_its_level(tmp_path: Path) -> None:
    """
    A state of documents cannot be used for lines.
    """
    (tmp_path / "a.txt").write_text(FOOTER)
    assert run(tmp_path / "a.txt", "--state", tmp_path / "state").exit_code == 0
    assert (
        "by lines; name another folder"
        in run(tmp_path / "a.txt", "--state", tmp_path / "state", "--level", "line").output
    )
