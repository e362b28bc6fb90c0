"""A store as tools for assistants, by the Model Context Protocol; it is changed only where that was allowed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from whorl.duplicates import ask_pairs, duplicates_in
from whorl.duplicates.gathering import require_few
from whorl.duplicates.question import PairWord
from whorl.errors import ParameterError, UnknownDocumentError, WhorlError
from whorl.model import Document
from whorl.similar.question import SimilarWord
from whorl.similar.sources import SOURCE
from whorl.store import Store
from whorl.wire.comparison import ComparisonValues, Read, comparison_values
from whorl.wire.duplicates import cluster_values
from whorl.wire.page import MeasuredPage, measured_page_values
from whorl.wire.similar import SimilarValues, similar_values
from whorl.wire.sources import SourcesValues, sources_values

_INSTRUCTIONS = """\
whorl finds documents that share wording with a document or a text: copies, versions, quotations, sources. It does not
find documents that are only about the same subject. Shares are fractions: jaccard is what both texts have of all that
either has, a_in_b how much of A is in B, b_in_a how much of B is in A. A is the document or text asked about, B the one
found. `similar` and `sources` answer most questions; `compare` shows the passages that two texts have in common."""

_Id = Annotated[str | None, Field(description="The id of a document in the store; give this or a text")]
_Text = Annotated[str | None, Field(description="A text that need not be in the store; give this or an id")]
_Percent = Annotated[float, Field(gt=0, le=100, description="In percent; a number up to 1 is a fraction")]
_Rows = Annotated[int, Field(ge=1, le=100, description="How many to return")]
_Start = Annotated[int, Field(ge=0, le=10_000, description="How many to skip, for the next page")]
_Characters = Annotated[int, Field(ge=0, le=1_000_000, description="How much of its text to return")]
_P = ParamSpec("_P")
_T = TypeVar("_T")


def server_of(store: Store, *, writes: bool = False) -> MCPServer[Any]:
    """Return a server with a tool for each question that a store answers.

    Args:
        store: Where the documents are.
        writes: Whether there are also tools that store and delete documents.
    """
    server: MCPServer[Any] = MCPServer(
        "whorl", version=version("whorl"), instructions=_INSTRUCTIONS, log_level="WARNING"
    )
    reads = server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))

    @reads
    @_told
    def similar(
        id: _Id = None,  # noqa: A002 - what it is called everywhere
        text: _Text = None,
        metric: SimilarWord = "jaccard",
        threshold: _Percent = 20,
        filter: str | None = None,  # noqa: A002
        start: _Start = 0,
        rows: _Rows = 10,
    ) -> SimilarValues:
        """Find the documents that share content with a document or a text, each with its three shares, verified.

        The metric says what the threshold is a share of: jaccard for texts that are alike as a whole, a_in_b for
        documents that contain much of the given text, b_in_a for documents that are mostly contained in it. A filter is
        a query in the language of `search`; only documents that it matches are found.
        """
        _require_one(id, text)
        page = store.similar(
            SOURCE if id is None else id,
            source=text,
            metric=metric,
            threshold=threshold,
            only=filter,
            start=start,
            rows=rows,
        )
        return similar_values(page)

    @reads
    @_told
    def sources(
        id: _Id = None,  # noqa: A002
        text: _Text = None,
        min_words: Annotated[int, Field(ge=1, le=1000, description="The shortest passage that counts")] = 8,
    ) -> SourcesValues:
        """Find out which documents a text was put together from: a small set that covers most of it, with the passages.

        `coverage` is the share of the text's words that are in a source; places of passages are ranges of characters.
        """
        _require_one(id, text)
        found = store.sources(SOURCE if id is None else id, source=text, min_words=min_words)
        return sources_values(Read.of(id, found.content), found, texts="passages")

    @reads
    @_told
    def compare(a_id: _Id = None, a_text: _Text = None, b_id: _Id = None, b_text: _Text = None) -> ComparisonValues:
        """Count exactly what two texts share, and return the passages that both have with their places.

        Each side is a document of the store or a text.
        """
        a, b = _side(a_id, a_text), _side(b_id, b_text)
        found = store.compare("a", "b", source={"a": a.text, "b": b.text})
        return comparison_values(a, b, found, texts="passages")

    def _side(id_: str | None, text: str | None) -> Read:
        _require_one(id_, text)
        return Read.of(id_, text or "" if id_ is None else store.texts([id_])[id_])

    @reads
    @_told
    def search(query: str, text: str | None = None, start: _Start = 0, rows: _Rows = 10) -> MeasuredPage:
        """Search by words and fields in the language of Alfresco's search, with FINGERPRINT for shared content.

        For instance: lease AND NOT draft; "the landlord keeps"; type:pdf; created:[2024-01-01 TO NOW];
        FINGERPRINT:ID_50 AND type:pdf for documents with at least half of the tokens of the document of that id (ids
        with an underscore in double quotes); FINGERPRINT:source_50 for the `text` given here.
        """
        prepared = store.prepare(query, source=text)
        page = prepared.search(start=start, rows=rows)
        return measured_page_values(query, page, prepared.references, prepared.measured([hit.id for hit in page.hits]))

    @reads
    @_told
    def clusters(
        metric: PairWord = "jaccard", threshold: _Percent = 80, start: _Start = 0, rows: _Rows = 20
    ) -> dict[str, Any]:
        """Find the groups of near-duplicates in the whole store, the largest first; any two members are alike.

        It compares all documents with each other, which takes some seconds for a hundred thousand of them.
        """
        count = require_few(store.engine, "here")
        with duplicates_in(store.engine, ask_pairs(metric, threshold, 95)) as duplicates:
            found = sorted(duplicates.clusters(complete=True), key=lambda each: -len(each.members))
        shown = [cluster_values(each) for each in found[start : start + rows]]
        return {"documents": count, "total": len(found), "clusters": shown}

    @reads
    @_told
    def document(id: str, characters: _Characters = 0) -> dict[str, Any]:  # noqa: A002
        """Return the name and the properties of a document, and the beginning of its text if that is asked for."""
        stored = store.documents([id]).get(id)
        if stored is None:
            raise UnknownDocumentError(id)
        told: dict[str, Any] = {"id": stored.id, "name": stored.name, "properties": dict(stored.properties)}
        if characters:
            whole = store.texts([id])[id]
            told |= {"text": whole[:characters], "characters": len(whole)}
        return told

    if writes:
        changes = server.tool(
            annotations=ToolAnnotations(
                read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
            )
        )

        @changes
        @_told
        def store_document(
            id: str,  # noqa: A002
            text: str,
            name: str = "",
            properties: dict[str, str | int | float | bool] | None = None,
        ) -> dict[str, Any]:
            """Store a text under an id, in the place of what had that id."""
            done = store.index([Document(id, text, name, properties or {})])
            return {"stored": done.stored, "unchanged": done.unchanged}

        @changes
        @_told
        def delete_documents(ids: list[str]) -> dict[str, Any]:
            """Delete documents for good."""
            return {"deleted": store.delete(ids)}

    return server


def _told(ask: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have what is raised on purpose told to the assistant, which can then ask better; the rest stays here."""

    @wraps(ask)
    def asked(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return ask(*args, **kwargs)
        except WhorlError as error:
            raise ToolError(str(error)) from error

    return asked


def _require_one(id_: str | None, text: str | None) -> None:
    if (id_ is None) == (text is None):
        raise ParameterError("name one of the two: an id or a text")
