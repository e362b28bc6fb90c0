"""Refuses what no route answers, before a body is read or a place is taken for it."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send


class Methods:
    """Answers 404 where there is no route, and 405 with those that there are where none takes the method.

    Args:
        app: What answers the others.
        routes: All of them.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            methods = self._methods(scope)
            if not methods:
                raise HTTPException(404, f"there is nothing at {path}")
            if scope["method"] not in methods:
                allowed = {"Allow": ", ".join(sorted(methods))}
                raise HTTPException(405, f"{path} does not take {scope['method']}", allowed)
        await self._app(scope, receive, send)

    def _methods(self, scope: Scope) -> set[str]:
        """Return the methods that are taken at the path of a request; HEAD is wherever GET is."""
        there = (route for route in self._routes if isinstance(route, Route) and route.matches(scope)[0] != Match.NONE)
        methods = {method for route in there for method in route.methods or ()}
        return methods | {"HEAD"} if "GET" in methods else methods
