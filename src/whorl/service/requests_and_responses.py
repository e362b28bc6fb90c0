"""Classifies request paths; defines the base model of request bodies, JSON responses, and responses to errors."""

from __future__ import annotations

import inspect
import itertools
import json
import sys
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, ClassVar, NotRequired, TypeAlias

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from starlette.exceptions import HTTPException
from starlette.types import Scope
from typing_extensions import TypedDict

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
    invalid_byte,
)
from whorl.operations import require_json_type
from whorl.output.json_conversion import json_fields, json_type
from whorl.request_context import trace

API = "/api/v1"
ALFRESCO = "/alfresco"
SEARCH = f"{ALFRESCO}/api/-default-/public/search/versions/1/search"
TICKETS = f"{ALFRESCO}/api/-default-/public/authentication/versions/1/tickets"
#: Paths of Alfresco's people, nodes and discovery, which its clients call in addition to the search.
PEOPLE = f"{ALFRESCO}/api/-default-/public/alfresco/versions/1/people"
NODES = f"{ALFRESCO}/api/-default-/public/alfresco/versions/1/nodes"
DISCOVERY = f"{ALFRESCO}/api/discovery"
#: Path for uploads of any number of documents; the whole body has no size limit.
DOCUMENTS = f"{API}/documents"


#: Paths of routes whose request bodies contain whole texts or files.
_OF_TEXTS = frozenset(f"{API}/{name}" for name in ("compare", "passages", "similar", "sources", "text", "verify"))


def header(scope: Scope, name: bytes) -> str:
    """Return the first value of a request's header (`name` in lower case), or ""."""
    return next((value.decode("latin-1") for given, value in scope["headers"] if given == name), "")


def has_alfresco_format(path: str) -> bool:
    """Check whether the responses to failed requests at a path have Alfresco's format."""
    return path == ALFRESCO or path.startswith(f"{ALFRESCO}/")


def accesses_store(path: str) -> bool:
    """Check whether the routes at a path read or change the store, so that checks and limits apply."""
    return path.startswith(("/api/", f"{ALFRESCO}/"))


def is_log_in(scope: Scope) -> bool:
    return (scope["method"], scope["path"]) == ("POST", TICKETS)


def is_upload(scope: Scope) -> bool:
    return (scope["method"], scope["path"]) == ("POST", DOCUMENTS)


def may_contain_text(scope: Scope) -> bool:
    """Check whether the body of a request may contain a whole text or file."""
    return scope["method"] == "POST" and scope["path"] in _OF_TEXTS


Example: TypeAlias = dict[str, Any] | None


class TypedModel(BaseModel):
    """Base model that refuses values of the wrong JSON type."""

    #: Whether a number or a truth value may be written as text, as in a query string.
    is_text: ClassVar[bool] = False
    #: Example request for a store with the contracts of examples/; None if the properties have their own examples.
    example: ClassVar[Example] = None

    @field_validator("*", mode="before")
    @classmethod
    def _is_of_its_type(cls, value: Any, info: ValidationInfo) -> Any:
        require_json_type(cls.model_fields[str(info.field_name)].annotation, value, takes_texts=cls.is_text)
        return value


class Json(JSONResponse):
    """JSON response whose texts may contain any characters; lone surrogates are escaped."""

    def render(self, content: Any) -> bytes:
        # orjson refuses integers of more than 64 bits and lone surrogates.
        with suppress(orjson.JSONEncodeError):
            return orjson.dumps(content)
        try:
            return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


@lru_cache(None)
def response_type(result: Any) -> Any:
    """Return the type of a result's JSON, for FastAPI's `response_model`."""
    keys = {
        field.name: NotRequired[_json_type(field.annotation)] if field.condition else _json_type(field.annotation)
        for field in json_fields(result)
    }
    typed_dict: Any = TypedDict  # mypy accepts only literal names
    made = typed_dict(result.__name__, keys)
    made.__doc__ = (inspect.getdoc(result) or "").partition("\n\n")[0]
    made.__module__ = result.__module__
    # Only the description at /openapi.json needs the schema, so do not build it at the start.
    made.__pydantic_config__ = ConfigDict(defer_build=True)
    return made


def _json_type(annotation: Any) -> Any:
    return json_type(annotation, lambda result: (response_type(result), None))[0]


#: HTTP status for each class of error; of several matching classes, the first counts.
_STATUSES: tuple[tuple[type[WhorlError], int], ...] = (
    (QueryError, 400),
    (UnknownDocumentError, 404),
    (ParameterError, 400),
    (DocumentError, 400),
    (EngineUnavailableError, 503),
    # The operator, not the client, must act: add the missing fields to the collection.
    (SchemaError, 409),
    (EngineError, 502),
    (StoreError, 503),
    (StoppedError, 503),
    (WhorlError, 500),
)
DEFECT = "this is a defect of whorl; its log says more"
_RETRY_SECONDS = "5"
#: Maximum number of characters of an error message, and of a field name in it.
_MESSAGE_CHARACTERS, _NAME_CHARACTERS = 2_000, 80
_MOST_LISTED = 10

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
_Members: TypeAlias = Mapping[str, Any] | None


class QuerySpan(TypedDict):
    """Position in the query, in characters."""

    start: int
    end: int


class Error(TypedDict):
    """Error of a failed request.

    An error in the query has a position and a hint. The error for an unknown document may suggest another id. The error
    of an interrupted upload has a report on the documents stored so far.
    """

    statusCode: int
    message: str
    span: NotRequired[QuerySpan]
    hint: NotRequired[str]
    suggested: NotRequired[str]
    so_far: NotRequired[dict[str, Any]]


