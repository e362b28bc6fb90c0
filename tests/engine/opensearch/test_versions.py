"""Indexing, searching and deleting a few documents on each version of each server that whorl starts.

The newest OpenSearch is left out, since all other tests run on it. `make prove-servers` runs the conformance suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import opensearch_runtime, opensearch_versions
from tests.sampling import thorough
from whorl import Document, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.jars import Server
from whorl.engine.local.opensearch import ELASTICSEARCH, OPENSEARCH
from whorl.engine.opensearch.check_index import check
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.protocol import ValueCount, ValueFacet
from whorl.errors import EngineResponseError
from whorl.model import Order
from whorl.query.plan.nodes import BoundPlan, Kind, MatchAll

pytestmark = thorough

_WORDS = [f"word{number}" for number in range(400)]
#: The copy has all shingles of the original, the half 196 of its 396, the other document none.
_TEXTS = {"original": _WORDS, "copy": _WORDS, "half": _WORDS[:200], "other": [f"other{word}" for word in _WORDS]}
_DOCUMENTS = [
    Document(name, " ".join(words), f"{name}.txt", {"kind": "other" if name == "other" else "lease", "pages": pages})
    for pages, (name, words) in enumerate(_TEXTS.items())
]


@pytest.fixture(
    scope="module", params=[*OPENSEARCH[1:], *ELASTICSEARCH], ids=lambda server: f"{server.key}-{server.version}"
)
def server(request: pytest.FixtureRequest, opensearch_jars: Callable[[Server], Path]) -> Server:
    chosen: Server = request.param
    opensearch_jars(chosen)
    return chosen


@pytest.fixture(scope="module")
def cluster(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp(server.key)
    with opensearch_versions.start(server, folder, nodes=1, heap="384m") as running:
        yield running.url


@pytest.fixture
def url(cluster: str) -> Iterator[str]:
    """An empty index of two shards."""
    with opensearch_runtime.own_index(cluster) as made:
        yield made


def _ids(store: Store, query: str) -> list[str]:
    return sorted(hit.id for hit in store.search(query).hits)


def test_from_index_to_delete(server: Server, url: str) -> None:
    """
    Fingerprints, shares, words, patterns, a facet, an order and deletion give the results of the newest version.
    """
    with open_store(url) as store:
        assert store.index(_DOCUMENTS).stored == 4
        hits = store.search("FINGERPRINT:original_40", with_shared=True).hits
        assert [(hit.id, hit.shared_tokens) for hit in hits[:2]] == [("copy", 512), ("original", 512)]
        assert [hit.id for hit in hits[2:]] == ["half"]
        assert _ids(store, "FINGERPRINT:original_90") == ["copy", "original"]
        similar = store.similar("original", metric="a_in_b", threshold=40, exact=True)
        assert [(hit.hit.id, hit.hit.score) for hit in similar.found] == [
            ("copy", 100.0), ("half", pytest.approx(19600 / 396)),
        ]  # fmt: skip
        assert _ids(store, "word17 AND NOT word300") == ["half"]
        assert _ids(store, '"word17 word18 word19" AND NOT name:c*') == ["half", "original"]
        assert _ids(store, "pages:[1 TO 2] AND EXISTS:kind") == ["copy", "half"]
        places = store.engine.fields().resolve_name("kind", {})
        assert places is not None
        kinds = ValueFacet(Kind.KEYWORD, places[Kind.KEYWORD], 10)
        assert store.engine.facets(BoundPlan(MatchAll()), [kinds]) == (
            (ValueCount("lease", 3), ValueCount("other", 1)),
        )
        if server in ELASTICSEARCH:
            with pytest.raises(EngineResponseError, match=r"script_lang not supported \[painless\]"):
                store.search("*", sort=[Order("pages", False)])
        else:
            in_order = store.search("*", sort=[Order("pages", False)]).hits
            assert [hit.id for hit in in_order] == [*_TEXTS][::-1]
        assert store.delete(["copy"]) == 1
        assert store.delete_matching("word399") == 1
        assert _ids(store, "*") == ["half", "other"]


def test_check(server: Server, url: str) -> None:
    """
    Check counts each version as tested, and names the features that this Elasticsearch lacks.
    """
    client = IndexClient(url)
    with open_store(url) as store:
        store.index(_DOCUMENTS)
    codes = {finding.code: finding.message for finding in check(client, FieldNames())}
    client.close()
    assert codes.pop("version").startswith(f"this is {server.name} {server.version}, Lucene ")
    assert "4 of 4 documents" in codes.pop("documents")
    if server in ELASTICSEARCH:
        assert "script_lang not supported [painless]" in codes.pop("no-scripts")
    assert set(codes) == {"fields"}
