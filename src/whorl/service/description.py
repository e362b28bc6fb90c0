"""Describes the service in OpenAPI: routes, errors, authentication.

FastAPI describes the parameters and responses of routes. This module adds the checks of the middleware (authentication,
body size, admission), and failures, which have the same format everywhere.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from whorl.service.credentials import Credentials
from whorl.service.errors import AlfrescoFailure, Failure
from whorl.service.request_paths import TICKETS, is_of_the_store, speaks_as_alfresco

_Json: TypeAlias = dict[str, Any]
#: Meaning of each status of a failure.
_MEANINGS = {
    400: "A part of the request is wrong; the answer names it",
    401: "The service asks who this is, and no key, password or ticket says so",
    403: "Not allowed: the service changes nothing, is called by another name, or a page of another site asks",
    404: "There is no such document, job or ticket",
    408: "The body did not come in time",
    409: "The store lacks what this needs, or a job is not done",
    413: "The body is too large",
    415: "The body is of another type",
    429: "This client sends too many requests at once",
    502: "The engine behind the store answers with an error",
    503: "There is no room or no time at the moment; Retry-After says when to ask again",
}
_OF_THE_STORE, _OF_A_BODY = (401, 403, 404, 409, 429, 502, 503), (408, 413, 415)
#: Ways to authenticate. A request needs one of them.
_SECURITY: _Json = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key of WHORL_API_KEY"},
    "password": {"type": "http", "scheme": "basic", "description": "WHORL_USER and WHORL_PASSWORD, or a ticket"},
}


def operation_id(route: APIRoute) -> str:
    return f"alfresco_{route.name}" if speaks_as_alfresco(route.path) else route.name


def describe(app: FastAPI, credentials: Credentials) -> _Json:
    description = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    for path, methods in description["paths"].items():
        for method, about in methods.items():
            _describe_failures(path, about)
            if not credentials.is_open and is_of_the_store(path) and (method, path) != ("post", TICKETS):
                about["security"] = [{name: []} for name in _SECURITY]
    components = description.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas |= _failures()
    if not credentials.is_open:
        components["securitySchemes"] = _SECURITY
    return description


def _failures() -> _Json:
    either: TypeAdapter[Any] = TypeAdapter(Failure | AlfrescoFailure)
    failures: _Json = either.json_schema(ref_template="#/components/schemas/{model}")["$defs"]
    failures["Failure"]["examples"] = [{"error": {"statusCode": 400, "message": "the store has no field 'titel'"}}]
    return failures


def _describe_failures(path: str, about: _Json) -> None:
    """Describe the failures of a route. For an invalid request, whorl answers 400 instead of FastAPI's 422."""
    statuses = {400} if about["responses"].pop("422", None) else set()
    if is_of_the_store(path):
        statuses |= {*_OF_THE_STORE}
    if "requestBody" in about:
        statuses |= {400, *_OF_A_BODY}
    if path == "/readyz":
        statuses |= {409, 503}
    name = "AlfrescoFailure" if speaks_as_alfresco(path) else "Failure"
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    for status in sorted({403, *statuses}):
        about["responses"].setdefault(str(status), {"description": _MEANINGS[status], "content": content})
