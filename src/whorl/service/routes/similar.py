"""The documents that share content with a document or a text, found as asked, verified and measured."""

from __future__ import annotations

from typing import Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, model_validator

from whorl.service.errors import Json
from whorl.similar.question import SimilarWord
from whorl.store import SOURCE, Store
from whorl.wire.similar import similar_values


class SimilarRequest(BaseModel):
    """What `POST /api/similar` is sent: a document's id or a text, and what is to be found."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = None
    text: str | None = None
    metric: SimilarWord = "jaccard"
    threshold: float = Field(20, gt=0, le=100)
    recall: float = Field(95, gt=0, le=100)
    filter: str | None = None
    exact: bool = False
    #: What stands in more documents is common: "50", or "1%" of all.
    common_above: str | None = None
    #: Texts that are common.
    boilerplate: list[str] = Field(default_factory=list, max_length=100)
    start: int = Field(0, ge=0, le=1_000_000)
    rows: int = Field(10, ge=0, le=10_000)

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one source: id or text")
        return self


def similar_routes(store: Store) -> APIRouter:
    """Return the route.

    Args:
        store: Where the documents are.
    """
    router = APIRouter(tags=["whorl"], default_response_class=Json)

    @router.post("/api/similar")
    def similar(asked: SimilarRequest) -> dict[str, Any]:
        """One page of the documents that share content with a document or a text, each with its percentages."""
        page = store.similar(
            SOURCE if asked.id is None else asked.id,
            source=asked.text,
            metric=asked.metric,
            threshold=asked.threshold,
            recall=asked.recall,
            only=asked.filter,
            exact=asked.exact,
            start=asked.start,
            rows=asked.rows,
            common_above=asked.common_above,
            boilerplate=asked.boilerplate,
        )
        return similar_values(page)

    return router
