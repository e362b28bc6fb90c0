"""Tests of the sketch stores: durability, crashes and replaced documents; repeated ids and chance collisions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.families import family_documents
from tests.plain import sketch_of
from whorl.duplicates.all_pairs import find_pairs
from whorl.duplicates.options import parse_pair_options
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.prefix_lengths import JoinOptions
from whorl.duplicates.sketch_store import PersistentSketchStore, TemporarySketchStore
from whorl.duplicates.sketching import SketchBatch, sketch_digest
from whorl.errors import ParameterError, StoreError
from whorl.fingerprint.fingerprint_texts import text_sketch
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme

SCHEME = SketchScheme(k=16384, floor_level=0, cap=16384)


def sketch(*numbers: int) -> Sketch:
    return sketch_of(np.array([number << 40 for number in numbers], np.uint64), SCHEME)


class Entry(NamedTuple):
    """A document for a sketch store, with its rank and date."""

    id: str
    name: str
    sketch: Sketch
    rank: float | None = None
    date: float | None = None


def entry(document_id: str, *numbers: int, rank: float | None = None, date: float | None = None) -> Entry:
    return Entry(document_id, f"the {document_id}", sketch(*numbers), rank, date)


def put(
    store: PersistentSketchStore | TemporarySketchStore, entries: Sequence[Entry], mark: str | None = None
) -> list[str]:
    ids, names, sketches, ranks, dates = map(list, zip(*entries, strict=True))
    batch = SketchBatch.from_sketches(ids, names, sketches, store.scheme)
    batch = replace(batch, ranks=np.array(ranks, np.float64), dates=np.array(dates, np.float64))
    return store.put(batch, [sketch_digest(made) for made in sketches], mark)


def opened(path: Path, origin: str = "files") -> AbstractContextManager[PersistentSketchStore]:
    return closing(PersistentSketchStore(path, origin, SCHEME))


def held(store: PersistentSketchStore) -> dict[str, Sketch]:
    stored = store.read_sketches()
    known = store.describe(stored.numbers.tolist())
    return {known[number][0]: stored.sketches.sketch(at) for at, number in enumerate(stored.numbers.tolist())}


def pairs(*places: tuple[int, int]) -> Pairs:
    a, b = np.array(places, np.int64).reshape(-1, 2).T
    three = np.full(a.size, 3)
    return Pairs(a, b, three, three, three, three, three)


def test_stored_documents_survive_reopening(tmp_path: Path) -> None:
    """
    Sketches, names, ranks and dates come back in order of arrival; the last document of an id counts.
    """
    with opened(tmp_path / "a") as store:
        store.begin_partial_scan()
        assert put(store, [entry("x", 1, 2, 3), entry("y")]) == []
        assert put(store, [entry("z", 9, rank=12.5, date=99.0), entry("x", 4, 5)]) == ["x"]
    with opened(tmp_path / "a") as store:
        assert held(store) == {"y": sketch(), "z": sketch(9), "x": sketch(4, 5)}
        assert store.describe(store.read_sketches().numbers[1:2].tolist()).popitem()[1] == ("z", "the z", 12.5, 99.0)
        store.begin_partial_scan()
        assert put(store, [entry("x", 4, 5, 6), entry("x", 7)]) == ["x"]
        assert held(store)["x"] == sketch(7)


def test_trailing_bytes_of_a_crash_are_cut_off(tmp_path: Path) -> None:
    """
    Hashes written without a committed document are cut off.
    """
    with opened(tmp_path) as store:
        put(store, [entry("x", 1, 2, 3)])
    with (tmp_path / "hashes-0.u64").open("ab") as file:
        file.write(os.urandom(80))
    with opened(tmp_path) as store:
        put(store, [entry("y", 7, 8)])
        assert held(store) == {"x": sketch(1, 2, 3), "y": sketch(7, 8)}


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    """
    A truncated file is an error; otherwise its missing hashes would lead to wrong pairs.
    """
    with opened(tmp_path) as store:
        put(store, [entry("x", 1, 2, 3)])
    os.truncate(tmp_path / "hashes-0.u64", 16)
    with pytest.raises(StoreError, match="cut short"):
        opened(tmp_path)


def test_garbage_hashes_are_compacted(tmp_path: Path) -> None:
    """
    When most of the file belongs to replaced documents, it is rewritten, with the same content.
    """
    for turn in range(3):
        with opened(tmp_path) as store:
            put(store, [entry(f"d{at}", *range(at, at + 50 + turn)) for at in range(20)])
            before = held(store)
    with opened(tmp_path) as store:
        assert held(store) == before
        put(store, [entry("new", 5)])
        assert held(store) == {**before, "new": sketch(5)}
    assert [path.name for path in tmp_path.glob("*.u64")] == ["hashes-1.u64"]
    assert (tmp_path / "hashes-1.u64").stat().st_size == (20 * 52 + 1) * 8


def test_deleting_a_document_deletes_its_pairs(tmp_path: Path) -> None:
    """
    A replaced document loses its pairs and is compared again, with the documents that were equal to it.
    """
    with opened(tmp_path) as store:
        put(store, [entry(name, 1, 2, 3) for name in "abc"] + [entry("d", 1, 2, 4)])
        store.set_options("which?")
        store.replace_pairs(pairs((0, 1), (0, 3), (1, 3)), store.read_sketches().numbers)
    with opened(tmp_path) as store:
        store.set_options("which?")
        stored = store.read_sketches()
        assert stored.is_paired.all()
        assert list(zip(*(side.tolist() for side in (store.pairs(stored).a, store.pairs(stored).b)), strict=True)) == [
            (0, 1),
            (0, 3),
            (1, 3),
        ]
        put(store, [entry("a", 9, 10, 11)])
        stored = store.read_sketches()
        assert stored.is_paired.tolist() == [False, False, True, False]  # b, c, d, a
        assert store.pairs(stored).a.tolist() == [0]
        store.set_options("another?")
        stored = store.read_sketches()
        assert not stored.is_paired.any()
        assert not len(store.pairs(stored))


def test_a_resumed_scan_deletes_unseen_documents(tmp_path: Path) -> None:
    """
    An interrupted scan continues at its mark, and deletes documents that it has not seen at its end.
    """
    with opened(tmp_path) as store:
        assert store.begin_scan() == ""
        put(store, [entry("a", 1), entry("b", 2), entry("c", 3)], "c")
        store.end_scan()
        assert store.begin_scan() == ""
        assert store.mark_unchanged(
            [("a", sketch_digest(sketch(1)), "", None, None), ("b", b"other", "", None, None)]
        ) == {"a": False}
        assert store.mark_unchanged([("a", sketch_digest(sketch(1)), "", None, None)]) == {"a": True}
        put(store, [entry("b", 7)], "b")
    with opened(tmp_path) as store:
        assert store.begin_scan() == "b"
        put(store, [entry("d", 4)], "d")
        store.end_scan()
        assert set(held(store)) == {"a", "b", "d"}


def test_foreign_folders_are_refused_unchanged(tmp_path: Path) -> None:
    """
    A folder of other files, other documents or another sketch scheme, and a file, are refused.
    """
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "note.txt").write_text("mine")
    with pytest.raises(StoreError, match="something else"):
        opened(tmp_path / "notes")
    with pytest.raises(StoreError, match="cannot be used"):
        opened(tmp_path / "notes" / "note.txt")
    with opened(tmp_path / "a"):
        pass
    with pytest.raises(ParameterError, match="the store b"):
        opened(tmp_path / "a", "the store b")
    with pytest.raises(ParameterError, match="sketch3-k1024"):
        PersistentSketchStore(tmp_path / "a", "files", SketchScheme())


@pytest.mark.process
def test_one_process_at_a_time(tmp_path: Path) -> None:
    """
    A second process gets an error at once while the folder is open.
    """
    script = (
        "import sys; from pathlib import Path; from whorl.duplicates.sketch_store import PersistentSketchStore; "
        "from whorl.fingerprint.sketch.frac_minhash import SketchScheme\n"
        "try: PersistentSketchStore(Path(sys.argv[1]), 'files', SketchScheme(k=16384, floor_level=0, cap=16384))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    with opened(tmp_path) as store:
        put(store, [entry("a", 1)])
        actual = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
        )
    assert actual.stdout.startswith(f"StoreError another process uses the folder {tmp_path}")


COMPLETE = SketchScheme(k=1 << 20, floor_level=0, cap=1 << 20, bits=40)


def text_entry(document_id: str, text: str, rank: float | None = None) -> Entry:
    name = f"the {document_id}\n"
    return Entry(document_id, name, text_sketch(text, Scheme(shingle_size=1), COMPLETE), rank)


def test_the_last_document_of_a_repeated_id_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The last document of an id counts, and repeated ids are reported once each, also if hashes of ids collide.
    """
    monkeypatch.setattr("whorl.duplicates.sketch_store.hash", len, raising=False)
    with closing(TemporarySketchStore(tmp_path, COMPLETE)) as store:
        assert put(store, [text_entry("aa", "one", 1.0), text_entry("ab", "two"), text_entry("aa", "three four")]) == []
        assert store.repeated_ids() == ["aa"]
        store.mark_as_reference()
        put(store, [text_entry("é", "five"), text_entry("ab", "six", 2.0)])
        assert store.repeated_ids() == ["ab"]
        assert store.repeated_ids() == []
        stored = store.read_sketches()
        assert list(store.describe(stored.numbers.tolist()).values()) == [
            ("aa", "the aa\n", None, None), ("é", "the é\n", None, None), ("ab", "the ab\n", 2.0, None)
        ]  # fmt: skip
        assert stored.is_new.tolist() == [False, True, True]
        actual = [stored.sketches.sketch(place) for place in range(3)]
        assert actual == [text_entry("", text).sketch for text in ("three four", "five", "six")]


