"""The OpenAPI description: it names every route, and whatever fits it gets an answer that is no failure of ours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pydantic import BaseModel

from whorl import Store, open_store
from whorl.service.alfresco.request import SearchRequest
from whorl.service.app import create_app

with warnings.catch_warnings():
    # Of the libraries that it builds on.
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import not_a_server_error

from tests.service.contracts import documents

ROUTES = {
    ("get", "/api/search"),
    ("get", "/api/explain"),
    ("post", "/api/search"),
    ("post", "/api/explain"),
    ("post", "/api/text"),
    ("post", "/api/compare"),
    ("post", "/api/duplicates"),
    ("get", "/api/duplicates/{job_id}"),
    ("delete", "/api/duplicates/{job_id}"),
    ("post", "/api/similar"),
    ("post", "/api/sources"),
    ("post", "/api/passages"),
    ("post", "/api/snippets"),
    ("get", "/api/store"),
    ("get", "/api/documents"),
    ("post", "/api/documents"),
    ("get", "/api/documents/{document_id}"),
    ("delete", "/api/documents/{document_id}"),
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


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: Any, value: Any) -> bytes:
    """A body of lines is sent as it is."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The description, of a service with a store of its own: what is found to be deleted may be."""
    with open_store(tmp_path_factory.mktemp("described") / "store") as store:
        store.index(documents())
        yield schemathesis.openapi.from_asgi("/openapi.json", create_app(store))


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), sorted(ROUTES))
def test_whatever_fits_the_description_is_answered(described: Any, method: str, path: str) -> None:
    """
    No status of 500 or above, and JSON in the body of what is no file.
    """
    answered = set()

    @settings(
        max_examples=25,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described[path][method.upper()].as_strategy())
    def answer(case: Any) -> None:
        answer = case.call()
        answered.add(answer.status_code)
        case.validate_response(answer, checks=[not_a_server_error])
        is_file = "content-disposition" in answer.headers
        assert answer.status_code == 204 or is_file or answer.json() is not None

    answer()
    assert answered


def test_the_routes_are_described(embedded_contracts: Store) -> None:
    """
    All of them, with what they take; mistakes have the status that they really get.
    """
    told = create_app(embedded_contracts).openapi()
    assert {(method, path) for path, methods in told["paths"].items() for method in methods} == ROUTES
    for methods in told["paths"].values():
        for about in methods.values():
            assert "422" not in about["responses"]
            assert about["summary"]
    for name in ("SearchRequest", "SimilarRequest", "Defaults", "Paging"):
        assert told["components"]["schemas"][name]["additionalProperties"] is False
    assert "defaultFTSOperator" in told["components"]["schemas"]["Defaults"]["properties"]


def parts(model: type[BaseModel]) -> Iterator[str]:
    """Yield the names of all parts of a request, those of its parts included."""
    for name, field in model.model_fields.items():
        yield field.alias or name
        for inner in (field.annotation, *get_args(field.annotation)):
            # Pivots hold pivots.
            if isinstance(inner, type) and issubclass(inner, BaseModel) and inner is not model:
                yield from parts(inner)


@pytest.mark.parametrize("name", sorted(set(parts(SearchRequest))))
def test_every_part_of_a_search_is_documented(name: str) -> None:
    """
    In docs/alfresco.md, whether it works or is refused.
    """
    page = (Path(__file__).parents[2] / "docs" / "alfresco.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page
