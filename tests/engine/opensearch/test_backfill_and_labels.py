"""Backfill adds the fields that indexing would have added to existing documents, and changes nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from whorl import Document, Store, open_store
from whorl.duplicates import duplicates_in, parse_pair_options
from whorl.duplicates.write_cluster_labels import write_ids
from whorl.engine.backfill_loop import BackfillReport
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.backfill_and_labels import backfill, prepare
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import initialise, missing_texts_reason
from whorl.engine.opensearch.document_fields import OWN, SIZE, Json
from whorl.errors import EngineUnavailableError, ParameterError, SchemaError
from whorl.settings.settings import Settings

WORDS = [f"w{number}" for number in range(300)]
NAMES = FieldNames(content="body", name="title")


def source_of(number: int) -> dict[str, Any]:
    return {
        "body": " ".join(WORDS[number * 5 :]),
        "title": f"Number {number}",
        "author": {"name": "Ann", "born": 1970 + number},
        "tags": ["x", "y"],
        "created": "2021-05-03",
    }


@pytest.fixture
def others(other_url: str) -> Iterator[IndexClient]:
    """A foreign index with whorl's fields and 25 documents, one without a text and one with an empty text."""
    client = IndexClient(other_url)
    client.create({"settings": {"index.number_of_shards": 2}, "mappings": {"properties": {"body": {"type": "text"}}}})
    sources = {f"d{number}": source_of(number) for number in range(23)}
    sources |= {"none": {"title": "no text"}, "empty": {"body": ""}}
    assert client.bulk([({"index": {"_id": name}}, source) for name, source in sources.items()]) == []
    client.refresh()
    list(initialise(client, NAMES))
    yield client
    client.close()


@pytest.fixture
def settings() -> Settings:
    fields = Settings.load({}).fields
    return Settings(fields=type(fields)(content="body", name="title"))


def sources(client: IndexClient) -> dict[str, Any]:
    body = {"query": {"match_all": {}}, "size": 100, "_source": {"excludes": [OWN]}}
    return {hit["_id"]: hit["_source"] for hit in client.hits(body)}


def test_documents_are_found_as_if_they_had_been_indexed(
    others: IndexClient, other_url: str, settings: Settings
) -> None:
    """
    After a backfill, documents are found by fingerprint, words, nested values and order, and keep their own fields.
    Documents without a text get nothing, and a second run has nothing to do.
    """
    before, reports = sources(others), list[BackfillReport]()
    assert prepare(others, NAMES) == 25
    done = backfill(others, NAMES, batch=7, progress=reports.append)
    assert done == BackfillReport(total=25, sent=24, textless=1)
    assert (reports[0].processed, reports[-1].processed) == (0, 25)
    assert sources(others) == before
    with open_store(other_url, settings) as store:
        assert store.count() == 24
        assert store.search("FINGERPRINT:d0_50").hits[0].id == "d0"
        assert [hit.name for hit in store.search('title:"number 3" OR name:"number 3"').hits] == ["Number 3"]
        assert [hit.id for hit in store.search("author.born:[1990 TO MAX]").hits] == ["d20", "d21", "d22"]
        assert store.search("created:2021 AND tags:x").total == 23
        assert store.documents(["d1"])["d1"].properties == {
            "author.name": ("Ann",), "author.born": (1971,), "tags": ("x", "y"), "created": ("2021-05-03",)
        }  # fmt: skip
        assert [hit.hit.id for hit in store.similar("d0", metric="jaccard", threshold=95).found] == ["d1", "d2"]
        plain = sorted(store.engine.sketches([f"d{number}" for number in range(23)]))
        assert len(plain) == 23
    assert backfill(others, NAMES) == BackfillReport(total=1, textless=1)


def test_texts_of_all_forms(other_url: str) -> None:
    """
    Texts in lists of objects, numbers and empty texts get whorl's fields, so no document is missing afterwards.
    """
    halves = [" ".join(WORDS[:30]), " ".join(WORDS[30:60])]
    bodies = {
        "list": {"text": halves},
        "objects": [{"text": halves[0]}, {"text": halves[1]}],
        "number": {"text": 12345},
        "empty": {"text": ""},
        "empty list": {"text": ["", None]},
        "boolean": {"text": True},
        "none": {"text": None},
        "no values": {"text": []},
    }
    names = FieldNames(content="body.text")
    with contextlib.closing(IndexClient(other_url)) as client:
        client.create({"mappings": {"properties": {"body": {"properties": {"text": {"type": "text"}}}}}})
        changes = [({"index": {"_id": name}}, {"body": body}) for name, body in bodies.items()]
        assert client.bulk(changes) == []
        list(initialise(client, names))
        assert backfill(client, names) == BackfillReport(total=8, sent=6, textless=2)
    with open_store(other_url, Settings(fields=names)) as store:
        assert store.engine.gaps("tokens") == ()
        assert [hit.hit.id for hit in store.similar("list", metric="jaccard", threshold=95).found] == ["objects"]
        assert [hit.id for hit in store.search("TEXT:12345").hits] == ["number"]
        assert store.documents(["empty"])["empty"].name == ""


