"""Tests of `whorl duplicates --reference-only`: its report, its files, and its errors."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from whorl.cli.main import main

QUESTION = "How many minutes does a train need for a hundred miles at fifty miles an hour?"
ANSWER = "It needs two hours, which are a hundred and twenty minutes in all."
OTHER = "Name the three longest rivers of the continent in which the city of Lima lies."
REPEATED = "This row is in the training set twice, and in no item of the test set."


def run(*arguments: str | int | Path) -> Result:
    return CliRunner().invoke(main, ["duplicates", *map(str, arguments)])


def lines(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    rows: list[dict[str, object]] = [{"question": QUESTION, "answer": ANSWER}, {"question": OTHER, "answer": "Short."}]
    return lines(tmp_path / "tests.jsonl", rows)


@pytest.fixture
def training(tmp_path: Path) -> Path:
    both = f"Q. {QUESTION.upper()}\n\nA. {ANSWER}"
    return lines(
        tmp_path / "training.jsonl",
        [
            {"id": "both", "text": both, "n": 1},
            {"id": "part", "text": f"So: {ANSWER.replace(' ', chr(10))}", "n": 2},
            {"id": "one", "text": REPEATED, "n": 3},
            {"id": "two", "text": REPEATED, "n": 4},
            {"id": "no", "text": "too short", "n": 5},
        ],
    )


COLUMNS = ("--reference-column", "question", "--reference-column", "answer")


@pytest.mark.process
def test_report_of_items(tests: Path, training: Path) -> None:
    """
    The table has each item with its rows, the parts in them and the passage; rows that only repeat each other are not
    in it.
    """
    done = run(training, "--reference", tests, "--reference-only", *COLUMNS)
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        f"{tests}:1 is in 2 documents\n"
        '  both: 100.0% of question, 100.0% of answer, 100.0% of question+answer  "HOW MANY MINUTES DOES A TRAIN NEED '
        'FOR A HUNDRED MILES AT FIFTY MILES…"\n'
        '  part: 100.0% of answer  "It needs two hours, which are a hundred and twenty minutes in all"\n'
    )
    assert "1 of 2 items of the reference in 2 of 5 documents" in done.stderr
    assert "1 reference text of fewer than 8 words was not compared" in done.stderr
    assert "1 document of fewer than 8 words was not compared" in done.stderr


@pytest.mark.process
def test_pairs_name_items_rows_and_places(tests: Path, training: Path, tmp_path: Path) -> None:
    """
    Each pair has both ids, both character ranges, and the column of the item as the name of A.
    """
    output = tmp_path / "pairs.csv"
    done = run(training, "--reference", tests, "--reference-only", *COLUMNS, "--threshold", 90, "--pairs", "-o", output)
    assert done.exit_code == 0, done.output
    rows = {json.loads(line)["id"]: json.loads(line)["text"] for line in training.read_text().splitlines()}
    parts = {"question": QUESTION, "answer": ANSWER, "question+answer": f"{QUESTION}\n{ANSWER}"}
    pairs = list(csv.DictReader(output.read_text().splitlines()))
    assert sorted((pair["a_name"], pair["b"]) for pair in pairs) == [
        ("answer", "both"),
        ("answer", "part"),
        ("question", "both"),
        ("question+answer", "both"),
    ]
    for pair in pairs:
        assert pair["a"] == pair["a_document"] == f"{tests}:1#{pair['a_name']}"
        a = parts[pair["a_name"]][int(pair["a_start"]) : int(pair["a_end"])]
        b = rows[pair["b_document"]][int(pair["b_start"]) : int(pair["b_end"])]
        assert a.lower().split()[-1] == b.lower().split()[-1]
        assert float(pair["a_in_b"]) == 1


@pytest.mark.process
def test_rows_are_removed_and_marked(tests: Path, training: Path, tmp_path: Path) -> None:
    """
    Contaminated rows are removed, marked or listed; rows that only repeat each other stay.
    """
    done = run(
        training, "--reference", tests, "--reference-only", *COLUMNS, "--filtered", tmp_path / "clean", "--annotated",
        tmp_path / "marked", "--keep", "first", "--delete-list", tmp_path / "ids", "--format", "json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 3
    clean = [json.loads(line) for line in (tmp_path / "clean" / training.name).read_text().splitlines()]
    assert [(row["id"], row["n"]) for row in clean] == [("one", 3), ("two", 4), ("no", 5)]
    marked = [json.loads(line) for line in (tmp_path / "marked" / training.name).read_text().splitlines()]
    values = [(row["cluster"], row["is_principal"], row["similarity"]) for row in marked]
    assert values == [
        (f"{tests}:1#question", False, 1.0),
        (f"{tests}:1#answer", False, 1.0),
        *[(None, True, None)] * 3,
    ]
    assert (tmp_path / "ids").read_text().split() == ["both", "part"]


@pytest.mark.process
def test_parquet_and_a_reference_of_several_files(training: Path, tmp_path: Path) -> None:
    """
    Rows and items of Parquet files are read; each file of the reference may have some of the columns.
    """
    suites = tmp_path / "suites"
    suites.mkdir()
    pq.write_table(pa.table({"question": [QUESTION, OTHER]}), suites / "a.parquet")
    pq.write_table(pa.table({"prompt": [ANSWER], "n": [7]}), suites / "b.parquet")
    rows = [json.loads(line)["text"] for line in training.read_text().splitlines()]
    pq.write_table(pa.table({"text": rows}), tmp_path / "rows.parquet")
    done = run(
        tmp_path / "rows.parquet", "--reference", suites, "--reference-only", "--reference-column", "question",
        "--reference-column", "prompt", "--threshold", 50, "--pairs", "--format", "csv", "--workers", 2,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    pairs = list(csv.DictReader(done.stdout.splitlines()))
    rows_of = str(tmp_path / "rows.parquet")
    assert [(pair["a"], pair["b"]) for pair in pairs] == [
        (f"{suites}/a.parquet:1", f"{rows_of}:1"),
        (f"{suites}/b.parquet:1", f"{rows_of}:1"),
        (f"{suites}/b.parquet:1", f"{rows_of}:2"),
    ]
    assert "2 of 3 items of the reference in 2 of 5 documents" in done.stderr


def test_only_a_shortened_report_says_so(tmp_path: Path) -> None:
    """
    The table shows 20 items and says so; with --pairs or --all, everything is shown.
    """
    texts = [f"the {number}. rule of the house has a number and nothing else" for number in range(1000, 1021)]
    reference = lines(tmp_path / "reference.jsonl", [{"text": text} for text in texts])
    rows = lines(tmp_path / "rows.jsonl", [{"text": text} for text in texts])
    note, command = "the 20 in most documents are shown", (rows, "--reference", reference, "--reference-only")
    assert note in run(*command).stderr
    for flag in ("--pairs", "--all"):
        done = run(*command, flag)
        assert done.exit_code == 0, done.output
        assert all(f"reference.jsonl:{number + 1}" in done.stdout for number in range(len(texts))), done.stdout
        assert note not in done.stderr


def test_paragraphs_are_called_paragraphs(tests: Path, tmp_path: Path) -> None:
    """
    With --level paragraph, the report counts paragraphs, and each paragraph is compared by itself.
    """
    rows = lines(tmp_path / "rows.jsonl", [{"id": 1, "text": f"{OTHER}\n\n{QUESTION}"}, {"id": 2, "text": OTHER}])
    reference = ("--reference", tests, "--reference-only", "--reference-column", "question")
    done = run(rows, *reference, "--level", "paragraph")
    assert done.exit_code == 0, done.output
    assert f"{tests}:1#1 is in 1 paragraph\n  1#2: 100.0% of it" in done.stdout
    assert "2 of 2 items of the reference in 3 of 3 paragraphs" in done.stderr


@pytest.mark.process
def test_passages_of_the_reference_alone(tests: Path, training: Path) -> None:
    """
    A passage that only rows share is not reported.
    """
    options = ("--level", "passage", "--words", 10, "--pairs", "--format", "csv", "--reference", tests, *COLUMNS)
    everything, alone = run(training, *options), run(training, *options, "--reference-only")
    pairs = [
        sorted((pair["a_document"], pair["b_document"]) for pair in csv.DictReader(done.stdout.splitlines()))
        for done in (everything, alone)
    ]
    assert ("one", "two") in pairs[0]
    # The first occurrence of the passage is in a single column, since single columns come before both together.
    assert pairs[1] == [(f"{tests}:1#answer", "both"), (f"{tests}:1#answer", "part"), (f"{tests}:1#question", "both")]


def test_repeated_ids_do_not_tell_rows_apart(tests: Path, tmp_path: Path) -> None:
    """
    Rows with the same id cannot be filtered; in a report the last one counts, and a line says so.
    """
    rows = lines(tmp_path / "rows.jsonl", [{"id": "same", "text": ANSWER}, {"id": "same", "text": REPEATED}])
    arguments = (rows, "--reference", tests, "--reference-only", "--reference-column", "answer")
    report = run(*arguments)
    assert "0 of 2 items" in report.stderr
    assert "this id came before" in report.stderr
    done = run(*arguments, "--filtered", tmp_path / "out")
    assert done.exit_code != 0
    assert "the id 'same' comes more than once" in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.process
def test_a_reference_without_a_text(tests: Path, training: Path, tmp_path: Path) -> None:
    """
    If no row of the reference has a text, no file is written, because nothing would be removed from it.
    """
    clean = tmp_path / "clean"
    done = run(training, "--reference", tests, "--reference-only", "--filtered", clean)
    assert (done.exit_code, clean.exists()) == (2, False)
    assert "there is no column 'text'; name the one of the text (--reference-column), of 'question', 'answer'" in (
        done.stderr
    )


@pytest.mark.parametrize("more", [["--reference-only"], ["--keep", "first"], ["--level", "passage"]])
@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.jsonl", None, "there is no such file or folder"),
        ("*.none", None, "no file has a name of this pattern"),
        (".", None, "there is no file in this folder"),
        ("empty.jsonl", "", "--reference has no text: "),
        ("blank.txt", " \n", "--reference has no text: "),
        ("blank.jsonl", '{"text": " ", "q": ""}\n', "name another one (--reference-column COLUMN, of q, text)"),
        ("cut.json", '[{"text": "an item"}, {"te', "cut.json"),
    ],
)
def test_a_missing_or_empty_reference_ends_the_run_before_paths_are_read(
    tmp_path: Path, name: str, content: str | None, reason: str, more: list[str]
) -> None:
    """
    The error of the reference comes before the errors of PATHs, and no folder is written.
    """
    twice, sets = lines(tmp_path / "rows.jsonl", [{"id": 1, "text": ANSWER}] * 2), tmp_path / "sets"
    sets.mkdir()
    if content is not None:
        (sets / name).write_text(content)
    done = run(twice, "--reference", sets / name, *more, "--filtered", tmp_path / "clean")
    assert (done.exit_code, (tmp_path / "clean").exists()) == (2, False)
    assert reason in done.stderr.replace("\n", " ")
    assert "comes more than once" not in done.stderr


def test_a_blank_text_as_reference(tmp_path: Path) -> None:
    """
    The error names the file, and no columns, which a text does not have.
    """
    rows, blank = lines(tmp_path / "rows.jsonl", [{"text": ANSWER}]), tmp_path / "blank.txt"
    blank.write_text(" \n")
    done = run(rows, "--reference", blank)
    assert (done.exit_code, done.stderr) == (2, f"whorl: --reference has no text: {blank}\n")


def test_each_part_of_the_reference_must_be_there(training: Path, tests: Path, tmp_path: Path) -> None:
    """
    A missing part of the reference is an error, also if the other parts can be read.
    """
    done = run(training, "--reference", tests, "--reference", tmp_path / "missing.jsonl", *COLUMNS, "--reference-only")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"--reference {tmp_path / 'missing.jsonl'}: there is no such file or folder" in done.stderr


@pytest.mark.process
@pytest.mark.parametrize("columns", [(), ("--reference-column", "prompt")])
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_reference_without_the_column_names_its_option(
    training: Path, tmp_path: Path, suffix: str, columns: Sequence[str]
) -> None:
    """
    The error for a reference that lacks the column of its texts names the option for the reference.
    """
    suite = tmp_path / f"suite.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"question": [QUESTION]}), suite)
    else:
        lines(suite, [{"question": QUESTION}])
    done = run(training, "--reference", suite, "--reference-only", *columns)
    output = done.output.replace("\n", " ")
    assert "--reference-column" in output
    assert "--text-column" not in output
    assert "question" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reference-only"], "--reference-only is about a reference; name it with --reference"),
        (["--reference-column", "answer"], "--reference-column is about a reference"),
        (["--reference", "SET", "--reference-only", "--recall", "90"], "--recall is not for --reference-only"),
        (["--reference", "SET", "--reference-only", "--keep", "longest"], "--keep longest chooses among PATHs"),
        (["--reference", "SET", "--reference-column", "anwser"], "there is no column 'anwser'"),
        (
            ["--reference", "SET", "--reference-column", "answer", "--reference-column", "anwser"],
            "--reference has no text in the column 'anwser'; name another one (--reference-column COLUMN, of answer",
        ),
    ],
)
def test_options_not_for_references_are_refused(
    tests: Path, training: Path, arguments: list[str], message: str
) -> None:
    """
    Options that do not fit, and columns that the reference lacks, are refused.
    """
    done = run(training, *(str(tests) if argument == "SET" else argument for argument in arguments))
    assert done.exit_code != 0
    assert message in done.output.replace("\n", " ")
