"""Route that returns the part of each of several documents with most words of a query, for display below hits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fastapi import APIRouter

from whorl.output.values import values
from whorl.search.snippets import Snippet
from whorl.service.errors import Json
from whorl.service.routes.request import Example, QueryText, RequestBody, Shown
from whorl.service.routes.router import api_router, response_type
from whorl.store import Store


class SnippetsRequest(RequestBody):
    """Body of `POST /api/v1/snippets`: a query, and documents that it found."""

    example: ClassVar[Example] = {"query": "rent AND house", "documents": ["lease", "renewal"]}

    query: QueryText
    documents: Shown


@dataclass(frozen=True, slots=True)
class DocumentSnippet:
    """A document, and its part with most words of the query."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id", "*snippet")

    id: str
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class SnippetsAnswer:
    """The documents that contain words of the query."""

    documents: tuple[DocumentSnippet, ...]


def snippets_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/snippets", summary="Where the words of a query stand", response_model=response_type(SnippetsAnswer))
    def snippets(request: SnippetsRequest) -> Json:
        """The part of each document that has most words of a query, with their places in it.

        Documents without a stored text or without such words are left out, and so are the last ones where all together
        are very long. Places are half-open ranges of characters as Python counts them, from 0.
        """
        found = store.prepare(request.query).snippets(request.documents)
        return Json(values(SnippetsAnswer(tuple(DocumentSnippet(*pair) for pair in found))))

    return router
