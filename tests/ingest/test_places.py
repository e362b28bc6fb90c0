"""Inputs named on a command line: files, patterns, folders of other programs, standard input, remote places."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whorl import Document
from whorl.errors import ParameterError
from whorl.ingest.files import Problem, documents_in
from whorl.ingest.places import Place, places
from whorl.ingest.rows.columns import Columns

LINE = b'{"id": "a", "text": "one"}\n'


def found(*words: str) -> tuple[list[Place], list[Problem]]:
    problems: list[Problem] = []
    return list(places(words, problems.append)), problems


def inside(*words: str) -> list[str]:
    there, problems = found(*words)
    assert problems == []
    return [str(each.inside) for each in there]


def documents(*words: str) -> list[Document]:
    problems: list[Problem] = []
    read = [each for place in places(words, problems.append) for each in documents_in(place.file, problems.append)]
    assert problems == []
    return read


def test_files_folders_and_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each file has its path below the named folder; a file whose name looks like a pattern is a file.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("data/a/1.jsonl", "data/b/1.jsonl", "data/b/2.txt", "data/.hidden/3.jsonl", "data/[x].jsonl"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(LINE)
    assert inside("data") == ["[x].jsonl", "a/1.jsonl", "b/1.jsonl", "b/2.txt"]
    assert inside("data/b/2.txt", "data/[x].jsonl") == ["2.txt", "[x].jsonl"]
    assert inside("data/**/*.jsonl") == ["[x].jsonl", "a/1.jsonl", "b/1.jsonl"]
    assert inside("data/?/1.jsonl") == ["a/1.jsonl", "b/1.jsonl"]
    assert [each.size for each in found("data/b")[0]] == [len(LINE)] * 2
    assert found("*.none")[1][0].documents is None
    first, second = (found(word)[0][0].identity for word in ("data/a/1.jsonl", str(tmp_path / "data/a/../a/1.jsonl")))
    assert first == second


def test_folders_of_other_programs(tmp_path: Path) -> None:
    """
    Files that Spark and Hugging Face's library write next to their data are skipped.
    """
    for name in ("_SUCCESS", "part-0.jsonl", "_metadata", "ds/dataset_dict.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(LINE if "part" in name else b"")
    train = tmp_path / "ds" / "train"
    train.mkdir()
    table = pa.table({"text": ["one", "two"], "label": [0, 1]})
    for name in ("data-00000-of-00001.arrow", "cache-1f.arrow"):
        with (train / name).open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    for name in ("state.json", "dataset_info.json"):
        (train / name).write_text(json.dumps({"_data_files": [], "_fingerprint": "x"}))
    assert inside(str(tmp_path)) == ["ds/train/data-00000-of-00001.arrow", "part-0.jsonl"]
    assert [(each.id, each.text) for each in documents(str(tmp_path / "ds"))] == [
        (f"{train}/data-00000-of-00001.arrow:{at}", text) for at, text in ((1, "one"), (2, "two"))
    ]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Standard input can have any format, and can be read several times.
    """
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["one", "two"]}), out)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(out.getvalue())))
    (place,), _ = found("-")
    for _ in range(2):
        assert [each.id for each in documents_in(place.file, lambda problem: None)] == ["-:1", "-:2"]
    assert place.size == len(out.getvalue())
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ParameterError, match="closed"):
        documents("-")


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def test_places_elsewhere(memory: fsspec.AbstractFileSystem, tmp_path: Path) -> None:
    """
    Files, folders and patterns on any fsspec file system are read; their ids are their addresses.
    """
    memory.pipe("/bucket/a/1.jsonl", LINE.replace(b'"id": "a", ', b""))
    memory.pipe("/bucket/b/2.txt", b"two")
    memory.pipe("/bucket/.hidden/3.txt", b"no")
    memory.pipe("/bucket/_SUCCESS", b"")
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["three"]}), out)
    memory.pipe("/bucket/b/3.parquet", out.getvalue())
    assert [(each.id, each.text) for each in documents("memory://bucket")] == [
        ("memory:///bucket/a/1.jsonl:1", "one"),
        ("memory:///bucket/b/2.txt", "two"),
        ("memory:///bucket/b/3.parquet:1", "three"),
    ]
    assert inside("memory://bucket") == ["a/1.jsonl", "b/2.txt", "b/3.parquet"]
    assert inside("memory://bucket/*/*.txt", "memory://bucket/a/1.jsonl") == ["b/2.txt", "1.jsonl"]
    assert found("memory://bucket/gone")[1] == [
        Problem("memory://bucket/gone", "there is no such file or folder", None)
    ]
    (tmp_path / "4.txt").write_text("four")
    assert [each.text for each in documents(f"file://{tmp_path}")] == ["four"]
    assert [each.size for each in found("memory://bucket/b/2.txt")[0]] == [3]


