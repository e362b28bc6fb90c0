"""Tests of the search for reference texts on Spark, against the search in process and plain sets of word n-grams."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from tests.duplicates.spark.output_files import cluster_of_line, files_of, pair_of_line
from tests.duplicates.spark.spark_runtime import QUIET
from tests.sampling import combine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET
WORDS = [f"{start}{vowel}{end}" for start in "bdk" for vowel in "aeiou" for end in ("", "n", "r")]
ENGINES, FORMATS = ("local", "spark"), ("jsonl", "parquet")
COLUMNS = ("--reference-column", "question", "--reference-column", "answer")


def write_rows(file: Path, rows: Sequence[dict[str, Any]]) -> Path:
    if file.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(list(rows)), file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of copies, in the order of their ids."""
    rows: list[dict[str, Any]] = []
    for file in files_of(folder):
        if file.suffix == ".parquet":
            from pyarrow import parquet

            rows += parquet.read_table(file).to_pylist()
        else:
            rows += map(json.loads, file.read_text("utf-8").splitlines())
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def make_sets(folder: Path, form: str) -> tuple[Path, Path, list[dict[str, Any]], list[dict[str, Any]]]:
    """Write training rows that hold questions and answers of a test set, whole, in part and re-wrapped."""
    chance = random.Random(f"exam {form}")
    items: list[dict[str, Any]] = [
        {"question": sentence(chance, 20), "answer": sentence(chance, 12 if at % 4 else 3), "n": at} for at in range(12)
    ]
    items.append({"question": items[3]["question"], "answer": "None of these.", "n": 12})
    rows: list[dict[str, Any]] = []
    for at in range(80):
        item, text = chance.choice(items), sentence(chance, 30)
        if at % 3 == 0:
            question = item["question"].split()
            text += "\n\n3. " + "\n".join(question[: 20 if at % 2 else 14]).upper() + "!\n" + text
        if at % 5 == 0:
            text += f"\n{item['answer']} {sentence(chance, 2)}"
        rows.append({"id": f"row-{at:02}", "text": text, "lang": "en", "more": {"n": at}})
    rows.append({"id": "row-80", "text": " ".join(items[5]["question"].split()[:10]), "lang": "de", "more": {"n": 80}})
    rows += [{"id": "row-81", "text": "too short", "lang": "de", "more": {"n": 81}}, {"id": "row-82", "text": None}]
    return write_rows(folder / f"rows.{form}", rows), write_rows(folder / f"exam.{form}", items), rows, items


def invoke(*arguments: object, status: int = 0) -> Result:
    from whorl.cli.main import main

    done = CliRunner().invoke(main, ["duplicates", *map(str, arguments)])
    assert done.exit_code == status, done.output
    return done


def both_outputs(folder: Path, form: str, *options: object) -> list[list[str]]:
    """Run both engines; return the sorted lines of the files that each one writes, JSON with sorted names."""
    outputs = []
    for engine in ENGINES:
        out = folder / f"{engine}.{form}"
        invoke(*options, "--engine", engine, "--format", form, "-o", out)
        if form == "csv":
            head, *_ = files_of(out)
            names = head.read_text("utf-8").splitlines()[0]
            rows = [row for file in files_of(out) for row in csv.DictReader(file.open(encoding="utf-8"))]
            outputs.append([names, *sorted(json.dumps(row) for row in rows)])
        else:
            outputs.append([json.dumps(row) for row in read_rows(out)])
    return outputs


def grams(text: str, size: int = 8) -> set[tuple[str, ...]]:
    words = text.replace("3. ", "").replace("!", "").replace(".", "").lower().split()
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


