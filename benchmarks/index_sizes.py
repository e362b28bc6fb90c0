"""Measures the size of the index of short texts in every engine, by part.

    python benchmarks/index_sizes.py [TEXTS.jsonl] [--documents 20000] [--copies 1] [--engines solr,solr-sketch]
        [--label TEXT]

The texts are the first paragraphs of `million_texts.py`. Each engine indexes them with its own defaults; solr-sketch
and opensearch-sketch are without MINHASH, embedded-short is an embedded store with short MINHASH tokens. On a server
the index is merged to one segment, and its files are counted by the contents that their names tell. OpenSearch merges
twice: it retains the whole source of each document a second time until it has renewed the retention leases, which it
does every 30 seconds. With `--copies 10`, ten documents have each text, and the text counts ten times. Rows of the same
label are replaced in results/index-sizes.csv.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import requests

from corpus_texts import texts
from indexing import parts
from million_stores import without_minhash
from recorded_rows import replace_rows
from whorl import Document, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.opensearch import start_cluster
from whorl.engine.local.solr import configset_directory, start_standalone
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import create

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "index-sizes.csv"
COLUMNS = ["label", "engine", "documents", "what", "% of the text"]
#: Contents of Lucene's files by their suffix.
LUCENE = {
    **dict.fromkeys((".fdt", ".fdx", ".fdm"), "stored fields"),
    **dict.fromkeys((".tim", ".tip", ".tmd"), "terms"),
    **dict.fromkeys((".doc", ".pos", ".pay", ".psm"), "postings and positions"),
    **dict.fromkeys((".dvd", ".dvm"), "doc values"),
    **dict.fromkeys((".kdd", ".kdi", ".kdm"), "points"),
    **dict.fromkeys((".nvd", ".nvm"), "norms"),
}
#: Seconds after which OpenSearch has renewed its retention leases.
RENEWED = 40

#: Name of the size of an OpenSearch index that still retains the sources of new documents a second time.
MERGED_AT_ONCE = "all, merged at once"


@contextmanager
def started(engine: str, folder: Path) -> Iterator[tuple[str, bool]]:
    """Yield the address of an empty store, and whether it is on a server."""
    if engine.startswith("embedded"):
        yield str(folder / "store"), False
    elif engine.startswith("solr"):
        configset = without_minhash(folder / "configset") if engine == "solr-sketch" else configset_directory()
        with start_standalone(folder / "solr", {"sizes": configset}, heap="1g") as solr:
            yield f"{solr.url}/sizes", True
    else:
        with start_cluster(folder, heap="1g") as cluster:
            url = f"opensearch+{cluster.url.rstrip('/')}/sizes"
            with closing(IndexClient(url)) as client:
                create(client, FieldNames(), without_minhash=engine == "opensearch-sketch")
            yield url, True


def merge(engine: str, url: str) -> None:
    """Merge the index to one segment."""
    session = requests.Session()
    session.trust_env = False
    address = url.removeprefix("opensearch+")
    if engine.startswith("solr"):
        session.post(f"{address}/update", json={"optimize": {"maxSegments": 1}}, timeout=600).raise_for_status()
        return
    for path in ("_flush?force=true&wait_if_ongoing=true", "_forcemerge?max_num_segments=1", "_refresh"):
        session.post(f"{address}/{path}", timeout=600).raise_for_status()


def lucene_parts(folder: Path) -> dict[str, int]:
    """Return the bytes of a server's index by content."""
    sizes: Counter[str] = Counter()
    for file in folder.rglob("index/*"):
        if file.is_file():
            sizes[LUCENE.get(file.suffix, "the rest")] += file.stat().st_size
    return dict(sizes)


def measure(engine: str, documents: Sequence[Document], folder: Path) -> dict[str, int]:
    """Index the documents, and return the bytes of the index by content."""
    is_short = engine == "embedded-short"
    with started(engine, folder) as (url, is_server), open_store(url, short_minhash=is_short) as store:
        store.index(documents)
        if is_server:
            merge(engine, url)
        if engine.startswith("opensearch"):
            at_once = sum(lucene_parts(folder).values())
            time.sleep(RENEWED)
            # Only a segment with deleted documents is merged again.
            store.index([documents[-1]], again=True)
            merge(engine, url)
            return {MERGED_AT_ONCE: at_once, **lucene_parts(folder)}
        if is_server:
            return lucene_parts(folder)
    return parts(folder / "store")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="?", type=Path, default=HERE / "data" / "million" / "documents.jsonl")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--copies", type=int, default=1, help="number of documents with each text")
    parser.add_argument("--engines", default="embedded,solr,solr-sketch,opensearch,opensearch-sketch")
    parser.add_argument("--label", default="")
    options = parser.parse_args()
    documents = [
        Document(f"{name}-{copy}" if copy else name, text)
        for copy in range(options.copies)
        for name, text in islice(texts(options.texts), options.documents)
    ]
    text_bytes = sum(len(document.text.encode()) for document in documents)
    for engine in options.engines.split(","):
        with tempfile.TemporaryDirectory(prefix="whorl-sizes-") as folder:
            sizes = measure(engine, documents, Path(folder))
        sizes["all"] = sum(size for what, size in sizes.items() if what != MERGED_AT_ONCE)
        rows = [
            [options.label, engine, str(len(documents)), what, f"{100 * size / text_bytes:.3f}"]
            for what, size in sizes.items()
        ]
        for row in rows:
            print(f"{row[1]:12} {row[3]:28} {row[4]:>10} % of the text", flush=True)
        replace_rows(RESULTS, COLUMNS, rows, 2)


if __name__ == "__main__":
    main()
