"""Route that finds the documents which account for a text."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from whorl.operations import SourcesOperation
from whorl.output.comparison import Read
from whorl.output.report import report
from whorl.output.sources import AttributedText, sources_values
from whorl.service.errors import Json
from whorl.service.routes.request import Example, OneText, body_of, options_in
from whorl.service.routes.router import api_router, response_type
from whorl.store import Store

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": response_type(AttributedText), "content": {"text/html": {"schema": {"type": "string"}}}}
}


@body_of(SourcesOperation)
class SourcesRequest(OneText):
    """Body of `POST /api/v1/sources`: a document's id or a text."""

    example: ClassVar[Example] = {"id": "renewal", "min_words": 8, "texts": "passages"}

    #: Texts to return with the positions of passages.
    texts: Literal["none", "passages"] = "passages"
    #: Title of the text.
    name: str = Field("", max_length=1_000)
    #: JSON, or a report: one HTML file to read, print and send.
    format: Literal["json", "html"] = "json"


def sources_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/sources", response_model=None, responses=_ANSWERS)
    def sources(request: SourcesRequest) -> Response:
        """The documents that account for a text: a small set that covers most of it, each with its passages.

        In shares and passages A is the text and B the source. Places are half-open ranges of characters as Python
        counts them: Unicode code points, from 0.
        """
        options = options_in(request, SourcesOperation)
        attribution = store.sources(request.reference, options, source=request.text)
        read = Read.of(request.id, attribution.content, request.name)
        if request.format == "html":
            headers = {"Content-Disposition": 'attachment; filename="sources.html"'}
            return Response(report(read, attribution), media_type="text/html; charset=utf-8", headers=headers)
        return Json(sources_values(read, attribution, texts=request.texts))

    return router
