"""Routes that run a query, explain it, or return snippets with the words of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Query
from pydantic import Field

from whorl.operations import ExplainOperation, SearchOperation
from whorl.output.json_conversion import values
from whorl.output.search import ExplainedQuery, MeasuredPage, make_measured_page
from whorl.search.highlight_and_spelling import Snippet
from whorl.service.json_response import Json
from whorl.service.routes.base_models import (
    Example,
    QueryText,
    RequestBody,
    Shown,
    api_router,
    body_of,
    options_in,
    response_type,
)
from whorl.store import Store


class QueryBody(RequestBody):
    """A query, and optionally a text that it refers to."""

    example: ClassVar[Example] = {"query": "FINGERPRINT:lease_40 AND NOT name:minutes", "plan": "calibrated", "rows": 5}

    query: QueryText
    #: A text that the query calls `FINGERPRINT:source`. It need not be in the store.
    source: str | None = None


@body_of(SearchOperation)
class QueryRequest(QueryBody):
    """Body of `POST /api/v1/search`."""


class QueryParameters(QueryRequest):
    """Parameters of `GET /api/v1/search`."""

    is_text = True
    example: ClassVar[Example] = None
    query: QueryText = Field(alias="q")


@body_of(ExplainOperation)
class ExplainRequest(QueryBody):
    """Body of `POST /api/v1/explain`."""


class ExplainParameters(ExplainRequest):
    """Parameters of `GET /api/v1/explain`."""

    is_text = True
    example: ClassVar[Example] = None
    query: QueryText = Field(alias="q")


class SnippetsRequest(RequestBody):
    """Body of `POST /api/v1/snippets`: a query, and documents that the query found."""

    example: ClassVar[Example] = {"query": "rent AND house", "documents": ["lease", "renewal"]}

    query: QueryText
    documents: Shown


@dataclass(frozen=True, slots=True)
class DocumentSnippet:
    """A document, and the part of it that has the most words of the query."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id", "*snippet")

    id: str
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class SnippetsAnswer:
    """The documents that contain words of the query."""

    documents: tuple[DocumentSnippet, ...]


def search_routes(store: Store) -> APIRouter:
    router = api_router()

    @router.get("/search", summary="Search", response_model=response_type(MeasuredPage))
    def search_by_address(request: Annotated[QueryParameters, Query()]) -> Json:
        """The same as `POST /api/v1/search`, with parameters in the address."""
        return search(request)

    @router.post("/search", summary="Search with a text beside the query", response_model=response_type(MeasuredPage))
    def search(request: QueryRequest) -> Json:
        """One page of the documents that a query matches, each with its overlap with the query's source.

        `shared_tokens` counts tokens. `measured` has the three shares, and for estimates the ends of their 95 %
        intervals. Both are null unless the query has exactly one source. With `collapse`, a hit represents its
        `cluster`, and `copies` is the number of the other hits in it; `matches` counts all hits.
        """
        options = options_in(request, SearchOperation)
        prepared = store.prepare(request.query, options, source=request.source)
        page = prepared.search(start=options.start, rows=options.rows, sort=options.sort, collapse=options.collapse)
        measured = prepared.measured([hit.id for hit in page.hits])
        return Json(values(make_measured_page(request.query, page, prepared.references, measured)))

    @router.get("/explain", summary="Explain", response_model=response_type(ExplainedQuery))
    def explain_by_address(request: Annotated[ExplainParameters, Query()]) -> Json:
        """The same as `POST /api/v1/explain`, with parameters in the address."""
        return explain(request)

    @router.post(
        "/explain", summary="Explain with a text beside the query", response_model=response_type(ExplainedQuery)
    )
    def explain(request: ExplainRequest) -> Json:
        """The plan of a query in words; `fingerprints` has the search plan of each calibrated FINGERPRINT."""
        options = options_in(request, ExplainOperation)
        explained = store.explain(request.query, options, source=request.source)
        return Json(values(ExplainedQuery(request.query, explained)))

    @router.post("/snippets", summary="Where the words of a query stand", response_model=response_type(SnippetsAnswer))
    def snippets(request: SnippetsRequest) -> Json:
        """For each document, the part with the most words of a query, and the places of these words.

        Documents without a stored text or without these words are left out, and so are the last documents if the texts
        together are very long. Places are half-open ranges of characters as Python counts them, from 0.
        """
        snippets = store.prepare(request.query).snippets(request.documents)
        return Json(values(SnippetsAnswer(tuple(DocumentSnippet(*pair) for pair in snippets))))

    return router
