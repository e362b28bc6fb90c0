"""Indexing in Solr with refused documents, complete token transfer, and the number of requests."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.engine.solr.indexed import DOCUMENTS as INDEXED
from whorl import Document, Store, open_store
from whorl.context import new_request
from whorl.engine.solr.client import json_bytes
from whorl.engine.solr.request import SolrFields, search_request
from whorl.errors import DocumentError
from whorl.fingerprint.batch import text_sketch
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.minhash.signature import sign
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import SketchScheme
from whorl.fingerprint.statistics.metric import Metric
from whorl.ingest.indexing import BATCH_CHARACTERS
from whorl.query.plan.nodes import BoundPlan, SharedTokens
from whorl.search.similar.options import METRICS, SimilarCriteria
from whorl.search.similar.plan import make_plan

#: Longer than Lucene's limit on a term of a string field.
TOO_LONG = "x" * 40_000
DOCUMENTS = [
    Document("good-1", "one two three four five"),
    Document("bad", "one two three four five", properties={"DBID": TOO_LONG}),
    Document("good-2", "one two three four six"),
]


def test_the_others_are_stored(solr_cloud_url: str) -> None:
    """
    A refused document is reported with Solr's reason, and a second run leaves the stored ones alone.
    """
    refused: list[tuple[str, str]] = []
    with open_store(solr_cloud_url) as store:
        try:
            done = store.index(DOCUMENTS, on_refused=lambda each, error: refused.append((each.id, str(error))))
            assert done.stored == 2
            assert [name for name, _ in refused] == ["bad"]
            assert "DBID" in refused[0][1]
            assert {hit.id for hit in store.search("FINGERPRINT:good-1").hits} >= {"good-1"}
            again = store.index(DOCUMENTS, on_refused=lambda *_: None)
            assert (again.stored, again.unchanged) == (0, 2)
            everything = store.index(DOCUMENTS, again=True, on_refused=lambda *_: None)
            assert (everything.stored, everything.unchanged) == (2, 0)
        finally:
            store.delete([each.id for each in DOCUMENTS])


def test_without_anyone_to_tell_it_is_an_error(solr_standalone_url: str) -> None:
    """
    Python callers get an exception for a refused document unless they pass a callback.
    """
    with open_store(solr_standalone_url) as store, pytest.raises(DocumentError, match="refuses"):
        store.index(DOCUMENTS[1:2])


def test_long_documents_make_small_batches(solr_standalone_url: str) -> None:
    """
    A batch ends when its texts reach a total length, whatever the batch size.
    """
    text = "word " * (BATCH_CHARACTERS // 10)
    documents = [Document(f"long-{number}", f"{number} {text}") for number in range(5)]
    seen: list[int] = []
    with open_store(solr_standalone_url) as store:
        try:
            store.index(documents, batch=256, progress=lambda done: seen.append(done.stored))
        finally:
            store.delete([each.id for each in documents])
    assert seen == [2, 4, 5]


def test_every_token_reaches_solr_whole(solr_standalone_url: str) -> None:
    """
    Texts with a token that ends in a tilde, as one token in 128 does, find themselves by all of their 512 tokens.
    """
    texts = {seed: random.Random(seed) for seed in (154, 274, 300, 399)}
    documents = [
        Document(f"tilde-{seed}", " ".join(f"w{chance.randrange(10**6)}" for _ in range(2000)))
        for seed, chance in texts.items()
    ]
    assert all(any(token.endswith("~") for token in sign(each.text, Scheme()).tokens) for each in documents)
    with open_store(solr_standalone_url) as store:
        try:
            store.index(documents)
            for each in documents:
                assert [(hit.id, hit.score) for hit in store.search(f"FINGERPRINT:{each.id}_100").hits] == [
                    (each.id, 512.0)
                ]
        finally:
            store.delete([each.id for each in documents])


@pytest.mark.parametrize("metric", METRICS)
def test_no_calibrated_search_has_too_many_clauses(store: Store, metric: Metric) -> None:
    """
    Calibrated searches stay within Lucene's limit for sources of many sizes, also with a filter; some sizes come close
    to the limit.
    """
    sizes = [n for n in range(500, 590) if abs(_look_ups(n) - 1017) <= 2]
    assert len(sizes) >= 2
    for size in [10, 300, 1024, 1100, 2500, 9000, *sizes]:
        for percent in (5, 20, 50, 100):
            for only in (None, "name:text AND NOT name:x"):
                store.similar(source=_words(size), metric=metric, threshold=percent, only=only, rows=0)


def _look_ups(size: int) -> int:
    sketch = text_sketch(_words(size), Scheme(), SketchScheme())
    return make_plan(sketch, SimilarCriteria(Metric.B_IN_A, Fraction(20, 100), Fraction(95, 100))).look_ups


def _words(size: int) -> str:
    return " ".join(f"w{number}" for number in range(size + 4))


def test_a_search_makes_two_requests(store: Store) -> None:
    """
    A search sends one request for the source and one for the hits, once the collection's description is cached.
    """
    name = INDEXED[0].id
    for ask in (
        lambda: store.similar(name, threshold=90),
        lambda: store.search(f"FINGERPRINT:{name}"),
        lambda: store.search(f"FINGERPRINT:{name}_50"),
        lambda: store.search(f"FINGERPRINT:{name}_50_95"),
    ):
        ask()
        with new_request() as request:
            ask()
        assert request.trace.engine_requests == 2


def test_a_token_takes_few_bytes() -> None:
    """
    A request takes less than 13 bytes per token: four units, usually twelve bytes in UTF-8, and a separator.
    """
    signature = sign(" ".join(f"w{number}" for number in range(5_000)), Scheme(), Spelling.UNITS_4)
    plan = BoundPlan(SharedTokens("source", signature.integers, 256))
    assert len(json_bytes(search_request(plan, SolrFields(), start=0, rows=10))) < 13 * 512 + 300
