"""Tests of requests with two lengths: refused on a real connection, with everything that follows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.served import listening, sending, serving
from whorl import Document, Store, open_store
from whorl.service.app import create_app
from whorl.service.paths import SEARCH, TICKETS
from whorl.settings.settings import Settings

pytestmark = pytest.mark.process
SMUGGLED = b"GET /api/v1/search?q=* HTTP/1.1\r\nHost: localhost\r\n\r\n"
PREFLIGHT = b"Origin: https://app.example\r\nAccess-Control-Request-Method: GET\r\n"


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("framed") / "store"
    with open_store(folder) as opened:
        opened.index([Document("a", "seven silver spoons shine softly")])
    with serving(folder) as served:
        yield served.url


def request(start: str, more: bytes = b"", version: str = "1.1") -> bytes:
    """Return a request with both headers; a second request follows its last chunk, within its content length."""
    head = f"{start} HTTP/{version}\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode() + more
    return head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED


def answer_to(url: str, sent: bytes) -> bytes:
    """Return all bytes until the service closes the connection."""
    with sending(url, sent) as connection:
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.mark.parametrize(
    "start", ["POST /api/v1/search", "POST /api/v1/documents", f"POST {SEARCH}", f"POST {TICKETS}", "GET /healthz"]
)
def test_two_lengths_are_refused(start: str, framed: str) -> None:
    """
    Two lengths are a 400, and the connection is closed without an answer to the second request.
    """
    length = b"Content-Length: %d\r\n" % (5 + len(SMUGGLED))
    answer = answer_to(framed, request(start, length))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nconnection: close\r\n" in answer.lower()
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"not both" in answer


def test_chunks_of_an_old_client_are_refused(framed: str) -> None:
    """
    Chunks in HTTP/1.0 are refused: HTTP/1.0 has none, so a proxy of this version sees another end.
    """
    answer = answer_to(framed, request("POST /api/v1/search", version="1.0"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("http", ["h11", "httptools"])
def test_preflights_have_one_length(store: Store, http: str) -> None:
    """
    Preflights with two lengths are refused, too, although they are answered before routing, with both parsers of
    uvicorn.
    """
    pytest.importorskip(http)
    app = create_app(store, settings=Settings(allowed_origins=("https://app.example",)))
    with listening(app, http) as url:
        answer = answer_to(url, request("OPTIONS /api/v1/search", PREFLIGHT + b"Content-Length: 60\r\n"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
