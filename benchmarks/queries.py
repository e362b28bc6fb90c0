"""Measures the CPU time of queries to an embedded store of many documents.

    python benchmarks/queries.py [CORPUS.jsonl] [PARAGRAPHS.jsonl] [--sizes 200000,1000000] [--queries N] [--rounds N]
        [--kinds "similar 50,contains 50"] [--folder FOLDER] [--label TEXT] [--csv FILE]

A store begins with the first 1,500 documents of the corpus, 13 KB each, and grows by the paragraphs that
`million_texts.py` writes, 0.4 KB each. At each size, searches start from documents of the corpus and from paragraphs,
each for the first time, and the median processor time is printed. Then come seven or more rounds, each after clearing
the plan's caches; the median of the best times is the time of a query if other processes do not compete for the
processor's caches. Then comes the stored size of the paragraphs relative to their text. The store stays in the folder,
and an existing one grows.
"""

from __future__ import annotations

import argparse
import gc
import platform
import sqlite3
import statistics
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path

from corpus_texts import texts
from indexing import COLUMNS, HERE, QUERIES, cpu_ms
from recorded_rows import replace_rows
from whorl import Document, Store, open_store
from whorl.search.similar import sketch_plan

WHOLE, ROUNDS = 1_500, 7


def documents(corpus: Path, paragraphs: Path) -> Iterator[Document]:
    """Yield texts of the corpus, and then paragraphs."""
    return (Document(*row) for row in chain(islice(texts(corpus), WHOLE), texts(paragraphs)))


def query_times(
    store: Store, names: Sequence[str], kinds: Iterable[str] = QUERIES, most: int = ROUNDS
) -> Iterator[tuple[str, float, float]]:
    """Yield the median of the first times and of the best times for each kind of query."""
    for what in kinds:
        ask = QUERIES[what]
        for name in names[:3]:
            ask(store, name)
        rounds = []
        for _ in range(1 + most):
            sketch_plan._branches.cache_clear()
            gc.collect()
            rounds.append([cpu_ms(partial(ask, store, name)) for name in names])
        yield what, statistics.median(rounds[0]), statistics.median(map(min, zip(*rounds[1:], strict=True)))


def packed(folder: Path, paragraphs: Iterable[Document]) -> float:
    """Return the stored size of the paragraphs' texts, in percent of the text."""
    with closing(sqlite3.connect(folder / "records.db")) as connection:
        # The first documents have the lowest numbers.
        [(stored,)] = connection.execute(
            "SELECT sum(length(coalesce(content, head))) FROM document WHERE number > ?", (WHOLE,)
        )
    return float(100 * stored / sum(len(paragraph.text.encode()) for paragraph in paragraphs))


def main() -> None:
    """Grow the store, measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("paragraphs", nargs="?", type=Path, default=HERE / "data" / "million" / "documents.jsonl")
    parser.add_argument("--sizes", default="200000,1000000")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--kinds", default=",".join(QUERIES), help="questions, all of them by default")
    parser.add_argument("--folder", type=Path, default=HERE / "data" / "queries.whorl")
    parser.add_argument("--label", default="")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    with open_store(options.folder) as store:
        for size in map(int, options.sizes.split(",")):
            if (there := store.engine.count()) < size:
                taken = cpu_ms(
                    partial(
                        store.index, islice(documents(options.corpus, options.paragraphs), there, size), batch=2_000
                    )
                )
                print(f"{size - there:,} documents in {taken / 1000:.0f} s of processor time")
            everything = [document.id for document in islice(documents(options.corpus, options.paragraphs), size)]
            rows = []
            for kind, ids in (("13 KB", everything[:WHOLE]), ("paragraph", everything[WHOLE:])):
                chosen = ids[:: max(1, len(ids) // options.queries)][: options.queries]
                names = [name.replace("_", "\\_") for name in chosen]
                for what, first, best in query_times(store, names, options.kinds.split(","), options.rounds):
                    for statistic, value in (("first", first), ("best", best)):
                        rows.append([options.label, size, f"{what}, {kind}, {statistic}", f"{value:.3f}", "ms CPU"])
            share = packed(options.folder, islice(documents(options.corpus, options.paragraphs), WHOLE, size))
            rows.append([options.label, size, "texts of paragraphs", f"{share:.3f}", "% of the text"])
            for row in rows:
                print(f"{row[1]:>9,} {row[2]:44} {row[3]:>9} {row[4]}", flush=True)
            if options.csv:
                lines = [[*row, platform.python_version()] for row in rows]
                replace_rows(options.csv, COLUMNS, lines, 2)


if __name__ == "__main__":
    main()
