"""Transport of requests to Solr: timeouts, connections, certificates, a session for pysolr, and parallel updates.

While Solr processes some update requests, the next ones are prepared and sent on another connection.
"""

from __future__ import annotations

import io
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from http.client import HTTP_PORT, HTTPS_PORT
from itertools import chain, islice
from typing import TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from whorl.context import seconds_left
from whorl.engine.http import ConnectionPool, HttpResponse


@dataclass(frozen=True, slots=True)
class Link:
    """Connection options for a Solr server.

    Args:
        connect_seconds: Connect timeout.
        verify: Whether to check the server's certificate, or the file with the trusted authorities.
        retries: Maximum number of retries of a request.
        connections: Maximum number of idle connections.
    """

    connect_seconds: float = 5.0
    verify: bool | str = True
    retries: int = 0
    connections: int = 16


class Transport:
    """Sends requests with the configured timeouts, shortened to the time left of the request's deadline.

    Args:
        url: URL of a core or collection, whose server gets all requests.
        link: Connection options.
        silence_seconds: Maximum silence of Solr within one response.
    """

    def __init__(self, url: str, link: Link, silence_seconds: float) -> None:
        self._connect_seconds, self._silence_seconds = link.connect_seconds, silence_seconds
        parts = urlsplit(url)
        has_tls = parts.scheme == "https"
        trust = DEFAULT_CA_BUNDLE_PATH if link.verify is True else link.verify
        self._pool = ConnectionPool(
            str(parts.hostname),
            parts.port or (HTTPS_PORT if has_tls else HTTP_PORT),
            trust if has_tls else None,
            link.connections,
        )

    def request(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> HttpResponse:
        """Send a request and return the response, as `ConnectionPool.request` does.

        Raises:
            TimeoutError: Solr is silent, or the deadline has passed already.
            OSError: See `ConnectionPool.request`.
        """
        left = seconds_left()
        silence = self._silence_seconds if left is None else min(left, self._silence_seconds)
        if silence <= 0:
            raise TimeoutError("the time is up")
        connect = min(self._connect_seconds, silence)
        return self._pool.request(method, target, body, headers, connect_seconds=connect, silence_seconds=silence)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._pool.close()


class _Adapter(BaseAdapter):
    """Adapter that sends a session's requests through the same transport as all others.

    Args:
        ask: Sends a request (method, target, body, headers) and returns the body of a response with status 200.
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
        """Leave the connections to their owner."""


def session(
    ask: Callable[[str, str, bytes | None, Mapping[str, str]], bytes], auth: tuple[str, str] | None
) -> requests.Session:
    """Return a session that prepares requests and sends them by `ask`.

    Args:
        ask: Sends a request (method, target, body, headers) and returns the body of a response with status 200.
        auth: User and password.
    """
    made = requests.Session()
    # The user has named Solr's address and login; proxies and .netrc of the environment must not change them.
    made.trust_env, made.auth = False, auth
    made.headers.clear()
    made.headers["Accept-Encoding"] = "gzip"
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter(ask))
    return made


def trust_failure(error: BaseException | None) -> str | None:
    """Return OpenSSL's reason for not trusting a server; None for an error of another kind."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (error.reason or "no TLS") if isinstance(error, ssl.SSLError) else None


#: Requests that Solr processes at once; each uses one of its processors.
CONNECTIONS = 2
#: Maximum number of documents in a request, and of characters after which it gets no further document.
BATCH_SIZE, BATCH_CHARACTERS = 64, 500_000

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


def send_parallel(portions: Iterable[_Batch], send: Callable[[_Batch], _Result]) -> list[_Result]:
    """Send portions in parallel and return their results in order.

    Args:
        portions: Portions, prepared in the caller's thread as they are taken; a single one is also sent from there.
        send: Sends one portion, from any thread. The first error, in the order of the portions, ends the transfer; it
            is raised after the requests already under way have ended.
    """
    remaining = iter(portions)
    first = list(islice(remaining, 2))
    if len(first) < 2:
        return list(map(send, first))
    results, pending = list[_Result](), deque[Future[_Result]]()
    with ThreadPoolExecutor(CONNECTIONS, "whorl-solr") as pool:
        for portion in chain(first, remaining):
            # Keep one request waiting, so that no connection is idle.
            if len(pending) > CONNECTIONS:
                results.append(pending.popleft().result())
            # The copied context carries the request's deadline and trace.
            pending.append(pool.submit(copy_context().run, send, portion))
        results += [each.result() for each in pending]
    return results
