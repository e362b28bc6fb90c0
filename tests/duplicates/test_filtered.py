"""Files written anew: what is left out, what stays as it was, what is added, what is refused before the work."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whorl.duplicates.filtered import Decided, decided, require_columns, require_room, write_filtered
from whorl.duplicates.gathering import duplicates_among
from whorl.duplicates.keep import Keep
from whorl.duplicates.question import ask_pairs
from whorl.duplicates.reading import Reading
from whorl.errors import ParameterError

WORDS = [f"w{at}" for at in range(60)]
PAGE, OTHER = " ".join(WORDS), " ".join(reversed(WORDS))
NEAR = PAGE.replace("w7 ", "x7 ")


@contextmanager
def told_of(reading: Reading, keep: Keep, *, with_columns: bool = True) -> Iterator[Decided]:
    with duplicates_among(
        reading.documents(), ask_pairs("jaccard", 80, 100), keep=keep, on_repeated=reading.note_repeated
    ) as found:
        yield decided(found.clusters(complete=True, keep=keep), with_columns=with_columns)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder of files of several formats, whose second texts are duplicates of the first one's."""
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    pq.write_table(pa.table({"text": [PAGE, OTHER], "n": [1, 2]}), folder / "a.parquet")
    rows = "".join(json.dumps({"text": text, "meta": {"n": n}}) + "\n" for n, text in enumerate([NEAR, "short"], 3))
    (folder / "sub" / "b.jsonl.gz").write_bytes(gzip.compress(f"{rows}broken\n".encode()))
    with (folder / "c.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["n", "text"], [5, PAGE], [6, "five words that are different"]])
    (folder / "d.txt").write_text(OTHER)
    (folder / "e.txt").write_text("and six words that stay here")
    return folder


def test_a_collection_without_its_duplicates(data: Path, tmp_path: Path) -> None:
    """
    The same files in the same formats; of each cluster the first stays; broken rows do not.
    """
    reading = Reading([str(data)])
    with told_of(reading, Keep("first"), with_columns=False) as told:
        assert told.found == {}
        counts = write_filtered(reading, told, tmp_path / "out")
    assert counts == (5, 8)
    assert [str(each.relative_to(tmp_path / "out")) for each in sorted((tmp_path / "out").rglob("*.*"))] == [
        "a.parquet",
        "c.csv",
        "e.txt",
        "sub/b.jsonl.gz",
    ]
    assert pq.read_table(tmp_path / "out" / "a.parquet").to_pydict() == {"text": [PAGE, OTHER], "n": [1, 2]}
    lines = gzip.decompress((tmp_path / "out" / "sub" / "b.jsonl.gz").read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == [{"text": "short", "meta": {"n": 4}}]
    assert (tmp_path / "out" / "c.csv").read_bytes() == b"n,text\r\n6,five words that are different\r\n"
    assert not list(tmp_path.glob("*.part"))


def test_all_rows_with_what_was_found(data: Path, tmp_path: Path) -> None:
    """
    Similarities are to the one that is kept; rows in no cluster are principal, and have neither cluster nor similarity.
    """
    for file in data.glob("*.txt"):
        file.unlink()
    reading = Reading([str(data)], keep=Keep("largest", "n"))
    # JSON has the number within another column, so that it is worth nothing there.
    with told_of(reading, Keep("largest", "n")) as told:
        counts = write_filtered(reading, told, tmp_path / "out", with_columns=True)
    assert counts == (6, 6)
    kept, shares = f"{data}/c.csv:2", 1 - 2 * 5 / (56 + 5)
    rows = pq.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert [{key: value for key, value in row.items() if key != "text"} for row in rows] == [
        {"n": 1, "cluster": kept, "is_principal": False, "similarity": 1.0},
        {"n": 2, "cluster": None, "is_principal": True, "similarity": None},
    ]
    lines = gzip.decompress((tmp_path / "out" / "sub" / "b.jsonl.gz").read_bytes()).splitlines()
    near = json.loads(lines[0])
    assert (near["cluster"], near["is_principal"]) == (kept, False)
    assert near["similarity"] == pytest.approx(shares, abs=1e-5)
    table = list(csv.DictReader((tmp_path / "out" / "c.csv").read_text().splitlines()))
    assert [(row["cluster"], row["is_principal"], row["similarity"]) for row in table] == [
        (kept, "true", "1.0"),
        ("", "true", ""),
    ]


def test_a_data_set_of_hugging_face(tmp_path: Path) -> None:
    """
    Its notes come along, without what held for all rows, and under another fingerprint.
    """
    train = tmp_path / "ds" / "train"
    train.mkdir(parents=True)
    table = pa.table({"text": [PAGE, PAGE, OTHER]})
    with (train / "data-00000-of-00001.arrow").open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "ds" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    (train / "dataset_info.json").write_text('{"features": {"text": {}}, "dataset_size": 3}')
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "x"}
    (train / "state.json").write_text(json.dumps(state))
    reading = Reading([str(tmp_path / "ds")])
    with told_of(reading, Keep("first")) as told:
        for name in ("filtered", "annotated"):
            write_filtered(reading, told, tmp_path / name, with_columns=name == "annotated")
    out = tmp_path / "filtered"
    assert json.loads((out / "dataset_dict.json").read_text()) == {"splits": ["train"]}
    assert json.loads((out / "train" / "dataset_info.json").read_text()) == {"features": {"text": {}}}
    state = json.loads((out / "train" / "state.json").read_text())
    assert state["_data_files"] == [{"filename": "data-00000-of-00001.arrow"}]
    assert state["_fingerprint"] not in ("", "x")
    with pa.ipc.open_stream((out / "train" / "data-00000-of-00001.arrow").read_bytes()) as stream:
        assert stream.read_all()["text"].to_pylist() == [PAGE, OTHER]
    assert json.loads((tmp_path / "annotated" / "train" / "dataset_info.json").read_text()) == {}


def test_notes_that_are_none(tmp_path: Path) -> None:
    """
    Without the other note state.json has rows like any file, and does not get back what it lost; a damaged note is left
    away.
    """
    state = json.dumps({"id": "b", "text": PAGE})
    for name, notes in {
        "rows": {"state.json": state},
        "set": {"state.json": '{"a":', "dataset_info.json": "[]"},
    }.items():
        (tmp_path / name).mkdir()
        for file, text in {"a.txt": PAGE, **notes}.items():
            (tmp_path / name / file).write_text(text)
        reading = Reading([str(tmp_path / name)])
        with told_of(reading, Keep("first")) as told:
            write_filtered(reading, told, tmp_path / f"{name}-out")
    found = {str(each.relative_to(tmp_path)): each.read_text() for each in tmp_path.glob("*-out/*")}
    assert found == {"rows-out/a.txt": PAGE, "rows-out/state.json": "", "set-out/a.txt": PAGE}


def test_a_file_that_ends_too_soon(tmp_path: Path) -> None:
    """
    What could be read of it is written, in a file that is whole.
    """
    lines = "".join(json.dumps({"id": at, "text": str(hash((at, at)))}) + "\n" for at in range(3000)).encode()
    packed = gzip.compress(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    reading = Reading([str(tmp_path / "a.jsonl.gz")])
    written, read = write_filtered(reading, Decided({"0"}), tmp_path / "out")
    assert written == read - 1 > 1000
    assert len(gzip.decompress((tmp_path / "out" / "a.jsonl.gz").read_bytes()).splitlines()) == written


def test_what_is_refused_before_the_work(data: Path, tmp_path: Path) -> None:
    """
    A folder that holds something, one that cannot be made, files that would be one, files without rows.
    """
    reading = Reading([str(data)])
    (tmp_path / "empty").mkdir()
    require_room(reading, tmp_path / "empty")
    require_room(reading, tmp_path / "new" / "folder")
    assert not list(tmp_path.glob("*.part"))
    for target in (data, data / "e.txt", data / "e.txt" / "x"):
        with pytest.raises(ParameterError, match=r"there already|cannot be written"):
            require_room(reading, target)
    (tmp_path / "killed.part").mkdir()
    (tmp_path / "killed.part" / "a.parquet").touch()
    with pytest.raises(ParameterError, match=r"killed\.part is there already, perhaps of a run that was killed"):
        require_room(reading, tmp_path / "killed")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "d.txt").write_text("x")
    several = Reading([str(data), str(tmp_path / "other")])
    with pytest.raises(ParameterError, match=r"data/d\.txt and .*other/d\.txt would both be"):
        require_room(several, tmp_path / "out")
    with pytest.raises(ParameterError, match=r"d\.txt has no rows"):
        require_columns(reading)


def test_ids_that_come_again_are_refused(tmp_path: Path) -> None:
    """
    They do not tell rows apart, also where a text is the same and known from before; a file that is named twice is one.
    """
    file = tmp_path / "a.jsonl"
    file.write_text((json.dumps({"id": "x", "text": PAGE}) + "\n") * 2)
    for state in (None, tmp_path / "state", tmp_path / "state"):
        reading = Reading([str(file)], is_rewritten=True, lasts=state is not None)
        with (
            pytest.raises(ParameterError, match="--id-column"),
            duplicates_among(
                reading.documents(), ask_pairs("jaccard", 80, 100), folder=state, on_repeated=reading.note_repeated
            ),
        ):
            pass
    file.write_text(json.dumps({"id": "x", "text": PAGE}) + "\n")
    assert len(Reading([str(file), str(tmp_path / "a.*")]).places) == 1
