"""Cluster labels in a real Solr: its own collapse query uses them, and partial updates keep whorl's fields."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from tests import solr_runtime
from whorl import Document, open_store
from whorl.cli.main import main
from whorl.engine.configured_fields import FieldNames
from whorl.engine.protocol import ClusterLabel
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.field_definitions import scheme_value
from whorl.engine.solr.request_body import lost_sketches
from whorl.errors import SchemaError
from whorl.fingerprint.fingerprint_texts import least_stored_size
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.winnowing import PassageScheme
from whorl.model import CLUSTER, IS_PRINCIPAL

PAGE, OTHER = (" ".join(f"{letter}{at}" for at in range(60)) for letter in "wx")
DOCUMENTS = [Document("a", PAGE), Document("b", f"{PAGE} more"), Document("c", PAGE), Document("d", f"w1 {OTHER}")]


@pytest.fixture
def url(solr_standalone_url: str) -> Iterator[str]:
    base_url, name = solr_standalone_url.rpartition("/")[0], f"whorl_marks_{uuid.uuid4().hex[:8]}"
    yield solr_runtime.make_collection(base_url, name)
    solr_runtime.drop(base_url, name)


@pytest.mark.solr
def test_solr_collapses_by_them(url: str) -> None:
    """
    The query of docs/solr.md returns the principal of each cluster, and the others on expansion; passages are kept.
    """
    client = SolrClient(url)
    initialise(client, FieldNames(), passages=PassageScheme())
    with open_store(url, passages=True) as store:
        store.index(DOCUMENTS)
        numbers = store.engine.passage_counts([])
        assert numbers == []
    done = CliRunner().invoke(main, ["duplicates", "--store", url, "--keep", "longest", "--write-ids"])
    assert done.exit_code == 0, done.output
    assert "3 documents of 1 cluster say so in the store: 3 changed" in done.stderr
    collapse = "{!collapse field=whorl_cluster nullPolicy=expand sort='whorl_is_principal desc'}"
    body: dict[str, Any] = {"query": "content:w1", "filter": collapse, "sort": "id asc", "fields": ["id"]}
    expand = {"expand": "true", "expand.rows": "10"}
    collapsed = client.select({**body, "params": expand})
    assert (collapsed.total, [document["id"] for document in collapsed.documents]) == (2, ["b", "d"])
    expanded = collapsed.answer["expanded"]["a"]
    assert sorted(document["id"] for document in expanded["docs"]) == ["a", "c"]
    with open_store(url) as store:
        assert store.engine.passage_scheme is not None
        assert [source.id for source in store.sources("a").sources] == ["b"]
        assert {hit.hit.id for hit in store.similar("a", metric="jaccard", threshold=80).found} == {"b", "c"}


@pytest.mark.solr
def test_missing_fields_are_reported(url: str) -> None:
    """
    Missing label fields are reported before any comparison, with the command that adds them; it also works with
    documents present.
    """
    client = SolrClient(url)
    with open_store(url) as store:
        store.index(DOCUMENTS)
    for name in (CLUSTER, IS_PRINCIPAL):
        client.change("schema", {"delete-field": {"name": name}})
    with open_store(url) as store:
        with pytest.raises(SchemaError, match="has no field 'whorl_cluster' for clusters; 'whorl solr init"):
            store.engine.labels.prepare()
        assert list(store.engine.labels.read_all()) == []
    initialise(client, FieldNames())
    with open_store(url) as store:
        store.engine.labels.prepare()
        store.engine.labels.write(
            {"a": ClusterLabel("a", is_principal=True), "gone": ClusterLabel("a", is_principal=False)}
        )
        store.engine.refresh()
        assert store.engine.labels.labels_of(["a", "b", "gone"]) == {"a": ClusterLabel("a", is_principal=True)}


@pytest.mark.solr
def test_labels_read_no_texts_of_long_documents(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Labels read only the texts of documents without a stored sketch; all documents keep sketch and tokens.
    """
    client = SolrClient(url)
    initialise(client, FieldNames())
    read: list[str] = []
    with open_store(url) as store:
        store.index([Document("short", PAGE), Document("long", " ".join(f"v{at}" for at in range(300)))])
        sketches = store.engine.sketches(["short", "long"])
        select = SolrClient.select

        def traced(client: SolrClient, body: Any, *arguments: Any, **more: Any) -> Any:
            selected = select(client, body, *arguments, **more)
            read.extend(str(document["id"]) for document in selected.documents if "content" in document)
            return selected

        monkeypatch.setattr(SolrClient, "select", traced)
        store.engine.labels.write({name: ClusterLabel(name, is_principal=True) for name in ("short", "long")})
        assert read == (["short"] if least_stored_size(Scheme()) else [])
        store.engine.refresh()
        assert store.engine.sketches(["short", "long"]) == sketches
    assert client.count(lost_sketches(scheme_value(Scheme(), SketchScheme()))) == 0
