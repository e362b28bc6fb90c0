"""ASGI middleware that calls simple route functions directly, without FastAPI's work for each request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import iscoroutinefunction
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

import orjson
from fastapi import Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from whorl.service.middleware.limits import replayed
from whorl.service.routes.route_models import RequestBody


class DirectRoutes:
    """Calls the functions of routes directly, because FastAPI's own work takes as long as a short search.

    The functions are `async` functions without arguments, and functions whose only argument is a `RequestBody`. FastAPI
    still describes them, and reports the mistakes of a request.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._routes: dict[tuple[str, str], tuple[APIRoute, type[RequestBody] | None]] = {}
        for route in routes:
            if not isinstance(route, APIRoute):
                continue
            model = _only_model(route.endpoint)
            if model or _has_no_argument(route.endpoint):
                self._routes |= {(method, route.path): (route, model) for method in route.methods or ()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        direct = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if direct is None:
            await self._app(scope, receive, send)
            return
        # The log names the route.
        scope["route"], model = direct
        endpoint = scope["route"].endpoint
        if model is None:
            response = await endpoint()
        else:
            # `Bodies` has read the whole body into one message.
            body = b"" if model.is_text else (await receive())["body"]
            try:
                argument = model.model_validate(_parameters(scope) if model.is_text else orjson.loads(body))
            except ValueError:
                await self._app(scope, receive if model.is_text else replayed(body, receive), send)
                return
            response = await run_in_threadpool(endpoint, argument)
        await response(scope, receive, send)


def _has_no_argument(endpoint: Callable[..., Any]) -> bool:
    """Check whether a function is `async`, has no arguments, and returns a response."""
    hints = get_type_hints(endpoint)
    return iscoroutinefunction(endpoint) and [*hints] == ["return"] and issubclass(hints["return"], Response)


def _only_model(endpoint: Callable[..., Any]) -> type[RequestBody] | None:
    """Return the model that is a function's only argument; None if the function is `async` or has other arguments."""
    arguments = get_type_hints(endpoint)
    result = arguments.pop("return", None)
    is_response = isinstance(result, type) and issubclass(result, Response) and not iscoroutinefunction(endpoint)
    model = next(iter(arguments.values()), None)
    is_model = len(arguments) == 1 and isinstance(model, type) and issubclass(model, RequestBody)
    return model if is_response and is_model else None


def _parameters(scope: Scope) -> dict[str, str]:
    """Return the parameters in a request's address; raise ValueError if one is repeated."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    parameters = dict(pairs)
    if len(parameters) != len(pairs):
        raise ValueError("a parameter is repeated")
    return parameters
