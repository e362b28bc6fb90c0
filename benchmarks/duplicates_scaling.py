"""Measures how time and memory of `whorl duplicates` grow with the number of documents.

    python benchmarks/duplicates_scaling.py [CORPUS.jsonl] [--documents 10000,100000,1000000] [--rounds 2]
    python benchmarks/duplicates_scaling.py --boilerplate [--documents 1000,10000,100000]
    python benchmarks/duplicates_scaling.py --families [--documents 20000,200000]
    python benchmarks/duplicates_scaling.py --lines FILE.jsonl [--documents 100000,1000000]

It measures `whorl duplicates FILE -o clusters.jsonl` at 80 %, with one process on one processor and with one on each;
the fastest round counts. Documents of 3,000 bytes are composed from the corpus (`duplicates_texts.py`: a tenth are
near-copies, the others are unrelated). A million are 3 GB, written next to the results and deleted afterwards. The
truth is counted on all shingles of the planted copies; up to 20,000 documents also on those of all documents, with the
same result. A pair is found if it is in one cluster. A cluster is wrong if it has documents that are not copies of each
other. Exponents are least squares through the logarithms: 1 is linear. Memory is the peak of the process, with mapped
pages of its files.

--boilerplate measures documents that share one phrase, 60 % of their words, or nearly all; the time per document shows
whether the cost stays linear.

--families measures the cost of a family of near-copies: texts of 60 and of 300 words that differ in one word, one
repeated text, and texts that are shorter than a shingle.

--lines measures the first lines of a file, unchanged; short texts for instance (`million_texts.py` makes a million). It
uses one process, and one for each processor, unless --workers is given. Rows of other files stay.

Results: results/duplicates-scaling.csv, duplicates-boilerplate.csv, duplicates-families.csv, duplicates-lines.csv (not
with --dry-run).
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from duplicates_processes import WHORL, Taken, best, required, run, say

if TYPE_CHECKING:
    from duplicates_texts import Planted

HERE = Path(__file__).resolve().parent
PERCENT = 80
#: Largest number of documents whose pairs are all counted.
COUNTABLE = 20_000
FIELDS = (
    "documents", "MB", "workers", "wall s", "CPU s", "ms/document", "MB/s", "peak MB", "planted pairs", "recall",
    "clusters", "wrong clusters",
)  # fmt: skip
BOILERPLATE_FIELDS = (
    "kind", "documents", "MB", "wall s", "CPU s", "ms of CPU/document", "peak MB", "clusters", "largest",
)  # fmt: skip

LINES_FIELDS = (
    "file", "documents", "MB", "workers", "wall s", "CPU s", "ms of CPU/document", "peak MB", "clusters",
)  # fmt: skip

_Result = TypeVar("_Result")
_Rows: TypeAlias = list[dict[str, object]]


def apart(function: Callable[..., _Result], *arguments: object) -> _Result:
    """Call a function in another process, so that this one stays small; see `run`."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def make(corpus: Path, count: int, path: Path) -> Planted:
    """Write documents; return the planted copies and the pairs that reach the threshold."""
    import numpy as np

    from duplicates_texts import Planted, Texts, pieces, planted, write
    from duplicates_truth import codes, counted, shingle_sets

    texts = Texts(pieces(corpus))
    write(map(texts.text, range(count)), path, lambda done: say(f"writing: {done:,} of {count:,} documents"))
    there = planted(texts, count, lambda done: say(f"comparing what was planted: {done:,} pairs"))
    # Both are the doubles nearest to their fractions, so equal fractions compare equal.
    is_above = there.jaccard >= PERCENT / 100
    right = Planted(there.a[is_above], there.b[is_above], there.jaccard[is_above])
    if count <= COUNTABLE:
        everything = counted(list(shingle_sets(map(texts.text, range(count)), "whorl"))).above("jaccard", PERCENT)
        if not np.array_equal(everything, codes(right.a, right.b)):
            raise SystemExit(f"{right.a.size} pairs were planted, and there are {everything.size}")
        say(f"{count:,} documents: {everything.size:,} pairs at {PERCENT} %, and those were planted")
    return right


def origins(corpus: Path, count: int) -> list[int]:
    """Return the original of each document; a document that is not a copy is its own."""
    from duplicates_texts import Texts, pieces

    texts = Texts(pieces(corpus))
    sources = map(texts.source, range(count))
    return [number if source is None else source for number, source in enumerate(sources)]


