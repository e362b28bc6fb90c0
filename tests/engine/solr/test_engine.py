"""Indexing in Solr with refused documents, complete token transfer, and the number of requests."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from functools import cache

import pytest

from tests import solr_runtime
from tests.engine.other_clients import (
    assert_a_lost_response_refuses_nothing,
    assert_no_text_of_another_client_is_replaced,
)
from tests.engine.solr.indexed import DOCUMENTS as INDEXED
from whorl import Document, Store, open_store
from whorl.engine.server_engine import json_bytes
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import BATCH_SIZE, CONNECTIONS, send_parallel
from whorl.engine.solr.field_definitions import DIGEST
from whorl.engine.solr.request_body import SolrFields, search_request
from whorl.errors import DocumentError, EngineUnavailableError
from whorl.fingerprint.fingerprint_texts import sign, text_sketch
from whorl.fingerprint.minhash.signature_and_tokens import TokenEncoding
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Metric
from whorl.ingest.store_documents import BATCH_CHARACTERS
from whorl.query.plan.nodes import BoundPlan, SharedTokens
from whorl.request_context import new_request, trace
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.sketch_plan import make_plan

#: Longer than Lucene's limit on a term of a string field.
TOO_LONG = "x" * 40_000
DOCUMENTS = [
    Document("good-1", "one two three four five"),
    Document("bad", "one two three four five", properties={"DBID": TOO_LONG}),
    Document("good-2", "one two three four six"),
]


def test_accepted_documents_are_stored(solr_cloud_url: str) -> None:
    """
    A refused document is reported with Solr's reason, and a second run leaves the stored ones alone.
    """
    refused: list[tuple[str, str]] = []
    with open_store(solr_cloud_url) as store:
        try:
            done = store.index(DOCUMENTS, on_refused=lambda document, error: refused.append((document.id, str(error))))
            assert done.stored == 2
            assert [name for name, _ in refused] == ["bad"]
            assert "DBID" in refused[0][1]
            assert {hit.id for hit in store.search("FINGERPRINT:good-1").hits} >= {"good-1"}
            again = store.index(DOCUMENTS, on_refused=lambda *_: None)
            assert (again.stored, again.unchanged) == (0, 2)
            everything = store.index(DOCUMENTS, again=True, on_refused=lambda *_: None)
            assert (everything.stored, everything.unchanged) == (2, 0)
        finally:
            store.delete([document.id for document in DOCUMENTS])


def test_without_anyone_to_tell_it_is_an_error(solr_standalone_url: str) -> None:
    """
    Without a callback for refused documents, Python callers get an exception.
    """
    with open_store(solr_standalone_url) as store, pytest.raises(DocumentError, match="refuses"):
        store.index(DOCUMENTS[1:2])


def test_long_documents_make_small_batches(solr_standalone_url: str) -> None:
    """
    A batch ends when its texts reach a total length, whatever the batch size.
    """
    text = "word " * (BATCH_CHARACTERS // 10)
    documents = [Document(f"long-{number}", f"{number} {text}") for number in range(5)]
    counts: list[int] = []
    with open_store(solr_standalone_url) as store:
        try:
            store.index(documents, batch=256, progress=lambda done: counts.append(done.stored))
        finally:
            store.delete([document.id for document in documents])
    assert counts == [2, 4, 5]


def test_every_token_reaches_solr_whole(solr_standalone_url: str) -> None:
    """
    Texts with a token that ends in a tilde, as one token in 128 does, find themselves by all of their 512 tokens.
    """
    texts = {seed: random.Random(seed) for seed in (154, 274, 300, 399)}
    documents = [
        Document(f"tilde-{seed}", " ".join(f"w{chance.randrange(10**6)}" for _ in range(2000)))
        for seed, chance in texts.items()
    ]
    assert all(any(token.endswith("~") for token in sign(document.text, Scheme()).tokens) for document in documents)
    with open_store(solr_standalone_url) as store:
        try:
            store.index(documents)
            for document in documents:
                assert [(hit.id, hit.score) for hit in store.search(f"FINGERPRINT:{document.id}_100").hits] == [
                    (document.id, 512.0)
                ]
        finally:
            store.delete([document.id for document in documents])


@pytest.mark.parametrize("metric", SIMILAR_METRICS)
def test_no_calibrated_search_has_too_many_clauses(store: Store, metric: Metric) -> None:
    """
    Calibrated searches stay within Lucene's limit for sources of many sizes, also with a filter; some sizes come close
    to the limit.
    """
    filtered = "name:text AND NOT name:x"
    sizes = [n for n in range(500, 590) if abs(_look_ups(n) - 1017) <= 2]
    assert len(sizes) >= 2
    for size in [10, 300, 1024, 1100, 2500, 9000, *sizes]:
        for percent, only in ((5, filtered), (20, filtered), (20, None), (100, None)):
            store.similar(source=_words(size), metric=metric, threshold=percent, filter=only, rows=0)


@cache
def _look_ups(size: int) -> int:
    sketch = text_sketch(_words(size), Scheme(), SketchScheme())
    return make_plan(sketch, SimilarCriteria(Metric.B_IN_A, Fraction(20, 100), Fraction(95, 100))).look_up_count


def _words(size: int) -> str:
    return " ".join(f"w{number}" for number in range(size + 4))


def test_a_search_makes_two_requests(store: Store) -> None:
    """
    A search sends one request for the source and one for the hits, once the collection's description is cached.
    """
    name = INDEXED[0].id
    for ask in (
        lambda: store.prepare_similar(name, metric="jaccard", threshold=90).search(),
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
    signature = sign(" ".join(f"w{number}" for number in range(5_000)), Scheme(), TokenEncoding.UNITS_4)
    plan = BoundPlan(SharedTokens("source", signature.integers, 256))
    assert len(json_bytes(search_request(plan, SolrFields(), start=0, rows=10))) < 13 * 512 + 300


#: Timeout for a thread that never arrives, in seconds.
PATIENCE_SECONDS = 240.0


def test_two_are_on_their_way_at_once() -> None:
    """
    Two requests are sent at once: the barrier would block forever with one at a time.
    """
    together = threading.Barrier(CONNECTIONS)

    def send(number: int) -> int:
        together.wait(PATIENCE_SECONDS)
        return -number

    assert send_parallel(range(6), send) == [0, -1, -2, -3, -4, -5]


def test_only_a_few_requests_are_in_memory() -> None:
    """
    Requests are made while others are sent, so only a few are in memory at once.
    """
    made, sent = list[int](), list[int]()

    def ready() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            assert len(made) - len(sent) <= CONNECTIONS + 2
            yield number

    send_parallel(ready(), sent.append)
    assert sorted(sent) == made


def test_a_single_request_needs_no_thread() -> None:
    """
    A single request, such as an uploaded document, is sent without a thread.
    """
    assert send_parallel([1], lambda _: threading.current_thread()) == [threading.current_thread()]
    assert send_parallel([], lambda _: threading.current_thread()) == []


def test_the_first_error_ends_it() -> None:
    """
    The first error stops the sending of further requests, except for the one already waiting; requests under way have
    ended.
    """
    taken, ended = list[int](), set[int]()

    def ready() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    def send(number: int) -> None:
        ended.add(number)
        if number in (3, 4):
            raise EngineUnavailableError(f"gone at {number}")

    with pytest.raises(EngineUnavailableError, match="gone at 3"):
        send_parallel(ready(), send)
    last = 3 + CONNECTIONS
    # Portions that wait when the error occurs may be cancelled.
    assert (ended - {last + 1}, taken[-1]) == (set(range(last + 1)), last + 1)


def test_threads_know_the_request() -> None:
    """
    Threads that send have the caller's trace and deadline.
    """
    with new_request("mine"):
        assert send_parallel(range(3), lambda _: trace().request_id) == ["mine"] * 3


def test_documents_of_several_requests(store: Store) -> None:
    """
    All documents of several requests are stored; the last document with an id wins, even if the first is in another
    request.
    """
    documents = [Document(f"portion-{number}", f"one two three four five {number}") for number in range(2 * BATCH_SIZE)]
    twice = Document("portion-0", "six seven eight nine ten")
    try:
        # Read the collection's description beforehand, and check that the URL is not an alias of several collections.
        store.engine.index([twice])
        with new_request() as request:
            store.engine.index([*documents, twice])
        assert request.trace.engine_requests == 2
        store.engine.refresh()
        assert store.texts([document.id for document in documents]) == {
            document.id: document.text for document in [twice, *documents[1:]]
        }
    finally:
        store.delete([document.id for document in documents])


def test_a_text_that_another_program_has_replaced(solr_standalone_url: str) -> None:
    """
    A document keeps its digest in an atomic update; it is stored again if the update removes the digest, or on demand.
    """
    original, url = Document("replaced", "one two three four five six"), solr_standalone_url
    change: dict[str, object] = {"id": "replaced", "content": {"set": "seven eight nine ten eleven twelve"}}
    with open_store(url) as store, closing(SolrClient(url)) as client:
        try:
            for more, again in (({DIGEST: {"set": None}}, False), (dict[str, object](), True)):
                store.index([original])
                client.post("update", [{**change, **more}], commit="true")
                assert store.index([original], again=again).stored == 1
                assert store.texts(["replaced"]) == {"replaced": original.text}
        finally:
            store.delete(["replaced"])


@pytest.mark.parametrize("metric", SIMILAR_METRICS)
def test_documents_larger_than_the_largest_known(solr_standalone_url: str, metric: Metric) -> None:
    """
    Documents larger than the cached largest size, added by another client, are found as similar to each other.
    """
    name = f"whorl_larger_{uuid.uuid4().hex[:8]}"
    url = solr_runtime.make_collection(solr_standalone_url.rpartition("/")[0], name)
    with open_store(url) as store, open_store(url) as other:
        store.index([Document("small", _words(300))])
        assert not store.similar("small", metric=metric, threshold=50).found
        larger = _words(600)
        other.index([Document("a", larger), Document("b", f"{larger} more")])
        assert "b" in {hit.hit.id for hit in store.similar("a", metric=metric, threshold=50, rows=10).found}
    solr_runtime.drop(url.rpartition("/")[0], name)


def test_a_text_that_another_client_stores_meanwhile_is_not_replaced(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    With replace=False, a document is refused if another client has stored or changed it since its text was read.
    """
    assert_no_text_of_another_client_is_replaced(store, url, monkeypatch, sender="add")


def test_a_lost_response_refuses_nothing(store: Store, url: str) -> None:
    """
    With replace=False, a write that is repeated because its response was lost does not conflict with itself.
    """
    assert_a_lost_response_refuses_nothing(url, "/update")
