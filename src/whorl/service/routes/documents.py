"""Routes that list, store, read and delete documents, and extract the text of a file."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, NotRequired, TypeAlias

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from pydantic import Field
from typing_extensions import TypedDict

from whorl.errors import DocumentError, ParameterError, UnknownDocumentError, WhorlError
from whorl.ingest.extraction.reader_pool import BusyError, ReaderPool
from whorl.ingest.files import markup_from_bytes, text_from_bytes
from whorl.ingest.rows.detect_row_format import has_rows
from whorl.model import MAX_ID_LENGTH, Hit, Page, PropertyValue, Stored
from whorl.operations import MAX_ROWS, MAX_START, DeleteOperation, IndexOperation
from whorl.output.json_conversion import values
from whorl.query import ast
from whorl.query.ast import Pattern, Wildcard, WildcardCharacter
from whorl.query.plan.nodes import Kind
from whorl.query.plan.planner import words_of
from whorl.query.unparse import unparse
from whorl.request_context import seconds_left
from whorl.search.repeats_of_new_documents import RepeatSearch
from whorl.service.bulk_upload import Report, Upload
from whorl.service.requests_and_responses import (
    DOCUMENTS,
    Example,
    Failure,
    Json,
    failure_of,
    require_writable,
    response_type,
)
from whorl.service.routes.api_router import api_router
from whorl.service.routes.request_models import RequestBody, body_of, exactly_one, options_in
from whorl.store import Store, query_for_ids_after

#: Maximum number of words of the name filter; further words are ignored, with a warning.
_MOST_PIECES = 8
_PATH = "/documents"
_BULK_DESCRIPTION = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {
                    "type": "string",
                    "format": "binary",
                    "description": 'One {"id", "text", "name", …} a line; other keys become properties.',
                    "example": '{"id": "a", "text": "some words", "type": "note"}\n',
                }
            }
        },
    }
}
_BULK_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": response_type(Report), "description": "What was stored, left alone and refused"},
    400: {
        "model": response_type(Report) | Failure,
        "description": "The same, where every document was refused; or which part of the request is wrong",
    },
}
_Id: TypeAlias = Annotated[str, Path(examples=["lease"])]


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Stored fields of a document, and its text if requested."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("*stored", "text?")

    stored: Stored
    text: str | None


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document in a list. `shingles` is its number of distinct shingles, or null if unknown."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id=hit.id", "name=hit.name", "shingles", "properties")

    hit: Hit
    shingles: int | None
    properties: Mapping[str, tuple[PropertyValue, ...]]


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """One page of the documents. `next` is the value of `after` for the next page; null on the last page."""

    JSON_FIELDS = ("total", "total_is_exact=page.is_total_exact", "warnings=page.warnings", "next", "documents")

    page: Page
    total: int
    next: str | None
    documents: tuple[ListedDocument, ...]


class Deleted(TypedDict):
    """Number of deleted documents."""

    deleted: int


class DeletionCounts(Deleted):
    """Number of documents that match the request, and number of deleted documents.

    With `warnings`, more documents may match.
    """

    matched: int
    warnings: NotRequired[list[str]]


@body_of(DeleteOperation)
class DeleteRequest(RequestBody):
    """Body of `POST /api/v1/delete`: ids, or a query."""

    rule = exactly_one(ids="array", query="string")
    example: ClassVar[Example] = {"query": "name:minutes", "dry_run": True}

    ids: list[str] | None = Field(None, max_length=MAX_ROWS)


@body_of(IndexOperation)
class StoreParameters(RequestBody):
    """Parameters of `POST /api/v1/documents`."""

    is_text = True


#: Number of processes that read files, each with its own memory limit.
FILE_READERS = 2


class FileRequest(RequestBody):
    """Body of `POST /api/v1/text`: a file in base64.

    `rows_as_text` accepts a text file whose rows are documents, such as CSV, and returns all of it as one text.
    `with_markup` also returns the `markup` of HTML, with its tags, and of DOCX, whose block quotes and notes are marked
    as in Markdown.
    """

    example: ClassVar[Example] = {"name": "note.txt", "content": "c29tZSB3b3Jkcw=="}

    name: str
    content: str = Field(json_schema_extra={"format": "byte"})
    rows_as_text: bool = False
    with_markup: bool = False


class FileText(TypedDict):
    """The text of a file."""

    name: str
    text: str
    markup: NotRequired[str]


def documents_routes(
    store: Store, new_upload: Callable[..., Upload], reader: ReaderPool, *, is_read_only: bool = False
) -> APIRouter:
    """Return the routes; `reader` must stay open as long as the service runs.

    `new_upload` takes the last three arguments of `Upload`, which depend on the request.
    """
    router = api_router()

    @router.get(_PATH, summary="List documents", response_model=response_type(DocumentsPage))
    def list_documents(
        named: str = Query("", max_length=1_000),
        after: str | None = Query(None, max_length=MAX_ID_LENGTH, examples=["lease"]),
        start: int = Query(0, ge=0, le=MAX_START),
        rows: int = Query(50, ge=0, le=MAX_ROWS),
    ) -> Json:
        """One page of the documents, in the order of their ids, with their properties.

        `named` chooses documents whose name or id contains each of its first eight words. `shingles` is the number of a
        document's distinct shingles, null if unknown. To list all documents, ask again with the answer's `next` as
        `after`, until it is null. Each document is listed once, and a document that exists throughout is never missed.
        """
        filters = [_name_query(named, store)] if named.strip() else []
        more_filters = filters if after is None else [*filters, query_for_ids_after(after)]
        page = store.search("*", filter=more_filters, start=start, rows=rows)
        if len(named.split()) > _MOST_PIECES:
            warning = f"the list is filtered by the first {_MOST_PIECES} words only"
            page = replace(page, warnings=(*page.warnings, warning))
        ids = [hit.id for hit in page.hits]
        stored, sizes = store.documents(ids), store.engine.sizes(ids) if store.engine.sketch_scheme else {}
        total = page.total if after is None else store.search("*", filter=filters, rows=0).total
        following = ids[-1] if ids and start + rows < page.total else None
        listed = (
            ListedDocument(hit, sizes.get(hit.id), stored[hit.id].properties if hit.id in stored else {})
            for hit in page.hits
        )
        return Json(values(DocumentsPage(page, total, following, tuple(listed))))

    @router.post(_PATH, summary="Store documents", openapi_extra=_BULK_DESCRIPTION, responses=_BULK_ANSWERS)
    async def store_documents(request: Request, parameters: Annotated[StoreParameters, Query()]) -> Response:
        """Store documents, one JSON object a line, in any number.

        A document with the same id is replaced. With `replace` set to false, a document is refused if the store has
        another text under its id, even if another upload stores that text at the same time. Unchanged documents are
        skipped. So to complete an interrupted request, send it again. Documents that the answer counts as stored are
        safe and searchable. The ids `.` and `..` are refused, because no address can end in them. If the store is a
        folder, a document with more properties than `max_properties` is refused, and so is a document whose new
        property names would exceed `max_property_names` in the store. The other documents of the request are stored.

        With `check`, nothing is stored: for each document, `repeats` lists the stored documents that repeat at least
        this percentage, ten at most, measured by `metric`. A is the document that was sent. With `warn`, the documents
        are stored, and `repeats` also lists earlier documents of the same request.
        """
        options = options_in(parameters, IndexOperation)
        if options.check is not None and options.warn is not None:
            raise ParameterError("check stores nothing, and warn reports on what is stored; use one of them")
        if options.check is None:
            require_writable(is_read_only=is_read_only)
        threshold = options.check if options.warn is None else options.warn
        repeats = None if threshold is None else RepeatSearch(store, threshold, options.metric)
        upload = new_upload(repeats, is_stored=options.check is None, replaces=options.replace)
        report = upload.report
        try:
            await upload.process(request.stream())
        except (WhorlError, HTTPException) as error:
            return failure_of(DOCUMENTS, error, {"so_far": values(report)})
        # Without an accepted document, the whole request has failed.
        is_refused = report.refused and not (report.stored or report.unchanged or report.checked)
        if repeats is not None and repeats.notes:
            report.warnings = repeats.notes
        return Json(values(report), 400 if is_refused else 200)

    @router.get(f"{_PATH}/{{document_id:path}}", response_model=response_type(ReadDocument))
    def read_document(document_id: _Id, text: bool = False) -> Json:
        """A stored document, with its text if `text` is set."""
        stored = store.document(document_id)
        content = store.engine.texts([stored.id]).get(stored.id, "") if text else None
        return Json(values(ReadDocument(stored, content)))

    @router.delete(f"{_PATH}/{{document_id:path}}")
    def delete_document(document_id: _Id) -> Deleted:
        """Delete the document with this id; names and other references to a document are not accepted."""
        require_writable(is_read_only=is_read_only)
        if not store.delete_chosen([document_id], DeleteOperation()):
            raise UnknownDocumentError(document_id)
        return {"deleted": 1}

    @router.post("/delete", summary="Delete many documents")
    def delete_documents(request: DeleteRequest) -> DeletionCounts:
        """Delete documents, by their ids or by a query; unknown ids are ignored.

        A query that matches all documents is refused unless `everything` is set. With `dry_run`, documents are counted
        but not deleted. A document that is replaced at the same time, and then does not match any more, stays. An
        interrupted request may have deleted some of the documents; send it again.
        """
        require_writable(is_read_only=is_read_only)
        options = options_in(request, DeleteOperation)
        matched = store.delete_chosen(request.ids, options)
        answer: DeletionCounts = {"matched": int(matched), "deleted": 0 if options.dry_run else matched}
        return {**answer, "warnings": [*matched.warnings]} if matched.warnings else answer

    @router.post("/text", summary="Read a file")
    def read_file(request: FileRequest) -> FileText:
        """The text of a file as `whorl index` reads it, in any encoding; for HTML, only the visible text.

        A file whose rows are documents, such as JSON lines or Parquet, is refused. With `rows_as_text`, the whole of a
        text file is returned, as `whorl compare` reads it.
        PDF and other formats need the extra whorl[files]; the limits of the settings apply.
        """
        try:
            content = base64.b64decode(request.content, validate=True)
        except (binascii.Error, ValueError):
            raise ParameterError("content: this is not base64") from None
        name = PurePath(request.name)
        try:
            if not request.rows_as_text and has_rows(content, name):
                raise ParameterError(
                    f"{request.name:.200} holds documents as rows, and here a file is read as one text; "
                    f"'whorl index' stores each row as a document, POST /api/v1/documents takes JSON lines, and "
                    "rows_as_text returns the whole file"
                )
            answer: FileText = {"name": request.name, "text": text_from_bytes(content, name, reader)}
            markup = markup_from_bytes(content, name, reader) if request.with_markup else None
            if markup is not None:
                answer["markup"] = markup
            return answer
        except DocumentError as error:
            left = seconds_left()
            if isinstance(error, BusyError) or (left is not None and left <= 0):
                # The client may try again: the readers were busy, or there was too little time.
                raise HTTPException(503, str(error)) from None
            raise

    return router


def _name_query(typed: str, store: Store) -> str:
    by_kind = {field: store.engine.fields().resolve_name(field, store.names) or {} for field in ("name", "id")}
    profile = store.engine.scheme.profile
    queries = []
    for piece in typed.split()[:_MOST_PIECES]:
        # If a store indexes names only by their words, search for the words of the typed text.
        words = [(piece,)] if Kind.KEYWORD in by_kind["name"] else words_of((piece,), profile)
        has_names = words and by_kind["name"]
        in_name = [_join([_contains_text(word, "name") for word in words], ast.And)] if has_names else []
        # Ids are case-sensitive, so also try the typed text in other cases.
        variants = dict.fromkeys((piece, piece.lower(), piece.upper(), piece.capitalize()))
        queries.append(_join([*in_name, *(_contains_text((text,), "id") for text in variants)], ast.Or))
    return unparse(_join(queries, ast.And))


def _contains_text(text: Pattern, field: str) -> ast.Node:
    return Wildcard((WildcardCharacter.ANY, *text, WildcardCharacter.ANY), field)


def _join(nodes: Sequence[ast.Node], join: type[ast.And | ast.Or]) -> ast.Node:
    return nodes[0] if len(nodes) == 1 else join(tuple(nodes))
