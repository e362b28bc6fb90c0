"""Findings of `check` on real indexes: every possible mistake in a mapping, and none for a correct index."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.engine.opensearch.test_client import between
from whorl import Document, open_store
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH
from whorl.engine.opensearch import check_index
from whorl.engine.opensearch.backfill_and_labels import backfill
from whorl.engine.opensearch.check_index import check
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import initialise
from whorl.engine.opensearch.document_fields import Json, index_body
from whorl.errors import DocumentError, EngineError, EngineResponseError
from whorl.settings.settings import Settings

TEXT = "one two three four five six seven"
#: A typical analysis: shingles of five words, and MinHash with an option that some releases ignore.
MIN_HASH: dict[str, Any] = {
    "filter": {
        "fives": {"type": "shingle", "min_shingle_size": 5, "max_shingle_size": 5, "output_unigrams": False},
        "hashes": {"type": "min_hash", "bucket_count": 256, "hash_count": 1, "hash_set_size": 1},
    },
    "analyzer": {
        "fingerprint_of": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase", "fives", "hashes"]},
        "plain_min_hash": {"type": "custom", "tokenizer": "standard", "filter": ["min_hash"]},
    },
}


def levels(client: IndexClient) -> dict[str, Severity]:
    return {finding.code: finding.level for finding in check(client, FieldNames())}


def test_an_index_of_ours(url: str) -> None:
    """
    Check reports no problems of whorl's own index, empty or filled.
    """
    client = IndexClient(url)
    assert levels(client) == {"fields": Severity.OK, "version": Severity.NOTE}
    with open_store(url) as store:
        store.index([Document("a", TEXT)])
    assert levels(client) == {"fields": Severity.OK, "documents": Severity.OK, "version": Severity.NOTE}
    client.close()


def test_no_index_and_several(other_url: str) -> None:
    """
    A missing index and an alias of several are reported with a remedy.
    """
    client = IndexClient(other_url)
    (error,) = [finding for finding in check(client, FieldNames()) if finding.level is Severity.ERROR]
    assert (error.code, "'whorl opensearch init" in error.remedy) == ("no-index", True)
    client.create({})
    name = f"{client.index}-other"
    client.raw.indices.create(index=name)
    try:
        for index in (client.index, name):
            client.raw.indices.put_alias(index=index, name=f"{name}-both")
        both = IndexClient(f"{other_url}-other-both")
        assert levels(both)["several-indexes"] is Severity.ERROR
        both.close()
    finally:
        client.raw.indices.delete(index=name)
    client.close()


def test_names_in_another_field(other_url: str) -> None:
    """
    Check names the fields of titles and texts, unless the configured fields exist.
    """
    client = IndexClient(other_url)
    client.create({})
    body = {"body": TEXT, "title": "Numbers"}
    client.raw.index(index=client.index, id="a", body=body, params={"refresh": "true"})
    remedies = {finding.code: finding.remedy for finding in check(client, FieldNames())}
    command = f"whorl opensearch init {client.store_url} --content body --name title"
    assert {remedies[code] for code in ("no-name", "no-text", "missing-fields")} == {command}
    assert "no-name" not in {finding.code for finding in check(client, FieldNames(content="body", name="title"))}
    client.close()


def test_a_foreign_index(other_url: str) -> None:
    """
    Check reports a foreign index before and after init; it counts documents without whorl's fields, and of another
    version.
    """
    client = IndexClient(other_url)
    client.create({"settings": {"index.translog.durability": "async", "index.max_result_window": 500}})
    client.raw.index(index=client.index, id="a", body={"content": TEXT}, params={"refresh": "true"})
    levels_by_code = levels(client)
    assert levels_by_code.pop("version") is Severity.NOTE
    assert levels_by_code == {
        "missing-fields": Severity.ERROR, "kept-twice": Severity.NOTE, "durability": Severity.WARNING,
        "result-window": Severity.WARNING, "text-fields": Severity.NOTE,
    }  # fmt: skip
    list(initialise(client, FieldNames()))
    client.raw.index(index=client.index, id="b", body={"whorl_scheme": "minhash0 sketch0"}, params={"refresh": "true"})
    messages = {finding.code: finding.message for finding in check(client, FieldNames())}
    assert messages["documents"] == "0 of 2 documents can be found by fingerprint"
    assert messages["without-fields"].startswith("2 documents lack our fields")
    assert messages["other-scheme"].startswith("1 of them")
    assert "blocked" not in messages
    client.raw.indices.put_settings(index=client.index, body={"index.blocks.read_only_allow_delete": True})
    messages = {finding.code: finding.message for finding in check(client, FieldNames())}
    assert messages["blocked"] == "the index accepts no documents (index.blocks.read_only_allow_delete)"
    client.close()


def test_mappings_that_cannot_work(other_url: str) -> None:
    """
    Check reports a disabled source and automatically mapped fields as errors.
    """
    client = IndexClient(other_url)
    body: dict[str, Any] = index_body(FieldNames())
    body["mappings"] |= {"_source": {"enabled": False}}
    body["mappings"]["properties"] = {**body["mappings"]["properties"], "whorl_size": {"type": "text"}}
    client.create(body)
    levels_by_code = levels(client)
    assert {code for code, level in levels_by_code.items() if level is Severity.ERROR} == {
        "no-source",
        "other-fields",
    }
    client.close()


def test_properties_of_another_type(other_url: str) -> None:
    """
    Init and check name a field `properties` that takes no objects; a backfill works, and a document is refused.
    """
    with contextlib.closing(IndexClient(other_url)) as client:
        client.create({"mappings": {"properties": {"properties": {"type": "keyword"}}}})
        body = {"content": TEXT, "properties": "red"}
        client.raw.index(index=client.index, id="a", body=body, params={"refresh": "true"})
        said = "the field 'properties' has type keyword"
        assert any(line.startswith(f"warning: {said}") for line in initialise(client, FieldNames()))
        findings = {finding.code: finding for finding in check(client, FieldNames())}
        assert findings["other-properties"].level is Severity.WARNING
        assert findings["other-properties"].message.startswith(said)
        assert backfill(client, FieldNames()).sent == 1
        with open_store(other_url) as store:
            assert [hit.id for hit in store.search("properties:red").hits] == ["a"]
            with pytest.raises(DocumentError):
                store.index([Document("b", TEXT, properties={"color": "blue"})])


def test_a_cluster_s_own_min_hash(other_url: str) -> None:
    """
    Check warns about `match` on a MinHash field, and about ignored options of the filter.
    """
    client = IndexClient(other_url)
    body: dict[str, Any] = index_body(FieldNames())
    body["settings"] = {"analysis": MIN_HASH}
    fields = {name: {"type": "text", "analyzer": name} for name in MIN_HASH["analyzer"]}
    inner = {"text": {"type": "text", "fields": {"hashes": {"type": "text", "analyzer": "fingerprint_of"}}}}
    body["mappings"]["properties"] = {**body["mappings"]["properties"], **fields, "body": {"properties": inner}}
    client.create(body)
    messages = [finding.message for finding in check(client, FieldNames()) if finding.code == "match-any"]
    assert [message.split("'")[1] for message in messages] == ["body.text.hashes", "fingerprint_of", "plain_min_hash"]
    assert "ignored-options" not in levels(client)
    real = client.terms_of
    client.terms_of = lambda text, *_: real(text, *["plain_min_hash"] * 2)  # type: ignore[method-assign]
    wrong = [finding.message for finding in check(client, FieldNames()) if finding.code == "ignored-options"]
    assert [message.split(" makes")[0] for message in wrong] == ["'body.text.hashes'", "'fingerprint_of'"]
    client.close()


@pytest.mark.parametrize(
    ("distribution", "number", "is_tried"),
    [
        ("opensearch", "2.11.0", True), ("opensearch", "2.19.5", True), ("opensearch", "3.8.0", True),
        ("opensearch", "3.10.0-SNAPSHOT", True), ("opensearch", "2.9.0", False), ("opensearch", "1.3.20", False),
        ("opensearch", "4.0.0", False), ("opensearch", "3.1.0", False),
        ("elasticsearch", "8.19.0", True), ("elasticsearch", "9.5.3", True), ("elasticsearch", "9.10.0", True),
        ("elasticsearch", "8.2.0", False), ("elasticsearch", "7.17.9", False), ("elasticsearch", "10.0.0", False),
        ("another", "3.8.0", False), ("elasticsearch", "?", False),
    ],
)  # fmt: skip
def test_a_version_without_tests_is_a_warning(distribution: str, number: str, is_tried: bool) -> None:
    """
    A tested version also covers later ones of its major version, but not earlier ones or other servers.
    """
    # Elasticsearch does not report a distribution.
    named = {} if distribution == "elasticsearch" else {"distribution": distribution}
    findings = list(check_index._version({"version": {"number": number, **named}}))
    assert [finding.code for finding in findings] == ["version", "untried-version"][: 2 - is_tried]
    if not is_tried:
        assert "OpenSearch 2.11, 3.8 and Elasticsearch 8.19, 9.5" in findings[1].message


def test_tested_versions_are_those_that_can_be_started() -> None:
    """
    The tested versions in the findings are the oldest of each major version that whorl starts.
    """
    for servers in (OPENSEARCH, ELASTICSEARCH):
        oldest = {server.version.split(".")[0]: server.version.rpartition(".")[0] for server in servers}
        assert set(check_index.TESTED_VERSIONS[servers[0].key]) == set(oldest.values())


def test_check_reports_version_limits_and_unassigned_shards(url: str) -> None:
    """
    Check reports an untested version, a smaller clause limit and an unassigned shard.
    """

    class Told(IndexClient):
        def about(self) -> Any:
            return {"version": {"number": "9.1.0", "lucene_version": "10.2"}}

        def cluster_setting(self, name: str) -> str:
            return "512"

        def health(self) -> Any:
            return {"status": "red", "unassigned_shards": 2}

    client = Told(url)
    messages = {finding.code: finding.message for finding in check(client, FieldNames())}
    assert messages["version"] == "this is Elasticsearch 9.1.0, Lucene 10.2"
    assert "not with Elasticsearch 9.1.0" in messages["untried-version"]
    assert "512 clauses" in messages["clause-limit"]
    assert "2 shards" in messages["red"]
    client.close()


@pytest.mark.process
def test_rights_to_an_index_alone(url: str) -> None:
    """
    A user who may not monitor the cluster can use and check an index, also at a plain URL.
    """
    reason = "no permissions for [cluster:monitor/main]"
    denied = 403, {"error": {"type": "security_exception", "reason": reason}}
    needs_monitor = lambda path, _: denied if path == "/" or path.startswith("/_cluster") else None  # noqa: E731
    with between(url, needs_monitor) as address:
        with open_store(address.removeprefix("opensearch+"), Settings.load({})) as store:
            store.index([Document("a", "one two three four five")])
            assert [hit.id for hit in store.search("TEXT:three").hits] == ["a"]
        with contextlib.closing(IndexClient(address)) as client:
            findings = [str(finding) for finding in check(client, FieldNames())]
    assert len([finding for finding in findings if reason in finding]) == 2
    assert any("1 of 1 documents can be found" in finding for finding in findings)


@pytest.mark.process
def test_credentials_that_a_cluster_refuses(url: str) -> None:
    """
    The error for wrong credentials at a plain URL names the settings of a cluster.
    """
    with between(url, lambda *_: (401, b"Unauthorized")) as address:
        plain = address.removeprefix("opensearch+")
        with open_store(plain, Settings.load({})) as store, pytest.raises(EngineError, match="WHORL_OPENSEARCH_AUTH"):
            store.count()


def test_a_cluster_without_scripts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without scripts, hits cannot be sorted by fields: check warns with the setting, and everything else works.
    """
    client, search = IndexClient(url), IndexClient.search
    reason = "cannot execute [inline] scripts"

    def refused(self: IndexClient, body: Json) -> Json:
        if any("_script" in key for key in body.get("sort", ())):
            raise EngineResponseError(f"{self.url} answers 400: {reason}", status=400, detail=reason)
        return search(self, body)

    monkeypatch.setattr(IndexClient, "search", refused)
    findings = {finding.code: finding for finding in check(client, FieldNames())}
    assert {code: finding.level for code, finding in findings.items() if finding.level is not Severity.OK} == {
        "no-scripts": Severity.WARNING, "version": Severity.NOTE,
    }  # fmt: skip
    assert findings["no-scripts"].message.endswith(reason)
    assert "script.allowed_types" in findings["no-scripts"].remedy
    client.close()
