"""Passages in a real Solr: adding their field to a filled collection, counts, and search."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import solr_runtime
from whorl import Document, Store, open_store
from whorl.cli.main import main
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.add_missing_fields import initialise
from whorl.engine.solr.backfill_and_labels import backfill, prepare
from whorl.engine.solr.check_collection import check
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.field_definitions import PASSAGES, definitions
from whorl.errors import SchemaError, SchemeMismatchError
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PassageScheme, winnow
from whorl.query.plan.nodes import Bool, BoundPlan, DocumentsByScore, PassageHashes

SCHEME = PassageScheme()
CHANCE = random.Random(41)
WORDS = [f"w{CHANCE.randrange(10**9)}" for _ in range(1_500)]
NUMBERS = winnow(join(WORDS), SCHEME).tolist()


def planted(number: int) -> Document:
    """Return a document with 20 consecutive words of the text and other words."""
    own = [f"o{CHANCE.randrange(10**9)}" for _ in range(CHANCE.choice([0, 10, 900]))]
    start, place = CHANCE.randrange(len(WORDS) - 20), CHANCE.randrange(len(own) + 1)
    return Document(f"{number:02}", "\n".join([*own[:place], *WORDS[start : start + 20], *own[place:]]))


@pytest.fixture(
    params=[pytest.param("standalone", marks=pytest.mark.solr), pytest.param("cloud", marks=pytest.mark.cloud)],
    scope="module",
)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A collection with documents but without passages, in either kind of Solr."""
    base_url = request.getfixturevalue(f"solr_{request.param}_url").rpartition("/")[0]
    name = f"whorl_passages_{uuid.uuid4().hex[:8]}"
    made = solr_runtime.make_collection(base_url, name)
    with open_store(made) as store:
        store.index([*map(planted, range(40)), Document("other", "words of another text " * 20), Document("empty", "")])
    yield made
    solr_runtime.drop(base_url, name)


def scores_by_id(store: Store, plan: BoundPlan) -> dict[str, float]:
    return {hit.id: hit.score for hit in store.engine.search(plan, start=0, rows=100).hits}


