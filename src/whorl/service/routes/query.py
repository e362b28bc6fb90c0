"""Questions that no address can carry: a query with the text that it looks for, its plan, and the text of a file."""

from __future__ import annotations

import base64
import binascii
from pathlib import PurePath
from typing import Any, Literal

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field

from whorl.context import seconds_left
from whorl.errors import DocumentError, ParameterError
from whorl.ingest.extraction.reader import Reader
from whorl.ingest.files import file_text
from whorl.service.errors import Json
from whorl.settings.settings import Settings
from whorl.similar.measured import Measured
from whorl.similar.question import SimilarWord
from whorl.store import Store
from whorl.wire.plan import plan_lines
from whorl.wire.similar import estimate_values

#: Processes that read files, each with as much memory as one may have; further files wait.
_READERS = 2


class QueryRequest(BaseModel):
    """What `POST /api/search` and `POST /api/explain` are sent: a query, and what its FINGERPRINTs mean."""

    model_config = ConfigDict(extra="forbid")

    query: str
    #: A text that need not be in the store; the query calls it `FINGERPRINT:source`.
    source: str | None = None
    plan: Literal["stock", "calibrated"] = "calibrated"
    #: What the overlap of a calibrated FINGERPRINT is a share of.
    metric: SimilarWord = "jaccard"
    start: int = Field(0, ge=0, le=1_000_000)
    rows: int = Field(10, ge=0, le=1_000)

    @property
    def is_calibrated(self) -> bool:
        """Whether FINGERPRINT means what `similar` finds."""
        return self.plan == "calibrated"


class FileRequest(BaseModel):
    """What `POST /api/text` is sent: a file as it is, in base64."""

    model_config = ConfigDict(extra="forbid")

    name: str
    content: str


def search_routes(store: Store, settings: Settings) -> APIRouter:
    """Return the routes.

    Args:
        store: What they ask.
        settings: What reading a file may take.
    """
    reader = Reader(settings.file_limits, _READERS)
    router = APIRouter(tags=["whorl"], default_response_class=Json)

    @router.post("/api/search", summary="Search with a text beside the query")
    def search(asked: QueryRequest) -> dict[str, Any]:
        """One page of the documents that a query matches, each with what it shares with the query's only source.

        `measured` has the three shares, and where they are estimates the ends of their 95 % intervals. It is null where
        the query has no FINGERPRINT, or those of several documents.
        """
        prepared = store.prepare(asked.query, source=asked.source, calibrated=asked.is_calibrated, metric=asked.metric)
        page = prepared.search(start=asked.start, rows=asked.rows)
        measured = prepared.measured([hit.id for hit in page.hits])
        return {
            "query": asked.query,
            "sources": list(prepared.references),
            "total": page.total,
            "total_is_exact": page.is_total_exact,
            "warnings": list(page.warnings),
            "hits": [
                {"id": hit.id, "name": hit.name, "score": hit.score, "measured": _values(measured.get(hit.id))}
                for hit in page.hits
            ],
        }

    @router.post("/api/explain", summary="Explain with a text beside the query")
    def explain(asked: QueryRequest) -> dict[str, Any]:
        """What a query does, in words and numbers; `fingerprints` has how calibrated ones find their documents."""
        explained = store.explain(
            asked.query,
            source=asked.source,
            start=asked.start,
            rows=asked.rows,
            calibrated=asked.is_calibrated,
            metric=asked.metric,
        )
        return {
            "query": asked.query,
            "plan": list(explained.plan),
            "fingerprints": [
                {"source": name, "plan": list(plan_lines(plan))} for name, plan in explained.fingerprints.items()
            ],
            "warnings": list(explained.warnings),
            "request": dict(explained.request),
        }

    @router.post("/api/text", summary="Read a file")
    def text(asked: FileRequest) -> dict[str, str]:
        """The text of a file as `whorl index` reads it: in whatever encoding, of HTML what a reader sees.

        Of a PDF and of other formats it is what whorl[files] finds, within the limits that the settings set.
        """
        try:
            content = base64.b64decode(asked.content, validate=True)
        except (binascii.Error, ValueError):
            raise ParameterError("content: this is not base64") from None
        try:
            return {"name": asked.name, "text": file_text(content, PurePath(asked.name), reader)}
        except DocumentError as error:
            left = seconds_left()
            if left is not None and left <= 0:
                # Nothing is wrong with the file, perhaps: others were being read, or it needs more time.
                raise HTTPException(503, str(error)) from None
            raise

    return router


def _values(measured: Measured | None) -> dict[str, object] | None:
    if measured is None or measured.estimate is None:
        return None
    return estimate_values(measured.estimate)
