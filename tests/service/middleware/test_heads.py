"""Tests of HEAD on every route with GET."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/healthz", "/readyz", "/openapi.json",
                                  "/api/v1/search?q=lease", "/api/v1/documents/lease", "/api/v1/documents/gone",
                                  "/nothing"])  # fmt: skip
def test_the_same_without_a_body(embedded_service: TestClient, path: str) -> None:
    """
    HEAD has the status and headers of GET, with the length of its body, and no body.
    """
    head, get = embedded_service.head(path), embedded_service.get(path)
    assert head.content == b""
    varying = {"x-request-id"}
    assert head.status_code == get.status_code
    assert {name: value for name, value in head.headers.items() if name not in varying} == {
        name: value for name, value in get.headers.items() if name not in varying
    }


def test_nowhere_else(embedded_service: TestClient) -> None:
    """
    A route without GET refuses HEAD.
    """
    answer = embedded_service.head("/api/v1/similar")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