@pytest.mark.parametrize("form", FORMATS)
def test_reports_and_copies_equal_those_in_process(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """
    The report, the clusters and both kinds of copies equal those in process; the rows that stay share less than the
    threshold with each text, by plain sets of n-grams.
    """
    paths, exam, rows, items = make_sets(tmp_path, form)
    options = [paths, "--reference", exam, "--reference-only", "--threshold", "50", "--strict", *COLUMNS]
    done, written = {}, {}
    for engine in ENGINES:
        out, clean, marked = written[engine] = [tmp_path / f"{engine} {name}" for name in ("out", "clean", "marked")]
        target = ["--engine", engine, "--format", "json", "--filtered", clean, "--annotated", marked, "-o", out]
        done[engine] = invoke(*options, *target)
    local, on_spark = (written[engine] for engine in ENGINES)
    clusters = [
        {cluster_of_line(line) for file in files_of(out) for line in file.read_text("utf-8").splitlines()}
        for out in (local[0], on_spark[0])
    ]
    assert clusters[0] == clusters[1]
    assert len(clusters[0]) > 10
    for own, other in zip(local[1:], on_spark[1:], strict=True):
        assert read_rows(own) == read_rows(other)
    report = invoke(*options)
    assert done["spark"].stdout == report.stdout
    said = report.stderr.splitlines()
    assert done["spark"].stderr.splitlines()[: len(said)] == said
    texts = [
        text for item in items for text in (item["question"], item["answer"], f"{item['question']} {item['answer']}")
    ]

    def is_found(row: dict[str, Any]) -> bool:
        own = grams(row["text"] or "")
        pairs = ((own, grams(text)) for text in texts)
        return any(a and b and 2 * len(a & b) >= min(len(a), len(b)) for a, b in pairs)

    kept = {row["id"] for row in rows if not is_found(row)}
    assert {row["id"] for row in read_rows(on_spark[1])} == kept
    annotated = read_rows(on_spark[2])
    assert {row["id"] for row in annotated if row["is_principal"]} == kept
    assert len(annotated) == len(rows)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("csv", ["--metric", "jaccard", "--threshold", "10", "--shingle", "4", *COLUMNS]),
        ("parquet", ["--threshold", "70", "--reference-column", "question"]),
        ("json", ["--threshold", "100", "--text-column", "text", "--reference-column", "answer"]),
    ],
)
def test_pairs_equal_those_in_process(spark: SparkSession, tmp_path: Path, form: str, options: list[str]) -> None:
    """
    Pairs have the same ids, shares, names and places of passages in each format of the output. CSV written by Spark has
    `true` and quoted empty texts, as in a search without a reference.
    """
    paths, exam, *_ = make_sets(tmp_path, "parquet" if form == "json" else "jsonl")
    local, on_spark = both_outputs(tmp_path, form, paths, "--reference", exam, "--reference-only", "--pairs", *options)
    assert len(local) > 10
    assert [line.replace('"True"', '"true"') for line in local] == on_spark


def test_rows_that_are_not_documents(spark: SparkSession, tmp_path: Path) -> None:
    """
    The largest document of an id counts, once if it is repeated; lines that are not documents are counted in PATHs and
    in the reference; a file of both sets is only in the reference.
    """
    item = "a question that has more than eight words in all of its versions"
    exam = write_rows(tmp_path / "exam.jsonl", [{"id": "q1", "text": item}, {"id": "q2", "text": "brief"}])
    with exam.open("a") as lines:
        lines.write("broken\n")
    rows = write_rows(
        tmp_path / "rows.jsonl",
        [
            *({"id": "a", "text": text} for text in (item, f"{item} and a longer text without another question")),
            *({"id": "b", "text": text} for text in (item, "a longer text that holds no question of the exam " * 3)),
            *({"id": "c", "text": item} for _ in range(3)),
            *({"id": "d", "text": "brief"}, {"text": f"no id: {item}"}),
        ],
    )
    options = [rows, exam, "--reference", exam, "--reference-only", "--engine", "spark"]
    done = invoke(*options, "--pairs", "-o", tmp_path / "out", status=1)
    pairs = read_rows(tmp_path / "out")
    assert [(pair["a"], pair["b"], pair["a_in_b"]) for pair in pairs] == [
        (f"{exam}:q1", "a", 1.0),
        (f"{exam}:q1", "c", 1.0),
    ]
    assert pairs[0]["b_in_a"] < 1
    said = done.stderr.splitlines()
    assert said[0] == "1 of 2 items of the reference in 2 of 4 documents"
    assert "note: 1 reference text of fewer than 8 words was not compared" in said
    assert "note: 1 document of fewer than 8 words was not compared" in said
    assert "3 ids came more than once; of each the largest document counts" in said
    assert "2 could not be read, among them:" in said
    assert any(line.startswith(f"  {exam}, line 3: ") for line in said)
    done = invoke(exam, "--reference", exam, "--reference-only", "--engine", "spark", "-o", tmp_path / "no", status=2)
    assert "all files of PATHs are in --reference too" in done.stderr
    assert not (tmp_path / "no").exists()


