"""Similar documents over HTTP."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.service.routes.conftest import FIRST


def test_similar(client: TestClient) -> None:
    """
    A document or a text as the source; each hit with its three shares; what cannot be asked is a 400 that names it.
    """
    asked = {"id": "a", "threshold": 40}
    told = client.post("/api/v1/similar", json=asked).json()
    assert [hit["id"] for hit in told["hits"]] == ["b"]
    # Of the 17 shingles of either, both have 13.
    assert (told["hits"][0]["jaccard"], told["hits"][0]["exact"]) == (pytest.approx(13 / 17, abs=1e-6), True)
    assert client.post("/api/v1/similar", json={**asked, "threshold": 0.4, "recall": 0.95}).json() == told
    by_text = client.post("/api/v1/similar", json={"text": FIRST, "metric": "contains", "threshold": 100}).json()
    assert [hit["id"] for hit in by_text["hits"]] == ["a"]
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
    Of two texts that are alike by a text that is named, nothing is left; so in a search with a FINGERPRINT.
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
