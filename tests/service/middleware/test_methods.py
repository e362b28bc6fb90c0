"""Tests of unsupported methods, unknown paths, and the security headers of every answer."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from whorl.service.paths import SEARCH, TICKETS


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/search", "GET, HEAD, POST"),
        ("DELETE", "/api/v1/documents", "GET, HEAD, POST"),
        ("POST", "/api/v1/documents/lease", "DELETE, GET, HEAD"),
        ("GET", SEARCH, "POST"),
        ("PATCH", f"{TICKETS}/-me-", "DELETE, GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("TRACE", "/", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_taken(embedded_service: TestClient, method: str, path: str, allowed: str) -> None:
    """
    A 405 lists the methods of all routes at the path, before the body is checked.
    """
    answer = embedded_service.request(method, path, content=b"x")
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)
    assert method in answer.text


def test_no_route(embedded_service: TestClient) -> None:
    """
    An unknown path is a 404, whatever the body.
    """
    assert embedded_service.post("/api/v1/nothing", content=b"x").status_code == 404


@pytest.mark.parametrize(
    "path", ["/healthz", "/api/v1/search?q=lease", "/api/v1/search?q=(", "/nothing", "/", "/page/main.js"]
)
def test_every_answer_is_what_it_says(embedded_service: TestClient, path: str) -> None:
    """
    Headers of every answer forbid browsers to guess its type, to frame it, and to cache it unchecked.
    """
    headers = embedded_service.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] in ("no-store", "no-cache")
