"""Tests of parameters shared by several requests, and of the paths of all routes."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from whorl import Store
from whorl.service.app import create_app
from whorl.service.requests_and_responses import has_alfresco_format
from whorl.service.routes.query_and_text import CompareRequest, SimilarRequest, SourcesRequest
from whorl.service.routes.request_models import OneText, RequestBody


@pytest.mark.parametrize("model", [OneText, SimilarRequest, SourcesRequest])
@pytest.mark.parametrize("given", [{}, {"id": "a", "text": "b"}, {"id": None, "text": None}])
def test_one_text_is_meant(model: type[OneText], given: dict[str, Any]) -> None:
    """
    A request names exactly one text; an empty text counts.
    """
    with pytest.raises(ValidationError, match="name one: id or text"):
        model.model_validate(given)
    assert model.model_validate({"text": ""}).text == ""


@pytest.mark.parametrize("model", [SimilarRequest, SourcesRequest, CompareRequest])
def test_unknown_parameters_are_refused(model: type[RequestBody]) -> None:
    """
    An unknown parameter is refused, not ignored; the number of boilerplate texts is limited.
    """
    given = {"a": {"id": "a"}, "b": {"text": "b"}} if model is CompareRequest else {"id": "a"}
    assert model.model_validate({**given, "boilerplate": ["x"] * 100}).model_dump()["common_above"] is None
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model.model_validate({**given, "common_abov": "50"})
    with pytest.raises(ValidationError, match="at most 100 items"):
        model.model_validate({**given, "boilerplate": ["x"] * 101})


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("search", {"query": "a", "collapse": 0}, "true or false"),
        ("search", {"query": "a", "collapse": "true"}, "true or false"),
        ("search", {"query": "a", "rows": True}, "a number"),
        ("search", {"query": "a", "rows": "10"}, "a number"),
        ("similar", {"text": "a", "threshold": "20"}, "a number"),
        ("search", {"query": "a", "common_above": "many"}, "common text is set by"),
    ],
)
def test_no_type_stands_in_for_another(client: TestClient, path: str, body: dict[str, Any], said: str) -> None:
    """
    In a body, a value of another type is refused, not converted; in an address, every value is text.
    """
    answer = client.post(f"/api/v1/{path}", json=body)
    assert answer.status_code == 400
    assert said in answer.text
    assert client.get("/api/v1/search?q=a&rows=10&collapse=false").status_code == 200


def test_own_routes_name_their_version(embedded_contracts: Store) -> None:
    """
    All described routes except Alfresco's and the health checks are below /api/v1/, and no path has a second spelling.
    """
    described = create_app(embedded_contracts).openapi()["paths"]
    own = {path for path in described if not has_alfresco_format(path)} - {"/healthz", "/readyz"}
    assert len(own) > 10
    assert all(path.startswith("/api/v1/") for path in own)
    assert all("whorl" in about["tags"] for path in own for about in described[path].values())
