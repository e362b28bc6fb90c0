"""The engine on a real index, beyond the conformance suite: field names, damage, and changes by others."""

from __future__ import annotations

import base64
import re
from contextlib import closing

import pytest
from click.testing import CliRunner

from tests import opensearch_runtime
from tests.candidate_pages import candidate_page
from tests.engine.other_clients import (
    assert_a_lost_response_refuses_nothing,
    assert_no_text_of_another_client_is_replaced,
    losing_proxy,
)
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.duplicates import duplicates_in, parse_pair_options
from whorl.engine import server_engine
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.backfill_and_labels import backfill
from whorl.engine.opensearch.check_index import check
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import initialise
from whorl.engine.opensearch.document_fields import DIGEST, SKETCH, index_body
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.engine.protocol import ScanBatch
from whorl.errors import FieldError, ParameterError, SchemaError, UnknownDocumentError, UnknownFieldError
from whorl.fingerprint.fingerprint_texts import least_stored_size, text_sketch
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, lookup_numbers
from whorl.model import Order
from whorl.query.plan.nodes import BoundPlan, SketchTokens
from whorl.request_context import new_request
from whorl.settings.settings import Settings

WORDS = [f"w{number}" for number in range(400)]
ONE, NEAR = " ".join(WORDS), " ".join([*WORDS[:380], *("x y z " * 7).split()])


def test_configured_names_are_read_and_written(other_url: str) -> None:
    """
    Texts, names and references are read and written under the names in whorl.toml.
    """
    table = {"content": "body", "name": "title", "dbid": "node_dbid", "noderef": "node", "minhash": "MINHASH"}
    settings = Settings.load({})
    settings = Settings(fields=type(settings.fields)(**table))
    document = Document("a", ONE, name="A", properties={"node_dbid": 42, "node": "workspace://x", "n": [1, 2]})
    with open_store(other_url, settings) as store:
        store.index([document])
        assert store.text("42") == ONE
        assert store.engine.resolve(["42", "a", "43"]) == {"42": "a", "a": "a"}
        assert store.documents(["a"])["a"].properties["n"] == (1, 2)
        assert store.search("name:a").hits[0].name == "A"
    client = IndexClient(other_url)
    stored = client.documents(["a"], True)["a"]["_source"]
    assert set(stored) == {"title", "body", "properties"}
    client.close()


def test_a_damaged_sketch_is_none(store: Store, client: IndexClient) -> None:
    """
    A damaged sketch written by another client reads as None.
    """
    store.index([Document("a", ONE), Document("b", ONE)])
    own = {name: client.documents(["a"], False, [name])["a"]["fields"][name][0] for name in (SKETCH, "whorl_scheme")}
    broken = base64.b64encode(b"no sketch").decode()
    for damaged in (broken, own[SKETCH][:20] + "AAAA" + own[SKETCH][24:]):
        client.bulk([({"index": {"_id": "b"}}, {"whorl_id": "b", **own, SKETCH: damaged})])
        client.refresh()
        assert list(store.engine.sketches(["a", "b"])) == ["a"]
        assert [(name, sketch is None) for name, _, sketch in scanned(store)] == [("a", False), ("b", True)]


def test_sketches_of_short_documents(other_url: str) -> None:
    """
    A short document has no stored sketch if the source has its text; every method returns the sketch of its text.
    """
    texts = {"long": ONE, "short": " ".join(WORDS[:50]), "copy": " ".join(WORDS[:50]), "empty": ""}
    expected = {name: text_sketch(text, Scheme(), SketchScheme()) for name, text in texts.items()}
    with_source, without = IndexClient(other_url), IndexClient(f"{other_url}-without")
    body = index_body(FieldNames())
    body["mappings"]["_source"]["excludes"].append("content")
    without.create(body)
    try:
        for client, is_stored in ((with_source, False), (without, True)):
            store = Store(OpenSearchEngine(client))
            store.index(Document(name, text) for name, text in texts.items())
            stored = client.documents([*texts], False, [SKETCH])
            has_sketch = {name: SKETCH in hit.get("fields", {}) for name, hit in stored.items()}
            smallest = least_stored_size(Scheme())
            assert has_sketch == {name: is_stored or expected[name].size >= smallest for name in texts}
            assert store.engine.sketches([*texts, "nowhere"]) == expected
            assert {name: sketch for name, _, sketch in scanned(store)} == expected
            assert store.engine.resolve_sketches(["short"]) == {"short": ("short", expected["short"])}
            numbers = tuple(lookup_numbers(expected["short"])[:20].tolist())
            for largest, names in ((None, {"short", "copy", "long"}), (100, {"short", "copy"})):
                plan = BoundPlan(SketchTokens("short", SketchScheme(), numbers, 1, 0, largest))
                hits = candidate_page(store.engine, plan, start=0, rows=10).hits
                assert {hit.id: sketch for hit, sketch in hits} == {name: expected[name] for name in names}
    finally:
        without.send("DELETE", f"/{without.index}")
        without.close()
        with_source.close()


