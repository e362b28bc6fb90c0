"""Compares calibrated searches with Solr's `{!min_hash}`, on a real Solr of 100,000 documents, in one run.

    python benchmarks/similar.py [CORPUS.jsonl] [--documents 100000] [--sources 60] [--rounds 5] [--keep FOLDER]
        [--segments 12,1] [--thresholds 20,50,80,90] [--warm 25] [--solr-only] [--million FOLDER]

The documents are those of the corpus, and pieces of 200 words of them until there are enough. For each source all
methods take turns, in a new order each round, and the median of the rounds counts. `{!min_hash}` is sent by bare HTTP,
with tokens fetched beforehand and not timed (its best case), and with the source's text, which it analyses itself.
whorl searches by the id of the source, so it fetches the source's tokens first (the sketch only in the first round),
and by the source's text, which it analyses itself; and it verifies the hits. The lower bound of all methods is an empty
exchange with Solr, by whorl's client. Solr's caches are off; otherwise they would answer all rounds but the first. Each
method has some untimed rounds first, as in a service that has run for some minutes: Java's and whorl's loops are then
compiled. Solr looks up every token in each segment of its index. `--segments` merges the index to each of the given
numbers of segments, and measures everything again.

With `--million` it uses the Solr of a million paragraphs that `million.py` has filled in this folder.

The true hits are counted on all shingles of all documents: recall and precision at the threshold, for each method.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import requests

from corpus_texts import documents
from engine_solr import MeasuredSolr, own_solr
from engine_timing import compared, interleaved
from million_stores import NAME, started
from whorl import Document, Store, open_store
from whorl.engine.server_engine import ServerAccess
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.request_body import join_tokens
from whorl.fingerprint.fingerprint_texts import sign, text_hashes
from whorl.fingerprint.shingling import Scheme

HERE = Path(__file__).resolve().parent
ROWS = 1000


class Truth:
    """All shingles of all documents, to count the shared ones of each pair."""

    def __init__(self, collection: list[Document], scheme: Scheme) -> None:
        everything = [text_hashes(document.text, scheme) for document in collection]
        self.sizes = np.array([len(shingles) for shingles in everything])
        owners = np.repeat(np.arange(len(everything), dtype=np.int32), self.sizes)
        hashes = np.concatenate(everything)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._owners = hashes[order], owners[order]
        self._by_document = everything

    def similar(self, source: int, threshold: float) -> set[int]:
        """Return the other documents whose Jaccard similarity with a source is at least a threshold."""
        own = self._by_document[source]
        first, last = (np.searchsorted(self._hashes, own, side=side) for side in ("left", "right"))
        owners = [self._owners[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True)]
        shared = np.bincount(np.concatenate(owners), minlength=len(self.sizes))
        jaccard = shared / (len(own) + self.sizes - shared)
        return set(np.flatnonzero(jaccard >= threshold).tolist()) - {source}


class BareMinHash:
    """Solr's `{!min_hash}` by plain HTTP."""

    def __init__(self, url: str) -> None:
        self._url, self._session = f"{url}/select", requests.Session()
        # By default it looks for proxies with each request.
        self._session.trust_env = False

    def ask(self, value: str, **parameters: str) -> list[str]:
        """Return the ids that a query finds."""
        query = {"min_hash": {"field": "MINHASH", "query": value, **parameters}}
        body = {"query": query, "limit": ROWS, "fields": ["id", "score"], "sort": "score desc, id asc"}
        answer = self._session.post(self._url, json={**body, "params": {"expandMacros": "false"}}, timeout=600)
        answer.raise_for_status()
        return [document["id"] for document in answer.json()["response"]["docs"]]


def ways(
    stores: Mapping[str, Store], client: SolrClient, source: Document, percent: int
) -> dict[str, Callable[[], list[str]]]:
    """Return every method for finding documents similar to a source, by name; one store belongs to the client."""
    bare, share = BareMinHash(client.url), str(percent / 100)
    tokens, separator = join_tokens(tuple(dict.fromkeys(sign(source.text, Scheme()).tokens)))
    quoted = re.sub(r'[\\"_]', r"\\\g<0>", source.id)

    def calibrated(store: Store) -> list[str]:
        page = store.similar(source.id, metric="jaccard", threshold=percent, recall=95, rows=ROWS)
        return [hit.hit.id for hit in page.found]

    def from_text(store: Store) -> list[str]:
        page = store.similar(source=source.text, metric="jaccard", threshold=percent, recall=95, rows=ROWS)
        return [hit.hit.id for hit in page.found]

    def stock(store: Store) -> list[str]:
        return [hit.id for hit in store.search(f'FINGERPRINT:"{quoted}"_{percent}_95', rows=ROWS).hits]

    def empty() -> list[str]:
        client.count({"term": {"f": "id", "query": "no such document"}})
        return []

    several = {
        "an empty exchange": empty,
        "min_hash, tokens known, minimum": lambda: bare.ask(tokens, sep=separator, sim=share, tp="1.0"),
        "min_hash, tokens known, bands": lambda: bare.ask(tokens, sep=separator, sim=share, tp="0.95"),
        "min_hash, from text, bands": lambda: bare.ask(source.text, sim=share, tp="0.95"),
    }
    for name, store in stores.items():
        several[f"{name}, stock bands"] = partial(stock, store)
        several[f"{name}, calibrated"] = partial(calibrated, store)
        several[f"{name}, calibrated, from text"] = partial(from_text, store)
    return several


