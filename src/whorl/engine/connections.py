"""HTTP to one server, over connections that stay open and that threads share.

Answers are read by llhttp, the parser of Node. The layers that requests, urllib3 and Python's own client put around a
short answer take more of the processor than all that whorl itself does for it.
"""

from __future__ import annotations

import gzip
import io
import os
import socket
import ssl
import weakref
import zlib
from collections import deque
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import cached_property
from http.client import HTTP_PORT, HTTPS_PORT
from pathlib import Path
from typing import NamedTuple

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpResponseParser
from urllib3.util.wait import wait_for_read

#: Bytes that are sent or read at once. A body that is no longer goes into one packet with its head.
_AT_ONCE = 1 << 16
#: Bytes of an answer before, between or behind those of its body, at most.
_MOST_BESIDE = 1 << 20


class UnconnectedError(OSError):
    """There is no connection to the server; the cause says why."""


class UntakenError(TimeoutError):
    """The server has taken nothing of a request for too long."""


class Told(NamedTuple):
    """An answer.

    Attributes:
        status: Of HTTP.
        headers: By their names in lower case.
        content: The body, unpacked where it came as gzip.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class Connections:
    """The way to one server.

    Args:
        host: Its name or address, as it stands in a URL, without the brackets of IPv6.
        port: Where it listens.
        trust: Whether its certificate is checked, or the file or folder with the authorities that may vouch for it;
            None where no TLS is spoken.
        most_idle: Connections that are kept open, at most.
    """

    def __init__(self, host: str, port: int, trust: bool | str | None, most_idle: int) -> None:
        # Behind the % of an address of IPv6 stands the interface that leads there: nothing to the server (RFC 6874).
        self._host, self._way = host.partition("%")[0], host.replace("%25", "%")
        self._port, self._trust = port, trust
        self._idle, self._most_idle, self._process = deque[socket.socket](), most_idle, os.getpid()
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
            ValueError: The target or a header cannot be sent: it would end where it should not, or is not ASCII.
            UnconnectedError: There is no server, or it is not trusted.
            UntakenError: It does not read what it is sent.
            TimeoutError: It is silent.
            OSError: It is gone in the middle, or speaks another language.
        """
        head = self._head(method, target, body, headers)
        connection = self._connected(connect_seconds)
        try:
            # A body is taken as fast as the server reads it.
            connection.settimeout(silence_seconds)
            _send(connection, head, body)
            with closing(_Answer(has_body=method != "HEAD")) as answer:
                while not answer.is_whole:
                    answer.take(connection.recv(_AT_ONCE))
                told = answer.told()
        except (HttpParserError, HttpParserUpgrade, EOFError, zlib.error, MemoryError) as error:
            connection.close()
            raise ConnectionError(f"no answer of HTTP: {error!r}") from error
        except ssl.SSLEOFError as error:
            connection.close()
            # Of trust nothing is to be said, as there is of other errors of TLS.
            raise ConnectionError(f"the connection was cut off: {error}") from None
        except BaseException:
            connection.close()
            raise
        if answer.leaves_open and len(self._idle) < self._most_idle:
            self._idle.append(connection)
        else:
            connection.close()
        return told

    def _head(self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", self._told_host]
        lines += [f"{name}: {value}" for name, value in headers.items() if name.lower() != "content-length"]
        if body is not None or method in {"POST", "PUT"}:
            lines.append(f"Content-Length: {len(body or b'')}")
        head = "\r\n".join([*lines, "", ""])
        if " " in target or not head.isascii() or not all(map(str.isprintable, lines)):
            # Headers may hold passwords.
            raise ValueError(f"no request of HTTP: {method} {target!r}, or one of its headers")
        return head.encode()

    @cached_property
    def _told_host(self) -> str:
        """The header that names the server, without the port where everybody knows it."""
        _, _, there = self.address.partition("://")
        if self._port == (HTTP_PORT if self._trust is None else HTTPS_PORT):
            there = there.removesuffix(f":{self._port}")
        if not there.isascii():
            # The name alone: a port would be taken for the end of it.
            there = there.replace(self._host, self._host.encode("idna").decode())
        return f"Host: {there}"

    def _connected(self, seconds: float) -> socket.socket:
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
            if not wait_for_read(connection, timeout=0):
                return connection
            connection.close()
        try:
            connection = socket.create_connection((self._way, self._port), seconds)
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._trust is not None:
                    # An end that the server has not declared may be anybody's, who cuts an answer off.
                    connection = self._context.wrap_socket(
                        connection, server_hostname=self._host, suppress_ragged_eofs=False
                    )
            except BaseException:
                connection.close()
                raise
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

    def close(self) -> None:
        """Close the connections; a later request opens others."""
        _close(self._idle)


def _send(connection: socket.socket, head: bytes, body: bytes | None) -> None:
    # A server that reads no further may have answered; over TLS its going has a name of its own.
    with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
        try:
            if body is None or len(body) <= _AT_ONCE:
                connection.sendall(head + (body or b""))
            else:
                connection.sendall(head)
                whole = memoryview(body)
                for at in range(0, len(body), _AT_ONCE):
                    # Each has the time for which the server may take nothing, which is none for the whole.
                    connection.sendall(whole[at : at + _AT_ONCE])
        except TimeoutError as error:
            raise UntakenError(str(error)) from error


class _Answer:
    """An answer as it comes.

    Args:
        has_body: Whether a body follows whose length is told; none does where only the head was asked for.

    Attributes:
        is_whole: Whether all of it is there.
        leaves_open: Whether another request may be sent over its connection.
    """

    def __init__(self, *, has_body: bool) -> None:
        self._has_body, self.is_whole, self.leaves_open = has_body, False, False
        self._status, self._beside = 0, 0
        self._headers: dict[str, str] = {}
        # It grows in place and gives away what it holds, where a list of parts and their sum take twice the memory.
        self._body = io.BytesIO()
        # It calls the methods that begin with `on_`.
        self._parser = HttpResponseParser(self)

    def close(self) -> None:
        """Leave the parser; holding each other, both would hold the body until garbage is collected."""
        del self._parser

    def take(self, some: bytes) -> None:
        """Take what was read, nothing where the connection has ended.

        Raises:
            HttpParserError: This is no HTTP, or not one answer.
            EOFError: It ends in the middle.
        """
        self._beside += len(some)
        if some:
            try:
                self._parser.feed_data(some)
            except HttpParserCallbackError as error:
                # What a method of ours has raised, or Ctrl-C in it.
                raise error.__context__ or error from None
        elif not self._status or {"content-length", "transfer-encoding"} & self._headers.keys():
            raise EOFError("the connection ended before the answer did")
        else:
            # Nothing else says where it ends.
            self.is_whole = True
        if self._beside > _MOST_BESIDE:
            raise HttpParserError(f"more than {_MOST_BESIDE:,} bytes beside a body")

    def told(self) -> Told:
        """Return it, once it is whole.

        Raises:
            OSError: It is packed, and damaged.
        """
        content = self._body.getvalue()
        if self._headers.get("content-encoding") == "gzip":
            content = gzip.decompress(content)
        return Told(self._status, self._headers, content)

    def on_message_begin(self) -> None:
        """Begin; what comes behind the answer, nobody asked for."""
        if self.is_whole:
            raise HttpParserError("more than one answer")
        self._headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what stands behind the chunks as one must not replace it (RFC 9110, 6.5.1)."""
        if not self._status:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1").rstrip(" \t")

    def on_headers_complete(self) -> None:
        """Know the status, and that all is there where no body comes."""
        self._status, self.leaves_open = self._parser.get_status_code(), self._parser.should_keep_alive()
        self.is_whole = not self._has_body and self._status >= 200

    def on_body(self, some: bytes) -> None:
        """Take some of the body."""
        if not self._has_body:
            raise HttpParserError("a body where only the head was asked for")
        self._beside = 0
        self._body.write(some)

    def on_message_complete(self) -> None:
        """Know that all is there; but behind a status below 200 comes the answer (RFC 9110, 15.2)."""
        self.is_whole = self._status >= 200
        if not self.is_whole:
            self._status = 0


def _close(connections: deque[socket.socket]) -> None:
    # Other threads may take some meanwhile.
    with suppress(IndexError):
        while True:
            connections.pop().close()