def test_short_documents_with_a_routing(client: IndexClient) -> None:
    """
    Documents with a routing, which look-ups by id do not find, have the sketches of their texts.
    """
    names = [f"d{number}" for number in range(8)]
    text = " ".join(WORDS[:50])
    for name in names:
        client.send("PUT", f"/{client.index}/_doc/{name}?routing=r{name}", {"content": text})
    client.refresh()
    assert backfill(client, FieldNames()).sent == len(names)
    sketch = text_sketch(text, Scheme(), SketchScheme())
    with Store(OpenSearchEngine(client)) as store:
        assert sorted(scanned(store)) == [(name, "", sketch) for name in names]
        assert {candidate.hit.id for candidate in store.similar("d0", metric="containment").found} == {*names[1:]}


@pytest.mark.parametrize("is_required", [False, True])
def test_documents_with_a_routing_are_read_replaced_and_deleted(other_url: str, is_required: bool) -> None:
    """
    A document that another client has stored with a routing is read, replaced and deleted on its own shard.
    """
    with closing(IndexClient(other_url)) as client:
        body = {**index_body(FieldNames()), "settings": {"number_of_shards": 3, "number_of_replicas": 0}}
        body["mappings"]["_routing"] = {"required": is_required}
        client.create(body)
        names = [f"d{number}" for number in range(8)]
        for name in names:
            client.send("PUT", f"/{client.index}/_doc/{name}?routing=r", {"content": ONE})
        client.refresh()
        assert backfill(client, FieldNames()).sent == len(names)
        findings = {finding.code: finding.level for finding in check(client, FieldNames())}
        assert findings["routing"] is (Severity.WARNING if is_required else Severity.NOTE)
        with Store(OpenSearchEngine(client)) as store:
            assert store.engine.texts([*names, "no"]) == dict.fromkeys(names, ONE)
            assert store.compare("d0", "d7").shares.jaccard == 1
            assert store.index([Document(name, NEAR) for name in names]).stored == len(names)
            assert store.text("d3") == NEAR
            assert [hit.id for hit in store.search("*").hits] == names
            assert store.delete(names[:4]) == 4
            assert store.delete_matching("d4 OR id:d5") == 1
            assert client.total() == 3


def scanned(store: Store) -> list[tuple[str, str, object]]:
    return [
        document for portion in store.engine.scan() for document in portion.documents if isinstance(portion, ScanBatch)
    ]


def test_a_partial_update_by_another_client(store: Store, client: IndexClient) -> None:
    """
    A cluster rebuilds a partially updated document from its source, without whorl's fields: it is no longer found by
    them, and the next run of `index` stores it again.
    """
    store.index([Document("a", ONE), Document("b", NEAR)])
    client.bulk([({"update": {"_id": "b"}}, {"doc": {"name": "another"}})])
    client.refresh()
    assert [hit.id for hit in store.search("FINGERPRINT:a").hits] == ["a"]
    assert store.engine.digests(["a", "b"]).keys() == {"a"}
    assert store.index([Document("a", ONE), Document("b", NEAR)]).stored == 1
    assert [hit.id for hit in store.search("FINGERPRINT:a").hits] == ["a", "b"]