@contextmanager
def of_million(folder: Path) -> Iterator[MeasuredSolr]:
    """Start the Solr that `million.py` has filled."""
    with started("solr", folder / "solr") as running:
        yield MeasuredSolr(f"{running.url}/{NAME}", running)


def fill(store: Store, collection: list[Document], what: str) -> None:
    """Index the missing documents."""
    begun = time.perf_counter()

    def show_progress(done: Any) -> None:
        print(f"\r{what}: {done.stored + done.unchanged:,} documents", end="", file=sys.stderr)

    store.index(collection, progress=show_progress)
    print(f"\r{what}: {store.count():,} documents in {time.perf_counter() - begun:.0f} s", file=sys.stderr)


def merged(client: SolrClient, segments: int | None) -> int:
    """Merge the segments of Solr's index down to this number, if one is given; return their number."""
    if segments is not None:
        client.post("update", {"optimize": {"maxSegments": segments}})
    return int(client.get("admin/luke", numTerms=0)["index"]["segmentCount"])


def measure(
    stores: Mapping[str, Store],
    client: SolrClient,
    collection: list[Document],
    truth: Truth,
    chosen: list[int],
    rounds: int,
    warm: int,
    segments: int,
    thresholds: Sequence[int],
) -> list[dict[str, object]]:
    """Time all methods at some thresholds, and count their hits."""
    chance = random.Random(11)
    places = {document.id: place for place, document in enumerate(collection)}
    rows: list[dict[str, object]] = []
    for percent in thresholds:
        for place in chosen:
            interleaved(ways(stores, client, collection[place], percent), warm, chance)
        times, counts = [], dict[str, list[tuple[int, int, int]]]()
        for place in chosen:
            several = ways(stores, client, collection[place], percent)
            right = truth.similar(place, percent / 100)
            for name, ask in several.items():
                found_documents = {places[document_id] for document_id in ask()} - {place}
                counts.setdefault(name, []).append((len(found_documents & right), len(found_documents), len(right)))
            times.append(interleaved(several, rounds, chance))
        for name, counted in counts.items():
            hit_count, found_count, wanted_count = (sum(column) for column in zip(*counted, strict=True))
            best = compared(times, "min_hash, tokens known, bands", name)
            rows.append(
                {
                    "documents": len(collection),
                    "segments": segments,
                    "threshold": percent,
                    "way": name,
                    "ms": round(1000 * median(query[name] for query in times), 2),
                    "times as fast as min_hash": round(best.median, 2),
                    "10th percentile": round(best.low, 2),
                    "recall": round(hit_count / wanted_count, 4) if wanted_count else "",
                    "precision": round(hit_count / found_count, 4) if found_count else "",
                }
            )
            print(*rows[-1].values(), sep="\t", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--sources", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm", type=int, default=25, help="rounds that are not timed")
    parser.add_argument("--keep", type=Path, help="folder in which both stores stay, for the next run")
    parser.add_argument("--segments", help="numbers of segments, descending, as 12,1; without it as they come")
    parser.add_argument("--thresholds", default="20,50,80,90")
    parser.add_argument(
        "--million", type=Path, metavar="FOLDER", help="where million.py has put its documents and Solr"
    )
    parser.add_argument("--solr-only", action="store_true", help="no embedded store beside it")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "similar.csv")
    arguments = parser.parse_args()
    corpus = arguments.corpus if arguments.million is None else arguments.million / "documents.jsonl"
    collection = list(documents(corpus, arguments.documents))
    chosen = random.Random(7).sample(range(len(collection)), arguments.sources)
    thresholds = [int(percent) for percent in arguments.thresholds.split(",")]
    numbers = [int(number) for number in arguments.segments.split(",")] if arguments.segments else [None]
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as made:
        home = arguments.keep or Path(made)
        with ExitStack() as opened:
            measured = opened.enter_context(
                own_solr(home / "solr") if arguments.million is None else of_million(arguments.million)
            )
            client = opened.enter_context(closing(SolrClient(measured.url, ServerAccess(timeout_seconds=3600))))
            stores = {"whorl on Solr": opened.enter_context(open_store(measured.url))}
            if not (arguments.solr_only or arguments.million):
                stores["whorl embedded"] = opened.enter_context(open_store(home / "folder"))
            for name, store in stores.items():
                if arguments.million is None:
                    fill(store, collection, name)
            truth = Truth(collection, Scheme())
            for number in numbers:
                segments = merged(client, number)
                measured.switch_caches(on=False)
                print(f"Solr {measured.version}, {len(collection):,} documents in {segments} segments")
                print("documents\tsegments\tthreshold\tway\tms\ttimes\tlow\trecall\tprecision")
                rows += measure(
                    stores, client, collection, truth, chosen, arguments.rounds, arguments.warm, segments, thresholds
                )
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