def test_an_empty_store(tmp_path: Path) -> None:
    """
    An empty store has no documents and no hashes.
    """
    with closing(TemporarySketchStore(tmp_path, COMPLETE)) as store:
        assert len(store.read_sketches().sketches) == 0
        assert store.repeated_ids() == []


def test_pages_of_a_large_file_are_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A large file gives the same hashes and pairs, whether it stays mapped, is released after each batch, or is read.
    """
    documents = family_documents(40)
    pair_options = parse_pair_options("jaccard", 50, 95)
    actual = []
    # Mapped and kept, mapped and released, and read.
    for much, with_a_page in ((1 << 26, 1 << 16), (0, 1 << 16), (0, 8)):
        monkeypatch.setattr("whorl.duplicates.sketch_arrays.MAPPED_BYTES", much)
        monkeypatch.setattr("whorl.duplicates.sketch_arrays._MAPPED_BYTES_PER_DOCUMENT", 0)
        monkeypatch.setattr("whorl.duplicates.sketch_arrays._RANGE_BYTES", 8)
        monkeypatch.setattr("whorl.duplicates.sketch_arrays._READAHEAD_BYTES", with_a_page)
        monkeypatch.setattr("whorl.duplicates.sketch_arrays._LEAST_COPIED", 300)
        monkeypatch.setattr("whorl.duplicates.sketch_arrays._MOST_COPIED", 300)
        with closing(TemporarySketchStore(tmp_path, COMPLETE)) as store:
            put(store, [text_entry(document.id, document.text) for document in documents])
            sketches = store.read_sketches().sketches
            a, b = np.array([7, 3, 3, 39, 0]), np.array([0, 7, 3, 2, 1])
            there = 0
            for portion, hashes, *starts in sketches.pair_batches(a, b):
                assert portion.start == there < portion.stop
                there = portion.stop
                for places, begins in zip((a[portion], b[portion]), starts, strict=True):
                    for place, begin in zip(places.tolist(), begins.tolist(), strict=True):
                        own = sketches.sketch(place).hashes
                        assert hashes[begin : begin + own.size].tolist() == own.tolist()
                assert much or hashes.base is not sketches.hashes
            assert there == a.size
            firsts, is_known = np.arange(len(sketches)), np.zeros(len(sketches), np.bool_)
            pairs = find_pairs(
                sketches, firsts, JoinOptions(pair_options), known=Pairs.concatenate([]), is_known=is_known
            )
            actual.append(list(zip(pairs.a.tolist(), pairs.b.tolist(), pairs.shared.tolist(), strict=True)))
    assert actual[0] == actual[1] == actual[2] != []
