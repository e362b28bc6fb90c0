"""Documents one by one and in bulk: listed, stored, looked at and deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypeAlias

from fastapi import APIRouter, Path, Query, Request, Response
from typing_extensions import TypedDict

from whorl.errors import ParameterError, UnknownDocumentError
from whorl.model import PropertyValue
from whorl.query import ast
from whorl.query.ast import Joker, Wildcard
from whorl.query.unparse import unparse
from whorl.repeats import RepeatSearch
from whorl.service.errors import Failure, Json, failure_of, require_writable
from whorl.service.paths import DOCUMENTS
from whorl.service.routes.router import api_router
from whorl.service.uploads import BrokenOffError, ReportValues, Uploads
from whorl.settings.settings import MAX_ROWS
from whorl.similar.question import SimilarWord
from whorl.store import Store

#: Pieces of a name that are looked for; what is typed behind them counts for nothing.
_MOST_PIECES = 8
_PATH = "/documents"
_BULK_DESCRIPTION = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {
                    "type": "string",
                    "format": "json-lines",
                    "description": 'One {"id", "text", "name", …} a line; other keys become properties.',
                    "example": '{"id": "a", "text": "some words", "type": "note"}\n',
                }
            }
        },
    }
}
_BULK_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": ReportValues, "description": "What was stored, left alone and refused"},
    400: {
        "model": ReportValues | Failure,
        "description": "The same, where every document was refused; or which part of the request is wrong",
    },
}
_Id: TypeAlias = Annotated[str, Path(examples=["lease"])]


class StoredValues(TypedDict):
    """What is stored of a document; its text, where that was asked for."""

    id: str
    name: str
    properties: dict[str, list[PropertyValue]]
    text: NotRequired[str]


class ListedDocument(TypedDict):
    """A document of a list; `shingles` are its different ones, null where that is not known."""

    id: str
    name: str
    shingles: int | None
    properties: dict[str, list[PropertyValue]]


class DocumentsPage(TypedDict):
    """One page of the documents."""

    total: int
    documents: list[ListedDocument]


class Deleted(TypedDict):
    """How many documents were forgotten."""

    deleted: int


def documents_routes(store: Store, uploads: Uploads, *, is_read_only: bool = False) -> APIRouter:
    """Return the routes.

    Args:
        store: Where the documents are.
        uploads: What stores them.
        is_read_only: Whether what would change the store is refused.
    """
    router = api_router()

    @router.get(_PATH, summary="List documents")
    def documents(
        named: str = Query("", max_length=1_000),
        start: int = Query(0, ge=0, le=1_000_000),
        rows: int = Query(50, ge=0, le=MAX_ROWS),
    ) -> DocumentsPage:
        """One page of the documents, in the order of their ids, with their properties.

        `named` chooses those whose name or id has each of its words somewhere in it. `shingles` is the size of a
        document in different shingles, null where it is not known.
        """
        fields = [field for field in ("name", "id") if store.engine.fields().named(field, store.names)]
        wanted = _named(named, fields)
        page = store.search("*", filters=[] if wanted is None else [wanted], start=start, rows=rows)
        ids = [hit.id for hit in page.hits]
        stored, sketches = store.documents(ids), store.engine.sketches(ids) if store.engine.sketch_scheme else {}
        return {
            "total": page.total,
            "documents": [
                {
                    "id": hit.id,
                    "name": hit.name,
                    "shingles": sketches[hit.id].size if hit.id in sketches else None,
                    "properties": _listed(stored[hit.id].properties) if hit.id in stored else {},
                }
                for hit in page.hits
            ],
        }

    @router.post(_PATH, summary="Store documents", openapi_extra=_BULK_DESCRIPTION, responses=_BULK_ANSWERS)
    async def store_documents(
        request: Request,
        check: float | None = Query(None, gt=0, le=100),
        warn: float | None = Query(None, gt=0, le=100),
        metric: SimilarWord = "jaccard",
    ) -> Response:
        """Store documents, one JSON object a line, in any number.

        Documents of the same id are replaced, and those that are there unchanged are left alone, so sending all again
        completes what was interrupted. What the answer counts as stored is safe and searchable.

        With `check` nothing is stored: `repeats` tells of each document which of the store it repeats, by so many
        percent of the `metric` or more; A is what was sent. With `warn` that is told of those that are stored, which
        may also repeat what came before them in the same request.
        """
        if check is not None and warn is not None:
            raise ParameterError("check stores nothing, and warn tells of what is stored; ask for one of them")
        if check is None:
            require_writable(is_read_only=is_read_only)
        threshold = check if warn is None else warn
        repeats = None if threshold is None else RepeatSearch(store, str(threshold), metric)
        try:
            report = await uploads.take(request.stream(), repeats, is_stored=check is None)
        except BrokenOffError as stopped:
            return failure_of(DOCUMENTS, stopped.cause, {"so_far": stopped.report.values()})
        # All was wrong with it, so the request as a whole is.
        is_refused = report.refused and not (report.stored or report.unchanged or report.checked)
        return Json(report.values(), 400 if is_refused else 200)

    @router.get(f"{_PATH}/{{document_id:path}}")
    def document(document_id: _Id, text: bool = False) -> StoredValues:
        """What is stored of a document, with its text if that is asked for."""
        stored = store.documents([document_id]).get(document_id)
        if stored is None:
            raise UnknownDocumentError(document_id)
        told: StoredValues = {"id": stored.id, "name": stored.name, "properties": _listed(stored.properties)}
        if text:
            told["text"] = store.engine.texts([document_id]).get(document_id, "")
        return told

    @router.delete(f"{_PATH}/{{document_id:path}}")
    def delete(document_id: _Id) -> Deleted:
        """Forget a document."""
        require_writable(is_read_only=is_read_only)
        if not store.delete([document_id]):
            raise UnknownDocumentError(document_id)
        return {"deleted": 1}

    return router


def _listed(properties: Mapping[str, Sequence[PropertyValue]]) -> dict[str, list[PropertyValue]]:
    return {name: [*values] for name, values in properties.items()}


def _named(typed: str, fields: Sequence[str]) -> str | None:
    """Return the query that chooses the documents whose name or id has what was typed in it, None for all."""
    each = tuple(_has(piece, fields) for piece in typed.split()[:_MOST_PIECES])
    if not each:
        return None
    return unparse(each[0] if len(each) == 1 else ast.And(each))


def _has(piece: str, fields: Sequence[str]) -> ast.Node:
    # Names are compared by their words, whatever their letters; of ids only that is found which is spelled so.
    spelled = dict.fromkeys((piece, piece.lower(), piece.upper(), piece.capitalize()))
    places = tuple((field, text) for field in fields for text in ([piece] if field == "name" else spelled))
    each = tuple(Wildcard((Joker.ANY, text, Joker.ANY), field) for field, text in places)
    return each[0] if len(each) == 1 else ast.Or(each)
