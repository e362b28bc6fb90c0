"""Routes about a query (search, explain, snippets) or a text (similar documents, sources, comparison, quotations)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from fastapi import APIRouter, Query, Response
from pydantic import Field, field_validator, model_validator

from whorl.operations import (
    Boilerplate,
    CompareOperation,
    ExplainOperation,
    SearchOperation,
    SimilarOperation,
    SourcesOperation,
    VerifyOperation,
)
from whorl.output.checked_quotations import ListedVerification, quotations_report, verification_values
from whorl.output.compare_documents import (
    ComparedTexts,
    DocumentPassages,
    ReadText,
    comparison_values,
    document_passages,
    read_texts,
)
from whorl.output.json_conversion import values
from whorl.output.search import ExplainedQuery, MeasuredPage, find_and_measure
from whorl.output.sources import AttributedText, report, sources_values
from whorl.search.boilerplate import detector_for_comparison
from whorl.search.highlighting import Snippet
from whorl.search.quotations.extract_quotations import MOST_QUOTATIONS, read_given_quotations
from whorl.search.quotations.results import GivenQuotation
from whorl.search.similar.compare_hit_texts import compare_with_documents
from whorl.search.similar.fetch_query_sources import SOURCE
from whorl.search.similar.results import Similar
from whorl.service.requests_and_responses import Example, Json, response_type
from whorl.service.routes.api_router import api_router
from whorl.service.routes.request_models import OneText, QueryText, RequestBody, ShownIds, body_of, options_in
from whorl.store import Store


class QueryBody(RequestBody):
    """A query, and optionally a text that it refers to."""

    example: ClassVar[Example] = {"query": "FINGERPRINT:lease_40 AND NOT name:minutes", "plan": "calibrated", "rows": 5}

    query: QueryText
    #: A text that the query refers to as `FINGERPRINT:source`. It need not be in the store.
    source: str | None = None


@body_of(SearchOperation)
class QueryRequest(QueryBody):
    """Body of `POST /api/v1/search`."""


class QueryParameters(QueryRequest):
    """Parameters of `GET /api/v1/search`."""

    is_text = True
    example: ClassVar[Example] = None
    query: QueryText = Field(alias="q")


@body_of(ExplainOperation)
class ExplainRequest(QueryBody):
    """Body of `POST /api/v1/explain`."""


class ExplainParameters(ExplainRequest):
    """Parameters of `GET /api/v1/explain`."""

    is_text = True
    example: ClassVar[Example] = None
    query: QueryText = Field(alias="q")


class SnippetsRequest(RequestBody):
    """Body of `POST /api/v1/snippets`: a query, and documents that the query found."""

    example: ClassVar[Example] = {"query": "rent AND house", "documents": ["lease", "renewal"]}

    query: QueryText
    documents: ShownIds


@dataclass(frozen=True, slots=True)
class DocumentSnippet:
    """A document, and the part of it that has the most words of the query."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id", "*snippet")

    id: str
    snippet: Snippet


class SnippetsAnswer(NamedTuple):
    """The documents that contain words of the query."""

    documents: tuple[DocumentSnippet, ...]


