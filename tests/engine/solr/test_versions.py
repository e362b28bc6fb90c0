"""Query clauses, fingerprints and similar documents on each version of Solr that whorl starts.

The version of all other tests is left out. `WHORL_TEST_SOLR_VERSION` selects another one for the conformance suite.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests import shared_server, solr_runtime
from tests.cli.running import whorl
from tests.conformance.answers import collected, expected
from tests.conformance.test_similar import shares, windows
from tests.engine.solr.bare import write_configset
from tests.sampling import thorough
from whorl import Document, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.local.jars import Server
from whorl.engine.local.solr import SOLR, start_standalone
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.inspect_collection import inspect

pytestmark = thorough

#: Each query has alternatives with a condition or an exclusion, in one of their forms.
QUERIES = [
    "*lor0",
    "name:annual*",
    "NOT name:a*",
    '"quis5 minim51 aliqua28" AND NOT name:m*',
    'TEXT:"magna1 sed2 dolor1"~40 OR mixed:8.5',
    "EXISTS:mixed AND NOT code:zoo*",
    "ISNULL:name",
    "price:[* TO 9.5]",
    "mixed:<* TO MAX>",
    "+(sed2~0.9) -(mixed:<* TO MAX]) FINGERPRINT:f5-1",
    "=cm_name:Annual*",
    "FINGERPRINT:f9-0_10 AND (name:annual* OR mixed:8.5)",
    "FINGERPRINT:f9-0_10 AND NOT (name:annual* OR mixed:8.5)",
]


@pytest.fixture(
    scope="module",
    params=[server for server in SOLR if server != shared_server.solr_server()],
    ids=lambda server: server.version,
)
def server(request: pytest.FixtureRequest) -> Server:
    chosen: Server = request.param
    return chosen


@pytest.fixture(scope="module")
def base_url(server: Server, solr_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two empty cores: `whorl` from whorl's configset, and `bare` with a text field and no tokens."""
    folder = tmp_path_factory.mktemp("solr")
    cores = {"whorl": solr_runtime.CONFIGSET, "bare": write_configset(folder / "bare")}
    with start_standalone(folder / "home", cores, version=server.version, heap="384m", cache=solr_cache) as running:
        yield running.url


@pytest.fixture(scope="module")
def store(base_url: str) -> Iterator[Store]:
    """A store with the documents of the conformance suite."""
    with open_store(f"{base_url}/whorl") as opened:
        opened.index(list(collected().values()))
        yield opened


@pytest.mark.parametrize("query", QUERIES)
def test_hits_and_scores_are_those_of_a_plain_evaluation(store: Store, query: str) -> None:
    """
    Only some documents match, and hits and scores equal those of a loop over all documents.
    """
    page, wanted = store.search(query, rows=200), expected(query)
    assert 0 < len(wanted) < len(collected())
    assert page.total == len(wanted)
    assert [hit.id for hit in page.hits] == [name for name, _ in wanted]
    assert [hit.score for hit in page.hits] == pytest.approx([score for _, score in wanted], rel=1e-5, abs=0)


def test_similar_documents(store: Store) -> None:
    """
    The similar documents are those whose shingles, compared one by one, reach the threshold.
    """
    source = windows(collected()["f4-0"].text)
    jaccard = {name: shares(source, windows(other.text))["jaccard"] for name, other in collected().items()}
    wanted = {name: 100 * float(share) for name, share in jaccard.items() if share >= 0.3 and name != "f4-0"}
    page = store.similar("f4-0", metric="jaccard", threshold=30, rows=200)
    assert {hit.hit.id: hit.hit.score for hit in page.found} == pytest.approx(wanted, abs=1e-4)
    assert len(wanted) > 2


def test_check(store: Store, base_url: str, server: Server) -> None:
    """
    The version counts as tested, and whorl's tokens equal the collection's.
    """
    result = whorl("solr", "check", f"{base_url}/whorl", "--json", "--sample", "20")
    codes = {finding["code"]: finding["level"] for finding in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert "error" not in codes.values()
    assert "untried-version" not in codes
    assert SolrEngine(SolrClient(f"{base_url}/whorl")).collection.version.solr == server.version


def test_a_bare_collection(base_url: str) -> None:
    """
    A collection without whorl's fields is set up, filled, searched and emptied.
    """
    text = " ".join(f"word{number}" for number in range(60))
    url = f"{base_url}/bare"
    with closing(SolrClient(url)) as client:
        initialise(client, FieldNames(), content="content")
        assert initialise(client, FieldNames()) == ["nothing to add: all is there"]
        assert inspect(client, FieldNames()).profile_is_seen
    with open_store(url) as store:
        store.index([Document("a", text), Document("b", f"{text} and more", name="the second")])
        assert [hit.id for hit in store.search("FINGERPRINT:a_50_90").hits] == ["a", "b"]
        assert [hit.hit.id for hit in store.similar("a", metric="jaccard", threshold=50).found] == ["b"]
        assert [hit.id for hit in store.search("name:second AND wor?1 AND EXISTS:name").hits] == ["b"]
        assert store.delete(["a", "b"]) == 2
        assert store.count() == 0
