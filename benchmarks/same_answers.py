"""Proof that all engines give the same answers about real documents: ids, scores, totals, their order.

    python benchmarks/same_answers.py [CORPUS.jsonl] [--documents N] [--queries 1000] [--solr URL] [--opensearch URL]

The documents of the corpus go into a folder, a Solr and an index of OpenSearch (started here where none is named). Then
generated queries are asked of all three: FINGERPRINTs of any document with any numbers, words, phrases and patterns of
its text and name, ranges, alone and in twos and threes with operators, the first page and one behind it; and
`similar` by the metrics at 50 and 80 %. Prints what differs; the exit status is 1 when anything does.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path

from engine_solr import own_solr
from similar import texts
from whorl import Document, Store, open_store
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.local.launcher import start_opensearch
from whorl.fingerprint.words.tokenizer import tokens

HERE = Path(__file__).resolve().parent
ROWS = 20
#: A float of 32 bits, in which the servers add scores up.
DIGITS = 4
#: Sources of `similar`.
SOURCES = 40
_SHOWN = 10
_OPERATORS = {"and", "or", "not", "to"}


def query(chance: random.Random, documents: Sequence[Document], depth: int = 1) -> str:
    """Return a query about some of the documents."""
    if depth and chance.random() < 0.6:
        parts = [query(chance, documents, depth - 1) for _ in range(chance.randint(2, 3))]
        joint = chance.choice([" AND ", " OR ", " AND NOT ", " "])
        return f"({joint.join(parts)})"
    document = chance.choice(documents)
    plain = [word for word in tokens(document.text[:5000]) if word.isalnum() and word.isascii()]
    words = [word for word in plain if word not in _OPERATORS] or ["a"]
    at = chance.randrange(len(words))
    overlap, probability = chance.choice([5, 20, 33, 50, 80, 100]), chance.choice([50, 90, 99])
    return chance.choice(
        [
            f'FINGERPRINT:"{document.id}"_{overlap}',
            f'FINGERPRINT:"{document.id}"_{overlap}_{probability}',
            words[at],
            f'"{" ".join(words[at : at + 3])}"',
            f"content:{words[at][:3]}*",
            f"{words[at]}~0.8",
            f'id:"{document.id}"',
            f"number:[{at} TO {at + 500}]",
            f"{words[at]} * {words[-1]}",
        ]
    )


def page_of(store: Store, text: str, start: int) -> tuple[int, list[tuple[str, float]]]:
    """Return the total of a query, and a page with scores as far as 32 bits tell them."""
    found = store.search(text, rows=ROWS, start=start)
    return found.total, [(hit.id, float(f"{hit.score:.{DIGITS}g}")) for hit in found.hits]


def similar_to(store: Store, name: str, metric: str, threshold: int) -> list[tuple[str, float]]:
    """Return what is similar, with the score."""
    found = store.similar(name, metric=metric, threshold=threshold, rows=200).found
    return [(each.hit.id, round(each.hit.score, DIGITS)) for each in found]


def compare(stores: Mapping[str, Store], documents: Sequence[Document], count: int) -> int:
    """Ask all stores the same; print what differs, and return how much that is."""
    chance, differing, hits = random.Random(15), list[str](), 0
    for number in range(count):
        text, start = query(chance, documents), chance.choice([0, 0, 40])
        told = {name: page_of(store, text, start) for name, store in stores.items()}
        first = next(iter(told.values()))
        hits += first[0]
        if any(each != first for each in told.values()):
            differing.append(f"{text} from {start}: { {name: each[0] for name, each in told.items()} }")
        if number % 200 == 199:
            print(f"{number + 1:,} queries, {hits:,} hits, {len(differing):,} differ", flush=True)
    for document in chance.sample(list(documents), min(SOURCES, len(documents))):
        for metric in ("jaccard", "containment"):
            for threshold in (50, 80):
                told_similar = [similar_to(store, document.id, metric, threshold) for store in stores.values()]
                if any(each != told_similar[0] for each in told_similar):
                    differing.append(f"similar to {document.id} by {metric} at {threshold}")
    for each in differing[:_SHOWN]:
        print(f"differs: {each}")
    print(f"{count:,} queries and {4 * SOURCES} similar searches on {len(stores)} engines: {len(differing):,} differ")
    return len(differing)


def main() -> None:
    """Fill the engines and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--documents", type=int, default=1_000_000, help="the first ones of the corpus")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--solr", help="URL of an empty collection of whorl's configset; else one is started")
    parser.add_argument("--opensearch", help="URL of a cluster, http://host:9200; else one is started")
    asked = parser.parse_args()
    documents = [
        Document(name, text, properties={"number": number})
        for number, (name, text) in enumerate(islice(texts(asked.corpus), asked.documents))
    ]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = asked.opensearch or stack.enter_context(start_opensearch(folder / "opensearch", heap="1g")).url
        names = {
            "embedded": str(folder / "store"),
            "Solr": asked.solr or stack.enter_context(own_solr(folder / "solr")).url,
            "OpenSearch": f"opensearch+{cluster}/whorl_same_answers",
        }
        with closing(IndexClient(names["OpenSearch"])) as client:
            client.raw.indices.delete(index=client.index, params={"ignore_unavailable": "true"})
        stores = {name: stack.enter_context(open_store(each)) for name, each in names.items()}
        for name, store in stores.items():
            began = time.perf_counter()
            store.index(documents)
            print(f"{name}: {len(documents):,} documents in {time.perf_counter() - began:,.0f} s", flush=True)
        sys.exit(1 if compare(stores, documents, asked.queries) else 0)


if __name__ == "__main__":
    main()
