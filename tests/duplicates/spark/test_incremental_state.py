"""Incremental runs on Spark over several days: each day's result equals that of a run in one process."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from click.testing import CliRunner

from tests.duplicates.spark.made_blocks import framed
from tests.duplicates.spark.output_files import cluster_of_line, files_of, pair_of_line
from tests.duplicates.spark.spark_runtime import QUIET
from tests.families import family_documents
from tests.sampling import FULL, sample, thorough
from whorl.cli.main import main
from whorl.duplicates import parse_pair_options
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.retention import Keep
from whorl.errors import ParameterError, StoreError
from whorl.fingerprint.shingling import Scheme
from whorl.model import Document

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whorl.duplicates.spark.incremental_state import SearchState

pytestmark = QUIET


def days() -> Iterator[Mapping[str, str | None]]:
    """Yield the texts of each day by id, sorted by id, which is Spark's order; on the first day, a row has no text."""
    yield {"none": None}
    made = sorted(family_documents(24, seed=6, longest=200), key=lambda document: document.id)
    texts = {document.id: document.text for document in made}
    ids = list(texts)
    # Three texts in a row, connected only by the middle one.
    row = [" ".join(f"c{at}" for at in range(begin, begin + 40)) for begin in (0, 6, 12)]
    first = {
        **{f"chain/{at}": text for at, text in enumerate(row)},
        **{document_id: texts[document_id] for document_id in ids[::2]},
    }
    first = dict(sorted(first.items()))
    yield first
    changed = [name for name in list(first)[::4] if name in texts]
    second = {
        # Unchanged; changed without an effect on the sketch; replaced by the text of another document, or by a unique
        # text.
        **{name: texts[name] for name in list(first)[1::4] if name in texts},
        **{name: f"{texts[name]}." for name in list(first)[2::8] if name in texts},
        **{name: texts[ids[ids.index(name) - 1]] for name in changed[::2]},
        **{name: f"{texts[name]} and quite another end of it all {name}" for name in changed[1::2]},
        "chain/1": "of another text than before",
        # New: near-copies and copies of earlier texts, and texts that are too short.
        **{document_id: texts[document_id] for document_id in ids[1::4]},
        **{f"copy/{document_id}": texts[document_id] for document_id in ids[:12:3]},
        "chain/3": row[0],
        "short": "too short",
    }
    yield dict(sorted(second.items()))
    third = {
        **{name: texts[name] for name in [*changed[:3], *ids[3::4]]},
        "short": f"no longer too short is {texts[ids[0]]}",
        ids[4]: "now too short",
    }
    yield dict(sorted(third.items()))
    # Nothing new.
    yield {name: third[name] for name in sorted(third)[:10]}


def written(folder: Path, number: int, day: Mapping[str, str | None], *, twice: bool = False) -> str:
    """Write the file of a day; with `twice`, its first document occurs twice."""
    file = folder / f"{number}.jsonl"
    rows = (
        {"id": document_id, "text": text, "quality": at * 7 % 5, "name": document_id}
        for at, (document_id, text) in enumerate(day.items())
    )
    lines = [json.dumps(row) + "\n" for row in rows]
    file.write_text("".join([*lines[:twice], *lines]), encoding="utf-8")
    return str(file)


def lines_of(path: Path) -> list[str]:
    return [line for part in files_of(path) for line in part.read_text("utf-8").splitlines()]


def run_command(options: Sequence[str], *, says: str = "", status: int = 0) -> None:
    done = CliRunner().invoke(main, ["duplicates", "--format", "json", *options])
    assert done.exit_code == status, done.output
    assert says in done.output
    assert "Traceback" not in done.output


class Run(NamedTuple):
    """A run on the documents of a day, counted from 0, with its options."""

    day: int
    threshold: str
    options: tuple[str, ...]

    @property
    def is_filtered(self) -> bool:
        return "--filtered" in self.options


def same_options(*options: str) -> list[Run]:
    """Return a run on each day; the last one has another threshold."""
    return [Run(day, "40" if day == 4 else "60", options) for day in range(5)]


KEPT = ("--keep", "largest:quality", "--new", "--filtered")
SEQUENCES = {
    # Clusters, and with other options all pairs, found again among all documents.
    "--new, --pairs": [
        Run(0, "60", ("--new",)),
        *(Run(day, "60", ("--new",)) for day in (1, 2)),
        Run(4, "40", ("--pairs",)),
    ],
    # Runs for complete clusters and runs for pairs continue from each other.
    "--keep, --pairs": [
        Run(1, "60", KEPT),
        Run(2, "60", ("--keep", "largest:quality", "--pairs")),
        Run(3, "60", ("--complete", *KEPT)),
    ],
}
if FULL:
    SEQUENCES |= {
        "--new": same_options("--new"),
        "--pairs": same_options("--pairs"),
        "--complete": same_options("--complete", *KEPT),
    }


