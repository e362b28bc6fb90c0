"""HTTP/1.1 client for one server, with persistent connections shared by threads, and retries of requests.

Responses are parsed by llhttp, the parser of Node. For short responses, the layers of requests, urllib3 and Python's
http.client take more processor time than everything else that whorl does.
"""

from __future__ import annotations

import gzip
import io
import itertools
import os
import random
import socket
import ssl
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import cached_property
from http.client import HTTP_PORT, HTTPS_PORT
from pathlib import Path
from typing import NamedTuple, TypeVar

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpResponseParser
from urllib3.util.wait import wait_for_read

from whorl.context import seconds_left, trace
from whorl.errors import EngineUnavailableError

#: Bytes to send or receive at once. A body up to this size goes into one packet with its head.
_BLOCK_BYTES = 1 << 16
#: Maximum bytes of a response before, between or after those of its body.
_MOST_HEAD_BYTES = 1 << 20


class ConnectError(OSError):
    """Connecting to the server failed; the cause gives the reason."""


class SendTimeoutError(TimeoutError):
    """The server has accepted no bytes of a request for too long."""


class HttpResponse(NamedTuple):
    """HTTP response.

    Attributes:
        status: HTTP status.
        headers: Headers by their names in lower case.
        content: The body, decompressed if it was sent as gzip.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class ConnectionPool:
    """Pool of connections to one server.

    Args:
        host: Name or address as in a URL, without the brackets of IPv6.
        port: Port of the server.
        trust: Whether to check the server's certificate, or the file or folder with the trusted authorities; None for a
            connection without TLS.
        most_idle: Maximum number of idle connections.
    """

    def __init__(self, host: str, port: int, trust: bool | str | None, most_idle: int) -> None:
        # The zone after the % of an IPv6 address is for this machine's routing only, and is not sent to the server (RFC
        # 6874).
        self._host, self._dial_host = host.partition("%")[0], host.replace("%25", "%")
        self._port, self._trust = port, trust
        self._idle, self._most_idle, self._process = deque[socket.socket](), most_idle, os.getpid()
        # Close the connections of a pool that was never closed.
        weakref.finalize(self, _close, self._idle)

    @property
    def address(self) -> str:
        """The server's URL, without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'http' if self._trust is None else 'https'}://{host}:{self._port}"

    def request(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        connect_seconds: float,
        silence_seconds: float,
    ) -> HttpResponse:
        """Send a request and read the whole response.

        Args:
            method: HTTP method.
            target: The path with its query.
            body: The request body.
            headers: Headers other than Host and Content-Length.
            connect_seconds: Connect timeout.
            silence_seconds: Maximum time in which the server sends nothing, or accepts nothing of the body; above 0.

        Raises:
            ValueError: The target or a header cannot be sent: it contains a separator or is not ASCII.
            UnconnectedError: The server is unreachable or not trusted.
            UntakenError: The server does not read the request.
            TimeoutError: The server is silent.
            OSError: The connection breaks, or the response is not HTTP.
        """
        head = self._head(method, target, body, headers)
        connection = self._connection(connect_seconds)
        try:
            # Sending a body takes as long as the server needs to read it.
            connection.settimeout(silence_seconds)
            _send(connection, head, body)
            with closing(_ResponseParser(has_body=method != "HEAD")) as answer:
                while not answer.is_whole:
                    answer.feed(connection.recv(_BLOCK_BYTES))
                response = answer.response()
        except (HttpParserError, HttpParserUpgrade, EOFError, zlib.error, MemoryError) as error:
            connection.close()
            raise ConnectionError(f"no answer of HTTP: {error!r}") from error
        except ssl.SSLEOFError as error:
            connection.close()
            # Unlike other TLS errors, this one says nothing about trust.
            raise ConnectionError(f"the connection was cut off: {error}") from None
        except BaseException:
            connection.close()
            raise
        if answer.leaves_open and len(self._idle) < self._most_idle:
            self._idle.append(connection)
        else:
            connection.close()
        return response

    def _head(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", self._host_header]
        lines += [f"{name}: {value}" for name, value in headers.items() if name.lower() != "content-length"]
        if body is not None or method in {"POST", "PUT"}:
            lines.append(f"Content-Length: {len(body or b'')}")
        head = "\r\n".join([*lines, "", ""])
        if " " in target or not head.isascii() or not all(map(str.isprintable, lines)):
            # The message leaves out headers, which may contain passwords.
            raise ValueError(f"no request of HTTP: {method} {target!r}, or one of its headers")
        return head.encode()

    @cached_property
    def _host_header(self) -> str:
        """The Host header, without the scheme's default port."""
        _, _, there = self.address.partition("://")
        if self._port == (HTTP_PORT if self._trust is None else HTTPS_PORT):
            there = there.removesuffix(f":{self._port}")
        if not there.isascii():
            # Encode the name alone: IDNA would take a port as a part of it.
            there = there.replace(self._host, self._host.encode("idna").decode())
        return f"Host: {there}"

    def _connection(self, seconds: float) -> socket.socket:
        """Return an idle connection, or a new one."""
        if self._process != os.getpid():
            # A forked process shares its parent's connections, and would read the responses to its parent's requests.
            self.close()
            self._process = os.getpid()
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                # Another thread has taken it.
                break
            # A connection with unrequested data is being closed by the server.
            if not wait_for_read(connection, timeout=0):
                return connection
            connection.close()
        try:
            connection = socket.create_connection((self._dial_host, self._port), seconds)
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._trust is not None:
                    # Without the TLS closing alert, an attacker could truncate a response.
                    connection = self._context.wrap_socket(
                        connection, server_hostname=self._host, suppress_ragged_eofs=False
                    )
            except BaseException:
                connection.close()
                raise
        except (OSError, ValueError) as error:
            raise ConnectError(str(error)) from error
        return connection

    @cached_property
    def _context(self) -> ssl.SSLContext:
        authorities = self._trust if isinstance(self._trust, str) else None
        is_folder = authorities is not None and Path(authorities).is_dir()
        context = ssl.create_default_context(
            cafile=None if is_folder else authorities, capath=authorities if is_folder else None
        )
        # Only the subject alternative name counts, as in all current clients (RFC 9110, 4.3.4).
        context.hostname_checks_common_name = False
        if not self._trust:
            # The user has switched verification off; the documentation explains the risk.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        _close(self._idle)


def _send(connection: socket.socket, head: bytes, body: bytes | None) -> None:
    # A server that stops reading may have responded already; over TLS, its closing raises SSLEOFError.
    with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
        try:
            if body is None or len(body) <= _BLOCK_BYTES:
                connection.sendall(head + (body or b""))
            else:
                connection.sendall(head)
                whole = memoryview(body)
                for at in range(0, len(body), _BLOCK_BYTES):
                    # The timeout applies to each part; the whole body has none.
                    connection.sendall(whole[at : at + _BLOCK_BYTES])
        except TimeoutError as error:
            raise SendTimeoutError(str(error)) from error


class _ResponseParser:
    """Parser of a response that arrives in parts.

    Args:
        has_body: Whether a body follows the headers; a response to HEAD has none, whatever its length header says.

    Attributes:
        is_whole: Whether the response is complete.
        leaves_open: Whether the connection may be used for another request.
    """

    def __init__(self, *, has_body: bool) -> None:
        self._has_body, self.is_whole, self.leaves_open = has_body, False, False
        self._status, self._beside = 0, 0
        self._headers: dict[str, str] = {}
        # BytesIO grows in place and returns its buffer without a copy; joining a list of parts takes twice the memory.
        self._body = io.BytesIO()
        # The parser calls the methods whose names begin with `on_`.
        self._parser = HttpResponseParser(self)

    def close(self) -> None:
        """Drop the parser: the reference cycle would keep the body in memory until garbage collection."""
        del self._parser

    def feed(self, some: bytes) -> None:
        """Parse received bytes; empty bytes mean that the connection has ended.

        Raises:
            HttpParserError: The bytes are not HTTP, or not a single response.
            EOFError: The response is incomplete.
        """
        self._beside += len(some)
        if some:
            try:
                self._parser.feed_data(some)
            except HttpParserCallbackError as error:
                # Raise the exception of the callback itself, for example KeyboardInterrupt.
                raise error.__context__ or error from None
        elif not self._status or {"content-length", "transfer-encoding"} & self._headers.keys():
            raise EOFError("the connection ended before the answer did")
        else:
            # Without a length, the end of the connection ends the response.
            self.is_whole = True
        if self._beside > _MOST_HEAD_BYTES:
            raise HttpParserError(f"more than {_MOST_HEAD_BYTES:,} bytes beside a body")

    def response(self) -> HttpResponse:
        """Return the complete response.

        Raises:
            OSError: The compressed body is damaged.
        """
        content = self._body.getvalue()
        if self._headers.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        return HttpResponse(self._status, self._headers, content)

    def on_message_begin(self) -> None:
        """Begin a response; a second one was not requested."""
        if self.is_whole:
            raise HttpParserError("more than one answer")
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; trailers after the chunks must not replace headers (RFC 9110, 6.5.1)."""
        if not self._status:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1").rstrip(" \t")

    def on_headers_complete(self) -> None:
        """Store the status; a response without a body is complete."""
        self._status, self.leaves_open = self._parser.get_status_code(), self._parser.should_keep_alive()
        self.is_whole = not self._has_body and self._status >= 200

    def on_body(self, some: bytes) -> None:
        """Append to the body."""
        if not self._has_body:
            raise HttpParserError("a body where only the head was asked for")
        self._beside = 0
        self._body.write(some)

    def on_message_complete(self) -> None:
        """End the response, unless its status is below 200: then the final one follows (RFC 9110, 15.2)."""
        self.is_whole = self._status >= 200
        if not self.is_whole:
            self._status = 0


def _close(connections: deque[socket.socket]) -> None:
    # Other threads may take connections at the same time.
    with suppress(IndexError):
        while True:
            connections.pop().close()


#: Approximate pause before the first retry, doubled before each further one, and the longest pause.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

_Result = TypeVar("_Result")


def with_retries(send: Callable[[], _Result], retries: int) -> _Result:
    """Send a request, with retries after temporary failures; each attempt is recorded in the request's trace.

    All requests may be repeated: queries change nothing, and documents and ids replace the result of an earlier
    attempt.

    Args:
        send: Sends the request once; raises temporary failures with `EngineUnavailableError.is_passing`.
        retries: Maximum number of retries.

    Raises:
        EngineUnavailableError: The failure of the last attempt; there are no retries after the deadline.
    """
    noted = trace()
    for repetition in itertools.count(1):
        began = time.monotonic()
        noted.engine_requests += 1
        try:
            return send()
        except EngineUnavailableError as error:
            pause, left = retry_pause(repetition), seconds_left()
            if not error.is_passing or repetition > retries or (left is not None and left <= pause):
                raise
        finally:
            noted.engine_seconds += time.monotonic() - began
        noted.engine_retries += 1
        time.sleep(pause)
    raise AssertionError("counting ends")


def retry_pause(repetition: int) -> float:
    """Return the pause before a retry in seconds; retries count from 1.

    Half of the pause is random, so that clients that failed together do not return together. Source: Brooker,
    "Exponential Backoff and Jitter", AWS Architecture Blog, 2015 ("equal jitter").
    """
    longest = min(_FIRST_PAUSE_SECONDS * 2.0 ** (repetition - 1), _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)
