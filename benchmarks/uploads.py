"""Measures single uploads and deletions in a large embedded store.

    python benchmarks/uploads.py [--documents N] [--uploads N] [--deletes N] [--clients N] [--label TEXT] [--csv FILE]

Every upload is a `Store.index` of one new document, searchable when it returns; every delete removes one of the first
documents. Printed, and recorded in the file of `--csv`, are wall milliseconds (median, 99 %, maximum) and processor
milliseconds of all threads, per document. A search follows each upload or delete, and its hit is checked. Then the same
number of uploads come from several threads at once, as in a service; uploads that wait together share a commit.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from recorded_rows import replace_rows
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.model import Document
from whorl.store import Store

COLUMNS = ["label", "store", "step", "times", "median ms", "p99 ms", "longest ms", "CPU ms", "python"]
VOCABULARY = [f"word{number}" for number in range(50_000)]


def documents(first: int, count: int) -> Iterator[Document]:
    """Yield documents of some hundred words, frequent and rare ones, each with a unique word."""
    for number in range(first, first + count):
        chosen = random.Random(number)
        words = [VOCABULARY[int(len(VOCABULARY) * chosen.random() ** 3)] for _ in range(chosen.randrange(100, 500))]
        yield Document(f"d{number}", f"own{number} {' '.join(words)}", f"document {number}")


def timed(step: str, work: Callable[[Document], None], documents: Sequence[Document], clients: int = 1) -> list[object]:
    """Call a function for each document, from several threads, and return the times."""

    def took(document: Document) -> float:
        begin = time.perf_counter()
        work(document)
        return (time.perf_counter() - begin) * 1000

    processor = time.process_time()
    with ThreadPoolExecutor(clients) as threads:
        clock = list(threads.map(took, documents))
    spent = (time.process_time() - processor) * 1000 / len(documents)
    clock.sort()
    p99 = clock[min(len(clock) - 1, int(len(clock) * 0.99))]
    return [step, len(documents), *(f"{ms:.1f}" for ms in (statistics.median(clock), p99, clock[-1], spent))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--uploads", type=int, default=300)
    parser.add_argument("--deletes", type=int, default=50)
    parser.add_argument("--clients", type=int, default=16, help="threads that upload at once")
    parser.add_argument("--label", default="")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder,
        Store(EmbeddedEngine(Path(folder) / "store")) as store,
    ):
        begin = time.perf_counter()
        store.index(documents(0, arguments.documents))
        print(f"{arguments.documents:,} documents in {time.perf_counter() - begin:.0f} s", flush=True)

        def upload(document: Document) -> None:
            store.index([document])

        def delete(document: Document) -> None:
            assert store.delete([document.id]) == 1

        def search(document: Document, hits: int) -> None:
            assert store.search(document.text.split()[0]).total == hits

        new, old = list(documents(arguments.documents, arguments.uploads)), list(documents(0, arguments.deletes))
        together = list(documents(arguments.documents + arguments.uploads, arguments.uploads))
        rows = [
            timed("upload", upload, new),
            timed("search", partial(search, hits=1), new),
            timed("delete", delete, old),
            timed("search of deleted", partial(search, hits=0), old),
            timed(f"upload, {arguments.clients} at once", upload, together, arguments.clients),
            timed("search of those", partial(search, hits=1), together),
        ]
    lines = [[arguments.label, arguments.documents, *row, platform.python_version()] for row in rows]
    for line in lines:
        print("  ".join(f"{name} {value}" for name, value in zip(COLUMNS, line, strict=True)))
    if arguments.csv:
        replace_rows(arguments.csv, COLUMNS, lines, 2)


if __name__ == "__main__":
    main()
