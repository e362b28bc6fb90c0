"""Protection against requests that pages of other sites send through their visitors' browsers.

If the service needs no credentials, a page of any site could point its own host name here and then send requests (DNS
rebinding). The browser still sends that name in the Host header, so an unknown name is refused. A page of any site
could also send requests whose responses it cannot read, but which cost time or change the store; browsers mark these
with Sec-Fetch-Site, or with the page's site in Origin.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from whorl.errors import ParameterError
from whorl.service.paths import is_of_the_store
from whorl.settings.settings import LOOPBACK

#: Entry in the list of allowed hosts that allows all.
ANY = "*"
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-f:]+\](:[0-9]{1,5})?")


class Hosts:
    """Allowed Host and Origin headers.

    Args:
        listening: The host that the service listens on.
        allowed: Further host names; `ANY` for all.
        origins: Origins of pages that may send requests and read the responses, such as https://app.example.org.

    Raises:
        ParameterError: A name that no browser sends, with a port, a path or a pattern, or an invalid origin.
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
        # A service on all addresses may be called by any of them; an address cannot be used for DNS rebinding.
        self._is_everywhere = _is_unspecified(listening)

    def admit(self, header: str) -> bool:
        """Check whether a request with this Host header is allowed."""
        if self._is_any:
            return True
        name = _plain(_without_port(header))
        return name in self._names or (self._is_everywhere and _is_address(name))

    def admit_page(self, host: str, origin: str, site: str) -> bool:
        """Check whether a page may send requests: a page of this service, or of an allowed host or origin.

        Args:
            host: The Host header.
            origin: The Origin header, or "", e.g. from programs other than browsers.
            site: The Sec-Fetch-Site header, or "".
        """
        if site in ("same-origin", "none") or not (site or origin) or origin in self._origins:
            return True
        page = _plain(_host_of(origin))
        # A host name equal to our own counts only for browsers that do not send Sec-Fetch-Site.
        return bool(page) and (page in self._allowed or (not site and page == _plain(_without_port(host))))


class HostCheck:
    """Refuses requests to other host names, and requests of the store from pages of other sites.

    Args:
        app: The next ASGI application.
        hosts: The allowed hosts.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host, origin = headers.get("Host", ""), headers.get("Origin", "")
            if not self._hosts.admit(host):
                raise HTTPException(403, f"this service is not called {host:.80}; WHORL_ALLOWED_HOSTS may name it")
            site = headers.get("Sec-Fetch-Site", "")
            if is_of_the_store(scope["path"]) and not self._hosts.admit_page(host, origin, site):
                asking = f"a page of another site asked for this ({origin or site:.80})"
                raise HTTPException(403, f"{asking}; WHORL_ALLOWED_HOSTS may name its host")
        await self._app(scope, receive, send)


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


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


def _is_unspecified(host: str) -> bool:
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified
