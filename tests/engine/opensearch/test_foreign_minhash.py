"""MinHash fields that a cluster fills: detection, scheme, and the findings of check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.engine.opensearch.foreign import ANALYSIS, FINGERPRINT, TEXTS, WORDS, filled
from tests.engine.opensearch.test_client import between
from whorl import Document, Store, open_store
from whorl.duplicates import duplicates_in, parse_pair_options
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch import foreign_minhash as min_hash
from whorl.engine.opensearch.backfill_and_labels import backfill
from whorl.engine.opensearch.check_index import check
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import initialise
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.engine.opensearch.foreign_minhash import choose_field, minhash_fields, probe_field, read_index_tokens
from whorl.errors import NoSketchesError, SchemaError
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.minhash.signature_and_tokens import TokenEncoding
from whorl.fingerprint.shingling import Scheme
from whorl.model import Order
from whorl.query.plan.nodes import Kind
from whorl.service.app import create_app


@pytest.mark.usefixtures("visible_writes")
def test_the_scheme_follows_the_mapping_or_the_probe(foreign: IndexClient) -> None:
    """
    The scheme follows the mapping, unless probing shows that the cluster ignores its options.
    """
    settings = foreign.settings()
    there = {"properties": {name: {"type": "text", "analyzer": name} for name in ANALYSIS["analyzer"]}}
    (fingerprint, unrotated, plain) = minhash_fields(there, settings)
    assert (fingerprint.scheme(), plain.scheme()) == (Scheme(), Scheme(shingle_size=1))
    assert not unrotated.rotation
    assert unrotated.scheme() == Scheme(bucket_count=64)
    (field,) = minhash_fields(foreign.mapping() or {}, settings)
    probed = probe_field(foreign, field)
    assert (field.name, field.text_field) == ("content.fingerprint", "content")
    assert (probed.scheme, probed.encoding, probed.is_made_by_whorl) == (Scheme(), TokenEncoding.UNITS_8, True)
    assert probe_field(foreign, replace(field, options={**field.options, "bucket_count": 100})).scheme == Scheme()
    with pytest.raises(SchemaError, match="makes 511 tokens of 8 units of a long text, where its filter says 1,534"):
        probe_field(foreign, replace(field, options={**field.options, "hash_count": 3}))
    with pytest.raises(SchemaError, match="of a kind that whorl does not read: bucket count is 1 to 65536, got 0"):
        probe_field(foreign, replace(field, options={**field.options, "bucket_count": 0}))


def test_tokens_without_a_source(other_url: str) -> None:
    """
    With term vectors, no source is needed, and check reports that fingerprints can be searched.
    """
    for vectors, level in (("yes", Severity.NOTE), ("no", Severity.ERROR)):
        with filled(
            other_url, {"content": {**FINGERPRINT, "term_vector": vectors}}, _source={"enabled": False}
        ) as client:
            assert {finding.code: finding.level for finding in check(client, FieldNames())}["no-source"] is level
            client.raw.indices.delete(index=client.index)


def test_one_of_several_token_fields_must_be_configured(foreign: IndexClient) -> None:
    """
    One of several token fields must be configured.
    """
    foreign.add_fields({"second": FINGERPRINT})
    with (
        open_store(foreign.store_url) as store,
        pytest.raises(SchemaError, match=r"'content\.fingerprint' and 'second' .*"),
    ):
        store.search("FINGERPRINT:d0")
    fields = minhash_fields(foreign.mapping() or {}, foreign.settings())
    assert (choose_field(fields, "second") or fields[0]).name == "second"
    with Store(OpenSearchEngine(foreign, FieldNames(minhash="content.fingerprint"))) as store:
        assert store.search("FINGERPRINT:d0").hits[0].id == "d0"
        assert {finding.code: finding.level for finding in check(foreign, FieldNames())}["own-tokens"] is Severity.ERROR


def test_check_reports_the_token_scheme(foreign: IndexClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Check reports that FINGERPRINT works, and its token scheme.
    """
    findings = {finding.code: finding for finding in check(foreign, FieldNames())}
    assert "minhash1-icu74-w5-b512" in findings["own-tokens"].message
    assert {code: finding.level for code, finding in findings.items()} == {
        "own-tokens": Severity.OK, "other-words": Severity.WARNING, "match-any": Severity.WARNING,
        "missing-fields": Severity.NOTE, "text-fields": Severity.NOTE,
        "kept-twice": Severity.NOTE, "version": Severity.NOTE,
    }  # fmt: skip
    monkeypatch.setattr(min_hash, "PROBE", " ".join(WORDS[:40]))
    assert "other-words" not in {finding.code for finding in check(foreign, FieldNames())}
    foreign.add_fields({"second": {"type": "text", "analyzer": "unrotated"}})
    assert "no-rotation" in {finding.code for finding in check(foreign, FieldNames(minhash="second"))}


