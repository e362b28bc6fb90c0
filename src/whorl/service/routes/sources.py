"""Route that finds the documents which account for a text."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from whorl.output.comparison import Read
from whorl.output.report import report
from whorl.output.sources import AttributedText, sources_values
from whorl.search.attribution.exclusions import Exclusion
from whorl.search.attribution.search import DEFAULT_READ, MIN_WORDS, MOST_READ
from whorl.service.errors import Json
from whorl.service.routes.asked import Example, Ignoring, OneText, Percent, QueryText
from whorl.service.routes.router import api_router, response_type
from whorl.store import Store

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": response_type(AttributedText), "content": {"text/html": {"schema": {"type": "string"}}}}
}


class SourcesRequest(OneText, Ignoring):
    """Body of `POST /api/v1/sources`: a document's id or a text."""

    example: ClassVar[Example] = {"id": "renewal", "min_words": 8, "texts": "passages"}

    min_words: int = Field(MIN_WORDS, ge=1, le=1_000_000)
    #: Query for documents to exclude from the sources.
    except_for: QueryText | None = Field(None, alias="except")
    #: Parts of the text that sources need not account for.
    without: list[Exclusion] = Field(default_factory=list, max_length=10)
    recall: Percent = 95
    most_read: int = Field(DEFAULT_READ, ge=1, le=MOST_READ)
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
    def sources(asked: SourcesRequest) -> Response:
        """The documents that account for a text: a small set that covers most of it, each with its passages.

        In shares and passages A is the text and B the source. Places are half-open ranges of characters as Python
        counts them: Unicode code points, from 0.
        """
        found = store.sources(
            asked.reference,
            source=asked.text,
            recall=asked.recall,
            min_words=asked.min_words,
            except_for=asked.except_for,
            most_read=asked.most_read,
            **asked.common_options,
            without=set(asked.without),
        )
        read = Read.of(asked.id, found.content, asked.name)
        if asked.format == "html":
            headers = {"Content-Disposition": 'attachment; filename="sources.html"'}
            return Response(report(read, found), media_type="text/html; charset=utf-8", headers=headers)
        return Json(sources_values(read, found, texts=asked.texts))

    return router
