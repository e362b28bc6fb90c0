"""Compares the speed of whorl.hamming, simhash-py and simhash-pybind, in one run.

    python benchmarks/hamming.py [corpus] [single] [pairs] [large] [--corpus-peer FOLDER] [--pairs-peer FOLDER]

Contenders take turns, each in its own process. The best round counts, in CPU seconds, since others may use the machine.
A peer is a folder with a Python package `simhash` for this Python:

    --corpus-peer  simhash-py 0.1.1, the last version with a Corpus, ported to Python 3: with Cython 0.29, libJudy,
                   and `//` for integer division
    --pairs-peer   simhash-pybind: pip install --target FOLDER simhash-pybind==0.0.3

    corpus  the workload of simhash-py's bench.py (5 blocks, 3 bits): bulk insertion, first match, all matches, removal
    single  one query a call, and a loop that inserts one code and searches for one
    pairs   all pairs within 3 bits
    large   all pairs of 10 million codes, and of 100 million (3 GB, and a minute)
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hamming_workloads import make

HERE = Path(__file__).resolve().parent
FIELDS = ("section", "workload", "codes", "contender", "what", "cpu", "wall", "times as fast", "answers")


class Run(NamedTuple):
    """Contenders and workloads that are measured together."""

    section: str
    workload: str
    codes: int
    contenders: list[str]
    rounds: int


def runs(sections: list[str], corpus_peer: bool, pairs_peer: bool, count: int, rounds: int) -> list[Run]:
    corpus, pairs = ["simhash"] * corpus_peer, ["simhash"] * pairs_peer
    both = ["corpus", "index", "corpus-plain", "index-plain"]
    every = [
        *(Run("corpus", workload, count, corpus + both, rounds) for workload in ("random", "planted")),
        *(Run("single", workload, count, corpus + both, rounds) for workload in ("random", "planted")),
        *(Run("pairs", workload, count, [*pairs, "index", "index-plain"], rounds) for workload in ("planted", "skew")),
        Run("large", "planted", 10 * count, ["index"], 2),
        Run("large", "planted", 100 * count, ["index"], 1),
    ]
    return [run for run in every if run.section in sections]


def measured(run: Run, folder: Path, peers: dict[str, Path | None]) -> list[dict[str, str]]:
    """Run the contenders in turns and return rows."""
    codes, queries = make(run.workload, run.codes, min(run.codes, 1_000_000))
    files = [folder / "codes.npy", folder / "queries.npy"]
    np.save(files[0], codes)
    np.save(files[1], queries)
    del codes, queries
    task = "pairs" if run.section == "large" else run.section
    best: dict[str, dict[str, float]] = {contender: {} for contender in run.contenders}
    answers: dict[str, str] = {}
    for _ in range(run.rounds):
        for contender in run.contenders:
            peer = peers[task] if contender == "simhash" else None
            environment = {**os.environ, **({"PYTHONPATH": str(peer)} if peer else {})}
            command = [sys.executable, str(HERE / "hamming_worker.py"), task, *map(str, files), contender]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            record = json.loads(done.stdout)
            answers[contender] = record.pop("answers", "")
            for name, value in record.items():
                best[contender][name] = min(value, best[contender].get(name, value))
    if len(set(answers.values())) > 1:
        raise SystemExit(f"contenders disagree: {answers}")
    first = best[run.contenders[0]]
    rows = []
    for contender, values in best.items():
        for name in values:
            what, _, unit = name.rpartition("_")
            if unit == "wall":
                continue
            is_time = unit == "cpu"
            ratio = first[name] / values[name] if run.contenders[0] == "simhash" and contender != "simhash" else 0
            row = [run.section, run.workload, run.codes, contender, what if is_time else name, f"{values[name]:.4g}"]
            row += [f"{values[f'{what}_wall']:.4g}" if is_time else "", f"{ratio:.1f}" if ratio else ""]
            rows.append({**dict(zip(FIELDS, map(str, row), strict=False)), "answers": answers[contender]})
            print(*row, sep="\t", flush=True)
    return rows


def main() -> None:
    """Measure, print and record the rows; rows of other sections stay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=["corpus", "single", "pairs", "large"])
    parser.add_argument("--corpus-peer", type=Path)
    parser.add_argument("--pairs-peer", type=Path)
    parser.add_argument("--codes", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "hamming.csv")
    arguments = parser.parse_args()
    rows = []
    if arguments.out.exists():
        with arguments.out.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["section"] not in arguments.sections]
    peers = {"corpus": arguments.corpus_peer, "single": arguments.corpus_peer, "pairs": arguments.pairs_peer}
    plan = runs(
        arguments.sections, bool(arguments.corpus_peer), bool(arguments.pairs_peer), arguments.codes, arguments.rounds
    )
    with tempfile.TemporaryDirectory() as folder:
        for run in plan:
            rows += measured(run, Path(folder), peers)
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
