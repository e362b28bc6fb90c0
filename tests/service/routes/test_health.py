"""Tests of health and readiness."""

from __future__ import annotations

from starlette.testclient import TestClient


def test_health_and_readiness(client: TestClient, away: TestClient) -> None:
    """
    A process without its engine is healthy, but not ready.
    """
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok", "documents": 3}
    assert away.get("/healthz").status_code == 200
    assert away.get("/readyz").status_code == 503