def test_texts_in_nested_objects(other_url: str) -> None:
    """
    Texts in objects of the type `nested` get whorl's fields, and documents without them are counted as missing.
    """
    names = FieldNames(content="body.text")
    nested = {"type": "nested", "properties": {"text": {"type": "text"}}}
    with contextlib.closing(IndexClient(other_url)) as client:
        client.create({"mappings": {"properties": {"body": nested}}})
        assert client.bulk([({"index": {"_id": "a"}}, {"body": [{"text": " ".join(WORDS)}]})]) == []
        list(initialise(client, names))
        with open_store(other_url, Settings(fields=names)) as store:
            assert "1 of 1 documents lack whorl's fields" in store.engine.gaps("tokens")[0]
        assert backfill(client, names).sent == 1
    with open_store(other_url, Settings(fields=names)) as store:
        assert store.engine.gaps("tokens") == ()
        assert [hit.id for hit in store.search("TEXT:w7").hits] == ["a"]


def test_dates_in_formats_of_the_mapping(other_url: str) -> None:
    """
    Whatever format the mapping gives a date, whorl finds the same documents as the cluster's own range query, also
    after cluster labels are written. A malformed date remains a text.
    """
    formats = {"own": "dd.MM.yyyy HH:mm||yyyy", "seconds": "epoch_second", "plain": "strict_date_time||epoch_millis"}
    fields = {name: {"type": "date", "format": each, "ignore_malformed": True} for name, each in formats.items()}
    documents: dict[str, Json] = {
        "a": {"own": "05.03.2010 14:05", "seconds": 1267794300, "plain": 1267794300000},
        "b": {"own": ["2011", "06.03.2010 00:00"], "plain": "2010-03-05T23:30:00.000-02:00"},
        "c": {"own": "rubbish", "seconds": 1267747200, "authors": [{"born": "05.03.2010 01:00"}, {"born": "2001"}]},
    }
    with contextlib.closing(IndexClient(other_url)) as client:
        authors = {"type": "nested", "properties": {"born": fields["own"]}}
        client.create({"mappings": {"properties": {"body": {"type": "text"}, "authors": authors, **fields}}})
        text = " ".join(WORDS)
        actions = [({"index": {"_id": name}}, {**own, "body": text}) for name, own in documents.items()]
        assert client.bulk(actions) == []
        list(initialise(client, NAMES))
        assert backfill(client, NAMES).sent == 3
        with open_store(other_url, Settings(fields=NAMES)) as store:
            for _ in range(2):
                for field in fields:
                    day = {"gte": "2010-03-05", "lte": "2010-03-05", "format": "yyyy-MM-dd"}
                    expected = {hit["_id"] for hit in client.hits({"query": {"range": {field: day}}})}
                    assert {hit.id for hit in store.search(f"{field}:2010-03-05").hits} == expected
                    assert expected
                assert [hit.id for hit in store.search("own:rubbish AND authors.born:2010-03-05").hits] == ["c"]
                with duplicates_in(store.engine, parse_pair_options("jaccard", 80, 100)) as duplicates:
                    write_ids(store.engine, duplicates.clusters(complete=True))


def test_numbers_and_booleans_as_texts(other_url: str) -> None:
    """
    Texts in fields of numbers and Booleans, as importers of CSV send them, are searched by the cluster's values.
    """
    kinds = {"count": "integer", "price": "double", "size": "long"}
    fields = {name: {"type": kind, "ignore_malformed": True} for name, kind in kinds.items()}
    documents: dict[str, Json] = {
        "a": {"count": "5", "price": "9.5", "paid": "true", "size": str(2**62 + 1)},
        "b": {"count": ["12", 100], "price": "10.25", "paid": "", "size": "12"},
        "c": {"count": 7, "price": 100, "paid": True, "size": 12},
        "d": {"count": "many", "paid": "false"},
    }
    with contextlib.closing(IndexClient(other_url)) as client:
        client.create({"mappings": {"properties": {"body": {"type": "text"}, "paid": {"type": "boolean"}, **fields}}})
        text = " ".join(WORDS)
        assert client.bulk([({"index": {"_id": name}}, {**own, "body": text}) for name, own in documents.items()]) == []
        list(initialise(client, NAMES))
        assert backfill(client, NAMES).sent == 4
        with open_store(other_url, Settings(fields=NAMES)) as store:
            for field in ("count", "price"):
                hits = client.hits({"query": {"range": {field: {"gte": 7, "lte": 20}}}})
                assert {hit.id for hit in store.search(f"{field}:[7 TO 20]").hits} == {hit["_id"] for hit in hits}
                assert len(hits) == 2
            for query, found in {
                "paid:true": "ac",
                "paid:false": "bd",
                f"size:{2**62 + 1}": "a",
                "count:many": "d",
            }.items():
                assert [hit.id for hit in store.search(query).hits] == [*found], query