@pytest.mark.parametrize("runs", sample(SEQUENCES.values(), 2), ids=sample(SEQUENCES, 2))
def test_daily_runs_equal_the_local_search(spark: SparkSession, tmp_path: Path, runs: list[Run]) -> None:
    """
    Each run has the same pairs, clusters and retained documents as a run in one process, for new, unchanged and changed
    documents, and also if its options differ from those of the run before it.
    """
    keeps = any(run.is_filtered for run in runs)
    for run in runs:
        # The local engine leaves out nothing from files with repeated ids.
        file = written(tmp_path, run.day, [*days()][run.day], twice=not keeps)
        results: dict[str, set[object]] = {}
        retained: dict[str, list[str]] = {}
        for engine in ("local", "spark"):
            out, folder = tmp_path / f"{run.day} by {engine}", tmp_path / f"{run.day} left by {engine}"
            own_options = [*run.options, str(folder)] if run.is_filtered else run.options
            state = str(tmp_path / f"seen by {engine}")
            run_command(
                [file, *own_options, "--threshold", run.threshold, "--engine", engine, "--state", state, "-o", str(out)]
            )
            parse = pair_of_line if "--pairs" in run.options else cluster_of_line
            results[engine] = set(map(parse, lines_of(out)))
            retained[engine] = sorted(lines_of(folder))
        assert results["spark"] == results["local"]
        assert retained["spark"] == retained["local"]
        assert bool(retained["spark"]) == run.is_filtered
        # The first day has no text, and the last one no new document.
        fewest = 0 if run.day == 0 or (run.day == 4 and "--new" in run.options) else 1 if run.day == 4 else 6
        assert len(results["spark"]) >= fewest
        assert fewest or not results["spark"]


@thorough
def test_a_cluster_survives_the_loss_of_its_hubs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    If only clusters are needed, few pairs of near-copies are stored, each with one of a few hubs. On the next day the
    hubs have other texts; the remaining pages still form one cluster.
    """
    from whorl.duplicates.spark.duplicates import SparkDuplicates

    monkeypatch.setattr("whorl.duplicates.spark.duplicates.MOST_PAIRS", 50)
    page = [f"p{at}" for at in range(100)]
    pages = [Document(f"page/{at:03}", " ".join([*page, f"x{at}"])) for at in range(60)]

    def run(documents: list[Document]) -> tuple[Counter[str], set[frozenset[str]]]:
        duplicates = SparkDuplicates(
            framed(spark, documents, 3),
            DuplicatesOptions(parse_pair_options("jaccard", 80, 95), spanning_only=True),
            state=str(tmp_path / "seen"),
        )
        degrees = Counter(document_id for pair in duplicates.pairs().collect() for document_id in (pair.a, pair.b))
        clusters = defaultdict(set)
        for row in duplicates.clusters().collect():
            clusters[row.cluster].add(row.id)
        duplicates.save_state()
        duplicates.release()
        return degrees, {frozenset(members) for members in clusters.values()}

    degrees, clusters = run(pages)
    assert clusters == {frozenset(page.id for page in pages)}
    hubs = {name for name, degree in degrees.items() if degree > len(pages) / 2}
    assert sum(degrees.values()) <= 2 * len(hubs) * len(pages) < len(pages) ** 2
    _, clusters = run([Document(name, f"of another text {at} than before") for at, name in enumerate(sorted(hubs))])
    assert clusters == {frozenset(page.id for page in pages) - hubs}


def opened(
    spark: SparkSession, folder: Path, *, shingle: int = 5, links: bool = True, keep: str = "first"
) -> SearchState:
    from whorl.duplicates.spark.incremental_state import SearchState

    options = DuplicatesOptions(
        parse_pair_options("jaccard", 80, 95),
        scheme=Scheme(shingle_size=shingle),
        keep=Keep.parse(keep),
        spanning_only=links,
    )
    return SearchState(spark, str(folder), options)


def run_frames(spark: SparkSession, number: int) -> tuple[DataFrame, DataFrame]:
    """Return stand-ins for the blocks and pairs of a run."""
    return spark.createDataFrame([(number,)], "part int"), spark.createDataFrame([(number, number)], "a long, b long")


def held(state: SearchState) -> tuple[int, list[Any], list[Any]]:
    """Return the number of runs of a state, and the content left by the last one."""
    frames = ((state.blocks, "part"), (state.pairs, "a b"))
    blocks, pairs = (
        [] if frame is None else [tuple(row) for row in frame.select(*names.split()).collect()]
        for frame, names in frames
    )
    return state.run.number - 1, blocks, pairs


def test_a_killed_run_leaves_a_complete_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A run killed at any step of writing its state leaves the previous state or its own, and the next run continues.
    """
    from whorl.duplicates.spark import incremental_state

    folder, left = tmp_path / "seen", 1000

    class Killed(incremental_state._Folder):
        """Fails after a number of steps."""

    def counted(name: str) -> None:
        method = getattr(incremental_state._Folder, name)

        def step(self: Any, *arguments: Any) -> Any:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return method(self, *arguments)

        monkeypatch.setattr(Killed, name, step)

    for name in ("path", "write", "rename", "delete"):
        counted(name)
    opened(spark, folder).save(*run_frames(spark, 1))
    before, known, ends = opened(spark, folder), (1, [(1,)], [(1, 1)]), 0
    assert held(before) == known
    for steps in count():
        number = before.run.number
        before._folder.__class__ = Killed
        left = steps
        try:
            before.save(*run_frames(spark, number))
            ends += 1
        except KeyboardInterrupt:
            pass
        before = opened(spark, folder)
        after = held(before)
        assert after in (known, (number, [(number,)], [(number, number)]))
        known = after
        if ends == 2:
            break
    # From the fourth step on, this run counts as the last run; later steps delete the files of other runs.
    assert known[0] > 7
    assert sum(path.name.startswith("run-") for path in folder.iterdir()) == 2


