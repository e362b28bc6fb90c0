"""Route that returns the part of each of several documents with most words of a query, for display below hits."""

from __future__ import annotations

from typing import ClassVar

from fastapi import APIRouter
from typing_extensions import TypedDict

from whorl.output.search import SnippetValues, snippet_values
from whorl.service.routes.asked import Asked, Example, QueryText, Shown
from whorl.service.routes.router import api_router
from whorl.store import Store


class SnippetsRequest(Asked):
    """Body of `POST /api/v1/snippets`: a query, and documents that it found."""

    example: ClassVar[Example] = {"query": "rent AND house", "documents": ["lease", "renewal"]}

    query: QueryText
    documents: Shown


class DocumentSnippet(SnippetValues):
    """A document, and its part with most words of the query."""

    id: str


class SnippetsAnswer(TypedDict):
    """The documents that contain words of the query."""

    documents: list[DocumentSnippet]


def snippets_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/snippets", summary="Where the words of a query stand")
    def snippets(asked: SnippetsRequest) -> SnippetsAnswer:
        """The part of each document that has most words of a query, with their places in it.

        Documents without a stored text or without such words are left out, and so are the last ones where all together
        are very long. Places are half-open ranges of characters as Python counts them, from 0.
        """
        found = store.prepare(asked.query).snippets(asked.documents)
        return {"documents": [{"id": each, **snippet_values(shown)} for each, shown in found]}

    return router