BACKWARDS = Order("id", False, ((Kind.KEYWORD, "id"),))
BY_NAME = Order("name", True, ((Kind.KEYWORD, "name"),))


@pytest.mark.usefixtures("visible_writes")
def test_answers_equal_those_of_our_own_store(foreign_store: Store, tmp_path: Path) -> None:
    """
    Hits, scores and totals equal those of whorl's own store, by tokens and bands, alone and with other clauses; the
    index stays unchanged.
    """
    with open_store(tmp_path / "ours") as ours:
        ours.index([Document(name, text) for name, text in TEXTS.items()])
        for query in (
            *(
                "FINGERPRINT:d0",
                "FINGERPRINT:d0_30",
                "FINGERPRINT:d3_80",
                "FINGERPRINT:d0_50_90",
                "FINGERPRINT:d3_20_95",
            ),
            *("FINGERPRINT:short", "FINGERPRINT:short_100_99", "FINGERPRINT:none", "FINGERPRINT:d0_40^3"),
            *("FINGERPRINT:d0_30 AND NOT id:d1", "FINGERPRINT:d0_80 OR FINGERPRINT:other_50 OR id:short", "*", "id:d2"),
            " OR ".join(f"FINGERPRINT:d{number}_50" for number in range(8)),
        ):
            wanted, page = ours.search(query, rows=50), foreign_store.search(query, rows=50)
            assert [(hit.id, hit.score) for hit in page.hits] == [(hit.id, hit.score) for hit in wanted.hits], query
            assert page.total == wanted.total
        by_id = [ours.search("*", sort=[BACKWARDS]).hits, foreign_store.search("*", sort=[BACKWARDS]).hits]
        assert [hit.id for hit in by_id[0]] == [hit.id for hit in by_id[1]]
        assert foreign_store.count() == ours.count() == len(TEXTS)
        assert foreign_store.search("FINGERPRINT:d0", with_shared=True).hits[0].shared_tokens == 512
        assert foreign_store.compare("d0", "d1").shares == ours.compare("d0", "d1").shares


def test_similar_by_tokens(foreign_store: Store) -> None:
    """
    Similar documents are found by id or text, with estimates marked as rough.
    """
    similar = foreign_store.similar("d0", metric="jaccard", threshold=60)
    ids = [hit.hit.id for hit in similar.found]
    assert (ids[:5], "other" in ids) == (["d1", "d2", "d3", "d4", "d5"], False)
    assert "no sketches" in similar.warnings[0]
    assert [
        hit.hit.id for hit in foreign_store.similar(source=TEXTS["short"], metric="jaccard", threshold=90).found
    ] == [
        "copy",
        "short",
    ]


def test_operations_that_need_own_fields_are_refused(foreign_store: Store, foreign: IndexClient) -> None:
    """
    Operations that need whorl's fields are refused with a remedy, and the remedy works.
    """
    for ask in (
        lambda: foreign_store.search("name:x"),
        lambda: foreign_store.search("FINGERPRINT:d0 AND w3"),
        lambda: foreign_store.search("EXISTS:name"),
        lambda: foreign_store.search("*", sort=[BY_NAME]),
    ):
        with pytest.raises(SchemaError, match=r"without whorl's fields .*'whorl opensearch backfill'"):
            ask()
    with pytest.raises(NoSketchesError), duplicates_in(foreign_store.engine, parse_pair_options("jaccard", 50, 95)):
        pass
    with pytest.raises(SchemaError, match="'whorl opensearch init"):
        foreign_store.index([Document("x", TEXTS["d0"])])
    list(initialise(foreign, FieldNames()))
    backfill(foreign, FieldNames())
    with open_store(foreign.store_url) as ours:
        assert ours.engine.sketch_scheme is not None
        assert ours.search("FINGERPRINT:d0_95 AND w599").total == 1