def search_routes(store: Store) -> APIRouter:
    router = api_router()

    @router.get("/search", summary="Search", response_model=response_type(MeasuredPage))
    def search_by_address(request: Annotated[QueryParameters, Query()]) -> Json:
        """The same as `POST /api/v1/search`, with parameters in the address."""
        return search(request)

    @router.post("/search", summary="Search with a text beside the query", response_model=response_type(MeasuredPage))
    def search(request: QueryRequest) -> Json:
        """One page of the documents that a query matches, each with its overlap with the query's source.

        `shared_tokens` counts tokens. `measured` has the three shares, and for estimates the bounds of their 95 %
        intervals. Both are null unless the query has exactly one source. With `collapse`, a hit represents its
        `cluster`, and `copies` is the number of the other hits in it; `matches` counts all hits.
        """
        options = options_in(request, SearchOperation)
        prepared = store.prepare(request.query, options, source=request.source)
        return Json(values(find_and_measure(request.query, prepared, options)))

    @router.get("/explain", summary="Explain", response_model=response_type(ExplainedQuery))
    def explain_by_address(request: Annotated[ExplainParameters, Query()]) -> Json:
        """The same as `POST /api/v1/explain`, with parameters in the address."""
        return explain(request)

    @router.post(
        "/explain", summary="Explain with a text beside the query", response_model=response_type(ExplainedQuery)
    )
    def explain(request: ExplainRequest) -> Json:
        """The plan of a query in words; `fingerprints` has the search plan of each calibrated FINGERPRINT."""
        options = options_in(request, ExplainOperation)
        explained = store.explain(request.query, options, source=request.source)
        return Json(values(ExplainedQuery(request.query, explained)))

    @router.post("/snippets", summary="Where the words of a query stand", response_model=response_type(SnippetsAnswer))
    def snippets(request: SnippetsRequest) -> Json:
        """For each document, the part with the most words of a query, and the places of these words.

        Documents without a stored text or without these words are left out, and so are the last documents if the texts
        together are very long. Places are half-open ranges of characters as Python counts them, from 0.
        """
        snippets = store.prepare(request.query).snippets(request.documents)
        return Json(values(SnippetsAnswer(tuple(DocumentSnippet(*pair) for pair in snippets))))

    return router


@body_of(SimilarOperation)
class SimilarRequest(OneText):
    """Body of `POST /api/v1/similar`: a document's id or a text, and the options of the search."""

    example: ClassVar[Example] = {"id": "lease", "metric": "jaccard", "threshold": 30}


_HTML = {"text/html": {"schema": {"type": "string"}}}
_SOURCES_ANSWERS: dict[int | str, dict[str, Any]] = {200: {"model": response_type(AttributedText), "content": _HTML}}
_VERIFY_ANSWERS: dict[int | str, dict[str, Any]] = {200: {"model": response_type(ListedVerification), "content": _HTML}}


@body_of(SourcesOperation)
class SourcesRequest(OneText):
    """Body of `POST /api/v1/sources`: a document's id or a text."""

    example: ClassVar[Example] = {"id": "renewal", "min_words": 8, "texts": "passages"}

    #: Whether the response includes the texts of the passages, or only their positions.
    texts: Literal["none", "passages"] = "passages"
    #: Title of the text.
    name: str = Field("", max_length=1_000)
    #: Format of the response: JSON, or a report as one HTML file to read, print and send.
    format: Literal["json", "html"] = "json"


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
    #: Which texts to return: none, those of the passages and differences, or both whole texts.
    texts: Literal["none", "passages", "whole"] = "none"


@body_of(Boilerplate)
class PassagesRequest(OneText):
    """Body of `POST /api/v1/passages`: a document's id or a text, and the documents to compare it with."""

    example: ClassVar[Example] = {"id": "lease", "documents": ["renewal", "minutes"]}

    documents: ShownIds


@body_of(VerifyOperation)
class VerifyRequest(RequestBody):
    """Body of `POST /api/v1/verify`: a document's id, a text, or quotations."""

    example: ClassVar[Example] = {"text": "It says “the tenant pays a rent in advance”.", "min_words": 4}
    rule: ClassVar[dict[str, Any]] = {"oneOf": [{"required": [name]} for name in ("id", "text", "quotations")]}

    id: str | None = Field(None, examples=["lease"])
    text: str | None = Field(None, examples=["It says “the tenant pays a rent in advance”."])
    quotations: list[GivenQuotation] | None = Field(None, max_length=MOST_QUOTATIONS)
    #: The text as HTML or Markdown, to find its quotations by their markup; by default `text` itself.
    markup: str | None = None
    #: Title of the text.
    name: str = Field("", max_length=1_000)
    #: Format of the response: JSON, or a report as one HTML file to read, print and send.
    format: Literal["json", "html"] = "json"

    @field_validator("quotations", mode="before")
    @classmethod
    def _are_quotations(cls, value: Any) -> Any:
        if value is not None:
            read_given_quotations(value)
        return value

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(given is not None for given in (self.id, self.text, self.quotations)) != 1:
            raise ValueError("name one: id, text or quotations")
        if self.markup is not None and self.text is None:
            raise ValueError("markup is for a text; give both")
        return self


