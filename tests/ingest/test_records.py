"""Files of many documents, by what is in them; and those that are refused by name."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ingest.test_files import read
from whorl import Document
from whorl.ingest.files import Problem, documents_in

DOCUMENTS = [Document("a", "one two", properties={"year": 2020}), Document("b", "three")]
LINES = b'{"id": "a", "text": "one two", "year": 2020}\n{"id": "b", "text": "three"}\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson.packed", "train.json", "part-0001"])
def test_json_lines_by_their_content(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    """
    Plain or compressed, whatever their name.
    """
    (tmp_path / name).write_bytes(pack(LINES))
    assert read(tmp_path) == (DOCUMENTS, [])


def test_an_array_of_documents(tmp_path: Path) -> None:
    """
    Each object is a document; what is none is told with its number.
    """
    (tmp_path / "a.json").write_bytes(
        b'\xef\xbb\xbf [{"id": "a", "text": "one two", "year": 2020}, 3, {"id": "b", "text": "three"}]'
    )
    documents, problems = read(tmp_path)
    assert documents == DOCUMENTS
    told = 'a line is an object with at least "id" and "text"'
    assert problems == [Problem(f"{tmp_path / 'a.json'}, document 2", told)]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", b"id,text\na,one two\n", "a table (CSV)"),
        ("a.TSV", b"id\ttext\na\tone two\n", "a table (TSV)"),
        ("a.json", b'["one text", "another"]', '"id" and "text"'),
        ("a.json", b"[]", '"id" and "text"'),
        ("a.json", b'[{"id": "a", "text"', "not JSON"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.bin", b"PAR1\x15\x04\x15\x10", "Parquet"),
        ("a.parquet", b"PAR1\x15\x04\x15\x10", "JSON lines"),
        ("a.arrow", b"ARROW1\0\0\xff\xff", "Arrow"),
        ("a.jsonl.zst", b"\x28\xb5\x2f\xfd\x24\x00", "zstd -d"),
        ("a.warc", b"WARC/1.0\r\nWARC-Type: warcinfo", "WARC"),
        ("a.txt.gz", gzip.compress(b"some plain text"), "unpack it first"),
        ("a.jsonl", LINES.decode().encode("utf-16"), "UTF-8"),
    ],
)
def test_what_is_refused_by_name(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    """
    Nothing of it is taken for one document; how many are lost nobody knows.
    """
    (tmp_path / name).write_bytes(content)
    problems: list[Problem] = []
    assert list(documents_in(tmp_path / name, problems.append, tables_are_text=False)) == []
    assert [(told in each.reason, each.documents) for each in problems] == [(True, None)]


def test_what_is_searched_as_a_text(tmp_path: Path) -> None:
    """
    To search, a table or an array of numbers is a text as any other, and so is an object that is no document.
    """
    for name, content in (
        ("a.csv", "x,y\n1,2\n"),
        ("b.json", "[1, 2]"),
        ("c.json", '{"a": 1}\n'),
        ("d.json", "[broken"),
    ):
        (tmp_path / name).write_text(content)
    documents, problems = read(tmp_path)
    assert [each.text for each in documents] == ["x,y\n1,2\n", "[1, 2]", '{"a": 1}\n', "[broken"]
    assert problems == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_was_cut(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """
    What comes before the end is read, and the rest is told, once.
    """
    many = "".join(json.dumps({"id": str(at), "text": f"text {at * at}"}) + "\n" for at in range(2_000)).encode()
    packed = pack(many)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    documents, (problem,) = read(tmp_path)
    assert len(documents) < 2_000
    assert "cannot be unpacked to its end" in problem.reason
    assert problem.documents is None