@pytest.mark.usefixtures("visible_writes")
@pytest.mark.parametrize(
    ("properties", "mappings"),
    [
        ({"content": FINGERPRINT}, {}),
        ({"content": {**FINGERPRINT, "term_vector": "yes", "index_options": "docs"}}, {"_source": {"enabled": False}}),
        ({"content": {"type": "text", "copy_to": "MINHASH"}, "MINHASH": FINGERPRINT}, {}),
        ({"content": FINGERPRINT, "more": {"properties": {"hashes": FINGERPRINT}}}, {}),
        (
            {"content": {"type": "text", "fields": {"of": {"type": "text", "analyzer": "unrotated"}}}},
            {},
        ),
    ],
)
def test_tokens_are_read_from_any_kind_of_field(
    other_url: str, properties: dict[str, Any], mappings: dict[str, Any]
) -> None:
    """
    Tokens are read from a field, with or without term vectors, copied or as a subfield; in order, they equal whorl's.
    """
    names = FieldNames(minhash="content" if "more" in properties else "MINHASH")
    with filled(other_url, properties, **mappings) as client:
        tokens = read_index_tokens(client, names).foreign
        assert tokens is not None
        assert tokens.field.is_made_by_whorl
        signatures = tokens.signatures(dict.fromkeys([*TEXTS, "gone", "x" * 600], True))
        assert signatures.keys() == TEXTS.keys()
        for name, text in TEXTS.items():
            wanted = sign(text, tokens.scheme, tokens.field.encoding)
            # Without the text, the order of some tokens may be lost.
            assert sorted(signatures[name].tokens) == sorted(wanted.tokens)
            assert signatures[name] == wanted or mappings


def test_words_that_whorl_splits_differently(foreign_store: Store, foreign: IndexClient) -> None:
    """
    For words that whorl splits differently, the cluster makes the tokens of a text, which finds its document with all
    of them.
    """
    odd = "one:two STRASSE Straße ﬁne 中文字 naïve x_y 3.14 Don't e-mail " * 3
    foreign.bulk([({"index": {"_id": "odd"}}, {"content": odd})])
    foreign.refresh()
    signature = foreign_store.engine.sign(odd)
    assert signature.integers == foreign_store.engine.signatures({"odd": True})["odd"].integers
    assert set(signature.tokens) != set(sign(odd, foreign_store.engine.scheme, TokenEncoding.UNITS_8).tokens)
    assert [hit.hit.id for hit in foreign_store.similar(source=odd, metric="jaccard", threshold=95).found] == ["odd"]
    assert len(foreign_store.engine.sign("")) == 0


def test_several_values_have_one_fingerprint(foreign: IndexClient, foreign_store: Store) -> None:
    """
    Several values have one fingerprint: that of the joined text, except for shingles across the border.
    """
    foreign.bulk([({"index": {"_id": "parts"}}, {"content": [TEXTS["other"], TEXTS["d0"]]})])
    foreign.refresh()
    signature = foreign_store.engine.signatures({"parts": True})["parts"]
    assert len(signature) == 512
    assert foreign_store.search("FINGERPRINT:parts_100").hits[0].id == "parts"


def test_a_cluster_that_sorts_nothing_by_id(foreign: IndexClient) -> None:
    """
    Without sorting by _id, the default in Elasticsearch, whorl sorts pages itself, and refuses sort orders and distant
    pages.
    """

    def refuses(path: str, body: str) -> tuple[int, Any] | None:
        response = {"error": {"type": "illegal_argument_exception", "reason": "Fielddata access on the _id field"}}
        return (400, response) if path.startswith(f"/{foreign.index}/_search") and '{"_id":' in body else None

    with between(foreign.store_url, refuses) as url, open_store(url) as store:
        hits = store.search("FINGERPRINT:short").hits
        assert [(hit.id, hit.score) for hit in hits] == [("copy", 512.0), ("short", 512.0)]
        for ask in (lambda: store.search("*", sort=[BACKWARDS]), lambda: store.search("*", start=10_000)):
            with pytest.raises(SchemaError):
                ask()
        with TestClient(create_app(store)) as service:
            response = service.get("/api/v1/documents", params={"rows": 3}).json()
        assert [document["id"] for document in response["documents"]] == sorted(
            document["id"] for document in response["documents"]
        )
        assert (len(response["documents"]), response["total"]) == (3, store.count())
        client = IndexClient(url)
        assert "no-id-order" in {finding.code for finding in check(client, FieldNames())}
        client.close()


def test_limits(foreign_store: Store) -> None:
    """
    Fingerprints beyond the clause limit are counted in functions, and still find their documents.
    """
    both = foreign_store.search("FINGERPRINT:d0_30 AND FINGERPRINT:d1_30 AND FINGERPRINT:d2_30", rows=50)
    assert {hit.id for hit in both.hits} >= {"d0", "d1", "d2", "d3"}
    page = foreign_store.search("FINGERPRINT:gone OR FINGERPRINT:none")
    assert (page.total, ["gone" in message for message in page.warnings]) == (0, [True, False])
