"""Tests of the kinds of request, by path."""

from __future__ import annotations

from typing import Any

import pytest

from whorl import Store
from whorl.service.app import create_app
from whorl.service.route_paths import (
    DOCUMENTS,
    SEARCH,
    TICKETS,
    accesses_store,
    has_alfresco_format,
    is_log_in,
    is_upload,
    may_contain_text,
)


@pytest.mark.parametrize(
    ("path", "alfresco", "of_the_store"),
    [
        (SEARCH, True, True),
        ("/alfresco", True, False),
        ("/alfresco/", True, True),
        ("/alfresco/none", True, True),
        ("/alfrescos", False, False),
        ("/Alfresco/x", False, False),
        ("/api/v1/search", False, True),
        ("/api/v1/", False, True),
        ("/api", False, False),
        ("/page/api/", False, False),
        ("//api/v1/search", False, False),
        ("", False, False),
    ],
)
def test_paths(path: str, alfresco: bool, of_the_store: bool) -> None:
    """
    Paths are compared by whole parts, from the beginning.
    """
    assert (has_alfresco_format(path), accesses_store(path)) == (alfresco, of_the_store)


def test_routes_that_need_no_key(embedded_contracts: Store) -> None:
    """
    Among the described routes only health needs no key; a new route is below a path that needs one.
    """
    described = create_app(embedded_contracts).openapi()["paths"]
    assert len(described) > 10
    assert {path for path in described if not accesses_store(path)} == {"/healthz", "/readyz"}


def test_a_log_in_and_an_upload_are_posts() -> None:
    """
    Log-ins and uploads are POST requests to exactly their paths.
    """
    for path, kind in ((TICKETS, is_log_in), (DOCUMENTS, is_upload)):
        assert kind({"method": "POST", "path": path})
        assert not kind({"method": "GET", "path": path})
        assert not kind({"method": "POST", "path": f"{path}/-me-"})
        assert not kind({"method": "POST", "path": f"{path}/"})


def test_bodies_with_texts(embedded_contracts: Store) -> None:
    """
    Exactly the described routes whose bodies have a text or a file accept long bodies.
    """
    description = create_app(embedded_contracts).openapi()
    models = description["components"]["schemas"]

    def has_text(body: Any) -> bool:
        schema = body["content"]["application/json"]["schema"]
        properties = models[schema["$ref"].rpartition("/")[2]]["properties"]
        return not properties.keys().isdisjoint(("text", "a", "content"))

    bodies = {
        path: methods["post"]["requestBody"]
        for path, methods in description["paths"].items()
        if "requestBody" in methods.get("post", {}) and path != DOCUMENTS
    }
    assert len(bodies) > 5
    assert {path for path in bodies if may_contain_text({"method": "POST", "path": path})} == {
        path for path, body in bodies.items() if has_text(body)
    }
