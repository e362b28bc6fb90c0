"""Measures searches by share on a real OpenSearch, and compares them with the queries that people write there today.

    python benchmarks/opensearch.py [CORPUS.jsonl] [--documents 1500] [--sources 20] [--rounds 3] [--url URL]
        [--searches-only]

The documents are those of the corpus, and copies of each source with its first 95 %, 85 %, 70 % and 50 % of words. The
true hits are counted on all shingles of all documents. whorl has the documents in an index, a Solr and a folder. One
more index has them as the servers' documentation shows, with shingles of five words through the filter `min_hash` (512
buckets). All methods take turns, none has a cached plan, and the median of rounds and sources counts. The methods:

    similar              verified, recall 95 %, by the id of the source; on OpenSearch, Solr, and embedded
    not verified         the same without verification: planning, look-ups, and reading of sketches
    FINGERPRINT          at least this share of 512 tokens, by the id of the source; on all three
    bare                 whorl's requests for these, sent again by `requests`; the responses are read
    bare and decoded     the same, and the JSON of every response is decoded
    match                the text of the source on the field with `min_hash`, with minimum_should_match
    more_like_this       the source by its id on its analysed text, with minimum_should_match
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice, product
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import requests

from corpus_texts import texts
from engine_requests import ByHand, recorded
from engine_solr import MeasuredSolr, own_solr
from whorl import Document, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.opensearch import start_cluster
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.document_fields import index_body
from whorl.engine.server_engine import ServerAccess
from whorl.fingerprint.fingerprint_texts import text_hashes
from whorl.fingerprint.shingling import Scheme
from whorl.search.similar.find_similar import SketchSearch
from whorl.search.similar.results import RankedHits

HERE = Path(__file__).resolve().parent
KEPT = (0.95, 0.85, 0.7, 0.5)
THRESHOLDS = (50, 80)
ROWS = 1000
STOCK: dict[str, Any] = {
    "settings": {
        "number_of_replicas": 0,
        "analysis": {
            "filter": {
                "fives": {"type": "shingle", "min_shingle_size": 5, "max_shingle_size": 5, "output_unigrams": False},
                "hashes": {"type": "min_hash", "hash_count": 1, "bucket_count": 512, "hash_set_size": 1},
            },
            "analyzer": {"fingerprint": {"tokenizer": "standard", "filter": ["lowercase", "fives", "hashes"]}},
        },
    },
    "mappings": {
        "properties": {
            "content": {"type": "text", "fields": {"fingerprint": {"type": "text", "analyzer": "fingerprint"}}}
        }
    },
}
#: An index with only the text, for a comparison of sizes.
PLAIN: dict[str, Any] = {
    "settings": {"number_of_replicas": 0},
    "mappings": {"dynamic": False, "properties": {"content": {"type": "text", "index": False}}},
}
#: Names of the methods that send whorl's requests again.
BARE = "bare"
DECODED = f"{BARE} and decoded"
Way = Callable[[str, int], list[str]]


def collection(corpus: Path, count: int, sources: int) -> tuple[list[Document], list[str]]:
    """Return documents, and the ids of the sources among them."""
    chance = random.Random(5)
    whole = list(islice(texts(corpus), count - sources * len(KEPT)))
    chosen = chance.sample([document for document in whole if 500 <= len(document[1].split()) <= 20_000], sources)
    others = [word for _, text in chance.sample(whole, 40) for word in text.split()]
    documents = [Document(name, text) for name, text in whole]
    for name, text in chosen:
        words = text.split()
        for share in KEPT:
            end = int(len(words) * share)
            documents.append(
                Document(f"{name} {share}", " ".join(words[:end] + chance.choices(others, k=len(words) - end)))
            )
    return documents, [name for name, _ in chosen]


def truth(documents: Sequence[Document], sources: Sequence[str]) -> dict[tuple[str, int], set[str]]:
    """Return the other documents with at least some similarity (Jaccard) to each source, by threshold."""
    shingles = {document.id: frozenset(text_hashes_of(document.text)) for document in documents}
    right: dict[tuple[str, int], set[str]] = {(name, least): set() for name in sources for least in THRESHOLDS}
    for name in sources:
        own = shingles[name]
        for other, theirs in shingles.items():
            shared = len(own & theirs)
            for least in THRESHOLDS:
                if other != name and shared and 100 * shared >= least * len(own | theirs):
                    right[name, least].add(other)
    return right


def text_hashes_of(text: str) -> list[int]:
    hashes: list[int] = text_hashes(text, Scheme()).tolist()
    return hashes


def searched(session: requests.Session, url: str, query: dict[str, Any]) -> list[str]:
    body = {"query": query, "size": ROWS, "_source": False}
    response = session.post(f"{url}/_search", json=body, timeout=120)
    response.raise_for_status()
    return [hit["_id"] for hit in response.json()["hits"]["hits"]]


def whorl_ways(store: Store) -> dict[str, Way]:
    """Return the searches of a whorl store, by method."""

    def similar(name: str, least: int) -> list[str]:
        return [
            similar.hit.id
            for similar in store.similar(name, metric="jaccard", threshold=least, recall=95, rows=ROWS).found
        ]

    def fingerprint(name: str, least: int) -> list[str]:
        return [hit.id for hit in store.search(f'FINGERPRINT:"{name}"_{least}', rows=ROWS).hits]

    def not_verified(name: str, least: int) -> list[str]:
        with patch.object(SketchSearch, "_judge_candidates", lambda *_: RankedHits()):
            return similar(name, least)

    return {"similar": similar, "not verified": not_verified, "FINGERPRINT": fingerprint}


def bare_ways(way: Way, url: str) -> dict[str, Way]:
    """Return functions that repeat the requests of a method."""
    by_hand, heard = ByHand(url, ROWS), dict[tuple[str, int], list[requests.PreparedRequest]]()

    def requests_of(name: str, least: int) -> list[requests.PreparedRequest]:
        if (name, least) not in heard:
            with recorded() as requests_made:
                way(name, least)
            heard[name, least] = requests_made
        return heard[name, least]

    def bare(name: str, least: int) -> list[str]:
        by_hand.replay(requests_of(name, least))
        return []

    def decoded(name: str, least: int) -> list[str]:
        by_hand.replay_and_decode(requests_of(name, least))
        return []

    return {BARE: bare, DECODED: decoded}


def stock_ways(url: str, texts_by_id: dict[str, str]) -> dict[str, Way]:
    """Return the queries that users write without whorl."""
    session = requests.Session()
    session.trust_env = False

    def match(name: str, least: int) -> list[str]:
        wanted = {"query": texts_by_id[name], "minimum_should_match": f"{least}%"}
        return searched(session, url, {"match": {"content.fingerprint": wanted}})

    def more_like_this(name: str, least: int) -> list[str]:
        wanted = {"fields": ["content"], "like": [{"_id": name}], "minimum_should_match": f"{least}%"}
        return searched(session, url, {"more_like_this": wanted})

    return {"match": match, "more_like_this": more_like_this}


def bytes_of(client: IndexClient) -> int:
    """Return the size of an index on disk, merged into one segment, when it no longer shrinks.

    Deleted sources stay for a while for replicas, until a merge; and an index of one segment is not merged.
    """
    sizes = list[int]()
    while len(sizes) < 3 or sizes[-1] < 0.99 * sizes[-3]:
        for change in (({"index": {"_id": "more"}}, {"content": "more"}), ({"delete": {"_id": "more"}}, None)):
            client.bulk([change])
            client.refresh()
        client.send("POST", client._path("_forcemerge"), max_num_segments="1", flush="true")
        client.refresh()
        shards = client.send("GET", client._path("_segments"))["indices"][client.index]["shards"]
        segments = [segment for shard in shards.values() for copy in shard for segment in copy["segments"].values()]
        sizes.append(sum(segment["size_in_bytes"] for segment in segments if segment["search"]))
        time.sleep(20)
    return sizes[-1]


def indexed_plainly(client: IndexClient, body: dict[str, Any], documents: Sequence[Document]) -> float:
    """Fill an index without whorl's fields; return the seconds."""
    client.create(body)
    began = time.perf_counter()
    for at in range(0, len(documents), 100):
        client.bulk(
            [({"index": {"_id": document.id}}, {"content": document.text}) for document in documents[at : at + 100]]
        )
    client.refresh()
    return time.perf_counter() - began


