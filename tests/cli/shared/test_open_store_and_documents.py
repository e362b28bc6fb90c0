"""Tests of names on the command line: files, standard input, and notes on standard error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import search_json, whorl
from whorl.cli.shared.open_store_and_documents import is_file, read_if_file
from whorl.errors import ParameterError


def test_files(folder: Path) -> None:
    """
    A file is read. A folder, a missing file and a name that no file can have give None; a binary file is an error.
    """
    (folder / "a.txt").write_text("one two", encoding="utf-8")
    (folder / "binary").write_bytes(bytes(1000))
    assert read_if_file("a.txt") == "one two"
    for name in (".", "nosuch", "a\0b", "x" * 5000, "-"):
        assert read_if_file(name) is None
    assert is_file("-")
    with pytest.raises(ParameterError, match="binary: this is not text"):
        read_if_file("binary")


def test_a_query_may_name_a_file(notes: Path) -> None:
    """
    A FINGERPRINT of a path means the document with this path. If the store lacks the file, its text is the source, and
    a note says so.
    """
    assert search_json("FINGERPRINT:./notes/a.txt") | {"query": ""} == search_json("FINGERPRINT:notes/a.txt") | {
        "query": ""
    }
    (notes.parent / "new.txt").write_text((notes / "a.txt").read_text() + " and more", encoding="utf-8")
    result = whorl("search", "--store", "store", "--json", "FINGERPRINT:new.txt_5 AND id:*a.txt")
    assert result.stderr == "note: new.txt is not in the store, so the file itself is the source\n"
    assert [hit["id"] for hit in json.loads(result.stdout)["hits"]] == ["notes/a.txt"]
