"""How requests reach Solr: with how much time, over which connections, trusting whom, and how often again."""

from __future__ import annotations

import io
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTP_PORT, HTTPS_PORT
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from whorl.context import seconds_left
from whorl.engine.connections import Connections, Told


@dataclass(frozen=True, slots=True)
class Link:
    """The way to a Solr.

    Args:
        connect_seconds: How long connecting may take.
        verify: Whether its certificate is checked, or the file with the authorities that may vouch for it.
        retries: How often a request is repeated, at most.
        connections: Those that are kept open, at most.
    """

    connect_seconds: float = 5.0
    verify: bool | str = True
    retries: int = 0
    connections: int = 16


class Transport:
    """Gives each request its time: that of the settings, or what is left to whoever waits for the answer.

    Args:
        url: Of a core or collection, to whose server all requests go.
        link: The way to it.
        silence_seconds: How long Solr may be silent within one answer.
    """

    def __init__(self, url: str, link: Link, silence_seconds: float) -> None:
        self._connect_seconds, self._silence_seconds = link.connect_seconds, silence_seconds
        parts = urlsplit(url)
        has_tls = parts.scheme == "https"
        trust = DEFAULT_CA_BUNDLE_PATH if link.verify is True else link.verify
        self._connections = Connections(
            str(parts.hostname),
            parts.port or (HTTPS_PORT if has_tls else HTTP_PORT),
            trust if has_tls else None,
            link.connections,
        )

    def ask(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> Told:
        """Send a request and read the answer, as `Connections.ask` does.

        Raises:
            TimeoutError: Solr is silent, or the time is up already.
            OSError: As there.
        """
        left = seconds_left()
        silence = self._silence_seconds if left is None else min(left, self._silence_seconds)
        if silence <= 0:
            raise TimeoutError("the time is up")
        connect = min(self._connect_seconds, silence)
        return self._connections.ask(method, target, body, headers, connect_seconds=connect, silence_seconds=silence)

    def close(self) -> None:
        """Close the connections; a later request opens others."""
        self._connections.close()


class _Adapter(BaseAdapter):
    """Lets what is sent by a session go the way of all other requests.

    Args:
        ask: Sends a request, given its method, target, body and headers, and returns the body of an answer of 200.
    """

    def __init__(self, ask: Callable[[str, str, bytes | None, Mapping[str, str]], bytes]) -> None:
        super().__init__()
        self._ask = ask

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        body = request.body.encode() if isinstance(request.body, str) else request.body
        content = self._ask(str(request.method), request.path_url, body, request.headers)
        response = requests.Response()
        response.status_code, response.request, response.raw = 200, request, io.BytesIO(content)
        return response

    def close(self) -> None:
        """Leave the connections to whoever has made them."""


def session(
    ask: Callable[[str, str, bytes | None, Mapping[str, str]], bytes], auth: tuple[str, str] | None
) -> requests.Session:
    """Return a session that makes requests, and sends them another way than its own.

    Args:
        ask: Sends a request, given its method, target, body and headers, and returns the body of an answer of 200.
        auth: User and password.
    """
    made = requests.Session()
    # Solr and its user sit on a trusted path that the user named; what the environment says is not part of it.
    made.trust_env, made.auth = False, auth
    made.headers.clear()
    made.headers["Accept-Encoding"] = "gzip"
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter(ask))
    return made


def distrust(error: BaseException | None) -> str | None:
    """Return why a server was not trusted, in OpenSSL's words; None where an error is of another kind."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (error.reason or "no TLS") if isinstance(error, ssl.SSLError) else None