def measured(
    ways: dict[str, Way], sources: Sequence[str], right: dict[tuple[str, int], set[str]], rounds: int
) -> Iterator[list[Any]]:
    """Yield a row for each threshold and method.

    The columns are: milliseconds; milliseconds of this process's own work; the time relative to the bare requests, and
    relative to the decoded requests; the own work relative to that of the decoded requests; recall; precision; hits.
    """
    chance = random.Random(7)
    for least in THRESHOLDS:
        # The first call records the requests.
        for name, ask in product(sources, ways.values()):
            ask(name, least)
        times: dict[str, list[float]] = {way: [] for way in ways}
        worked: dict[str, list[float]] = {way: [] for way in ways}
        answers: dict[str, dict[str, set[str]]] = {way: {} for way in ways}
        for _, name in product(range(rounds), sources):
            for way in chance.sample(list(ways), len(ways)):
                began, began_work = time.perf_counter(), time.process_time()
                ids = ways[way](name, least)
                times[way].append(1000 * (time.perf_counter() - began))
                worked[way].append(1000 * (time.process_time() - began_work))
                answers[way][name] = set(ids) - {name}
        for way, hits_of in answers.items():
            taken = [f"{median(figures[way]):.1f}" for figures in (times, worked)]
            hits = sum(map(len, hits_of.values()))
            good = sum(len(hits_of[name] & right[name, least]) for name in sources)
            true = sum(len(right[name, least]) for name in sources)
            ratios = [
                f"{median(mine / bare for mine, bare in zip(measure[way], measure[other], strict=True)):.2f}"
                if (other := f"{way}, {kind}") in measure
                else ""
                for measure, kind in ((times, BARE), (times, DECODED), (worked, DECODED))
            ]
            # The methods that only repeat requests return no hits.
            quality = [f"{good / true:.3f}", f"{good / hits:.3f}", f"{hits / len(sources):.1f}"] if hits else [""] * 3
            yield [least, way, *taken, *ratios, *quality]


