"""Verification of tantivy's files by the CRC32 in their footers."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from tests.engine.embedded.stores import fill
from whorl import Document, open_store
from whorl.engine.embedded.store_files import INDEX, IndexBrokenError
from whorl.engine.embedded.text_index import META, PartReader, require_sound, segment_files


@pytest.fixture
def folder(path: Path) -> Path:
    fill(path)
    return path / INDEX / "main"


def test_each_file_has_the_check_sum_of_its_bytes(folder: Path) -> None:
    """
    The footer is JSON, its length and 1337; the sum covers everything before it.
    """
    files = list(segment_files(folder))
    assert {path.suffix for path in files} >= {".store", ".idx", ".pos", ".term", ".fast", ".fieldnorm"}
    for path in files:
        require_sound(path)
        raw = path.read_bytes()
        assert int.from_bytes(raw[-4:], "little") == 1337
        length = int.from_bytes(raw[-8:-4], "little")
        assert json.loads(raw[-8 - length : -8])["crc"] == zlib.crc32(raw[: -8 - length])


def test_damage_is_found_everywhere(folder: Path) -> None:
    """
    A flipped bit in the content or in the sum, a lost end and an empty file.
    """
    path = next(segment_files(folder))
    raw = path.read_bytes()
    end = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    for at in (0, end // 2, end - 1, end, len(raw) - 6, len(raw) - 1):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        with pytest.raises(IndexBrokenError, match=path.name):
            require_sound(path)
    for damaged in (raw[:-1], raw[:4], b""):
        path.write_bytes(damaged)
        with pytest.raises(IndexBrokenError, match=path.name):
            require_sound(path)


def test_a_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Unchanged segments are not verified again, a changed file is.
    """
    read: list[str] = []
    monkeypatch.setattr("whorl.engine.embedded.text_index.require_sound", lambda path: read.append(path.name))
    reader = PartReader(folder)
    reader.searcher()
    first = len(read)
    reader.searcher()
    assert first == len(read) == len(list(segment_files(folder)))
    (folder / META).touch()
    reader.searcher()
    assert len(read) == first
    path = next(segment_files(folder))
    path.write_bytes(path.read_bytes())
    (folder / META).write_bytes((folder / META).read_bytes())
    reader.searcher()
    assert read[first:] == [path.name]


@pytest.mark.parametrize(
    ("part", "damaged"),
    [
        (b'"segments"', b'"segmentr"'),
        (b'"segment_id"', b'"segment_ie"'),
        (b'"segment_id":"', b'"segment_id":0,"x":"'),
        (b'"opstamp":', b'"opsuamp":'),
        (b"{", b"[{"),
    ],
)
def test_a_damaged_list_of_segments_is_written_again(tmp_path: Path, part: bytes, damaged: bytes) -> None:
    """
    If `meta.json` is other JSON than tantivy writes, the index is built again, and no answer changes.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", "copper of the mine"), Document("b", "copper of the river")])
        store.delete(["b"])
    for meta in (tmp_path / "store" / INDEX).rglob(META):
        raw = meta.read_bytes().replace(part, damaged)
        meta.write_bytes(raw + b"]" if damaged == b"[{" else raw)
    with open_store(tmp_path / "store") as store:
        assert [hit.id for hit in store.search("copper").hits] == ["a"]
