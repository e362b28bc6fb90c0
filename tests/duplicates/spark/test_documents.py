"""Documents read by Spark, and their sketches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.duplicates.spark.spark_runtime import QUIET
from whorl.duplicates.archive import sketch_key
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.scheme import Scheme

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET


def test_every_kind_of_file_gives_the_same_documents(spark: SparkSession, tmp_path: Path) -> None:
    """
    Parquet, JSON lines and text files of the same documents give the same sketches, and so does the local reader.
    """
    from whorl.duplicates.gathering import FILES_SCHEME
    from whorl.duplicates.spark.documents import Columns, gathered, read
    from whorl.fingerprint.batch import hashed

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
    lines = [json.dumps({"id": each, "text": text, "name": name, "more": [1]}) for each, text, name in rows]
    (tmp_path / "some.jsonl").write_text("\n\n".join(lines), encoding="utf-8")

    def told(path: Path, columns: Columns = Columns()) -> set[Any]:  # noqa: B008 - frozen
        from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME

        given = gathered(read(spark, [str(path)], None, columns), DEFAULT_SCHEME, FILES_SCHEME)
        assert given.unfit.isEmpty()
        return {tuple(row) for row in given.members.collect()}

    expected = {
        (document_id, name, sketch.size, sketch_key(sketch))
        for (document_id, _, name), each in zip(rows, hashed([text for _, text, _ in rows]), strict=True)
        for sketch in [each.sketch(FILES_SCHEME)]
    }
    assert told(tmp_path / "files") == expected
    assert told(tmp_path / "some.jsonl") == expected
    assert told(tmp_path / "some.parquet", Columns("key", "body", "title")) == expected


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
def test_names_tell_what_is_read(path: str, kind: str) -> None:
    """
    By the last ending, or the one before that of a packed file; what tells nothing is text.
    """
    pytest.importorskip("pyspark")
    from whorl.duplicates.spark.documents import _kind_of

    assert _kind_of(path) == kind


def test_rows_become_sketches_or_problems() -> None:
    """
    Each row of each batch comes out once, in the columns that Spark is told of: its sketch, or what is wrong with it.
    """
    pytest.importorskip("pyspark")
    pa = pytest.importorskip("pyarrow")
    from whorl.duplicates.gathering import FILES_SCHEME
    from whorl.duplicates.spark.documents import _sketched
    from whorl.duplicates.spark.frames import packed

    text = "one two three four five six"
    rows = [
        {"id": "a", "name": "A", "text": text, "content": None},
        {"id": None, "name": None, "text": text, "content": None},
        {"id": "wide.txt", "name": None, "text": None, "content": text.encode("utf-16")},
        {"id": "no text", "name": None, "text": None, "content": None},
        {"id": "bad\tid", "name": None, "text": text, "content": None},
        {"id": "short", "name": "", "text": "too short", "content": None},
    ]
    kinds = [("id", pa.string()), ("name", pa.string()), ("text", pa.string()), ("content", pa.binary())]
    batches = [pa.RecordBatch.from_pylist(some, pa.schema(kinds)) for some in (rows[:3], [], rows[3:])]
    told = [row for batch in _sketched(iter(batches), Scheme(), FILES_SCHEME) for row in batch.to_pylist()]
    sketch, short = text_sketch(text, Scheme(), FILES_SCHEME), text_sketch("", Scheme(), FILES_SCHEME)
    kept = {"size": 2, "key": sketch_key(sketch), "hashes": packed(sketch.hashes, FILES_SCHEME), "problem": None}
    by_id = {row.pop("id"): row for row in told}
    assert len(told) == len(by_id) == 6
    assert by_id["a"] == {"name": "A", **kept}
    assert by_id["wide.txt"] == {"name": "", **kept}
    assert by_id["short"] == {"name": "", "size": 0, "key": sketch_key(short), "hashes": b"", "problem": None}
    for document_id, told_problem in ((None, "has an id and a text"), ("no text", "has both"), ("bad\tid", "control")):
        assert told_problem in str(by_id[document_id]["problem"])
        assert by_id[document_id]["key"] is None
