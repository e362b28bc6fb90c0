"""Measures an embedded store: CPU time to index a document, bytes on disk, CPU time of queries.

    python benchmarks/indexing.py [CORPUS.jsonl] [--documents N] [--pieces N] [--queries N]
        [--without-minhash | --short-minhash] [--label TEXT] [--csv FILE]

The first N documents of the corpus go into a new store, as with `whorl index`; the time of zlib for the same texts is
the reference. `--pieces` adds pieces of 200 words, stored but not timed, until the store has that many documents. Then
searches start from documents of the corpus, one after the other, and the median processor time is printed. Bytes are
counted in the files of the closed store, by content. Rows of the same label and number of documents are replaced in the
file of `--csv`.
"""

from __future__ import annotations

import argparse
import platform
import resource
import sqlite3
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from corpus_texts import documents
from recorded_rows import replace_rows
from whorl import Document, Store, open_store

HERE = Path(__file__).resolve().parent
COLUMNS = ["label", "documents", "what", "value", "unit", "python"]
QUERIES: dict[str, Callable[[Store, str], object]] = {
    "similar 50": lambda store, name: store.similar(name.replace("\\", ""), metric="jaccard", threshold=50),
    "contains 50": lambda store, name: store.similar(name.replace("\\", ""), threshold=50, metric="a_in_b"),
    "FINGERPRINT:id": lambda store, name: store.search(f'FINGERPRINT:"{name}"'),
    "FINGERPRINT:id_50": lambda store, name: store.search(f'FINGERPRINT:"{name}"_50'),
    "FINGERPRINT:id_50_90": lambda store, name: store.search(f'FINGERPRINT:"{name}"_50_90'),
    "FINGERPRINT:id AND word": lambda store, name: store.search(f'FINGERPRINT:"{name}" AND the'),
    "a phrase": lambda store, name: store.search('"standard error"'),
}

Line = tuple[str, float, str]


def cpu_ms(work: Callable[[], object]) -> float:
    """Return the processor time of a call in milliseconds, all threads together."""
    begin = time.process_time()
    work()
    return (time.process_time() - begin) * 1000


def indexed(store: Store, documents: Sequence[Document]) -> Iterable[Line]:
    """Store documents, and yield the cost per document and zlib's."""
    taken = cpu_ms(lambda: store.index(documents)) / len(documents)
    packed = cpu_ms(lambda: [zlib.compress(document.text.encode()) for document in documents]) / len(documents)
    yield "indexing", taken, "ms CPU a document"
    yield "zlib of the text", packed, "ms CPU a document"
    yield "indexing", taken / packed, "times zlib"
    yield "largest memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB"


def parts(folder: Path) -> dict[str, int]:
    """Return the bytes of a closed store by content."""
    connection = sqlite3.connect(folder / "records.db")
    columns = [row[1] for row in connection.execute("PRAGMA table_info(document)")]
    sizes = {
        f"records: {column}": int(
            connection.execute(f"SELECT coalesce(sum(length({column})), 0) FROM document").fetchone()[0]
        )
        for column in ("head", "minima", "sketch", "content")
        if column in columns
    }
    connection.close()
    sizes["records: the rest"] = (folder / "records.db").stat().st_size - sum(sizes.values())
    for file in sorted((folder / "index").rglob("*")):
        if file.is_file():
            what = f"index: {file.parent.name} {file.suffix or 'meta'}"
            sizes[what] = sizes.get(what, 0) + file.stat().st_size
    return sizes


def sizes(folder: Path, text_bytes: int, count: int) -> Iterable[Line]:
    """Yield the bytes of a closed store by content, per document and relative to the text."""
    byte_counts = parts(folder)
    for what, size in {**byte_counts, "all": sum(byte_counts.values())}.items():
        yield what, size / count, "bytes a document"
        yield what, 100 * size / text_bytes, "% of the text"


def query_times(store: Store, names: Sequence[str], kinds: Iterable[str] = QUERIES) -> Iterable[Line]:
    """Yield the median time of each kind of query."""
    for what, ask in ((kind, QUERIES[kind]) for kind in kinds):
        for name in names[:3]:
            ask(store, name)
        yield what, statistics.median(cpu_ms(partial(ask, store, name)) for name in names), "ms CPU"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--documents", type=int, default=1_500)
    parser.add_argument("--pieces", type=int, default=0)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--without-minhash", action="store_true", help="a store that FINGERPRINT cannot be asked of")
    parser.add_argument("--short-minhash", action="store_true", help="a store that reads texts for a FINGERPRINT")
    parser.add_argument("--label", default="")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    everything = documents(options.corpus, max(options.documents, options.pieces))
    chosen = list(islice(everything, options.documents))
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        path = Path(folder) / "store"
        whole_cut, suffix_cut = options.without_minhash, options.short_minhash
        with open_store(path, without_minhash=whole_cut, short_minhash=suffix_cut) as store:
            store.index(
                Document("warm", "a text to make ready whatever is made ready once " * 20_000) for _ in range(1)
            )
            store.delete(["warm"])
            lines = list(indexed(store, chosen))
        lines += sizes(path, sum(len(document.text.encode()) for document in chosen), len(chosen))
        with open_store(path) as store:
            store.index(everything, batch=5_000)
            names = [document.id.replace("_", "\\_") for document in chosen[:: max(1, len(chosen) // options.queries)]][
                : options.queries
            ]
            kinds = [query for query in QUERIES if not options.without_minhash or "FINGERPRINT" not in query]
            lines += query_times(store, names, kinds)
            count = store.engine.count()
    rows = [
        [options.label, count, what, f"{value:.3f}", unit, platform.python_version()] for what, value, unit in lines
    ]
    for row in rows:
        print(f"{row[2]:40} {row[3]:>14} {row[4]}")
    if options.csv:
        replace_rows(options.csv, COLUMNS, rows, 2)


if __name__ == "__main__":
    main()
