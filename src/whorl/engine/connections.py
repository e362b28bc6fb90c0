"""HTTP to one server, over connections that stay open and that threads share, by Python's own client.

The layers that requests and urllib3 put around it take more of the processor than all that whorl itself does for a
short answer.
"""

from __future__ import annotations

import gzip
import os
import ssl
import weakref
import zlib
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from pathlib import Path
from typing import NamedTuple

from urllib3.util.wait import wait_for_read


class UnconnectedError(OSError):
    """There is no connection to the server; the cause says why."""


class UntakenError(TimeoutError):
    """The server has taken nothing of a request for too long."""


class Told(NamedTuple):
    """An answer.

    Attributes:
        status: Of HTTP.
        headers: As they came.
        content: The body, unpacked where it came as gzip.
    """

    status: int
    headers: HTTPMessage
    content: bytes


class Connections:
    """The way to one server.

    Args:
        host: Its name or address.
        port: Where it listens.
        trust: Whether its certificate is checked, or the file or folder with the authorities that may vouch for it;
            None where no TLS is spoken.
        most_idle: Connections that are kept open, at most.
    """

    def __init__(self, host: str, port: int, trust: bool | str | None, most_idle: int) -> None:
        self._host, self._port, self._trust = host, port, trust
        self._idle, self._most_idle, self._process = deque[HTTPConnection](), most_idle, os.getpid()
        # Of one that nobody has closed.
        weakref.finalize(self, _close, self._idle)

    @property
    def address(self) -> str:
        """The server's URL, without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'http' if self._trust is None else 'https'}://{host}:{self._port}"

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        connect_seconds: float,
        silence_seconds: float,
    ) -> Told:
        """Send a request and read the answer, all of it.

        Args:
            method: Of HTTP.
            target: The path, and what is behind it.
            body: As it is sent.
            headers: Beside those of host and length.
            connect_seconds: How long connecting may take.
            silence_seconds: For how long the server may be silent, or take nothing of the body; above 0.

        Raises:
            UnconnectedError: There is no server, or it is not trusted.
            UntakenError: It does not read what it is sent.
            TimeoutError: It is silent.
            OSError: It is gone in the middle, or speaks another language.
        """
        connection = self._connected(connect_seconds)
        try:
            # A body is taken as fast as the server reads it.
            connection.sock.settimeout(silence_seconds)
            _send(connection, method, target, body, headers)
            with connection.getresponse() as response:
                content = response.read()
            if response.status < 200:
                # Python's client passes over 100 only; the answer itself would be taken for that of the next request.
                raise HTTPException(f"{response.status} {response.reason} before an answer")
            if response.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
        except (HTTPException, EOFError, zlib.error, OverflowError, MemoryError) as error:
            # The last two are for lengths that nothing has.
            connection.close()
            raise ConnectionError(f"no answer of HTTP: {error!r}") from error
        except BaseException:
            connection.close()
            raise
        self._kept(connection)
        return Told(response.status, response.headers, content)

    def _connected(self, seconds: float) -> HTTPConnection:
        """Return a connection that nobody else has: one of before, or a new one."""
        if self._process != os.getpid():
            # A fork sees its parent's, and would read the answers to its parent's requests.
            self.close()
            self._process = os.getpid()
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
        try:
            if self._trust is None:
                connection = HTTPConnection(self._host, self._port, timeout=seconds)
            else:
                connection = HTTPSConnection(self._host, self._port, timeout=seconds, context=self._context)
            connection.connect()
        except (OSError, ValueError) as error:
            raise UnconnectedError(str(error)) from error
        return connection

    @cached_property
    def _context(self) -> ssl.SSLContext:
        authorities = self._trust if isinstance(self._trust, str) else None
        is_folder = authorities is not None and Path(authorities).is_dir()
        context = ssl.create_default_context(
            cafile=None if is_folder else authorities, capath=authorities if is_folder else None
        )
        # The name that counts is the alternative one, as everywhere now (RFC 9110, 4.3.4).
        context.hostname_checks_common_name = False
        if not self._trust:
            # It was asked for; the documentation says what it means.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    def _kept(self, connection: HTTPConnection) -> None:
        if connection.sock is None or len(self._idle) >= self._most_idle:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close the connections; a later request opens others."""
        _close(self._idle)


def _send(connection: HTTPConnection, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> None:
    # A server that reads no further may have answered; over TLS its going has a name of its own.
    with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
        try:
            connection.request(method, target, body, headers)
        except TimeoutError as error:
            raise UntakenError(str(error)) from error


def _close(connections: deque[HTTPConnection]) -> None:
    # Other threads may take some meanwhile.
    with suppress(IndexError):
        while True:
            connections.pop().close()
