"""whorl's own routes: search, similar documents, documents one by one and in bulk, and what a query would do."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self, TypeAlias

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from whorl.service.errors import Json, failure_of
from whorl.service.paths import DOCUMENTS
from whorl.service.uploads import BrokenOffError, Uploads
from whorl.similar.question import SimilarWord
from whorl.store import SOURCE, Store
from whorl.wire.similar import similar_values

Start: TypeAlias = Annotated[int, Query(ge=0, le=1_000_000)]
Rows: TypeAlias = Annotated[int, Query(ge=0, le=10_000)]
Meaning: TypeAlias = Literal["stock", "calibrated"]

_BULK_DESCRIPTION = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {
                    "type": "string",
                    "description": 'One {"id", "text", "name", …} a line; other keys become properties.',
                    "example": '{"id": "a", "text": "some words", "type": "note"}\n',
                }
            }
        },
    }
}


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
    start: int = Field(0, ge=0, le=1_000_000)
    rows: int = Field(10, ge=0, le=10_000)

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.id is None) == (self.text is None):
            raise ValueError("name one source: id or text")
        return self


def native_routes(store: Store, uploads: Uploads) -> APIRouter:
    """Return the routes under /api.

    Args:
        store: What they ask and change.
        uploads: What stores documents.
    """
    router = APIRouter(tags=["whorl"], default_response_class=Json)

    @router.get("/api/search")
    def search(q: str, start: Start = 0, rows: Rows = 10, plan: Meaning = "stock") -> dict[str, Any]:
        """One page of the documents that a query matches."""
        page = store.search(q, start=start, rows=rows, with_shared=True, calibrated=plan == "calibrated")
        return {
            "query": q,
            "total": page.total,
            "total_is_exact": page.is_total_exact,
            "warnings": list(page.warnings),
            "hits": [asdict(hit) for hit in page.hits],
        }

    @router.get("/api/explain")
    def explain(q: str, start: Start = 0, rows: Rows = 10, plan: Meaning = "stock") -> dict[str, Any]:
        """What a query would do, in words and numbers, and the request that would do it; nothing is searched."""
        explained = store.explain(q, start=start, rows=rows, calibrated=plan == "calibrated")
        return {
            "query": q,
            "plan": list(explained.plan),
            "warnings": list(explained.warnings),
            "request": dict(explained.request),
        }

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
        )
        return similar_values(page)

    @router.post(DOCUMENTS, openapi_extra=_BULK_DESCRIPTION)
    async def store_documents(request: Request) -> Response:
        """Store documents, one JSON object a line, in any number.

        Documents of the same id are replaced, and those that are there unchanged are left alone, so sending all again
        completes what was interrupted. What the answer counts as stored is safe and searchable.
        """
        try:
            report = await uploads.take(request.stream())
        except BrokenOffError as stopped:
            return failure_of(DOCUMENTS, stopped.cause, {"so_far": stopped.report.values()})
        # All was wrong with it, so the request as a whole is.
        is_refused = report.refused and not (report.stored or report.unchanged)
        return Json(report.values(), 400 if is_refused else 200)

    @router.get(f"{DOCUMENTS}/{{document_id:path}}")
    def document(document_id: str, text: bool = False) -> dict[str, Any]:
        """What is stored of a document, with its text if that is asked for."""
        stored = store.documents([document_id]).get(document_id)
        if stored is None:
            raise HTTPException(404, f"the store has no document {document_id!r}")
        told: dict[str, Any] = {"id": stored.id, "name": stored.name, "properties": dict(stored.properties)}
        if text:
            told["text"] = store.engine.texts([document_id]).get(document_id, "")
        return told

    @router.delete(f"{DOCUMENTS}/{{document_id:path}}")
    def delete(document_id: str) -> dict[str, Any]:
        """Forget a document."""
        if not store.delete([document_id]):
            raise HTTPException(404, f"the store has no document {document_id!r}")
        return {"deleted": 1}

    return router
