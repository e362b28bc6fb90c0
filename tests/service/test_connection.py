"""Tests of the connections of `whorl serve`: large heads, trailers, and requests sent together."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send

from tests.service.served import listening, sending
from whorl.service.run import HEAD_BYTES, Connection

pytestmark = pytest.mark.process


async def answer_headers(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the target, the names of the headers, and the size of the body."""
    if scope["type"] != "http":
        return
    size, has_more = 0, True
    while has_more:
        message = await receive()
        size += len(message["body"])
        has_more = message["more_body"]
    names = [name.decode() for name, _ in scope["headers"]]
    body = json.dumps([scope["path"], len(scope["query_string"]), names, size]).encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with listening(answer_headers, Connection) as address:
        yield address


def answers(url: str, *parts: bytes) -> list[tuple[int, bytes]]:
    """Return the status and the body of each response until the service closes the connection."""
    received = b""
    with sending(url, parts[0]) as connection:
        try:
            for part in parts[1:]:
                connection.sendall(part)
            while data := connection.recv(65_536):
                received += data
        except ConnectionError:
            # The service closes the connection while the client sends.
            pass
    responses = received.split(b"HTTP/1.1 ")[1:]
    return [(int(response[:3]), response.partition(b"\r\n\r\n")[2]) for response in responses]


CLOSE = b"Host: localhost\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("begin", "filler", "end"),
    [
        (b"GET /?q=", b"x", b" HTTP/1.1\r\n%s\r\n" % CLOSE),
        (b"GET / HTTP/1.1\r\n%sX-Long: " % CLOSE, b"x", b"\r\n\r\n"),
        (b"GET / HTTP/1.1\r\n%s" % CLOSE, b"X-Short: 0123456789\r\n", b"\r\n"),
    ],
)
def test_a_head_has_a_limit(url: str, begin: bytes, filler: bytes, end: bytes) -> None:
    """
    A target, a header or many headers may have nearly 64 KB; a head above the limit is a 400, in one part or in many.
    """
    fitting = begin + filler * ((HEAD_BYTES - 2_000) // len(filler)) + end
    ((status, _),) = answers(url, fitting)
    assert status == 200
    large = begin + filler * (HEAD_BYTES // len(filler) + 2_000) + end
    assert [status for status, _ in answers(url, large)] == [400]
    parts = [large[at : at + 10_000] for at in range(0, len(large), 10_000)]
    assert {status for status, _ in answers(url, *parts)} <= {400}


def send_endlessly(connection: socket.socket, part: bytes) -> None:
    """Send a part until the service closes the connection; return after 64 MB."""
    for _ in range(0, 1 << 26, len(part)):
        connection.sendall(part)


def test_an_endless_head_ends_the_connection(url: str) -> None:
    """
    The service closes the connection soon after the limit, although the head never ends.
    """
    with sending(url, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ") as connection, pytest.raises(ConnectionError):
        send_endlessly(connection, b"x" * 65_536)


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n"


def test_trailers_are_dropped(url: str) -> None:
    """
    Headers after a body do not join the headers that were checked; a large body is complete, and large trailers end the
    connection.
    """
    head = b"POST / HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n" % CLOSE
    body = chunked(*[b"x" * 10_000] * 100)
    ((status, answer),) = answers(url, head + body + b"Authorization: Bearer stolen\r\n\r\n")
    assert (status, json.loads(answer)) == (200, ["/", 0, ["host", "connection", "transfer-encoding"], 1_000_000])
    with sending(url, head + body) as connection, pytest.raises(ConnectionError):
        send_endlessly(connection, b"X-More: 0123456789\r\n" * 10_000)


def test_requests_sent_together_are_answered_in_order(url: str) -> None:
    """
    Requests that arrive in one part are answered in their order, each with its own headers.
    """
    many = b"".join(b"GET /%d HTTP/1.1\r\nHost: localhost\r\nX-%d: 1\r\n\r\n" % (at, at) for at in range(50))
    responses = answers(url, many + b"GET /last HTTP/1.1\r\n%s\r\n" % CLOSE)
    bodies = [json.loads(body) for _, body in responses]
    assert [path for path, *_ in bodies] == [*(f"/{at}" for at in range(50)), "/last"]
    assert all(names == ["host", f"x-{at}"] for at, (_, _, names, _) in enumerate(bodies[:-1]))
