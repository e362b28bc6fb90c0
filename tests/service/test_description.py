"""Tests of the OpenAPI description: it has every route, and valid requests never fail."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from tests.service.contracts import documents
from whorl import Store, open_store
from whorl.service.alfresco.request import SearchRequest
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.requests_and_responses import TICKETS, has_alfresco_format

ROUTES = {
    ("get", "/api/v1/search"),
    ("get", "/api/v1/explain"),
    ("post", "/api/v1/search"),
    ("post", "/api/v1/explain"),
    ("post", "/api/v1/text"),
    ("post", "/api/v1/compare"),
    ("post", "/api/v1/duplicates"),
    ("get", "/api/v1/duplicates/{job_id}"),
    ("delete", "/api/v1/duplicates/{job_id}"),
    ("post", "/api/v1/similar"),
    ("post", "/api/v1/sources"),
    ("post", "/api/v1/verify"),
    ("post", "/api/v1/passages"),
    ("post", "/api/v1/verify"),
    ("post", "/api/v1/snippets"),
    ("get", "/api/v1/store"),
    ("post", "/api/v1/delete"),
    ("get", "/api/v1/documents"),
    ("post", "/api/v1/documents"),
    ("get", "/api/v1/documents/{document_id}"),
    ("delete", "/api/v1/documents/{document_id}"),
    ("get", "/alfresco/api/-default-/public/alfresco/versions/1/people/-me-"),
    ("get", "/alfresco/api/-default-/public/alfresco/versions/1/nodes/{node_id}"),
    ("get", "/alfresco/api/discovery"),
    ("get", "/healthz"),
    ("get", "/readyz"),
    ("post", "/alfresco/api/-default-/public/search/versions/1/search"),
    ("post", "/alfresco/api/-default-/public/authentication/versions/1/tickets"),
    ("get", "/alfresco/api/-default-/public/authentication/versions/1/tickets/-me-"),
    ("delete", "/alfresco/api/-default-/public/authentication/versions/1/tickets/-me-"),
}


@pytest.mark.slow
def test_the_service_answers_as_described() -> None:
    """
    Schemathesis finds no error with its examples, random requests and sequences of requests. `make contract` runs for
    longer, with the edge cases of each part.
    """
    # Schemathesis takes a second to import, which only this test needs.
    from tests.service.contract import findings

    assert list(findings(3, has_edges=False)) == []


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, dict[str, Any]]]:
    """Client of a service with a user, over its own documents, and its description."""
    with open_store(tmp_path_factory.mktemp("described") / "store", passages=True) as store:
        store.index(documents())
        app = create_app(store, Credentials(user=("ann", "secret")))
        with TestClient(app) as client:
            yield client, app.openapi()


def example(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    """Return the example of a part of a request."""
    own = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return own["examples"][0] if "examples" in own else own["example"]


def test_examples_work(described: tuple[TestClient, dict[str, Any]]) -> None:
    """
    Every operation has an example of each required part, and the answer has the described shape.
    """
    client, description = described
    schemas = description["components"]["schemas"]
    ticket = client.post(TICKETS, json={"userId": "ann", "password": "secret"}).json()["entry"]["id"]
    job = ""
    # Deletions come last, since other requests need the documents.
    operations = sorted(
        ROUTES, key=lambda route: (route[0] == "delete", route[1].endswith("-me-"), route[0] == "get", route)
    )
    for method, path in operations:
        about = description["paths"][path][method]
        options: dict[str, Any] = {"headers": {"Authorization": f"Basic {b64encode(ticket.encode()).decode()}"}}
        address = path
        for part in about.get("parameters", []):
            if part["in"] == "path":
                value = job if part["name"] == "job_id" else example(part["schema"], schemas)
                address = address.replace(f"{{{part['name']}}}", value)
            elif part.get("required"):
                options.setdefault("params", {})[part["name"]] = example(part["schema"], schemas)
        for kind, content in about.get("requestBody", {}).get("content", {}).items():
            body = example(content["schema"], schemas)
            options["content"] = body if isinstance(body, str) else json.dumps(body)
            options["headers"]["Content-Type"] = kind
        answer = client.request(method, address, **options)
        assert answer.is_success, (method, path, answer.text)
        if answer.status_code == 204:
            continue
        job = answer.json()["id"] if (method, path) == ("post", "/api/v1/duplicates") else job
        schema = about["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
        assert schema or has_alfresco_format(path)
        jsonschema.validate(answer.json(), {**schema, "components": description["components"]})


def test_failures_are_described(embedded_contracts: Store) -> None:
    """
    Each operation lists its error statuses, in the shape of its side, and names its security schemes.
    """
    description = create_app(embedded_contracts, Credentials(("key",))).openapi()
    for path, methods in description["paths"].items():
        name = "AlfrescoFailure" if path.startswith("/alfresco") else "Failure"
        for about in methods.values():
            failures = {status: response for status, response in about["responses"].items() if status >= "400"}
            assert "403" in failures
            assert ("401" in failures) == (path not in ("/healthz", "/readyz"))
            for status, response in failures.items():
                if (path, status) != ("/api/v1/documents", "400"):
                    assert response["content"]["application/json"]["schema"]["$ref"].endswith(f"/{name}")
            if path.startswith(("/api", "/alfresco")) and "-me-" not in path and not path.endswith("tickets"):
                assert about["security"] == [{"key": []}, {"password": []}]
    assert "502" in description["paths"]["/readyz"]["get"]["responses"]
    assert all("400" in about["responses"] for about in description["paths"][f"{TICKETS}/-me-"].values())
    assert description["components"]["securitySchemes"].keys() == {"key", "password"}
    assert "security" not in description["paths"][TICKETS]["post"]


def test_the_routes_are_described(embedded_contracts: Store) -> None:
    """
    All routes are described with their parameters, and errors with their real status.
    """
    description = create_app(embedded_contracts).openapi()
    assert {(method, path) for path, methods in description["paths"].items() for method in methods} == ROUTES
    for methods in description["paths"].values():
        for about in methods.values():
            assert "422" not in about["responses"]
            assert about["summary"]
    for name in ("SearchRequest", "SimilarRequest", "Defaults", "RequestPagination"):
        assert description["components"]["schemas"][name]["additionalProperties"] is False
    assert "defaultFTSOperator" in description["components"]["schemas"]["Defaults"]["properties"]


def parts(model: type[BaseModel]) -> Iterator[str]:
    """Yield the names of all parts of a request, nested ones included."""
    for name, field in model.model_fields.items():
        yield field.alias or name
        for inner in (field.annotation, *get_args(field.annotation)):
            # Pivots are recursive.
            if isinstance(inner, type) and issubclass(inner, BaseModel) and inner is not model:
                yield from parts(inner)


@pytest.mark.parametrize("name", sorted(set(parts(SearchRequest))))
def test_every_part_of_a_search_is_documented(name: str) -> None:
    """
    docs/alfresco.md mentions every part of a search, supported or not.
    """
    page = (Path(__file__).parents[2] / "docs" / "alfresco.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "quote"),
        ({"source": "lease"}, "quote"),
        ({"quote": "the rent", "sources": "lease"}, "sources"),
        ({"quote": ["the rent"]}, "quote"),
        ({"quote": "the rent", "source": 3}, "source"),
    ],
)
def test_quotations_are_described_and_checked(
    described: tuple[TestClient, dict[str, Any]], given: dict[str, Any], message: str
) -> None:
    """
    A quotation is an object with a quote and an optional source: the description refuses others, as the service does.
    """
    client, description = described
    schema = {**description["components"]["schemas"]["GivenQuotation"], "components": description["components"]}
    jsonschema.validate({"quote": "the rent", "source": "lease"}, schema)
    jsonschema.validate({"quote": "the rent"}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(given, schema)
    headers = {"Authorization": f"Basic {b64encode(b'ann:secret').decode()}"}
    for quotations, status in (([{"quote": "the rent", "source": None}], 200), ([given], 400)):
        answer = client.post("/api/v1/verify", json={"quotations": quotations}, headers=headers)
        assert answer.status_code == status, answer.text
    assert message in answer.text