@thorough
def test_one_of_two_concurrent_runs_fails(spark: SparkSession, tmp_path: Path) -> None:
    """
    The run that ends later leaves nothing, so the state of the other run stays.
    """
    folder = tmp_path / "seen"
    opened(spark, folder).save(*run_frames(spark, 1))
    one, other = opened(spark, folder), opened(spark, folder)
    one.save(*run_frames(spark, 2))
    with pytest.raises(StoreError, match="another run has written"):
        other.save(*run_frames(spark, 3))
    assert held(opened(spark, folder)) == (2, [(2,)], [(2, 2)])


def test_other_options_find_all_pairs_again(spark: SparkSession, tmp_path: Path) -> None:
    """
    With other options, documents are kept, and pairs are searched for again among all documents.
    """
    from whorl.duplicates.spark.sketch_documents import RunNumber

    folder = tmp_path / "seen"
    opened(spark, folder).save(*run_frames(spark, 1))
    same, other = opened(spark, folder), opened(spark, folder, links=False)
    assert same.run == RunNumber(2, 2, is_saved=True)
    assert other.run == RunNumber(2, 1, is_saved=True)
    assert same.pairs is not None
    assert other.blocks is not None
    assert other.pairs is None


@pytest.mark.parametrize(
    ("there", "options", "error", "message"),
    [
        ({"notes.txt": "mine"}, {}, StoreError, "something else than what was found before; name a new folder"),
        ({"documents.sqlite": "of the local engine"}, {}, StoreError, "name a new folder"),
        ({"run-3.json": "not ours"}, {}, StoreError, "name a new folder"),
        ({"run-3.json": "[]"}, {}, StoreError, "name a new folder"),
        ({"run-3.json": '{"format": 1, "origin": "files"}'}, {}, StoreError, "name a new folder"),
        ({"run-3.json": '{"format": 7}'}, {}, StoreError, "format 7, and this version reads format 1; delete"),
        (None, {"shingle": 3}, ParameterError, "holds what was found in files, under .*; name another folder"),
        (None, {"keep": "newest:made"}, ParameterError, "with what decides on the newest:made; name another folder"),
    ],
)
def test_a_foreign_state_is_refused(
    spark: SparkSession,
    tmp_path: Path,
    there: dict[str, str] | None,
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    """
    The error gives the remedy in one line, and the folder is unchanged.
    """
    folder = tmp_path / "seen"
    folder.mkdir()
    if there is None:
        opened(spark, folder).save(*run_frames(spark, 1))
    for name, text in (there or {}).items():
        (folder / name).write_text(text)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(error, match=message):
        opened(spark, folder, **options)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_an_incomplete_state_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """
    A missing part of the state is reported as an error of the folder.
    """
    folder = tmp_path / "seen"
    opened(spark, folder).save(*run_frames(spark, 1))
    (documents,) = folder.glob("run-1-*/documents")
    documents.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"the folder .*seen cannot be used: .*documents"):
        opened(spark, folder)


def test_a_refused_state_reads_no_documents(spark: SparkSession, tmp_path: Path) -> None:
    """
    The command ends before it reads a text, so it does not notice that the input file is missing.
    """
    (tmp_path / "seen").mkdir()
    (tmp_path / "seen" / "notes.txt").write_text("mine")
    file, out = written(tmp_path, 1, {"a": "b"}), tmp_path / "out"
    run_command(
        [file, "--engine", "spark", "--state", str(tmp_path / "seen"), "-o", str(out)],
        says="name a new folder",
        status=1,
    )
    arguments = ["--reference", file, "--state", str(tmp_path / "new")]
    run_command([file, "--engine", "spark", *arguments, "-o", str(out)], says="--reference keeps no state", status=2)
    run_command([file, "--engine", "spark", "--new", "-o", str(out)], says="--new needs a --state", status=2)
    run_command([file, "--engine", "spark", "--state", file, "-o", str(out)], says=file, status=1)
    assert not out.exists()