def test_a_run_that_was_stopped_is_completed(others: IndexClient) -> None:
    """
    Updates sent before an interruption stay, and the next run processes the rest only.
    """

    class StoppedError(Exception):
        pass

    def stop(done: BackfillReport) -> None:
        if done.sent >= 10:
            raise StoppedError

    with pytest.raises(StoppedError):
        backfill(others, NAMES, batch=5, progress=stop)
    done = backfill(others, NAMES)
    assert (done.sent + done.textless, done.textless) == (done.total, 1)
    assert 10 <= done.sent <= 16


@pytest.mark.parametrize("all_documents", [False, True])
def test_a_document_changed_during_the_run_is_left_alone(others: IndexClient, *, all_documents: bool) -> None:
    """
    A document changed during the run is counted, also if it has fields already, and the next run fingerprints its new
    text. A document deleted during the run is neither counted nor refused.
    """
    if all_documents:
        backfill(others, NAMES)
    changed = list[bool]()

    def change(_: BackfillReport) -> None:
        if not changed:
            # The first batch has been read by then.
            original, changed[:] = others.bulk, [True]

            def late(changes: Any) -> Any:
                new = {"body": "one two three four five six", "title": "new"}
                original([({"update": {"_id": "d5"}}, {"doc": new}), ({"delete": {"_id": "d6"}}, None)])
                return original(changes)

            others.bulk = late  # type: ignore[method-assign]

    done = backfill(others, NAMES, batch=100, progress=change, all_documents=all_documents)
    assert (done.sent, done.changed, done.refused) == (22, 1, ())
    assert sources(others)["d5"]["title"] == "new"
    del others.bulk  # type: ignore[method-assign]
    assert backfill(others, NAMES, all_documents=all_documents).sent == (23 if all_documents else 1)
    size = others.hits({"query": {"ids": {"values": ["d5"]}}, "docvalue_fields": [SIZE]})[0]["fields"][SIZE]
    assert size == [2]


def test_refused_documents_are_reported(others: IndexClient) -> None:
    """
    A document that cannot be stored is reported with the reason; the others get their fields.
    """
    others.bulk([({"index": {"_id": "a\tb"}}, {"body": "one two three four five"})])
    others.refresh()
    done = backfill(others, NAMES)
    assert done.sent == 24
    ((name, reason),) = done.refused
    assert (name, "no control characters" in reason) == ("a\tb", True)
    assert done.changed == 0


def test_all_again(others: IndexClient, other_url: str, settings: Settings) -> None:
    """
    Documents that others have partially updated are fingerprinted again on request.
    """
    backfill(others, NAMES)
    others.bulk([({"update": {"_id": "d1"}}, {"doc": {"body": "law " * 9}})])
    assert backfill(others, NAMES).sent == 0
    assert backfill(others, NAMES, all_documents=True).sent == 24
    with open_store(other_url, settings) as store:
        assert [hit.id for hit in store.search("law").hits] == ["d1"]


def test_backfill_restores_fields_lost_by_a_partial_update(store: Store, client: IndexClient) -> None:
    """
    A partial update drops whorl's fields of a document, and backfill adds them again.
    """
    store.index([Document("a", " ".join(WORDS), properties={"n": 1}), Document("b", " ".join(WORDS))])
    client.bulk([({"update": {"_id": "a"}}, {"doc": {"name": "A"}})])
    assert backfill(client, FieldNames()) == BackfillReport(total=1, sent=1)
    assert [(hit.id, hit.name) for hit in store.search("FINGERPRINT:b AND n:1").hits] == [("a", "A")]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ({"enabled": False}, "its _source is disabled"),
        ({"excludes": ["bo*"]}, "its _source excludes 'body'"),
        ({"includes": ["title"]}, "its _source does not include 'body'"),
        ({"includes": ["b*"], "excludes": ["x"]}, ""),
        ({}, ""),
    ],
)
def test_sources_without_texts(source: dict[str, Any], reason: str) -> None:
    """
    A mapping that keeps no texts in the source is detected, with the reason.
    """
    assert missing_texts_reason({"_source": source}, NAMES.content) == reason


def test_an_index_that_cannot_be_filled(other_url: str) -> None:
    """
    A missing index is not created, an index without texts stays unchanged, and a batch size of 0 is refused.
    """
    client = IndexClient(other_url)
    with pytest.raises(SchemaError, match="is not an index; 'whorl index"):
        backfill(client, FieldNames())
    assert client.mapping() is None
    client.create({"mappings": {"_source": {"enabled": False}}})
    list(initialise(client, FieldNames()))
    with pytest.raises(SchemaError, match="its _source is disabled"):
        backfill(client, FieldNames())
    with pytest.raises(ParameterError, match="batch must be at least 1"):
        backfill(client, FieldNames(), batch=0)
    client.close()


def test_a_cluster_that_disconnects(others: IndexClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Updates sent before a failure stay.
    """
    real, calls = others._send_once, list[str]()

    def gone(method: str, path: str, *arguments: Any) -> Any:
        calls.append(path)
        if sum(call.endswith("_bulk") for call in calls) > 1:
            raise EngineUnavailableError("gone")
        return real(method, path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(others, "_send_once", gone)
        with pytest.raises(EngineUnavailableError, match="gone"):
            backfill(others, NAMES, batch=6)
    assert 15 < backfill(others, NAMES).total < 25
