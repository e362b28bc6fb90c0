"""Documents one by one and in bulk: stored, looked at and deleted."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from whorl.errors import UnknownDocumentError
from whorl.service.errors import Json, failure_of
from whorl.service.paths import DOCUMENTS
from whorl.service.uploads import BrokenOffError, Uploads
from whorl.store import Store

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


def documents_routes(store: Store, uploads: Uploads) -> APIRouter:
    """Return the routes.

    Args:
        store: Where the documents are.
        uploads: What stores them.
    """
    router = APIRouter(tags=["whorl"], default_response_class=Json)

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
            raise UnknownDocumentError(document_id)
        told: dict[str, Any] = {"id": stored.id, "name": stored.name, "properties": dict(stored.properties)}
        if text:
            told["text"] = store.engine.texts([document_id]).get(document_id, "")
        return told

    @router.delete(f"{DOCUMENTS}/{{document_id:path}}")
    def delete(document_id: str) -> dict[str, Any]:
        """Forget a document."""
        if not store.delete([document_id]):
            raise UnknownDocumentError(document_id)
        return {"deleted": 1}

    return router
