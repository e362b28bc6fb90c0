"""Tests of the whole service: its description and its unknown paths. Tests of each route are in routes/."""

from __future__ import annotations

import json

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from whorl import Store
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.settings.settings import Settings


def test_the_description_is_served(embedded_service: TestClient) -> None:
    """
    /openapi.json has the routes and their bounds.
    """
    described = embedded_service.get("/openapi.json").json()
    assert {"/api/v1/search", "/healthz", "/readyz"} <= set(described["paths"])
    assert "maximum" in json.dumps(described["paths"]["/api/v1/search"])
    # Clients resolve this relative address against that of the description, which may be below a prefix.
    assert [server["url"] for server in described["servers"]] == ["."]


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/api/v1/search/", "/healthz/", "/static/x"])
def test_no_documentation_pages_or_redirects(embedded_service: TestClient, path: str) -> None:
    """
    The service has no documentation page with foreign scripts, and no redirect that would drop a body.
    """
    answer = embedded_service.get(path, follow_redirects=False)
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, f"there is nothing at {path}")


def test_a_mounted_application(embedded_contracts: Store) -> None:
    """
    Mounted in another application, the service has the same routes and asks for the same credentials.
    """
    mounted = create_app(embedded_contracts, Credentials(api_keys=("key",)))
    service = TestClient(Starlette(routes=[Mount("/whorl", app=mounted)]))
    key = {"Authorization": "Bearer key"}
    for path in ("/api/v1/documents/lease", "/api/v1/search?q=rent", "/api/v1/store"):
        assert [service.get(f"/whorl{path}", headers=given).status_code for given in ({}, key)] == [401, 200]
    assert [service.get(f"/whorl{path}").status_code for path in ("/", "/page/app.js", "/readyz")] == [200] * 3


def test_credentials_are_checked_before_the_body(embedded_contracts: Store) -> None:
    """
    Without credentials, a body that is too large and of the wrong type is a 401; with them, it is a 413.
    """
    app = create_app(embedded_contracts, Credentials(api_keys=("key",)), Settings(max_search_bytes=10))
    service = TestClient(app)
    for headers, status in (({}, 401), ({"Authorization": "Bearer key"}, 413)):
        answer = service.post("/api/v1/search", json={"query": "x" * 1000}, headers=headers)
        assert answer.status_code == answer.json()["error"]["statusCode"] == status
