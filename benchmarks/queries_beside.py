"""Compares the time of a query to an embedded store in two versions of whorl, in turns.

    python benchmarks/queries_beside.py OTHER STORE [--queries N] [--rounds N] [--csv FILE]

OTHER is a checkout of the other version. STORE is a folder that both can read, as `queries.py` leaves it. Each version
runs in its own process. Each document is searched with `similar` at 50 % in one version and then in the other, after
clearing the plan's caches, so other load on the machine affects both. Prints the medians, over the documents, of the
first, the median and the best times, in ms of processor time.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from corpus_texts import texts
from indexing import HERE
from queries import WHOLE

_ASKED = """
import gc, sys, time
from whorl import open_store
from whorl.search.similar import sketch_plan
from whorl.search.similar import find_similar
kept = [each for each in (getattr(find_similar, "_plan", None), sketch_plan._branches) if hasattr(each, "cache_clear")]
with open_store(sys.argv[1], create=False) as store:
    gc.disable()
    for line in sys.stdin:
        for each in kept:
            each.cache_clear()
        begin = time.process_time()
        store.similar(line.rstrip("\\n"), metric="jaccard", threshold=50)
        print(1000 * (time.process_time() - begin), flush=True)
"""


class Version:
    """A version of whorl that runs in its own process.

    Args:
        checkout: Its folder.
        store: The searched store.
    """

    def __init__(self, checkout: Path, store: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        command, pipe = [sys.executable, "-c", _ASKED, str(store)], subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def taken(self, document_id: str) -> float:
        """Return the processor time of a search for a document, in milliseconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{document_id}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def beside(versions: dict[str, Version], ids: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Return the medians of the first, the median and the best times for each version."""
    times: dict[str, dict[str, list[float]]] = {name: {document_id: [] for document_id in ids} for name in versions}
    for _ in range(rounds):
        for document_id in ids:
            for name, version in versions.items():
                times[name][document_id].append(version.taken(document_id))
    return {
        name: [
            statistics.median(map(which, own.values())) for which in (lambda times: times[0], statistics.median, min)
        ]
        for name, own in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("store", type=Path)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    versions = {"other": Version(options.other, options.store), "this": Version(HERE.parent, options.store)}
    rows = []
    sources = {"13 KB": HERE / "data" / "main.jsonl", "paragraph": HERE / "data" / "million" / "documents.jsonl"}
    for kind, path in sources.items():
        ids = [document_id for document_id, _ in islice(texts(path), 0, WHOLE, max(1, WHOLE // options.queries))]
        for name, medians in beside(versions, ids, options.rounds).items():
            rows += [
                [name, kind, f"similar 50, {what}", f"{value:.3f}", "ms CPU"]
                for what, value in zip(("first", "median", "best"), medians, strict=True)
            ]
    for row in rows:
        print(f"{row[0]:6} {row[1]:10} {row[2]:20} {row[3]:>9} {row[4]}")
    if options.csv:
        with options.csv.open("w", newline="") as file:
            csv.writer(file).writerows([["version", "source", "what", "value", "unit"], *rows])
    for version in versions.values():
        version.process.kill()


if __name__ == "__main__":
    main()
