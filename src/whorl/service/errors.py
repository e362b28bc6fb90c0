"""Failures as HTTP answers: whorl's own shape, and Alfresco's for everything under /alfresco."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, NotRequired

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from typing_extensions import TypedDict

from whorl.context import trace
from whorl.errors import (
    DocumentError,
    EngineError,
    EngineUnavailableError,
    ParameterError,
    QueryError,
    SchemaError,
    StoppedError,
    StoreError,
    UnknownDocumentError,
    WhorlError,
)
from whorl.service.paths import speaks_as_alfresco

#: The HTTP status of each branch of the error tree; the first that fits.
_STATUSES: tuple[tuple[type[WhorlError], int], ...] = (
    (QueryError, 400),
    (UnknownDocumentError, 404),
    (ParameterError, 400),
    (DocumentError, 400),
    (EngineUnavailableError, 503),
    # Not a passing one: the operator has to add what the collection lacks.
    (SchemaError, 409),
    (EngineError, 502),
    (StoreError, 503),
    (StoppedError, 503),
    (WhorlError, 500),
)
#: What is told of what nobody thought of.
DEFECT = "this is a defect of whorl; its log says more"
_RETRY_SECONDS = "5"
#: Mistakes of one request that are told, at most.
_MOST_TOLD = 10

_KEYS: Mapping[int, str] = {
    400: "framework.exception.InvalidArgument",
    403: "framework.exception.PermissionDenied",
    404: "framework.exception.NotFound",
    405: "framework.exception.UnsupportedResourceOperation",
}
_NO_TRACE = (
    "For security reasons the stack trace is no longer displayed, but the property is kept for previous versions"
)
_numbers = itertools.count(1)


class Span(TypedDict):
    """Where in the query, in characters."""

    start: int
    end: int


class Error(TypedDict):
    """What is wrong: of a query also where, and what would work; of a broken upload, what was stored before."""

    statusCode: int
    message: str
    span: NotRequired[Span]
    hint: NotRequired[str]
    so_far: NotRequired[dict[str, Any]]


class Failure(TypedDict):
    """Why a request failed."""

    error: Error


class AlfrescoError(TypedDict):
    """What is wrong, in Alfresco's words."""

    errorKey: str
    statusCode: int
    briefSummary: str
    stackTrace: str
    descriptionURL: str
    logId: str


class AlfrescoFailure(TypedDict):
    """Why a request failed, as Alfresco says it."""

    error: AlfrescoError


class Json(JSONResponse):
    """JSON of any text: halves of surrogate pairs, which a request may hold, are written as escapes."""

    def render(self, content: Any) -> bytes:
        try:
            return super().render(content)
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def status_of(error: WhorlError) -> int:
    """Return the HTTP status of an error."""
    return next(status for kind, status in _STATUSES if isinstance(error, kind))


def failure(
    path: str,
    status: int,
    message: str,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Json:
    """Return the answer to a request that failed.

    Args:
        path: Of the request; it decides the shape.
        status: HTTP status.
        message: For people, in one line.
        details: Further parts of the error, for programs; Alfresco's shape has no place for them.
        headers: Of the answer.
    """
    if status in (429, 503):
        headers = {"Retry-After": _RETRY_SECONDS, **(headers or {})}
    if speaks_as_alfresco(path):
        return Json(_alfresco(status, message), status, headers)
    return Json({"error": {"statusCode": status, "message": message, **(details or {})}}, status, headers)


def failure_of(path: str, error: WhorlError | HTTPException, details: Mapping[str, Any] | None = None) -> Json:
    """Return the answer to a request that failed with an error.

    Args:
        path: Of the request.
        error: What it failed with.
        details: Further parts of the answer.
    """
    if isinstance(error, HTTPException):
        return failure(path, error.status_code, str(error.detail), details, error.headers)
    status = status_of(error)
    if not isinstance(error, QueryError):
        return failure(path, status, str(error), details)
    if speaks_as_alfresco(path):
        return failure(path, status, _in_one_line(error))
    return failure(path, status, error.message, {"span": asdict(error.span), "hint": error.hint, **(details or {})})


def _alfresco(status: int, message: str) -> AlfrescoFailure:
    return {
        "error": {
            "errorKey": _KEYS.get(status, "framework.exception.ApiDefault"),
            "statusCode": status,
            # As Alfresco numbers its messages: month, day, and a running number.
            "briefSummary": f"{datetime.now(UTC):%m%d}{next(_numbers) % 10_000:04} {message}",
            "stackTrace": _NO_TRACE,
            "descriptionURL": "https://api-explorer.alfresco.com",
            # The request's own, which its line in the log has; without one, of the same shape.
            "logId": trace().request_id or str(uuid.uuid4()),
        }
    }


def answer_failures(app: FastAPI) -> None:
    """Make an application answer every failure in these shapes."""

    @app.exception_handler(WhorlError)
    async def failed(request: Request, error: WhorlError) -> Json:
        trace().error = type(error).__name__
        return failure_of(request.scope["path"], error)

    @app.exception_handler(RequestValidationError)
    async def misused(request: Request, error: RequestValidationError) -> Json:
        return failure(request.scope["path"], 400, _mistakes(error.errors()))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Json:
        return failure_of(request.scope["path"], error)


def _in_one_line(error: QueryError) -> str:
    start, end = error.span.start, error.span.end
    shown = error.query[start:end]
    place = f", at character {start + 1}" + (f" ({shown!r:.60})" if shown else "")
    return f"{error.message}{place}. {error.hint}" if error.hint else f"{error.message}{place}"


def _mistakes(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return what is wrong with a request, by the names of its parts."""
    told = [_mistake(each) for each in errors[:_MOST_TOLD]]
    if len(errors) > _MOST_TOLD:
        told.append(f"and {len(errors) - _MOST_TOLD:,} more")
    return "; ".join(told)


def _mistake(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"the body is no JSON: {error['ctx']['error']}, at character {error['loc'][-1] + 1}"
    # The first part says that it is in the body, or in the address.
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"][1:]).lstrip(".")
    message = "there is no such part" if error["type"] == "extra_forbidden" else error["msg"]
    return f"{name or 'the body'}: {message.removeprefix('Value error, ')}"


def require_writable(*, is_read_only: bool) -> None:
    """Raise unless the service may change its store."""
    if is_read_only:
        raise HTTPException(403, "this service changes nothing: WHORL_READ_ONLY is set")