def test_only_the_most_frequent_items_are_shown(spark: SparkSession, tmp_path: Path) -> None:
    """
    The report has the 20 items that are in most documents, each with the ten documents that hold most of it.
    """
    items = [" ".join(f"item{at} word{number}" for number in range(8)) for at in range(22)]
    exam = write_rows(tmp_path / "exam.jsonl", [{"text": text} for text in items])
    rows = [
        {"id": f"{at:02}-{number:02}", "text": f"{text if number else text[:-5]} end"}
        for at, text in enumerate(items)
        for number in range(12 if at == 7 else 1 + at % 3)
    ]
    options = [write_rows(tmp_path / "rows.jsonl", rows), "--reference", exam, "--reference-only", "--threshold", 50]
    expected = invoke(*options).stdout
    assert expected.count(" is in ") == 20
    assert "… and 2 more" in expected
    assert invoke(*options, "--engine", "spark", "-o", tmp_path / "out").stdout == expected


@pytest.mark.parametrize(("form", "column"), combine(FORMATS, ["lang", "more.n"]))
def test_only_equal_values_are_compared(spark: SparkSession, tmp_path: Path, form: str, column: str) -> None:
    """
    With --within-column, pairs have equal values in it, or none, as in process: with --reference-only, and among all
    documents.
    """
    item = "a question that has more than eight words in all of its versions"
    values: list[dict[str, Any]] = [
        {"lang": lang, "more": {} if number is None else {"n": number}}
        for lang, number in (("en", 17), ("de", 2**60 + 1), (None, None))
    ]
    exam = write_rows(
        tmp_path / f"exam.{form}", [{"id": f"q{at}", "text": item, **own} for at, own in enumerate(values)]
    )
    rows = [{"id": f"{at}-{copy}", "text": item, **own} for at, own in enumerate(values) for copy in range(2)]
    rows.append({"id": "other", "text": item, "lang": "fr", "more": {"n": 2**60}})
    options = [write_rows(tmp_path / f"rows.{form}", rows), "--within-column", column, "--pairs"]
    for more in (["--reference", exam, "--reference-only"], ["--reference", exam], []):
        outputs = []
        for engine in ENGINES:
            out = tmp_path / f"{engine} {len(more)}"
            invoke(*options, *more, "--engine", engine, "--format", "json", "-o", out)
            outputs.append({pair_of_line(line) for file in files_of(out) for line in file.open(encoding="utf-8")})
        assert outputs[0] == outputs[1]
        assert len(outputs[0]) == {3: 6, 2: 9, 0: 3}[len(more)]
    target = ["--engine", "spark", "-o", tmp_path / "none"]
    done = invoke(*options[:1], "--within-column", "tongue", *target, status=2)
    assert re.search("no column tongue|no document has a value in the column 'tongue'", done.stderr)


def test_ids_to_delete(spark: SparkSession, tmp_path: Path) -> None:
    """
    The list has the ids that it has in process, one on each line, without ids that a reader might split.
    """
    paths, exam, rows, _ = make_sets(tmp_path, "jsonl")
    write_rows(paths, [*rows, {"id": "line\u2028break", "text": rows[0]["text"]}])
    options = [paths, "--reference", exam, "--reference-only", "--keep", "first", *COLUMNS]
    invoke(*options, "--delete-list", tmp_path / "local", "-o", tmp_path / "pairs.jsonl")
    done = invoke(*options, "--delete-list", tmp_path / "spark", "--engine", "spark", "-o", tmp_path / "out")
    lists = [
        sorted(line for file in files_of(tmp_path / engine) for line in file.read_text("utf-8").splitlines())
        for engine in ENGINES
    ]
    assert lists[0] == lists[1]
    assert f"{len(lists[0])} ids listed, 1 left out for their line breaks" in done.stderr
    assert len(lists[0]) > 10
