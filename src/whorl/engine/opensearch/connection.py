"""What opensearch-py calls a connection, over connections of our own: those that it brings take twice the work."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import opensearchpy
import urllib3
from opensearchpy.exceptions import ConnectionError as NoConnectionError
from opensearchpy.exceptions import ConnectionTimeout, SSLError

from whorl.engine.connections import Connections, UnconnectedError


class Connection(opensearchpy.Connection):
    """The way to one node, which threads share.

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
        trust = (ca_certs or self.default_ca_certs() or True) if verify_certs else False
        self._connections = Connections(self.hostname, self.port, trust if self.use_ssl else None, pool_maxsize)

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: Any = None,
        ignore: object = (),
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], str]:
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
        target = f"{self.url_prefix}{url}?{urlencode(params)}" if params else f"{self.url_prefix}{url}"
        connect, silence = timeout or (self.timeout, self.timeout)
        told = {**self.headers, **(headers or {})}
        try:
            found = self._connections.ask(method, target, body, told, connect_seconds=connect, silence_seconds=silence)
            content = found.content.decode("utf-8", "surrogatepass")
        except UnconnectedError as error:
            kind = SSLError if isinstance(error.__cause__, ssl.SSLError) else NoConnectionError
            raise kind("N/A", str(error), error.__cause__) from error
        except TimeoutError as error:
            raise ConnectionTimeout("TIMEOUT", str(error), error) from error
        except (OSError, ValueError) as error:
            raise NoConnectionError("N/A", str(error), error) from error
        if not 200 <= found.status < 300:
            self._raise_error(found.status, content, found.headers.get("content-type"))
        return found.status, found.headers, content

    def close(self) -> None:
        """Close the connections; a later request opens others."""
        self._connections.close()
