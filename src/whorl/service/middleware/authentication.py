"""Lets requests of the store through that say who they are."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from whorl.service.credentials import Access
from whorl.service.paths import is_log_in, is_of_the_store


class Authentication:
    """Refuses who is not known.

    Args:
        app: What answers the others.
        access: Who may ask.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The path is the one that chooses the route, which no Host header can change.
        if scope["type"] == "http" and is_of_the_store(scope["path"]) and not is_log_in(scope):
            authorization = Headers(scope=scope).get("Authorization", "")
            if not self._access.admits(authorization, scope["query_string"].decode("latin-1")):
                raise HTTPException(
                    401,
                    "this needs Authorization: Bearer KEY, or Basic with the user and password, or a ticket",
                    {"WWW-Authenticate": 'Basic realm="whorl", charset="UTF-8"'},
                )
        await self._app(scope, receive, send)
