"""Tests of similar documents over HTTP."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.service.routes.conftest import FIRST


def test_similar(client: TestClient) -> None:
    """
    The source is a document or a text; each hit has its three shares; invalid requests are a 400 that names the error.
    """
    asked = {"id": "a", "threshold": 40}
    told = client.post("/api/v1/similar", json=asked).json()
    assert [hit["id"] for hit in told["hits"]] == ["b"]
    # Both have 17 shingles and share 13.
    assert (told["hits"][0]["jaccard"], told["hits"][0]["exact"]) == (pytest.approx(13 / 17, abs=1e-6), True)
    assert client.post("/api/v1/similar", json={**asked, "threshold": 0.4, "recall": 0.95}).json() == told
    by_text = client.post("/api/v1/similar", json={"text": FIRST, "metric": "contains", "threshold": 100}).json()
    assert [hit["id"] for hit in by_text["hits"]] == ["a"]
    as_one = client.post("/api/v1/similar", json={**asked, "threshold": 1}).json()
    assert as_one["warnings"] == ["threshold 1 means 100 %, since a number up to 1 is a fraction; write 0.01 for 1 %"]
    for wrong in (
        {},
        {"id": "a", "text": FIRST},
        {**asked, "metric": "alike"},
        {**asked, "recall": 0},
        {**asked, "x": 1},
    ):
        answer = client.post("/api/v1/similar", json=wrong)
        assert answer.status_code == 400, wrong
        assert answer.json()["error"]["message"]


def test_what_is_common_counts_for_nothing(client: TestClient) -> None:
    """
    Two texts that share only boilerplate are not similar, also in a search with a FINGERPRINT.
    """
    common = {"boilerplate": [FIRST]}
    told = client.post("/api/v1/similar", json={"id": "b", "threshold": 40, **common}).json()
    (hit,) = told["hits"]
    assert (told["ignore_common"], hit["without_common"]["shared_shingles"]) == (False, 0)
    rest = client.post("/api/v1/similar", json={"id": "b", "threshold": 40, **common, "ignore_common": True}).json()
    assert (rest["ignore_common"], rest["hits"]) == (True, [])
    asked = {"query": "FINGERPRINT:b_40", "plan": "calibrated", **common}
    assert client.post("/api/v1/search", json=asked).json()["total"] == 2
    assert client.post("/api/v1/search", json={**asked, "ignore_common": True}).json()["total"] == 1
    explained = client.post("/api/v1/explain", json={**asked, "ignore_common": True}).json()
    assert any("are not common" in line for line in explained["fingerprints"][0]["plan"])
    for wrong in ({"id": "b", "ignore_common": True}, {"id": "b", "ignore_common": True, "common_above": "1%"}):
        assert client.post("/api/v1/similar", json=wrong).status_code == 400
