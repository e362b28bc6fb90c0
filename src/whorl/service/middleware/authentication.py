"""Middleware that requires credentials for requests of the store."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from whorl.service.credentials import Access
from whorl.service.paths import is_log_in, is_of_the_store


class Authentication:
    """Answers 401 to requests without valid credentials.

    Args:
        app: The next ASGI application.
        access: Checks the credentials.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The router uses the same path, and no Host header can change it.
        if scope["type"] == "http" and is_of_the_store(scope["path"]) and not is_log_in(scope):
            authorization = Headers(scope=scope).get("Authorization", "")
            if not self._access.admits(authorization, scope["query_string"].decode("latin-1")):
                raise HTTPException(
                    401,
                    "this needs Authorization: Bearer KEY, or Basic with the user and password, or a ticket",
                    {"WWW-Authenticate": 'Basic realm="whorl", charset="UTF-8"'},
                )
        await self._app(scope, receive, send)