def run(
    url: str, solr: MeasuredSolr, corpus: Path, count: int, wanted: int, rounds: int, out: Path, *, with_bytes: bool
) -> None:
    """Measure on a cluster, a Solr and a folder; print and record the figures."""
    documents, sources = collection(corpus, count, wanted)
    right, size = truth(documents, sources), sum(len(document.text.encode()) for document in documents)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store"
        clients = {
            name: stack.enter_context(
                closing(IndexClient(f"opensearch+{url}/bench_{name}", ServerAccess(timeout_seconds=900)))
            )
            for name in ("whorl", "stock", "plain")
        }
        for client in clients.values():
            client.raw.indices.delete(index=client.index, params={"ignore_unavailable": "true"})
        names = {"OpenSearch": clients["whorl"].store_url, "Solr": solr.url, "embedded": str(folder)}
        clients["whorl"].create({**index_body(FieldNames()), "settings": {"number_of_replicas": 0}})
        stores = {name: stack.enter_context(open_store(url)) for name, url in names.items()}
        seconds = {name: indexed(store, documents) for name, store in stores.items()}
        seconds["stock"] = indexed_plainly(clients["stock"], STOCK, documents)
        seconds["plain"] = indexed_plainly(clients["plain"], PLAIN, documents)
        taken = sizes(seconds, clients, solr, folder, documents) if with_bytes else []
        ways = {f"{kind}, {name}": way for name, store in stores.items() for kind, way in whorl_ways(store).items()}
        for name, way in list(ways.items()):
            if name.endswith("OpenSearch"):
                ways |= {f"{name}, {kind}": again for kind, again in bare_ways(way, url).items()}
        ways |= stock_ways(clients["stock"].url, {document.id: document.text for document in documents})
        rows = list(measured(ways, sources, right, rounds))
        for client in clients.values():
            client.raw.indices.delete(index=client.index)
    heads = (
        *("threshold", "way", "milliseconds", "of this process", "times bare", "times decoded", "times its work"),
        *("recall", "precision", "hits"),
    )
    written(out, heads, rows)
    if taken:
        named = ("index", "documents a second", "bytes a document", "of the text")
        written(out.with_stem(f"{out.stem}-index"), named, taken)
    print(f"{len(documents):,} documents, {size / len(documents):,.0f} bytes of text each; {len(sources)} sources")


def sizes(
    seconds: dict[str, float],
    clients: dict[str, IndexClient],
    solr: MeasuredSolr,
    folder: Path,
    documents: Sequence[Document],
) -> list[list[Any]]:
    """Return a row for each index: name, documents a second, bytes a document, and bytes relative to the text."""
    size = sum(len(document.text.encode()) for document in documents)
    held = {
        "OpenSearch": bytes_of(clients["whorl"]),
        "Solr": solr.index_bytes() or 0,
        "embedded": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        **{name: bytes_of(clients[name]) for name in ("stock", "plain")},
    }
    return [
        [name, f"{len(documents) / seconds[name]:.0f}", held[name] // len(documents), f"{held[name] / size:.3f}"]
        for name in held
    ]


def indexed(store: Store, documents: Sequence[Document]) -> float:
    """Fill a store; return the seconds."""
    began = time.perf_counter()
    store.index(documents)
    return time.perf_counter() - began


def written(out: Path, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows and record them."""
    with out.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, *rows])
    for row in (heads, *rows):
        print("  ".join(f"{cell!s:>14}" for cell in row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--sources", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--url", help="a cluster that runs; else one of our own is started")
    parser.add_argument("--searches-only", action="store_true", help="leave out what the indexes take")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "opensearch.csv")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = arguments.url or stack.enter_context(start_cluster(folder / "opensearch", heap="1g")).url
        solr = stack.enter_context(own_solr(folder / "solr"))
        numbers = arguments.documents, arguments.sources, arguments.rounds
        run(url, solr, arguments.corpus, *numbers, arguments.out, with_bytes=not arguments.searches_only)


if __name__ == "__main__":
    main()
