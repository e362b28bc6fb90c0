"""Route that returns the longest passage that each of several documents shares with a text, for display below hits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fastapi import APIRouter

from whorl.operations import Boilerplate
from whorl.output.comparison import DocumentPassages, document_passages
from whorl.output.values import values
from whorl.search.boilerplate import commons_for_comparison
from whorl.search.similar.verify import comparisons
from whorl.service.errors import Json
from whorl.service.routes.request import Example, OneText, Shown, body_of, options_in
from whorl.service.routes.router import api_router, response_type
from whorl.store import Store


@body_of(Boilerplate)
class PassagesRequest(OneText):
    """Body of `POST /api/v1/passages`: a document's id or a text, and the documents to compare it with."""

    example: ClassVar[Example] = {"id": "lease", "documents": ["renewal", "minutes"]}

    documents: Shown


@dataclass(frozen=True, slots=True)
class PassagesAnswer:
    """The longest shared passage of each document."""

    documents: tuple[DocumentPassages, ...]


def passages_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/passages", summary="The longest passage of each hit", response_model=response_type(PassagesAnswer))
    def passages(request: PassagesRequest) -> Json:
        """What a text, as A, shares with each of some documents, exactly, and how their longest passage begins.

        Documents without a stored text are left out, and so are the last ones where all together are very long.
        """
        text = request.text if request.id is None else store.texts([request.id])[request.id]
        assert text is not None
        options = options_in(request, Boilerplate)
        common = commons_for_comparison(store.engine, options.common_above, options.boilerplate)
        compared = comparisons(store.engine, text, list(dict.fromkeys(request.documents)), common)
        return Json(values(PassagesAnswer(tuple(document_passages(name, text, each) for name, each in compared))))

    return router
