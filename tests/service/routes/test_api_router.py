"""Tests of routes whose functions are called directly: they answer as they do through FastAPI."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from whorl.service.requests_and_responses import Json
from whorl.service.routes.api_router import DirectRoute
from whorl.service.routes.request_models import RequestBody


class Sum(RequestBody):
    a: int
    b: int = 1


async def ping() -> Json:
    return Json("pong")


def total(body: Sum) -> Json:
    return Json(body.a + body.b)


def address(parameters: Annotated[Sum, Query()]) -> Json:
    return Json(parameters.a)


async def path_of(request: Request) -> Json:
    return Json(request.url.path)


def client_of(*, direct: bool) -> TestClient:
    router = APIRouter(route_class=DirectRoute if direct else APIRoute)
    for path, endpoint in (("/ping", ping), ("/path", path_of), ("/address", address)):
        router.add_api_route(path, endpoint, response_model=None)
    router.add_api_route("/sum", total, methods=["POST"], response_model=None)
    app = FastAPI()
    app.include_router(router)
    return TestClient(app)


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/ping", None, 200),
        ("GET", "/ping?x=1", None, 200),
        ("POST", "/ping", b"", 405),
        ("GET", "/path", None, 200),
        ("GET", "/none", None, 404),
        ("GET", "/address", b'{"a": 2}', 422),
        ("GET", "/sum", None, 405),
        ("POST", "/sum", b'{"a": 2, "b": 3}', 200),
        ("POST", "/sum?x=1", b'{"a": 2, "b": 3}', 200),
        ("POST", "/sum", b'{"a": 2}', 200),
        ("POST", "/sum", b'{"a": "2"}', 422),
        ("POST", "/sum", b'{"a": 2, "c": 3}', 422),
        ("POST", "/sum", b"[2]", 422),
        ("POST", "/sum", b'{"a": ', 422),
        ("POST", "/sum", b"", 422),
    ],
)
def test_answers_equal_those_of_fastapi(method: str, path: str, content: bytes | None, status: int) -> None:
    """
    A direct call has the status and body of FastAPI, also for mistakes and for routes that FastAPI must call.
    """
    headers = {"Content-Type": "application/json"} if content else {}
    answers: list[Any] = [
        client_of(direct=direct).request(method, path, content=content, headers=headers) for direct in (True, False)
    ]
    assert answers[0].status_code == status
    assert [answer.status_code for answer in answers] == [status, status]
    assert answers[0].content == answers[1].content
