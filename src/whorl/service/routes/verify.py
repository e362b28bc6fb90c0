"""Route that verifies the quotations of a text."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from fastapi import APIRouter, Response
from pydantic import Field, model_validator

from whorl.operations import VerifyOperation
from whorl.output.comparison import Read
from whorl.output.quotations import ListedVerification, quotations_report, verification_values
from whorl.search.quotations.extraction import MOST_QUOTATIONS, GivenQuotations
from whorl.search.similar.sources import SOURCE
from whorl.service.errors import Json
from whorl.service.routes.schema import Example, RequestBody, api_router, body_of, options_in, response_type
from whorl.store import Store

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": response_type(ListedVerification), "content": {"text/html": {"schema": {"type": "string"}}}}
}


@body_of(VerifyOperation)
class VerifyRequest(RequestBody):
    """Body of `POST /api/v1/verify`: a document's id, a text, or quotations."""

    example: ClassVar[Example] = {"text": "It says “the tenant pays a rent in advance”.", "min_words": 4}
    rule: ClassVar[dict[str, Any]] = {"oneOf": [{"required": [name]} for name in ("id", "text", "quotations")]}

    id: str | None = Field(None, examples=["lease"])
    text: str | None = Field(None, examples=["It says “the tenant pays a rent in advance”."])
    quotations: GivenQuotations | None = Field(None, max_length=MOST_QUOTATIONS)
    #: Title of the text.
    name: str = Field("", max_length=1_000)
    #: JSON, or a report: one HTML file to read, print and send.
    format: Literal["json", "html"] = "json"

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(given is not None for given in (self.id, self.text, self.quotations)) != 1:
            raise ValueError("name one: id, text or quotations")
        return self


def verify_routes(store: Store) -> APIRouter:
    """Return the route."""
    router = api_router()

    @router.post("/verify", response_model=None, responses=_ANSWERS)
    def verify(request: VerifyRequest) -> Response:
        """A verdict on each quotation of a text: whether it stands in a document word for word, and where.

        Places are half-open ranges of characters as Python counts them: Unicode code points, from 0.
        """
        if request.quotations is not None:
            verification = store.verify(quotations=request.quotations)
        else:
            reference = SOURCE if request.id is None else request.id
            verification = store.verify(reference, options_in(request, VerifyOperation), source=request.text)
        read = Read.of(request.id, verification.text, request.name)
        if request.format == "html":
            headers = {"Content-Disposition": 'attachment; filename="quotations.html"'}
            page = quotations_report(read, verification)
            return Response(page, media_type="text/html; charset=utf-8", headers=headers)
        return Json(verification_values(read, verification))

    return router