def test_a_collection_begins_to_keep_them(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    `init` adds the field and `backfill` the passages; certainty begins when all documents have them. Then every planted
    passage is found, and counts follow indexing and deletion.
    """
    monkeypatch.chdir(tmp_path)
    client = SolrClient(url)
    with pytest.raises(SchemaError, match="has no field for passages; 'whorl solr init"):
        open_store(url, passages=True)
    done = CliRunner().invoke(main, ["solr", "init", url, "--passages"])
    assert (done.exit_code, "added whorl_passages (add-field)" in done.output) == (0, True)
    assert "whorl solr backfill" in done.output
    open_store(url, passages=True).close()
    with pytest.raises(SchemeMismatchError, match="finds passages of 20 words, not of 8"):
        open_store(url, passages=8)
    with pytest.raises(SchemeMismatchError, match="use 20, or index into a new store"):
        initialise(client, FieldNames(), passages=PassageScheme.for_runs(12))
    with Store(SolrEngine(client)) as store:
        assert store.engine.passage_scheme is None
        assert store.sources(source=" ".join(WORDS[:50])).promise.certain_words is None
    assert "without-passages" in [finding.code for finding in check(client, FieldNames())]

    assert prepare(client, FieldNames())[1] == 41
    assert backfill(client, FieldNames(), batch=15).sent == 41
    assert backfill(client, FieldNames()).total == 0
    assert "passages" in [finding.code for finding in check(client, FieldNames())]
    with Store(SolrEngine(client)) as store:
        assert store.engine.passage_scheme == SCHEME
        plan = PassageHashes("", SCHEME, tuple(NUMBERS))
        ids = scores_by_id(store, BoundPlan(plan))
        assert set(ids) == {f"{number:02}" for number in range(40)}
        counts = store.engine.passage_counts([*NUMBERS, 7])
        assert (sum(counts), counts[-1]) == (sum(ids.values()), 0)
        others = DocumentsByScore("", ((1.0, tuple(f"{number:02}" for number in range(30))),))
        assert len(scores_by_id(store, BoundPlan(Bool(must=(plan,), must_not=(others,))))) == 10

        sources = store.sources(source=" ".join(WORDS))
        assert sources.promise.certain_words == 20
        assert {source.id for source in sources.sources} | {name for name, _ in sources.also} == set(ids)

        store.index([Document("new", " ".join(WORDS[:40])), Document("short", "too short")])
        assert store.engine.passage_scheme == SCHEME
        assert store.engine.delete(["00", "01"]) == 2
        after = store.engine.passage_counts(NUMBERS)
        again = scores_by_id(store, BoundPlan(plan))
        assert set(again) == set(ids) - {"00", "01"} | {"new"}
        assert sum(after) == sum(again.values())
        # A document added by another client has no passages.
        client.post("update", [{"id": "foreign", "content": " ".join(WORDS)}], commit="true")
    with Store(SolrEngine(client)) as store:
        assert store.engine.passage_scheme is None


@pytest.mark.solr
def test_a_lost_sketch_is_made_again_once(url: str) -> None:
    """
    A document that lost tokens and passages is processed once, and has both afterwards.
    """
    client = SolrClient(url)
    backfill(client, FieldNames())
    client.post("update", [{"id": "other", "whorl_sample": {"set": None}, PASSAGES: {"set": None}}], commit="true")
    assert backfill(client, FieldNames()).total == 1
    assert prepare(client, FieldNames())[1] == 0


@pytest.mark.solr
def test_a_collection_of_an_earlier_version(solr_standalone_url: str) -> None:
    """
    A field with the type of the look-up tokens has passages of 20 words. Documents with passages of another length
    count as documents without passages until the backfill.
    """
    base_url, name = solr_standalone_url.rpartition("/")[0], f"whorl_passages_{uuid.uuid4().hex[:8]}"
    client = SolrClient(solr_runtime.make_collection(base_url, name))
    client.change("schema", {"add-field": {**definitions("field")["whorl_sample"], "name": PASSAGES}})
    with open_store(client.url) as store:
        store.index([Document("a", " ".join(WORDS[:40]))])
        assert store.engine.passage_scheme == SCHEME
        client.post("update", [{"id": "a", PASSAGES: {"set": [PassageScheme.for_runs(8).name]}}], commit="true")
        store.engine.refresh()
        assert store.engine.passage_scheme is None
        assert backfill(client, FieldNames()).sent == 1
        store.engine.refresh()
        assert store.engine.passage_scheme == SCHEME
    solr_runtime.drop(base_url, name)


@pytest.mark.solr
def test_shingles_longer_than_passages(solr_standalone_url: str) -> None:
    """
    A text without shingles counts as a text without passages, so passages are at least as long as shingles.
    """
    base_url, name = solr_standalone_url.rpartition("/")[0], f"whorl_passages_{uuid.uuid4().hex[:8]}"
    client = SolrClient(solr_runtime.make_collection(base_url, name))
    tokens = definitions("fieldType")["text_min_hash"]
    filters = [
        {**part, "minShingleSize": "9", "maxShingleSize": "9"} if "minShingleSize" in part else part
        for part in tokens["indexAnalyzer"]["filters"]
    ]
    client.change(
        "schema", {"replace-field-type": {**tokens, "indexAnalyzer": {**tokens["indexAnalyzer"], "filters": filters}}}
    )
    with pytest.raises(SchemaError, match=r"shingles of .* have 9 words, so its passages cannot have 8"):
        initialise(client, FieldNames(), passages=PassageScheme.for_runs(8))
    assert "added whorl_passages (add-field)" in initialise(client, FieldNames(), passages=PassageScheme.for_runs(9))
    solr_runtime.drop(base_url, name)
