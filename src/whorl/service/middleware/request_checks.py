"""Checks the request line and the headers before the body is read: host, credentials, path, method.

A web page could make its own host name point to a service without credentials, and then send requests to it (DNS
rebinding). The Host header of such a request contains the page's host name, so unknown names are refused. Any page
could also send requests without reading the responses, to waste time or change the store. Browsers mark such requests
with Sec-Fetch-Site or Origin.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from whorl.errors import ParameterError
from whorl.service.credentials import Authenticator
from whorl.service.middleware.logs_and_metrics import LOGGER
from whorl.service.requests_and_responses import accesses_store, failure, header, is_log_in
from whorl.settings.settings import LOOPBACK

_log = logging.getLogger(LOGGER)


class MountPrefix:
    """Removes the path prefix of an application that has mounted this one; all checks compare paths without it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (prefix := scope.get("root_path")):
            scope = {**scope, "path": scope["path"].removeprefix(prefix), "root_path": ""}
        await self._app(scope, receive, send)


class RequestSmugglingGuard:
    """Answers 400 to a request whose end is ambiguous, and closes the connection, to prevent request smuggling."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (reason := _ambiguity(scope)):
            _log.warning("refused", extra={"fields": {"reason": reason}})
            await failure(scope["path"], 400, reason, headers={"Connection": "close"})(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _ambiguity(scope: Scope) -> str:
    names = [name.lower() for name, _ in scope["headers"]]
    if b"transfer-encoding" not in names:
        return ""
    if b"content-length" in names:
        return "a request has Transfer-Encoding or Content-Length, not both"
    if scope.get("http_version", "1.1") in ("0.9", "1.0"):
        return "Transfer-Encoding needs HTTP/1.1"
    return ""


#: Entry in the list of allowed host names that allows every name.
ANY = "*"
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")


class AllowedHosts:
    """Allowed Host and Origin headers.

    Args:
        listening: Host that the service listens on.
        allowed: Other host names; `ANY` for all.
        origins: Origins of pages that may send requests, such as https://app.example.org.

    Raises:
        ParameterError: A host has a port, path or pattern, or an origin is invalid.
    """

    def __init__(self, listening: str, allowed: Collection[str] = (), origins: Collection[str] = ()) -> None:
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise ParameterError(
                    f"allowed_origins takes what browsers say, such as https://app.example.org, got {origin!r}"
                )
        self._origins = frozenset(origins)
        for name in allowed:
            plain = _plain(name)
            if name != ANY and not (_is_address(plain) or (plain and not set(plain) & set(":/*@ "))):
                raise ParameterError(
                    f"allowed_hosts takes names alone, such as docs.example.org, without a port, or {ANY} for any, "
                    f"got {name!r}"
                )
        self._names = {*LOOPBACK, *(_plain(name) for name in (listening, *allowed))}
        self._allowed = {_plain(name) for name in allowed}
        self._is_any = ANY in allowed
        # DNS rebinding needs a host name, so a service on all addresses allows any IP address.
        self._is_everywhere = _is_address(listening) and ipaddress.ip_address(listening).is_unspecified

    def admit(self, header: str) -> bool:
        if self._is_any:
            return True
        name = _plain(_without_port(header))
        return name in self._names or (self._is_everywhere and _is_address(name))

    def admits_page(self, host: str, origin: str, site: str) -> bool:
        """Check whether a page may send requests: a page of this service, or of an allowed host or origin.

        The arguments are headers; only browsers send the last two, Origin and Sec-Fetch-Site (otherwise "").
        """
        if site in ("same-origin", "none") or not (site or origin) or origin in self._origins:
            return True
        try:
            page = _plain(urlsplit(origin).hostname or "")
        except ValueError:
            return False
        # A browser that sends Sec-Fetch-Site has compared the page's site with the service's. So compare the hosts only
        # if the header is missing.
        return bool(page) and (page in self._allowed or (not site and page == _plain(_without_port(host))))


def check_host(hosts: AllowedHosts, scope: Scope) -> None:
    """Refuse a request whose Host header is unknown, and a request to the store from a page of another site."""
    host = header(scope, b"host")
    if not hosts.admit(host):
        raise HTTPException(403, f"this service is not called {host:.80}; WHORL_ALLOWED_HOSTS may name it")
    if not accesses_store(scope["path"]):
        return
    origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
    if not hosts.admits_page(host, origin, site):
        reason = f"a page of another site asked for this ({origin or site:.80})"
        remedy = "WHORL_ALLOWED_ORIGINS may name its origin; if it is of this service, WHORL_ALLOWED_HOSTS its host"
        raise HTTPException(403, f"{reason}; {remedy}")


def _without_port(header: str) -> str:
    host, separator, port = header.strip().rpartition(":")
    return host if separator and port.isdecimal() else header.strip()


def _plain(name: str) -> str:
    return name.strip().removeprefix("[").removesuffix("]").removesuffix(".").lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def check_credentials(authenticator: Authenticator, scope: Scope) -> None:
    """Refuse a request without valid credentials."""
    # Check the path that the router uses. The request's URL is built from the Host header, which the client chooses.
    if not accesses_store(scope["path"]) or is_log_in(scope):
        return
    if not authenticator.admits(header(scope, b"authorization"), scope["query_string"].decode("latin-1")):
        raise HTTPException(
            401,
            "this needs Authorization: Bearer KEY, or Basic with the user and password, or a ticket",
            {"WWW-Authenticate": 'Basic realm="whorl", charset="UTF-8"'},
        )


class AllowedMethods:
    """Answers 404 for an unknown path, and 405 with the allowed methods for a method that the path does not allow."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self.routes = [route for route in routes if isinstance(route, Route)]
        self._patterns = [route for route in self.routes if "{" in route.path]
        self._by_path: dict[str, set[str]] = {}
        for route in self.routes:
            self._by_path.setdefault(route.path, set()).update(route.methods or ())

    def __call__(self, scope: Scope) -> None:
        path, method = scope["path"], scope["method"]
        methods = self._by_path.get(path, set())
        if method in methods:
            return
        matching = (route.methods or () for route in self._patterns if route.matches(scope)[0] != Match.NONE)
        methods = methods.union(*matching)
        if not methods:
            raise HTTPException(404, f"there is nothing at {path:.80}")
        if method not in methods:
            raise HTTPException(405, f"{path:.80} does not take {method}", {"Allow": ", ".join(sorted(methods))})


class RequestChecks:
    """Runs checks on a request's line and headers; a check refuses a request by an HTTPException."""

    def __init__(self, app: ASGIApp, checks: Sequence[Callable[[Scope], None]]) -> None:
        self._app, self._checks = app, checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for check in self._checks:
                check(scope)
        await self._app(scope, receive, send)
