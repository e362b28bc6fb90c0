"""Route that finds the documents sharing content with a document or a text."""

from __future__ import annotations

from typing import ClassVar

from fastapi import APIRouter
from pydantic import Field

from whorl.output.search import SimilarValues, similar_values
from whorl.search.similar.options import SimilarWord
from whorl.service.errors import Json
from whorl.service.routes.asked import Example, Ignoring, OneText, Percent, QueryText
from whorl.service.routes.router import api_router
from whorl.settings.settings import MAX_ROWS, MAX_START
from whorl.store import Store


class SimilarRequest(OneText, Ignoring):
    """Body of `POST /api/v1/similar`: a document's id or a text, and the options of the search."""

    example: ClassVar[Example] = {"id": "lease", "metric": "jaccard", "threshold": 30}

    metric: SimilarWord = "jaccard"
    threshold: Percent = 20
    recall: Percent = 95
    filter: QueryText | None = None
    exact: bool = False
    start: int = Field(0, ge=0, le=MAX_START)
    rows: int = Field(10, ge=0, le=MAX_ROWS)


def similar_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/similar", response_model=SimilarValues)
    def similar(asked: SimilarRequest) -> Json:
        """One page of the documents that share content with a document or a text, each with its percentages."""
        page = store.similar(
            asked.reference,
            source=asked.text,
            metric=asked.metric,
            threshold=asked.threshold,
            recall=asked.recall,
            only=asked.filter,
            exact=asked.exact,
            start=asked.start,
            rows=asked.rows,
            **asked.common_options,
        )
        return Json(similar_values(page))

    return router
