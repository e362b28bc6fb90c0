"""Route that finds the documents sharing content with a document or a text."""

from __future__ import annotations

from typing import ClassVar

from fastapi import APIRouter

from whorl.operations import SimilarOperation
from whorl.output.values import values
from whorl.search.similar.results import Similar
from whorl.service.errors import Json
from whorl.service.routes.request import Example, OneText, body_of, options_in
from whorl.service.routes.router import api_router, response_type
from whorl.store import Store


@body_of(SimilarOperation)
class SimilarRequest(OneText):
    """Body of `POST /api/v1/similar`: a document's id or a text, and the options of the search."""

    example: ClassVar[Example] = {"id": "lease", "metric": "jaccard", "threshold": 30}


def similar_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/similar", response_model=response_type(Similar))
    def similar(request: SimilarRequest) -> Json:
        """One page of the documents that share content with a document or a text, each with its percentages."""
        page = store.similar(request.reference, options_in(request, SimilarOperation), source=request.text)
        return Json(values(page))

    return router
