"""Passages in a real cluster: adding their field to a filled index, counts, and search."""

from __future__ import annotations

import contextlib
import random

import pytest

from whorl import Document, Store, open_store
from whorl.engine.configured_fields import FieldNames
from whorl.engine.opensearch.backfill_and_labels import backfill, prepare, updates
from whorl.engine.opensearch.check_index import check
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.create_index import initialise
from whorl.engine.opensearch.document_fields import PASSAGES, IndexFeatures, index_body
from whorl.errors import SchemaError, SchemeMismatchError
from whorl.fingerprint.shingling import join
from whorl.fingerprint.winnowing import PassageScheme, winnow
from whorl.query.plan.nodes import Bool, BoundPlan, DocumentsByScore, PassageHashes

SCHEME = PassageScheme()
CHANCE = random.Random(42)
WORDS = [f"w{CHANCE.randrange(10**9)}" for _ in range(1_500)]
NUMBERS = winnow(join(WORDS), SCHEME).tolist()


def planted(number: int) -> Document:
    """Return a document with 20 consecutive words of the text and other words."""
    own = [f"o{CHANCE.randrange(10**9)}" for _ in range(CHANCE.choice([0, 10, 900]))]
    start, place = CHANCE.randrange(len(WORDS) - 20), CHANCE.randrange(len(own) + 1)
    return Document(f"{number:02}", "\n".join([*own[:place], *WORDS[start : start + 20], *own[place:]]))


def scores_by_id(store: Store, plan: BoundPlan) -> dict[str, float]:
    return {hit.id: hit.score for hit in store.engine.search(plan, start=0, rows=100).hits}


@pytest.mark.opensearch
def test_an_index_begins_to_keep_them(url: str, client: IndexClient) -> None:
    """
    `init` adds the field and `backfill` the passages; certainty begins when all documents have them. Then every planted
    passage is found, and counts follow indexing and deletion.
    """
    with open_store(url) as store:
        store.index([*map(planted, range(40)), Document("other", "words of another text " * 20)])
        assert store.engine.passage_scheme is None
    with pytest.raises(SchemaError, match="has no field for passages; 'whorl opensearch init"):
        open_store(url, passages=True)
    assert "add the fields whorl_passages" in list(initialise(client, FieldNames(), passages=SCHEME))
    assert list(initialise(client, FieldNames(), passages=SCHEME)) == ["nothing to add"]
    with pytest.raises(SchemeMismatchError, match="finds passages of 20 words, not of 12"):
        list(initialise(client, FieldNames(), passages=PassageScheme.for_runs(12)))
    with open_store(url, passages=True) as store:
        assert store.engine.passage_scheme is None
    assert "without-passages" in [finding.code for finding in check(client, FieldNames())]

    assert prepare(client, FieldNames()) == 41
    assert backfill(client, FieldNames(), batch=15).sent == 41
    assert backfill(client, FieldNames()).total == 0
    assert "without-passages" not in [finding.code for finding in check(client, FieldNames())]
    with open_store(url) as store:
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
        again = scores_by_id(store, BoundPlan(plan))
        assert set(again) == set(ids) - {"00", "01"} | {"new"}
        assert sum(store.engine.passage_counts(NUMBERS)) == sum(again.values())


@pytest.mark.opensearch
@pytest.mark.parametrize(("passages", "scheme"), [(True, SCHEME), (8, PassageScheme.for_runs(8))])
def test_a_new_index(other_url: str, passages: bool | int, scheme: PassageScheme) -> None:
    """
    A new index gets the field with the wanted length, keeps it, and refuses others.
    """
    with open_store(other_url, passages=passages) as store:
        store.index([Document("a", " ".join(WORDS[:40]))])
        assert store.engine.passage_scheme == scheme
        assert list(store.engine.passage_counts(NUMBERS[:1])) in ([0], [1])
    with open_store(other_url) as store:
        assert store.engine.passage_scheme == scheme
    with pytest.raises(SchemeMismatchError, match=f"of {scheme.run_words} words, not of 12"):
        open_store(other_url, passages=12)


@pytest.mark.opensearch
def test_an_index_of_an_earlier_version(other_url: str) -> None:
    """
    A field without metadata has passages of 20 words. Documents with passages of another length count as documents
    without passages until the backfill.
    """
    body = index_body(FieldNames(), passages=SCHEME)
    del body["mappings"]["properties"][PASSAGES]["meta"]
    document = Document("a", " ".join(WORDS[:40]))
    with contextlib.closing(IndexClient(other_url)) as client:
        client.create(body)
        with open_store(other_url) as store:
            store.index([document])
            assert store.engine.passage_scheme == SCHEME
            (hit,) = client.documents(["a"], ["content"]).values()
            client.bulk(updates([(hit, document)], FieldNames(), IndexFeatures(PassageScheme.for_runs(8))))
            store.engine.refresh()
            assert store.engine.passage_scheme is None
            assert backfill(client, FieldNames()).sent == 1
            store.engine.refresh()
            assert store.engine.passage_scheme == SCHEME