class Failure(TypedDict):
    """Response to a failed request."""

    error: Error


class AlfrescoError(TypedDict):
    """The error in Alfresco's format."""

    errorKey: str
    statusCode: int
    briefSummary: str
    stackTrace: str
    descriptionURL: str
    logId: str


class AlfrescoFailure(TypedDict):
    """Response to a failed request, in Alfresco's format."""

    error: AlfrescoError


def status_of(error: WhorlError) -> int:
    return next(status for kind, status in _STATUSES if isinstance(error, kind))


def failure(path: str, status: int, message: str, details: _Members = None, headers: _Members = None) -> Json:
    """Return the response to a failed request in the format of its path; Alfresco's format has no details."""
    if status in (429, 503):
        headers = {"Retry-After": _RETRY_SECONDS, **(headers or {})}
    # Shorten the message: an engine's may repeat the whole request.
    message = message if len(message) <= _MESSAGE_CHARACTERS else f"{message[:_MESSAGE_CHARACTERS]}…"
    if has_alfresco_format(path):
        return Json(_alfresco_failure(status, message), status, headers)
    return Json({"error": {"statusCode": status, "message": message, **(details or {})}}, status, headers)


def failure_of(path: str, error: WhorlError | HTTPException, details: _Members = None) -> Json:
    if isinstance(error, HTTPException):
        return failure(path, error.status_code, str(error.detail), details, error.headers)
    status = status_of(error)
    if isinstance(error, UnknownDocumentError) and error.suggested is not None:
        details = {"suggested": error.suggested, **(details or {})}
    if not isinstance(error, QueryError):
        return failure(path, status, str(error), details)
    if has_alfresco_format(path):
        return failure(path, status, _format_query_error(error))
    return failure(path, status, error.message, {"span": asdict(error.span), "hint": error.hint, **(details or {})})


def _alfresco_failure(status: int, message: str) -> AlfrescoFailure:
    return {
        "error": {
            "errorKey": _KEYS.get(status, "framework.exception.ApiDefault"),
            "statusCode": status,
            # Alfresco numbers its messages by month, day and a counter.
            "briefSummary": f"{datetime.now(UTC):%m%d}{next(_numbers) % 10_000:04} {message}",
            "stackTrace": _NO_TRACE,
            "descriptionURL": "https://api-explorer.alfresco.com",
            "logId": trace().request_id or str(uuid.uuid4()),
        }
    }


def answer_failures(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def answer_invalid_request(request: Request, error: RequestValidationError) -> Json:
        message = _describe_mistakes(error.errors()) + _known_parts(request, error.errors())
        return failure(request.scope["path"], 400, message)

    @app.exception_handler(HTTPException)
    async def answer_http_error(request: Request, error: HTTPException) -> Json:
        if isinstance(cause := error.__cause__, UnicodeDecodeError):
            error = HTTPException(400, f"the body is not in UTF-8, as JSON is: {invalid_byte(cause)}")
        elif isinstance(cause, ValueError):
            # Python's parser refuses nothing else in JSON without a JSONDecodeError.
            error = HTTPException(400, f"a whole number has more than {sys.get_int_max_str_digits():,} digits")
        return failure_of(request.scope["path"], error)


def _format_query_error(error: QueryError) -> str:
    start, end = error.span.start, error.span.end
    shown = error.query[start:end]
    position = f", at character {start + 1}" + (f" ({shown!r:.60})" if shown else "")
    return f"{error.message}{position}. {error.hint}" if error.hint else f"{error.message}{position}"


def _describe_mistakes(errors: Sequence[Mapping[str, Any]]) -> str:
    mistakes = [_describe_mistake(error) for error in errors[:_MOST_LISTED]]
    if len(errors) > _MOST_LISTED:
        mistakes.append(f"and {len(errors) - _MOST_LISTED:,} more")
    return "; ".join(mistakes)


def _known_parts(request: Request, errors: Sequence[Mapping[str, Any]]) -> str:
    """Return the known keys of a body as the end of an error message; "" if the body has no unknown keys."""
    body = getattr(request.scope.get("route"), "body_field", None)
    model = body.field_info.annotation if body is not None else None
    is_unknown = any(error["type"] == "extra_forbidden" and len(error["loc"]) == 2 for error in errors)
    if not is_unknown or not (isinstance(model, type) and issubclass(model, BaseModel)):
        return ""
    return f"; choose from {', '.join(sorted(field.alias or name for name, field in model.model_fields.items()))}"


def _describe_mistake(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}, at character {error['loc'][-1] + 1}"
    # Leave out the first element of the location, which is "body", "query" or "path".
    name = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part:.{_NAME_CHARACTERS}}" for part in error["loc"][1:]
    ).lstrip(".")
    is_unknown = error["type"] in ("extra_forbidden", "unexpected_keyword_argument")
    message = "there is no such part" if is_unknown else error["msg"]
    if error["type"] == "tuple_type":
        message = "this must be a list"
    return f"{name or 'the body'}: {message.removeprefix('Value error, ')}"


def require_writable(*, is_read_only: bool) -> None:
    """Raise HTTPException 403 if the store is read-only."""
    if is_read_only:
        raise HTTPException(403, "this service changes nothing: WHORL_READ_ONLY is set, or its store is read-only")
