"""Tests of whorl's stock plans against Solr's own `{!min_hash}` with the same numbers."""

from __future__ import annotations

from itertools import product

import pytest
import requests

from tests.conformance.answers import collected, oracle
from tests.plain import plain_tokens
from tests.sampling import sample
from whorl import Store
from whorl.query.plan.nodes import BoundPlan, SharedBands

SOURCES = ["f0-0", "f1-1", "f2-0", "f3-half", "f4-2", "f5-0", "f6-0", "f6-twice", "words-5", "scripts", "controls"]
OVERLAPS = [5, 20, 50, 70, 90, 95]
PROBABILITIES = [50, 80, 90, 99]


@pytest.fixture(
    params=[pytest.param("standalone", marks=pytest.mark.solr), pytest.param("cloud", marks=pytest.mark.cloud)]
)
def solr(request: pytest.FixtureRequest) -> tuple[str, Store]:
    store = request.getfixturevalue(f"{request.param}_store")
    return str(store.explain("*").request["url"]).removesuffix("/select"), store


def solr_scores(url: str, tokens: tuple[str, ...], **arguments: str) -> dict[str, float]:
    """Return the parser's scores by id for a list of tokens; no token contains the separator `~~~`."""
    assert not any("~~~" in token for token in tokens)
    query = {"min_hash": {"field": "MINHASH", "sep": "~~~", "query": "~~~".join(tokens), **arguments}}
    body = {"query": query, "limit": 1000, "fields": ["id", "score"]}
    answer = requests.post(f"{url}/select", json=body, timeout=240).json()
    return {document["id"]: document["score"] for document in answer["response"]["docs"]}


@pytest.mark.parametrize("source", SOURCES)
def test_minimum(solr: tuple[str, Store], source: str) -> None:
    """
    A FINGERPRINT of two parts gives the ids and scores of the parser at the same similarity.
    """
    url, store = solr
    tokens = plain_tokens(collected()[source].text)
    for overlap in sample(OVERLAPS, 2, SOURCES.index(source)):
        theirs = solr_scores(url, tokens, sim=str(overlap / 100), tp="1.0")
        ours = {hit.id: hit.score for hit in store.search(f"FINGERPRINT:{source}_{overlap}", rows=1000).hits}
        assert ours == theirs


@pytest.mark.parametrize("source", SOURCES)
def test_bands(solr: tuple[str, Store], source: str) -> None:
    """
    A FINGERPRINT of three parts gives the documents of the parser, plus exactly those of the last band, which wraps
    around.
    """
    url, store = solr
    tokens = plain_tokens(collected()[source].text)
    # With a step of 5, neither number is fixed for a source.
    for overlap, probability in sample(product(OVERLAPS, PROBABILITIES), 5, SOURCES.index(source)):
        theirs = solr_scores(url, tokens, sim=str(overlap / 100), tp=str(probability / 100))
        query = f"FINGERPRINT:{source}_{overlap}_{probability}"
        plan = store.prepare(query).bound
        assert isinstance(plan.root, SharedBands)
        bands = plan.root.bands
        wraps = len(bands) * len(bands[0]) > len(tokens)
        wrapped = BoundPlan(SharedBands(source, bands[-1:])) if wraps else None
        found_by_wrapped = {name for name, _ in oracle().hits(wrapped)} if wrapped else set()
        ours = {hit.id: hit.score for hit in store.search(query, rows=1000).hits}
        assert set(ours) == set(theirs) | found_by_wrapped
        assert ours == {name: theirs.get(name, 0.0) + (name in found_by_wrapped) for name in ours}
