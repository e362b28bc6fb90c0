"""Answers HEAD wherever GET is answered: with the same headers, and without a body."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Heads:
    """Takes a HEAD for a GET whose body nobody wants.

    Args:
        app: What answers it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        # The scope itself is changed for a while: the log reads from it which route it was.
        scope["method"] = "GET"
        try:
            await self._app(scope, receive, send_head)
        finally:
            scope["method"] = "HEAD"