def clusters_in(path: Path) -> list[list[int]]:
    """Return the clusters that whorl wrote, as document numbers."""
    with path.open(encoding="utf-8") as lines:
        return [[int(member["id"]) for member in json.loads(line)["members"]] for line in lines]


def recall_of(clusters: list[list[int]], right: Planted) -> float:
    """Return the share of the pairs that are in one cluster."""
    label = {number: at for at, cluster in enumerate(clusters) for number in cluster}
    pairs = list(zip(right.a.tolist(), right.b.tolist(), strict=True))
    together = sum(a in label and label[a] == label.get(b) for a, b in pairs)
    return together / len(pairs) if pairs else 1.0


def fastest(path: Path, folder: Path, rounds: int, workers: Sequence[int]) -> tuple[dict[int, Taken], Path]:
    """Return the fastest run for each number of processes, measured in turns, and the last clusters file."""
    out = folder / "clusters.jsonl"
    several: dict[int, list[Taken]] = {worker: [] for worker in workers}
    for turn in range(rounds):
        for count in workers if turn % 2 == 0 else workers[::-1]:
            settings = ["--threshold", str(PERCENT), "--workers", str(count), "-o", str(out)]
            taken = required(run([*WHORL, "duplicates", str(path), *settings], folder, one_core=count == 1))
            say(f"{path.name}, {count} workers: {taken.wall:.1f} s, {taken.megabytes:.0f} MB")
            several[count].append(taken)
    return {count: best(took) for count, took in several.items()}, out