def test_the_last_of_several_with_one_id(store: Store, client: IndexClient) -> None:
    """
    The last document with an id wins, also in one batch; its digest is available before it is searchable.
    """
    documents = [Document("a", "one"), Document("a", ONE)]
    store.engine.index(documents)
    (digest,) = client.documents(["a"], False, [DIGEST])["a"]["fields"][DIGEST]
    assert store.engine.digests(["a"]) == {"a": digest}
    assert [document.has_digest(digest) for document in documents] == [False, True]
    assert store.delete(["a", "gone"]) == 1
    assert store.engine.digests(["a"]) == {}


@pytest.mark.parametrize("document_id", ["a/b", "a b", "ü", "a,b", '"', "%2F", "[* TO *]", "_all", "a" * 512])
def test_ids_of_all_kinds(store: Store, document_id: str) -> None:
    """
    All valid ids reach the cluster and come back.
    """
    store.index([Document(document_id, ONE)])
    assert store.text(document_id) == ONE
    assert list(store.engine.sketches([document_id])) == [document_id]
    assert store.delete([document_id]) == 1


def test_ids_refused_by_the_cluster(store: Store) -> None:
    """
    Ids that a cluster does not accept count as missing, and do not fail a request with other ids.
    """
    store.index([Document("a", ONE)])
    assert store.engine.texts(["a", "", "\ud800", "x" * 513]) == {"a": ONE}


def test_an_empty_text_is_a_value(store: Store) -> None:
    """
    An empty value sorts first in ascending order, and before missing values in descending order.
    """
    store.index([Document("a", ""), Document("b", "", properties={"k": ""}), Document("c", "", properties={"k": "x"})])
    for is_ascending, expected in ((True, "bca"), (False, "cba")):
        page = store.search("*", sort=[Order("k", is_ascending)])
        assert "".join(hit.id for hit in page.hits) == expected


def test_a_word_that_holds_a_blank(store: Store) -> None:
    """
    A narrow no-break space does not separate words: neither half is found, but the whole word and a prefix pattern are.
    """
    store.index([Document("a", "takes 10\u202f*\u202f1024 bytes"), Document("b", "takes 10 bytes")])
    ids_by_query = {
        query: [hit.id for hit in store.search(query).hits]
        for query in ("10", "1024", '"10\u202f"', "1*", "=10?", "bytes")
    }
    assert ids_by_query == {
        "10": ["b"],
        "1024": [],
        '"10\u202f"': ["a"],
        "1*": ["a", "b"],
        "=10?": ["a"],
        "bytes": ["a", "b"],
    }


def test_similar_duplicates_and_compare(store: Store) -> None:
    """
    Similar, duplicates and compare work as on every engine.
    """
    store.index([Document("a", ONE), Document("b", NEAR), Document("c", "law " * 50)])
    assert [hit.hit.id for hit in store.similar("a", metric="jaccard", threshold=50).found] == ["b"]
    with duplicates_in(store.engine, parse_pair_options("jaccard", 50, 95)) as duplicates:
        assert [(pair.a.id, pair.b.id) for pair in duplicates.pairs()] == [("a", "b")]
    comparison = store.compare("a", "b")
    assert (
        comparison.shares.jaccard == store.similar("a", metric="jaccard", threshold=50).found[0].estimate.shares.jaccard
    )


def test_the_explained_request_can_be_sent(store: Store, client: IndexClient) -> None:
    """
    The explained request can be sent to the cluster, and returns the hits.
    """
    store.index([Document("a", ONE)])
    request = store.explain("FINGERPRINT:a").request
    assert request["url"] == f"{client.url}/_search"
    assert [hit["_id"] for hit in client.hits(request["json"])] == ["a"]  # type: ignore[arg-type]


def test_a_search_makes_two_requests(store: Store) -> None:
    """
    A search sends one request for the source and one for the hits, once the index's description is cached.
    """
    store.index([Document("a", ONE, properties={"DBID": 42}), Document("b", NEAR)])
    for ask in (
        lambda: store.similar("42", metric="jaccard", threshold=90),
        lambda: store.search("FINGERPRINT:a_50"),
        lambda: store.search("FINGERPRINT:42_50_95"),
    ):
        ask()
        with new_request() as request:
            ask()
        assert request.trace.engine_requests == 2


