"""Tests of the readers of documents on Spark."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.duplicates.spark.made_blocks import SKETCHING, members_in
from tests.duplicates.spark.spark_runtime import QUIET
from whorl.model import Document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pa = pytest.importorskip("pyarrow")
pytestmark = QUIET


def test_all_formats_give_the_same_documents(spark: SparkSession, tmp_path: Path) -> None:
    """
    Parquet, JSON lines and text files of the same documents give the same sketches, and so does the local reader.
    """
    from whorl.duplicates.spark.read_files import ColumnNames, parts_of, read
    from whorl.duplicates.spark.sketch_documents import load_documents

    texts = {
        "plain.txt": "The quick brown fox jumps over the lazy dog, again and again.",
        "umlaut.txt": "Größe, Öl und Übermut: fünf Wörter und noch ein paar \U0001f600 mehr.",
        "folder/short.txt": "too short",
        "folder/page.html": "<p>one two three <b>four</b> five six</p><script>no</script>",
    }
    for name, text in texts.items():
        file = tmp_path / "files" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    wide = "fünf Wörter und mehr in einer anderen Kodierung"
    (tmp_path / "files" / "wide.txt").write_text(wide, encoding="utf-16")
    read_as = {**texts, "folder/page.html": "one two three four five six", "wide.txt": wide}
    root = (tmp_path / "files").as_posix()
    rows = [(f"{root}/{name}", text, name.split("/")[-1]) for name, text in read_as.items()]
    spark.createDataFrame(rows, "key string, body string, title string").write.parquet(str(tmp_path / "some.parquet"))
    lines = [
        json.dumps({"id": document_id, "text": text, "name": name, "more": [1]}) for document_id, text, name in rows
    ]
    (tmp_path / "some.jsonl").write_text("\n\n".join(lines), encoding="utf-8")

    def rows_read(path: Path, columns: ColumnNames = ColumnNames()) -> set[Any]:  # noqa: B008 - frozen
        frame = read(spark, [str(path)], None, columns)
        given = load_documents(frame, SKETCHING, parts_of(frame))
        assert given.problems.examples(1) == []
        return members_in(pa.Table.from_batches(given.blocks.toArrow().to_batches()))

    documents = [Document(document_id, text, name) for document_id, text, name in rows]
    ((_, made),) = SKETCHING.sketch([documents])
    expected = set(zip(made.ids, made.names, made.sizes.tolist(), made.keys.tolist(), strict=True))
    assert rows_read(tmp_path / "files") == expected
    assert rows_read(tmp_path / "some.jsonl") == expected
    assert rows_read(tmp_path / "some.parquet", ColumnNames("key", "body", "title")) == expected


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("s3://bucket/some.parquet", "parquet"),
        ("hdfs:///lines.JSONL", "json"),
        ("lines.ndjson.gz", "json"),
        ("folder.json/", "json"),
        ("page.html", "text"),
        ("folder", "text"),
        ("notes.gz", "text"),
        ("json", "text"),
    ],
)
def test_format_by_suffix(path: str, kind: str) -> None:
    """
    The last suffix decides, or the one before a compression suffix; an unknown suffix means text.
    """
    pytest.importorskip("pyspark")
    from whorl.duplicates.spark.read_files import _format_of

    assert _format_of(path) == kind


def test_rows_of_parquet_without_some_documents(spark: SparkSession, tmp_path: Path) -> None:
    """
    All columns stay, and so do rows that are not documents; the retention column is read as a number or as text.
    """
    from whorl.duplicates.spark.read_files import ColumnNames, copy_rows, read

    schema = "id long, text string, quality int, made date, seen timestamp, more array<int>"
    when = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    rows = [(number, "text", number % 3, date(2020, 1, number + 1), when, [number]) for number in range(5)]
    path = str(tmp_path / "some.parquet")
    spark.createDataFrame([*rows, (None, "no id", None, None, None, None)], schema).write.parquet(path)
    gone = spark.createDataFrame(
        [("1", False), ("2", True), ("3", False), ("7", False)], "id string, is_principal boolean"
    )
    remaining, form = copy_rows(spark, [path], None, ColumnNames(), gone)
    assert form == "parquet"
    assert remaining.columns == ["id", "text", "quality", "made", "seen", "more"]
    assert {row.id for row in remaining.collect()} == {0, 2, 4, None}
    expected: dict[str, object] = {"quality": 2.0, "made": "2020-01-03", "seen": when.timestamp()}
    for name, value in expected.items():
        own = {row.id: row[name] for row in read(spark, [path], None, ColumnNames(rank=name)).collect()}
        assert own["2"] == value
