"""Calibrated search by MinHash tokens, for stores without sketches."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.search.similar.copies import TEXTS, Watched, jaccard
from whorl import Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.statistics.metric import Metric
from whorl.query.plan.nodes import BoundPlan, SharedTokens
from whorl.search.similar.fetch_query_sources import QuerySources
from whorl.search.similar.find_similar import MinHashSearch, make_search, verify
from whorl.search.similar.options import SimilarCriteria


def test_a_store_without_sketches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without sketches, `similar` and a calibrated FINGERPRINT search by tokens, with the same warning.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    alone = store.similar("whole", metric="jaccard", threshold=20, rows=100)
    page = store.search("FINGERPRINT:whole_20", plan="calibrated", metric="jaccard", rows=100)
    assert {hit.id for hit in page.hits} == {similar.hit.id for similar in alone.found} | {"whole"}
    assert len(alone.found) == 30
    assert alone.warnings[0] == page.warnings[0]
    assert "no sketches" in page.warnings[0]
    assert store.explain("FINGERPRINT:whole_20", plan="calibrated").warnings[0] == page.warnings[0]


@pytest.fixture
def search(engine: Watched, monkeypatch: pytest.MonkeyPatch) -> MinHashSearch:
    """The search for the text "whole"."""
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    made = make_search(QuerySources(engine, {}), "whole", SimilarCriteria(Metric.JACCARD, Fraction(1, 2)))
    assert isinstance(made, MinHashSearch)
    return made


def test_the_tokens_of_the_plan_are_looked_up(search: MinHashSearch, engine: Watched) -> None:
    """
    The look-up has the tokens of exactly the buckets in the plan, each once.
    """
    root = search.candidate_query()
    assert isinstance(root, SharedTokens)
    signature = sign(TEXTS["whole"], engine.scheme)
    assert len(root.tokens) == len(set(root.tokens)) == len(search.plan.buckets)
    assert set(root.tokens) == {signature.integers[bucket] for bucket in search.plan.buckets}
    assert root.min_should_match == search.plan.min_should_match


@pytest.mark.slow
def test_hits_are_near_the_truth(search: MinHashSearch) -> None:
    """
    Hits well above the threshold are all found, those well below are not; the source and documents already seen are
    left out.
    """
    root = search.candidate_query()
    assert root is not None
    batch = search.batch(BoundPlan(root), 0, {"copy 29"})
    ids = {hit.hit.id for hit in batch.hits}
    assert {"whole", "copy 29", "short"}.isdisjoint(ids)
    truth = {name: jaccard("whole", name) for name in TEXTS}
    assert {name for name, share in truth.items() if share > 0.6} - {"whole", "copy 29"} <= ids
    assert all(truth[name] > 0.4 for name in ids)
    # About one in twenty of the 95 % intervals may miss.
    missed = [
        hit.hit.id
        for hit in batch.hits
        if not hit.estimate.low.jaccard <= truth[hit.hit.id] <= hit.estimate.high.jaccard
    ]
    assert len(missed) <= len(batch.hits) // 10


def test_a_text_without_shingles_asks_nothing(engine: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A source without shingles finds nothing, and makes no request.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    made = make_search(QuerySources(engine, {"given": "one two"}), "given", SimilarCriteria())
    assert made.candidate_query() is None
    assert not verify(made).hits
    assert "candidates" not in engine.requests
