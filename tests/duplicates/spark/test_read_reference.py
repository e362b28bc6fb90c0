"""Tests of the reference of a run on Spark: its columns, and the values of the column that divides documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.duplicates.spark.output_files import cluster_of_line, files_of, pair_of_line
from tests.duplicates.spark.spark_runtime import QUIET
from tests.duplicates.spark.test_contamination import (
    COLUMNS,
    ENGINES,
    FORMATS,
    invoke,
    make_sets,
    read_rows,
    write_rows,
)
from tests.sampling import sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET


@pytest.mark.parametrize("form", sample(FORMATS, 2))
def test_columns_of_a_reference_among_all_documents(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """
    With --reference-column, each column of the reference is a document that stays, as in process.
    """
    paths, exam, _, items = make_sets(tmp_path, form)
    # On Spark the first document is the one with the smallest id, so let ids have the order of the rows.
    write_rows(exam, [{"id": f"q{at:02}", **item} for at, item in enumerate(items)])
    options = [paths, "--reference", exam, "--metric", "containment", "--threshold", "60", *COLUMNS]
    for flags in (["--pairs"], ["--keep", "first"]):
        outputs = []
        for engine in ENGINES:
            out = tmp_path / f"{engine} {flags[0]}"
            invoke(*options, *flags, "--engine", engine, "--format", "json", "-o", out)
            lines = [line for file in files_of(out) for line in file.read_text("utf-8").splitlines()]
            outputs.append({(pair_of_line if flags == ["--pairs"] else cluster_of_line)(line) for line in lines})
        assert outputs[0] == outputs[1]
        assert len(outputs[0]) > 5
    done = invoke(
        *(paths, "--reference", exam, "--reference-column", "title", "--engine", "spark", "-o", tmp_path / "none"),
        status=2,
    )
    assert "there is no column 'title'" in done.stderr or "no text in the column 'title'" in done.stderr


def test_values_of_another_form_on_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    """
    A whole number is the same with a decimal point, as pandas writes it; other values than texts, numbers and dates are
    refused, because the driver and Spark write them differently.
    """
    item = "a question that has more than eight words in all of its versions"
    exam = write_rows(tmp_path / "exam.jsonl", [{"id": "q", "text": item, "part": 17, "is_new": True}])
    rows = [{"id": f"row {part}", "text": item, "part": part, "is_new": True} for part in (17.0, "17", 1.5, None)]
    options = [write_rows(tmp_path / "rows.jsonl", rows), "--reference", exam, "--reference-only", "--pairs"]
    for engine in ENGINES:
        invoke(*options, "--within-column", "part", "--engine", engine, "--format", "json", "-o", tmp_path / engine)
    found = [read_rows(tmp_path / engine) for engine in ENGINES]
    assert found[0] == found[1]
    assert [pair["b"] for pair in found[0]] == ["row 17", "row 17.0"]
    target = ["--engine", "spark", "-o", tmp_path / "none"]
    assert "and 'is_new' has another value" in invoke(*options, "--within-column", "is_new", *target, status=2).stderr
    table = write_rows(tmp_path / "rows.parquet", [{"id": "a", "text": item, "is_new": True}])
    assert "of the type boolean" in invoke(table, "--within-column", "is_new", *target, status=2).stderr
    text = tmp_path / "page.txt"
    text.write_text(item)
    done = invoke(text, "--within-column", "part", *target, status=2)
    assert "no document has a value in the column 'part'" in done.stderr
