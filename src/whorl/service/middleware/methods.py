"""Middleware that refuses unknown paths and methods before it reads a body or takes a slot."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send


class Methods:
    """Answers 404 if the path has no route, and 405 with the allowed methods if no route takes the method.

    Args:
        app: The next ASGI application.
        routes: All routes of the service.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            methods = self._methods(scope)
            if not methods:
                raise HTTPException(404, f"there is nothing at {path:.80}")
            if scope["method"] not in methods:
                allowed = {"Allow": ", ".join(sorted(methods))}
                raise HTTPException(405, f"{path:.80} does not take {scope['method']}", allowed)
        await self._app(scope, receive, send)

    def _methods(self, scope: Scope) -> set[str]:
        """Return the methods allowed at the path of a request; HEAD is allowed wherever GET is."""
        there = (route for route in self._routes if isinstance(route, Route) and route.matches(scope)[0] != Match.NONE)
        methods = {method for route in there for method in route.methods or ()}
        return methods | {"HEAD"} if "GET" in methods else methods