def test_a_field_that_another_process_has_filled(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Before a name is refused, the cluster is asked again, unless the cached list of fields is fresh.
    """
    monkeypatch.setattr(server_engine, "_LATEST_SECONDS", -1.0)
    with open_store(url) as reader, open_store(url) as writer:
        reader.index([Document("a", "", properties={"first": "x"})])
        assert [hit.id for hit in reader.search("first:x").hits] == ["a"]
        writer.index([Document("b", "", properties={"second": "y"})])
        assert [hit.id for hit in reader.search("second:y").hits] == ["b"]
        with pytest.raises(FieldError, match="no field 'secnod'") as raised:
            reader.search("secnod:y")
        assert raised.value.hint == "Did you mean second?"


def test_names_of_an_index_made_before(opensearch_url: str) -> None:
    """
    Without the mark of split names in the mapping, names match only as whole words.
    """
    body = index_body(FieldNames())
    del body["mappings"]["_meta"]
    with opensearch_runtime.own_index(opensearch_url, is_made=False) as url, closing(IndexClient(url)) as client:
        client.create(body)
        with open_store(url) as store:
            store.index([Document("a", "", "lease_2024.txt")])
            assert (store.count("name:2024"), store.count("2024")) == (0, 0)
            assert [store.count(query) for query in ("name:lease_2024.txt", "lease_20*", "name:lease_20*")] == [1, 1, 1]
        assert [finding.code for finding in check(client, FieldNames()) if finding.code == "whole-names"] == [
            "whole-names"
        ]


def test_an_index_without_fields(other_url: str) -> None:
    """
    Before init, searches and status name the command; between init and backfill, all answers count the documents.
    """
    with closing(IndexClient(other_url)) as client:
        client.raw.index(index=client.index, id="a", body={"content": ONE, "year": 2020}, params={"refresh": "true"})
        client.raw.index(index=client.index, id="b", body={"year": 2021}, params={"refresh": "true"})
        with open_store(other_url) as store:
            for ask in (store.search, store.similar):
                with pytest.raises(SchemaError, match="whorl opensearch init"):
                    ask("FINGERPRINT:a" if ask == store.search else "a")
        list(initialise(client, FieldNames()))
        makes = f"'whorl opensearch backfill {other_url}' makes them"
        said = f"1 of 2 documents lack whorl's fields and are not found; {makes}"
        with open_store(other_url) as store:
            assert (store.search("*").total, store.search("*").warnings) == (0, (said,))
            for command in (["search", "*"], ["list"], ["duplicates"], ["status"]):
                output = CliRunner().invoke(main, [*command, "--store", other_url]).output
                assert said in output, (command, output)
        with open_store(other_url) as store:
            assert said in store.search("FINGERPRINT:a").warnings
            with pytest.raises(UnknownDocumentError, match=re.escape(said)):
                store.similar("a")
            with pytest.raises(UnknownFieldError, match=re.escape(said)):
                store.search("year:2020")
            with pytest.raises(ParameterError, match=re.escape(said)):
                store.search("*", sort="year")
        assert backfill(client, FieldNames()).sent == 1
        with open_store(other_url) as store:
            assert (store.search("year:2020").total, store.search("*").warnings) == (1, ())


def test_a_text_that_another_client_stores_meanwhile_is_not_replaced(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    With replace=False, a document is refused if another client has stored or changed it since its text was read.
    """
    assert_no_text_of_another_client_is_replaced(store, url, monkeypatch, sender="bulk")


def test_a_lost_response_refuses_nothing(store: Store, url: str) -> None:
    """
    With replace=False, a write that is repeated because its response was lost does not conflict with itself.
    """
    assert_a_lost_response_refuses_nothing(url, "/_bulk")


def test_a_deletion_is_counted_after_a_lost_response(store: Store, url: str) -> None:
    store.index([Document("kept", "a text"), Document("lost-1", "an obsolete text"), Document("lost-2", "obsolete")])
    with losing_proxy(url, "/_bulk") as lossy_url, open_store(lossy_url) as lossy:
        assert lossy.delete_matching("obsolete") == 2
    assert store.documents(["kept", "lost-1", "lost-2"]).keys() == {"kept"}
