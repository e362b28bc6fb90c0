"""Routes that run or explain a query, given as parameters or in a body."""

from __future__ import annotations

from typing import Annotated, ClassVar

from fastapi import APIRouter, Query
from pydantic import Field

from whorl.operations import SearchOperation
from whorl.output.search import ExplainedQuery, MeasuredPage, measured_page
from whorl.output.values import values
from whorl.search.prepared import search_options, sort_keys
from whorl.service.errors import Json
from whorl.service.routes.asked import CommonLimit, Example, QueryText, body_of, options_in
from whorl.service.routes.router import api_router, response_type
from whorl.store import Store


@body_of(SearchOperation)
class QueryRequest(CommonLimit):
    """A query with the options of its FINGERPRINTs."""

    example: ClassVar[Example] = {"query": "FINGERPRINT:lease_40 AND NOT name:minutes", "plan": "calibrated", "rows": 5}

    query: QueryText
    #: A text that the query refers to as `FINGERPRINT:source`; it need not be in the store.
    source: str | None = None


class QueryParameters(QueryRequest):
    """The same options as query parameters."""

    is_text = True
    example: ClassVar[Example] = None
    query: QueryText = Field(alias="q")


def search_routes(store: Store) -> APIRouter:
    """Return the routes."""
    router = api_router()

    @router.get("/search", summary="Search", response_model=response_type(MeasuredPage))
    def search_by_address(asked: Annotated[QueryParameters, Query()]) -> Json:
        """As `POST /api/v1/search`."""
        return search(asked)

    @router.post("/search", summary="Search with a text beside the query", response_model=response_type(MeasuredPage))
    def search(asked: QueryRequest) -> Json:
        """One page of the documents that a query matches, each with what it shares with the query's only source.

        `shared_tokens` counts tokens. `measured` has the three shares, and where they are estimates the ends of their
        95 % intervals. Both are null where the query has no FINGERPRINT, or those of several documents. With `collapse`
        a hit has its `cluster` and in `copies` how many further hits it stands for; `matches` counts all of them.
        """
        options = options_in(asked, SearchOperation)
        prepared = store.prepare(asked.query, **search_options(options, asked.source))
        page = prepared.search(
            start=options.start, rows=options.rows, order=sort_keys(options.sort), collapsed=options.collapse
        )
        measured = prepared.measured([hit.id for hit in page.hits])
        return Json(values(measured_page(asked.query, page, prepared.references, measured)))

    @router.get("/explain", summary="Explain", response_model=response_type(ExplainedQuery))
    def explain_by_address(asked: Annotated[QueryParameters, Query()]) -> Json:
        """As `POST /api/v1/explain`."""
        return explain(asked)

    @router.post(
        "/explain", summary="Explain with a text beside the query", response_model=response_type(ExplainedQuery)
    )
    def explain(asked: QueryRequest) -> Json:
        """What a query does, in words and numbers; `fingerprints` has how calibrated ones find their documents."""
        options = options_in(asked, SearchOperation)
        prepared = store.prepare(asked.query, **search_options(options, asked.source))
        explained = prepared.explain(start=options.start, rows=options.rows)
        return Json(values(ExplainedQuery(asked.query, explained)))

    return router