@pytest.mark.parametrize("address", ["nothing://x/y", "s3://bucket/x"])
def test_places_that_cannot_be_reached(address: str) -> None:
    """
    The error is one sentence with the reason.
    """
    if address.startswith("s3") and fsspec.utils.get_protocol(address) and _has("s3fs"):
        pytest.skip("s3fs is installed here")
    with pytest.raises(ParameterError, match="cannot be reached"):
        found(address)


def _has(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def test_a_page_of_the_web_is_a_file() -> None:
    """
    A web page is a file, although its links could be taken for the contents of a folder.
    """

    class Web(fsspec.AbstractFileSystem):  # type: ignore[misc]
        protocol = "web"

        def isfile(self, path: str) -> bool:
            return True

        def info(self, path: str, **_: object) -> dict[str, object]:
            return {"name": path, "size": None, "type": "file"}

        def find(self, path: str, **_: object) -> dict[str, object]:
            raise AssertionError

        def _open(self, path: str, *_: object, **__: object) -> io.BytesIO:
            return io.BytesIO(LINE)

    fsspec.register_implementation("web", Web, clobber=True)
    assert [(each.id, each.text) for each in documents("web://host/a.jsonl")] == [("a", "one")]


def test_a_file_elsewhere_that_is_gone(memory: fsspec.AbstractFileSystem) -> None:
    """
    A file deleted between listing and reading is a problem.
    """
    memory.pipe("/a.jsonl", LINE)
    (place,), _ = found("memory://a.jsonl")
    memory.rm("/a.jsonl")
    problems: list[Problem] = []
    assert list(documents_in(place.file, problems.append, Columns())) == []
    assert "a.jsonl" in problems[0].where


@pytest.mark.skipif(os.name != "posix", reason="needs what POSIX file systems have")
def test_links_that_lead_out(tmp_path: Path) -> None:
    """
    Links out of the folder are followed on request or if named explicitly; otherwise they are problems.
    """
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    for name in ("inner/own/1.txt", "outer/2.txt", "outer/below/3.txt", "inner-too/4.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (inner / "inside.txt").symlink_to("own/1.txt")
    (inner / "file.txt").symlink_to(outer / "2.txt")
    (inner / "folder").symlink_to(outer)
    (inner / "beside.txt").symlink_to("../inner-too/4.txt")
    (inner / "over.txt").symlink_to("folder/below/3.txt")
    (inner / "zero").symlink_to("/dev/zero")
    told = "this link leads out of the folder; --follow-links follows it"
    for word in (str(inner), f"{inner}/*", f"file://{inner}", f"{inner}/**/*.txt"):
        there, problems = found(word)
        names = {str(each.inside) for each in there}
        assert names == {"inside.txt", "own/1.txt"}
        outside = {Path(each.where).relative_to(inner).parts[0] for each in problems if each.reason == told}
        assert outside >= {"file.txt", "folder", "beside.txt", "over.txt"} - ({"folder"} if "**" in word else set())
        assert {each.documents for each in problems if each.reason == told} == {0}
    problems = []
    followed = {str(each.inside) for each in places([str(inner)], problems.append, follow_links=True)}
    assert followed == {
        *("inside.txt", "own/1.txt", "file.txt", "folder/2.txt", "folder/below/3.txt", "beside.txt", "over.txt")
    }
    assert [each.reason for each in problems] == ["this is neither a file nor a folder"]
    assert [str(each.inside) for each in found(str(inner / "folder"))[0]] == ["2.txt", "below/3.txt"]
    assert [str(each.inside) for each in found(str(inner / "file.txt"))[0]] == ["file.txt"]


@pytest.mark.skipif(os.name != "posix", reason="needs what POSIX file systems have")
def test_devices_pipes_and_sockets_behind_links(tmp_path: Path) -> None:
    """
    Links to devices, pipes and sockets are not followed, since reading could block forever.
    """
    (tmp_path / "links").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name, target in {"pipe": "../pipe", "socket": "../socket", "zero": "/dev/zero", "tty": "/dev/tty"}.items():
            (tmp_path / "links" / name).symlink_to(target)
        for word in (str(tmp_path / "links"), f"{tmp_path}/links/*", f"file://{tmp_path}/links"):
            for follow_links in (False, True):
                problems: list[Problem] = []
                assert list(places([word], problems.append, follow_links=follow_links)) == []
                assert len(problems) == 4
