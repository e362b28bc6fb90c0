"""Measures the CPU time that whorl takes to index a document on a server, as a multiple of that of its fingerprints.

    python benchmarks/server_indexing.py [--engines opensearch,solr] [--rounds 3] [--label TEXT] [--csv FILE]

The texts are the first 20,000 paragraphs of `million_texts.py`, and the first 1,500 texts of `corpus.py`. In each
round, every engine indexes all of them into a new collection, and the fingerprints of the same texts are computed
alone: words, shingle hashes, MinHash tokens, look-up tokens and sketches, in one thread. Only CPU time of whorl's own
process counts, not the server's. The median of the rounds is recorded.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from operator import truediv
from pathlib import Path
from statistics import median

from corpus_texts import texts
from recorded_rows import replace_rows
from whorl import Document, Scheme, open_store
from whorl.engine.local.opensearch import start_cluster
from whorl.engine.local.solr import configset_directory, start_standalone
from whorl.fingerprint.fingerprint_texts import hash_texts, index_numbers, index_outputs
from whorl.fingerprint.sketch.frac_minhash import SketchScheme

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
COLUMNS = ["label", "texts", "documents", "what", "ms CPU a document", "times the fingerprints", "load"]
#: Files of texts and numbers of documents.
TEXTS = {"paragraphs": ("million/documents.jsonl", 20_000), "long texts": ("main.jsonl", 1_500)}
#: Number of texts for each call of `index_numbers`, as in an index.
AT_ONCE = 64


def cpu_ms(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return (time.process_time() - begin) * 1000


def fingerprint(all_texts: Sequence[str]) -> None:
    """Compute everything about the texts that an index stores, without storing it."""
    scheme, sketch_scheme = Scheme(), SketchScheme()
    hashes = hash_texts(all_texts, scheme, index_outputs(scheme), workers=1)
    for start in range(0, len(all_texts), AT_ONCE):
        portion = list(islice(hashes, AT_ONCE))
        index_numbers(all_texts[start : start + AT_ONCE], portion, scheme, sketch_scheme)
        for hashed in portion:
            hashed.sketch(sketch_scheme)


def index(url: str, documents: Sequence[Document]) -> None:
    with open_store(url) as store:
        store.index(documents)


def collection_name(kind: str, number: int) -> str:
    return f"{kind.replace(' ', '_')}_{number}"


def servers(engines: Sequence[str], collections: Sequence[str], stack: ExitStack) -> Iterator[tuple[str, str]]:
    """Start the servers, and yield each engine with the address of its collections."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    if "opensearch" in engines:
        cluster = stack.enter_context(start_cluster(folder / "opensearch", heap="1g"))
        yield "opensearch", f"opensearch+{cluster.url.rstrip('/')}"
    if "solr" in engines:
        cores = dict.fromkeys(collections, configset_directory())
        yield "solr", stack.enter_context(start_standalone(folder / "solr", cores, heap="1g")).url


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the texts")
    parser.add_argument("--engines", default="opensearch,solr")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--label", default="")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    rows = list[list[object]]()
    with ExitStack() as stack:
        collections = [collection_name(name, number) for name in TEXTS for number in range(options.rounds)]
        urls = dict(servers(options.engines.split(","), [*collections, "warm"], stack))
        warm = [Document(f"warm{number}", f"a text {number} to load the loops " * 20_000) for number in range(20)]
        for url in urls.values():
            index(f"{url}/warm", warm)
        for name, (file, count) in TEXTS.items():
            documents = [Document(key, text) for key, text in islice(texts(options.data / file), count)]
            all_texts, times = [document.text for document in documents], dict[str, list[float]]()
            for number in range(options.rounds):
                works = {"fingerprints": partial(fingerprint, all_texts)}
                for engine, url in urls.items():
                    works[engine] = partial(index, f"{url}/{collection_name(name, number)}", documents)
                for what, work in works.items():
                    times.setdefault(what, []).append(cpu_ms(work))
            for what, taken in times.items():
                ratio = median(map(truediv, taken, times["fingerprints"]))
                per_document, load = median(taken) / len(documents), f"{os.getloadavg()[0]:.1f}"
                rows.append([options.label, name, len(documents), what, f"{per_document:.3f}", f"{ratio:.2f}", load])
                print(f"{name:12} {what:14} {per_document:8.3f} ms CPU a document, {ratio:.2f} times the fingerprints")
    if options.csv:
        replace_rows(options.csv, COLUMNS, rows, 4)


if __name__ == "__main__":
    main()
