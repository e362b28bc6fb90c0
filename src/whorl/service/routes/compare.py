"""Route that compares two texts: documents of the store or texts in the request."""

from __future__ import annotations

from typing import ClassVar, Literal

from fastapi import APIRouter

from whorl.operations import CompareOperation
from whorl.output.comparison import ComparedTexts, Read, comparison_values
from whorl.service.errors import Json
from whorl.service.routes.request import Example, OneText, RequestBody, body_of, options_in
from whorl.service.routes.router import api_router, response_type
from whorl.store import Store


@body_of(CompareOperation)
class CompareRequest(RequestBody):
    """Body of `POST /api/v1/compare`."""

    example: ClassVar[Example] = {
        "a": {"id": "lease"},
        "b": {"text": "The tenant pays the rent in advance."},
        "texts": "passages",
    }

    a: OneText
    b: OneText
    #: Texts to return with the passages' positions: none, those of the passages, or the whole of both sides.
    texts: Literal["none", "passages", "whole"] = "none"


def compare_routes(store: Store) -> APIRouter:
    """Return the route.

    Args:
        store: The documents, and the scheme for words and shingles.
    """
    router = api_router()

    @router.post("/compare", response_model=response_type(ComparedTexts))
    def compare(request: CompareRequest) -> Json:
        """What two texts share, counted on all of their shingles, with the passages and where they stand.

        Places are half-open ranges of characters as Python counts them: Unicode code points, from 0.
        """
        a, b = _read(store, request.a, request.b)
        options = options_in(request, CompareOperation)
        comparison = store.compare(
            "a",
            "b",
            source={"a": a.text, "b": b.text},
            common_above=options.common_above,
            boilerplate=options.boilerplate,
        )
        return Json(comparison_values(a, b, comparison, texts=request.texts))

    return router


def _read(store: Store, *sides: OneText) -> list[Read]:
    wanted = [side.id for side in sides if side.id is not None]
    texts, stored = store.texts(wanted), store.documents(wanted)

    def read(side: OneText) -> Read:
        if side.id is None:
            return Read.of(None, side.text or "")
        # A document named by a DBID or a node reference is not in `stored` under that name.
        name = stored[side.id].name if side.id in stored else ""
        return Read.of(side.id, texts[side.id], name)

    return [read(side) for side in sides]
