"""An index without MINHASH tokens: what works, what is refused, and how it gets the tokens later."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conformance.collection import documents
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.backfill_and_labels import backfill
from whorl.engine.opensearch.check_index import check
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import initialise
from whorl.engine.opensearch.document_fields import MINHASH, Json
from whorl.errors import ParameterError, SchemaError

TEXT = "one two three four five six seven eight nine ten eleven twelve"
REFUSAL = r"has no field 'whorl_minhash', which FINGERPRINT needs; 'whorl opensearch init opensearch\+"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`init` writes whorl.toml to the working directory."""
    monkeypatch.chdir(tmp_path)


def whorl(*args: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == status, result.output
    return result.output


def levels(client: IndexClient) -> dict[str, Severity]:
    return {finding.code: finding.level for finding in check(client, FieldNames())}


def properties(client: IndexClient) -> Json:
    fields: Json = (client.mapping() or {})["properties"]
    return fields


def answers(store: Store, ids: list[str]) -> list[object]:
    similar = [store.similar(name, threshold=30, rows=50) for name in ids]
    calibrated = [store.search(f"FINGERPRINT:{name}_40", plan="calibrated", rows=50) for name in ids]
    queries = [store.search(query, rows=50) for query in ("*", "name:a*", "the OR of")]
    found = [[(hit.id, hit.score) for hit in page.hits] for page in (*calibrated, *queries)]
    return [[(answer.total, answer.found) for answer in similar], found, store.sources(source=TEXT * 3).sources]


def test_all_but_fingerprint_as_with_them(url: str, other_url: str) -> None:
    """
    Sketches, words and values find the same documents with the same shares as in an index with MINHASH tokens.
    """
    collection = documents()
    said = whorl("opensearch", "init", other_url, "--without-minhash")
    assert said.startswith("make the index")
    both = []
    for address in (url, other_url):
        with open_store(address) as store:
            store.index(collection)
            assert store.index(collection).unchanged == len(collection)
            both.append(answers(store, [document.id for document in collection[::40]]))
            assert store.engine.gaps("sketches") == store.engine.gaps("tokens") == ()
    assert both[0] == both[1]
    with closing(IndexClient(other_url)) as client:
        assert MINHASH not in properties(client)
        reported = levels(client)
        assert reported["no-minhash"] is Severity.NOTE
        # An Elasticsearch without the module for scripts warns about these.
        others = {code for code, level in reported.items() if level not in (Severity.OK, Severity.NOTE)}
        assert others <= {"no-scripts"}
    assert "nothing to add" in whorl("opensearch", "init", other_url, "--without-minhash")
    assert "MINHASH: none, so" in whorl("status", "--store", other_url)


@pytest.mark.parametrize("query", ["FINGERPRINT:a", "FINGERPRINT:a_50_90", "one OR NOT FINGERPRINT:a_50"])
def test_fingerprint_is_refused(other_url: str, query: str) -> None:
    """
    FINGERPRINT is an error, since an empty result would be misleading; the error names the command that adds the field.
    """
    with closing(IndexClient(other_url)) as client, open_store(other_url) as store:
        list(initialise(client, FieldNames(), without_minhash=True))
        store.index([Document("a", TEXT)])
        for ask in (store.search, store.explain):
            with pytest.raises(SchemaError, match=REFUSAL):
                ask(query)
        with pytest.raises(SchemaError, match=REFUSAL):
            store.similar("a", filter=query)
        with pytest.raises(ParameterError, match="'whorl opensearch init --without-minhash'"):
            open_store(other_url, without_minhash=True)


def test_an_index_gets_the_tokens_later(other_url: str) -> None:
    """
    `init` adds the field, an open store uses it at once and warns about documents without tokens, `check` counts them,
    and `backfill` makes tokens for documents with a shingle.
    """
    texts = {"a": TEXT, "b": f"{TEXT} thirteen", "short": "one two", "empty": ""}
    with closing(IndexClient(other_url)) as client, open_store(other_url) as store:
        assert len(list(initialise(client, FieldNames(), without_minhash=True, dry_run=True))) == 1
        list(initialise(client, FieldNames(), without_minhash=True))
        store.index([Document(name, text) for name, text in texts.items()])
        assert backfill(client, FieldNames()).total == 0
        with pytest.raises(SchemaError, match=REFUSAL):
            store.search("FINGERPRINT:a_50")

        reported = list(initialise(client, FieldNames()))
        assert reported[0] == "add the fields whorl_minhash"
        assert reported[-1].endswith(f"whorl opensearch backfill {other_url}")
        assert store.search("FINGERPRINT:a_50").total == 0
        (warning,) = store.engine.gaps("tokens")
        assert warning.startswith(
            "2 of 4 documents have no MINHASH tokens and are not found; 'whorl opensearch backfill"
        )
        assert levels(client)["without-minhash"] is Severity.WARNING

        assert backfill(client, FieldNames()).sent == 2
        assert backfill(client, FieldNames()).total == 0
        store.engine.refresh()
        assert [hit.id for hit in store.search("FINGERPRINT:a_50").hits] == ["a", "b"]
        assert store.engine.gaps("tokens") == ()
        assert levels(client).keys() & {"without-minhash", "no-minhash"} == set()


def test_an_existing_index_stays_without_them(other_url: str) -> None:
    """
    With --without-minhash, an index of others gets no tokens from init, backfill, uploads and labels, although the
    cluster adds unknown fields to its mapping.
    """
    with closing(IndexClient(other_url)) as client:
        client.create({"mappings": {"properties": {"content": {"type": "text"}}}})
        for name in "ab":
            client.raw.index(index=client.index, id=name, body={"content": TEXT}, params={"refresh": "true"})
        said = whorl("opensearch", "init", other_url, "--without-minhash")
        assert MINHASH not in said
        assert "2 documents given a fingerprint" in whorl("opensearch", "backfill", other_url)
        with open_store(other_url) as store:
            store.index([Document("c", TEXT)])
        whorl("duplicates", "--store", other_url, "--write-ids")
        found = json.loads(whorl("similar", "--store", other_url, "a", "--json"))["hits"]
        assert {hit["id"] for hit in found} == {"b", "c"}
        assert MINHASH not in properties(client)
