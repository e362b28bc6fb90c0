"""Several processes that read documents, compared with one process."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.duplicates.results import clusters, ids
from tests.families import family_documents
from whorl.duplicates import worker_pool
from whorl.duplicates.input import InputReader
from whorl.duplicates.options import DuplicatesOptions, parse_pair_options
from whorl.duplicates.retention import Keep
from whorl.duplicates.run import FILES_SCHEME, duplicates_among
from whorl.duplicates.sketching import Sketching
from whorl.errors import ParameterError, StoreError
from whorl.ingest.rows import text_rows as lines
from whorl.model import Document

DOCUMENTS = family_documents(60)
PAIR_OPTIONS = parse_pair_options("jaccard", 50, 95)
#: A program without `if __name__ == "__main__"`, that searches in a daemonic process and in a thread.
PROGRAM = """
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from whorl import Document, DuplicatesOptions, duplicates_among

def search():
    texts = ["one two three four five six", "a text of its own", "one, two, three, four, five, six"]
    documents = [Document(str(row), text) for row, text in enumerate(texts)]
    with duplicates_among(documents, DuplicatesOptions(workers=2)) as duplicates:
        return [(pair.a.id, pair.b.id) for pair in duplicates.pairs()]

print("begins", flush=True)
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply(search))
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(search).result())
"""


def written(path: Path, documents: list[Document]) -> str:
    rows = [{"id": document.id, "text": document.text, "at": at} for at, document in enumerate(documents)]
    # Contains a broken line and an empty one, and has no line break at the end.
    path.write_text("\n".join([*map(json.dumps, rows[:90]), "{", "", *map(json.dumps, rows[90:])]), "utf-8")
    return str(path)


def summarised(reading: InputReader, workers: int, keep: Keep) -> list[Any]:
    with duplicates_among(
        reading.documents(), DuplicatesOptions(PAIR_OPTIONS, keep=keep, workers=workers), reference=reading.reference()
    ) as duplicates:
        pairs = [(pair.a, pair.b, pair.shares) for pair in duplicates.pairs()]
        there = [tuple(cluster.members) for cluster in duplicates.clusters(complete=True, keep=keep, new=True)]
        problems = [str(problem) for problem in reading.problems]
        return [pairs, there, problems, reading.count, reading.byte_progress, duplicates.documents]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_several_processes_give_the_result_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """
    Two processes give the pairs, clusters, order, problems and progress of one, for ranges of files, Parquet row groups
    and texts.
    """
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(lines, "_SPAN", 3_000)
    monkeypatch.setattr(worker_pool, "start_method", lambda documents, workers: method)
    monkeypatch.setattr("whorl.duplicates.run.start_method", lambda documents, workers: method)
    written(tmp_path / "a.jsonl", DOCUMENTS[:140])
    (tmp_path / "t.txt").write_text(DOCUMENTS[0].text)
    table = pyarrow.Table.from_pylist([{"text": document.text, "at": -1} for document in DOCUMENTS[140:]])
    parquet.write_table(table, tmp_path / "b.parquet", row_group_size=20)
    reference = written(tmp_path / "reference.jsonl", DOCUMENTS[100:180])
    keep = Keep("smallest", "at")
    one, two = (
        summarised(InputReader([str(tmp_path)], DuplicatesOptions(keep=keep), reference=[reference]), workers, keep)
        for workers in (1, 2)
    )
    assert one == two
    assert len(one[0]) > 20
    assert any("line 91" in problem for problem in one[2])


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="starts processes as copies")
def test_any_iterable_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Documents that are not in parts are sent to the processes in batches, in order.
    """
    monkeypatch.setattr("whorl.duplicates.run.start_method", lambda documents, workers: "fork" if workers > 1 else "")
    monkeypatch.setattr(worker_pool, "_DOCUMENTS_SENT", 30)
    with (
        duplicates_among(DOCUMENTS, PAIR_OPTIONS) as one,
        duplicates_among(iter(DOCUMENTS), DuplicatesOptions(PAIR_OPTIONS, workers=2)) as two,
    ):
        assert ids(one.pairs()) == ids(two.pairs())
        assert clusters(one) == clusters(two)


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="starts processes as copies")
@pytest.mark.parametrize("is_file", [True, False])
def test_programs_that_cannot_start_processes_search_in_one(tmp_path: Path, *, is_file: bool) -> None:
    """
    Documents in memory are sketched in the process itself if it is daemonic, or has other threads: a spawned process
    would run the program again.
    """
    (tmp_path / "program.py").write_text(PROGRAM)
    with (tmp_path / "program.py").open() as program:
        name = program.name if is_file else "-"
        done = subprocess.run([sys.executable, name], check=False, capture_output=True, text=True, stdin=program)
    assert (done.stdout.splitlines(), done.stderr) == (["begins", "[('0', '2')]", "[('0', '2')]"], "")


@pytest.mark.process
def test_errors_of_the_whole_input_are_raised(tmp_path: Path) -> None:
    """
    A missing column of the retention policy, and an error of the documents' iterator, raise errors.
    """
    reading = InputReader(
        [written(tmp_path / "a.jsonl", DOCUMENTS[:9])], DuplicatesOptions(keep=Keep("largest", "made_up"))
    )
    with (
        pytest.raises(ParameterError, match="no document has a number"),
        duplicates_among(
            reading.documents(), DuplicatesOptions(PAIR_OPTIONS, keep=Keep("largest", "made_up"), workers=2)
        ),
    ):
        pass

    def failing() -> Iterator[Document]:
        yield DOCUMENTS[0]
        raise StoreError("the disk is gone")

    with (
        pytest.raises(StoreError, match="the disk is gone"),
        duplicates_among(failing(), DuplicatesOptions(PAIR_OPTIONS, workers=2)),
    ):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_temporary_folder() -> None:
    """
    The error of a process names the folder, and the variable that chooses another one.
    """
    sketching = Sketching(DuplicatesOptions(), FILES_SCHEME)
    documents = [Document("a", "one two three four five six")]
    written = worker_pool._write_hashes(sketching.sketch, "/dev/full", multiprocessing.Value("q", 0), documents)
    with pytest.raises(StoreError, match=r"temporary folder /dev cannot be written: No space left on device; TMPDIR="):
        list(written)
