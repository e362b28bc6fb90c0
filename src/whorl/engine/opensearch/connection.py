"""HTTP between opensearch-py and one node, over connections that stay open, by Python's own client.

What opensearch-py brings, urllib3, does the same in twice the work of the processor, which is more than all that whorl
itself does for a short answer.
"""

from __future__ import annotations

import ssl
import weakref
from collections import deque
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import opensearchpy
import urllib3
from opensearchpy.exceptions import ConnectionError as NoConnectionError
from opensearchpy.exceptions import ConnectionTimeout, SSLError
from urllib3.util.wait import wait_for_read


class Connection(opensearchpy.Connection):
    """What opensearch-py calls a connection: the way to one node, which threads share.

    Args:
        http_auth: User and password.
        verify_certs: Whether the node's certificate is checked.
        ca_certs: The file with the authorities that may vouch for it; None for the system's.
        pool_maxsize: Connections that are kept open, at most.
        rest: Where it is, and what is said with each request.
    """

    def __init__(
        self,
        *,
        http_auth: tuple[str, str] | None = None,
        verify_certs: bool = True,
        ca_certs: str | None = None,
        pool_maxsize: int = 16,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        if http_auth:
            self.headers |= urllib3.make_headers(basic_auth=":".join(http_auth))
        self._context = _trusting(ca_certs or self.default_ca_certs(), verify_certs) if self.use_ssl else None
        self._idle, self._most_idle = deque[HTTPConnection](), pool_maxsize
        # Of one that nobody has closed.
        weakref.finalize(self, _close, self._idle)

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: Any = None,
        ignore: object = (),
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, HTTPMessage, str]:
        """Send a request and read the answer, all of it.

        Args:
            method: Of HTTP.
            url: The path.
            params: Behind the path.
            body: As it is sent.
            timeout: Seconds that connecting may take, and for which the node may be silent.
            ignore: Statuses that are no errors; none here.
            headers: Beside those of every request.

        Raises:
            NoConnectionError: There is no node, or it is gone in the middle of an answer.
            ConnectionTimeout: It is silent.
            SSLError: It is not trusted.
            TransportError: It refuses.
        """
        path = f"{self.url_prefix}{url}?{urlencode(params)}" if params else f"{self.url_prefix}{url}"
        connect_seconds, read_seconds = timeout or (self.timeout, self.timeout)
        connection = self._connected(connect_seconds)
        try:
            # A body is taken as fast as the node reads it.
            connection.sock.settimeout(read_seconds)
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            content = response.read().decode("utf-8", "surrogatepass")
        except BaseException as error:
            connection.close()
            if isinstance(error, TimeoutError):
                raise ConnectionTimeout("TIMEOUT", str(error), error) from error
            if isinstance(error, OSError | HTTPException | ValueError):
                raise NoConnectionError("N/A", str(error), error) from error
            raise
        self._kept(connection)
        if not 200 <= response.status < 300:
            self._raise_error(response.status, content, response.headers.get("content-type"))
        return response.status, response.headers, content

    def _connected(self, seconds: float) -> HTTPConnection:
        """Return a connection that nobody else has: one of before, or a new one."""
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                # Another thread has taken it.
                break
            # One that has something to say that nobody asked for is being closed.
            if not wait_for_read(connection.sock, timeout=0):
                return connection
            connection.close()
        if self._context is None:
            connection = HTTPConnection(self.hostname, self.port, timeout=seconds)
        else:
            connection = HTTPSConnection(self.hostname, self.port, timeout=seconds, context=self._context)
        try:
            connection.connect()
        except ssl.SSLError as error:
            raise SSLError("N/A", str(error), error) from error
        except (OSError, ValueError) as error:
            raise NoConnectionError("N/A", str(error), error) from error
        return connection

    def _kept(self, connection: HTTPConnection) -> None:
        if connection.sock is None or len(self._idle) >= self._most_idle:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close the connections; a later request opens others."""
        _close(self._idle)


def _close(connections: deque[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _trusting(authorities: str | None, verify: bool) -> ssl.SSLContext:
    is_folder = authorities is not None and Path(authorities).is_dir()
    context = ssl.create_default_context(
        cafile=None if is_folder else authorities, capath=authorities if is_folder else None
    )
    if not verify:
        # It was asked for; the documentation says what it means.
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
