"""Route that returns the longest passage that each of several documents shares with a text, for display below hits."""

from __future__ import annotations

from typing import ClassVar

from fastapi import APIRouter
from typing_extensions import TypedDict

from whorl.output.comparison import LongestPassage, longest_passage_values
from whorl.search.boilerplate import commons_for_comparison
from whorl.search.similar.verify import comparisons
from whorl.service.routes.asked import Commonness, Example, OneText, Shown
from whorl.service.routes.router import api_router
from whorl.store import Store


class PassagesRequest(OneText, Commonness):
    """Body of `POST /api/v1/passages`: a document's id or a text, and the documents to compare it with."""

    example: ClassVar[Example] = {"id": "lease", "documents": ["renewal", "minutes"]}

    documents: Shown


class DocumentPassages(LongestPassage):
    """A document, as B, and its longest passage shared with the text."""

    id: str


class PassagesAnswer(TypedDict):
    """The longest shared passage of each document."""

    documents: list[DocumentPassages]


def passages_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/passages", summary="The longest passage of each hit")
    def passages(asked: PassagesRequest) -> PassagesAnswer:
        """What a text, as A, shares with each of some documents, exactly, and how their longest passage begins.

        Documents without a stored text are left out, and so are the last ones where all together are very long.
        """
        text = asked.text if asked.id is None else store.texts([asked.id])[asked.id]
        assert text is not None
        told = commons_for_comparison(store.engine, asked.common_above, asked.boilerplate)
        found = comparisons(store.engine, text, list(dict.fromkeys(asked.documents)), told)
        return {
            "documents": [
                {"id": document_id, **longest_passage_values(text, comparison)} for document_id, comparison in found
            ]
        }

    return router