def growth(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the exponent of the power law that fits best, by least squares through the logarithms.

    >>> round(growth([10, 100, 1000], [3, 30, 300]), 6)
    1.0
    """
    import numpy as np

    exponent, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(exponent)


def scaling(corpus: Path, counts: list[int], rounds: int, folder: Path) -> list[dict[str, object]]:
    """Measure growing numbers of documents."""
    rows: list[dict[str, object]] = []
    several = sorted({1, os.cpu_count() or 1})
    for count in counts:
        path = folder / f"{count}.jsonl"
        right = apart(make, corpus, count, path)
        made_of = apart(origins, corpus, count)
        took, out = fastest(path, folder, rounds, several)
        clusters, megabytes = clusters_in(out), path.stat().st_size / 1e6
        wrong = sum(len({made_of[number] for number in cluster}) > 1 for cluster in clusters)
        recall = recall_of(clusters, right)
        for workers, taken in took.items():
            figures = (
                count, f"{megabytes:.0f}", workers, f"{taken.wall:.2f}", f"{taken.cpu:.2f}",
                f"{1000 * taken.wall / count:.3f}", f"{megabytes / taken.wall:.1f}", f"{taken.megabytes:.0f}",
                right.a.size, f"{recall:.4f}", len(clusters), wrong,
            )  # fmt: skip
            rows.append(dict(zip(FIELDS, figures, strict=True)))
            print(*figures, sep="\t", flush=True)
        path.unlink()
    for workers in several:
        own = [row for row in rows if row["workers"] == workers]
        if len(own) > 1:
            sizes = [float(str(row["documents"])) for row in own]
            exponents = [f"{what}: {growth(sizes, [float(str(row[what])) for row in own]):.2f}" for what in
                    ("wall s", "CPU s", "peak MB")]  # fmt: skip
            last = own[-2:]
            step = growth(sizes[-2:], [float(str(row["wall s"])) for row in last])
            print(f"exponents, {workers} workers: {', '.join(exponents)}; wall s between the last two: {step:.2f}")
    return rows


def first_lines(
    file: Path, counts: list[int], rounds: int, several: list[int], folder: Path, record: Callable[[_Rows], None]
) -> _Rows:
    """Measure growing numbers of a file's first lines, and record each result."""
    rows: _Rows = []
    for count in counts:
        path = folder / f"{count}.jsonl"
        with file.open("rb") as lines, path.open("wb") as out:
            out.writelines(islice(lines, count))
        took, out_path = fastest(path, folder, rounds, several)
        for workers, taken in took.items():
            figures = (
                file.stem, count, f"{path.stat().st_size / 1e6:.1f}", workers, f"{taken.wall:.2f}", f"{taken.cpu:.2f}",
                f"{1000 * taken.cpu / count:.3f}", f"{taken.megabytes:.0f}", sum(1 for _ in out_path.open("rb")),
            )  # fmt: skip
            rows.append(dict(zip(LINES_FIELDS, figures, strict=True)))
            print(*figures, sep="\t", flush=True)
        path.unlink()
        record(rows)
    for workers in several if len(counts) > 1 else ():
        own = [row for row in rows if row["workers"] == workers]
        sizes = [float(str(row["documents"])) for row in own]
        exponents = [
            f"{what}: {growth(sizes, [float(str(row[what])) for row in own]):.2f}" for what in ("CPU s", "peak MB")
        ]
        print(f"exponents, {workers} workers: {', '.join(exponents)}")
    return rows


def write_alike(kind: str, count: int, path: Path) -> None:
    """Write documents that share boilerplate, or are one family."""
    from duplicates_texts import FAMILIES, boilerplate, near_copies, write

    write(near_copies(kind, count) if kind in FAMILIES else boilerplate(kind, count), path)


def alike(kinds: Sequence[str], counts: list[int], rounds: int, folder: Path) -> list[dict[str, object]]:
    """Measure documents that share boilerplate or are families."""
    rows: list[dict[str, object]] = []
    for kind in kinds:
        for count in counts:
            path = folder / f"{count}.jsonl"
            apart(write_alike, kind, count, path)
            took, out = fastest(path, folder, rounds, [1])
            clusters, taken = clusters_in(out), took[1]
            figures = (
                kind, count, f"{path.stat().st_size / 1e6:.1f}", f"{taken.wall:.2f}", f"{taken.cpu:.2f}",
                f"{1000 * taken.cpu / count:.3f}", f"{taken.megabytes:.0f}", len(clusters),
                max(map(len, clusters), default=0),
            )  # fmt: skip
            rows.append(dict(zip(BOILERPLATE_FIELDS, figures, strict=True)))
            print(*figures, sep="\t", flush=True)
            path.unlink()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--boilerplate", action="store_true")
    kinds.add_argument("--families", action="store_true")
    kinds.add_argument("--lines", type=Path, metavar="FILE", help="JSON lines as they are")
    parser.add_argument("--documents", help="how many, with commas  [10000,100000,1000000; fewer of what is alike]")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--workers", default=",".join(map(str, sorted({1, os.cpu_count() or 1}))), help="of --lines, with commas"
    )
    parser.add_argument("--folder", type=Path, default=HERE / "data", help="for the documents; 8 GB for a million")
    parser.add_argument("--dry-run", action="store_true", help="record nothing")
    arguments = parser.parse_args()
    name, usual = "scaling", "10000,100000,1000000"
    if arguments.boilerplate:
        name, usual = "boilerplate", "1000,10000,100000"
    elif arguments.families:
        name, usual = "families", "20000,200000"
    elif arguments.lines:
        name, usual = "lines", "100000,1000000"
    counts = arguments.documents or usual
    sizes = sorted(map(int, counts.split(",")))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors, the best of {arguments.rounds} rounds")
    fields = {"scaling": FIELDS, "lines": LINES_FIELDS}.get(name, BOILERPLATE_FIELDS)
    print(*fields, sep="\t")

    path = HERE / "results" / f"duplicates-{name}.csv"
    others: _Rows = []
    if name == "lines" and path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            others = [{**row} for row in csv.DictReader(file) if row["file"] != arguments.lines.stem]

    def record(rows: _Rows) -> None:
        if not arguments.dry_run:
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, fields)
                writer.writeheader()
                writer.writerows([*others, *rows])

    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="duplicates-") as made:
        if name == "lines":
            workers = sorted(map(int, arguments.workers.split(",")))
            rows = first_lines(arguments.lines, sizes, arguments.rounds, workers, Path(made), record)
        elif name != "scaling":
            from duplicates_texts import BOILERPLATE, FAMILIES

            rows = alike(FAMILIES if arguments.families else BOILERPLATE, sizes, arguments.rounds, Path(made))
        else:
            rows = scaling(arguments.corpus, sizes, arguments.rounds, Path(made))
    record(rows)


if __name__ == "__main__":
    main()