class PassagesAnswer(NamedTuple):
    """The longest shared passage of each document."""

    documents: tuple[DocumentPassages, ...]


def similar_routes(store: Store) -> APIRouter:
    router = api_router()

    @router.post("/similar", response_model=response_type(Similar))
    def similar(request: SimilarRequest) -> Json:
        """One page of the documents that share content with a document or a text, each with its percentages."""
        source = store.references.source(request.id, request.text)
        page = store.similar(source.id or SOURCE, options_in(request, SimilarOperation), source=source.text)
        return Json(values(source.add_note(page)))

    @router.post("/sources", response_model=None, responses=_SOURCES_ANSWERS)
    def sources(request: SourcesRequest) -> Response:
        """The sources of a text: a small set of documents that covers most of it, each with its passages.

        In shares and passages A is the text and B the source. Places are half-open ranges of characters as Python
        counts them: Unicode code points, from 0.
        """
        options = options_in(request, SourcesOperation)
        attribution = store.sources(request.id or SOURCE, options, source=request.text)
        read = ReadText.from_text(request.id, attribution.content, request.name)
        if request.format == "html":
            return _html_file(report(read, attribution), "sources.html")
        return Json(sources_values(read, attribution, with_texts=request.texts == "passages"))

    @router.post("/compare", response_model=response_type(ComparedTexts))
    def compare(request: CompareRequest) -> Json:
        """The overlap of two texts, counted on all of their shingles, and the shared passages with their places.

        Places are half-open ranges of characters as Python counts them: Unicode code points, from 0.
        """
        a, b = read_texts(store, (request.a.id, request.a.text), (request.b.id, request.b.text))
        source = {"a": a.text, "b": b.text}
        options = options_in(request, CompareOperation)
        comparison = store.compare("a", "b", options, source=source)
        return Json(comparison_values(a, b, comparison, texts=request.texts, differences=options.differences))

    @router.post("/passages", summary="The longest passage of each hit", response_model=response_type(PassagesAnswer))
    def passages(request: PassagesRequest) -> Json:
        """The exact overlap of a text (A) with each given document, and the beginning of their longest passage.

        The comparisons have the order of `documents`. Documents without a stored text are left out, and so are the
        last ones if the texts together are very long.
        """
        text = request.text if request.id is None else store.texts([request.id])[request.id]
        assert text is not None
        options = options_in(request, Boilerplate)
        common = detector_for_comparison(store.engine, options.common_above, options.boilerplate)
        compared = compare_with_documents(store.engine, text, list(dict.fromkeys(request.documents)), common)
        return Json(
            values(PassagesAnswer(tuple(document_passages(name, text, comparison) for name, comparison in compared)))
        )

    @router.post("/verify", response_model=None, responses=_VERIFY_ANSWERS)
    def verify(request: VerifyRequest) -> Response:
        """For each quotation of a text, whether a document contains it word for word, and where.

        Places are half-open ranges of characters as Python counts them: Unicode code points, from 0.
        """
        reference = SOURCE if request.id is None else request.id
        options = options_in(request, VerifyOperation)
        verification = store.verify(
            reference, options, source=request.text, markup=request.markup, quotations=request.quotations
        )
        read = ReadText.from_text(request.id, verification.text, request.name)
        if request.format == "html":
            return _html_file(quotations_report(read, verification), "quotations.html")
        return Json(verification_values(read, verification))

    return router


def _html_file(page: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)
