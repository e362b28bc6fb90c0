"""Connections to a scripted server on real sockets, retries, caches, shared commits, and limits on clauses."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import os
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest
import trustme
import urllib3
from hypothesis import given
from hypothesis import strategies as st
from urllib3.connection import HTTPConnection

from whorl.engine.server_engine import (
    MAX_CLAUSES,
    ServerAccess,
    ServerConnections,
    SharedCommit,
    TtlCache,
    explain_refusals,
    fingerprints_to_move,
    json_bytes,
    retry_pause,
    with_retries,
)
from whorl.errors import EngineResponseError, EngineUnavailableError, ParameterError, UnsupportedQueryError
from whorl.query.ast import WildcardCharacter
from whorl.query.plan.nodes import (
    Bool,
    BoundLeaf,
    BoundNode,
    BoundPlan,
    FuzzyWord,
    InOrder,
    MatchAll,
    SharedTokens,
    Test,
    WildcardValue,
)
from whorl.request_context import new_request

pytestmark = pytest.mark.process

ANY, ONE = WildcardCharacter.ANY, WildcardCharacter.ONE
REFUSED = EngineResponseError("Solr answers 500", status=500, detail="Determinizing automaton would require more")
PACKED = gzip.compress(b"some words " * 1_000)


class Server:
    """Send scripted bytes for each request of a connection, then close it.

    Args:
        answers: The responses of each connection, in order.
        reads: Whether requests are read to their end.
        context: TLS context, None for plain connections.
        piece: Largest number of bytes sent at once.
        address: Address to listen on.
        body_bytes: Length of a request's body.
    """

    def __init__(
        self,
        *answers: list[bytes],
        reads: bool = True,
        context: ssl.SSLContext | None = None,
        piece: int = 1 << 20,
        address: str = "127.0.0.1",
        body_bytes: int = 0,
    ) -> None:
        self._answers, self._reads, self._context, self._piece = answers, reads, context, piece
        self._body_bytes = body_bytes
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family)
        # Stop waiting after 60 seconds: a failed test may never connect.
        self._listener.settimeout(60)
        self.port = int(self._listener.getsockname()[1])
        self.closed = threading.Event()
        self.connections = 0
        #: The last request that was read.
        self.received = b""

    def serve(self) -> None:
        for answers in self._answers:
            # The client may close the connection early, or refuse the certificate.
            with contextlib.suppress(OSError), self._secured(self._listener.accept()[0]) as connection:
                self.connections += 1
                for answer in answers:
                    # The client has closed the connection.
                    if self._reads and not self._read(connection):
                        break
                    # Split the response, so that reads end anywhere.
                    for at in range(0, len(answer), self._piece):
                        connection.sendall(answer[at : at + self._piece])
            self.closed.set()

    def _read(self, connection: socket.socket) -> bool:
        self.received = b""
        while len(self.received.partition(b"\r\n\r\n")[2]) < self._body_bytes or b"\r\n\r\n" not in self.received:
            if not (part := connection.recv(65_536)):
                return False
            self.received += part
        return True

    def _secured(self, connection: socket.socket) -> socket.socket:
        return connection if self._context is None else self._context.wrap_socket(connection, server_side=True)

    @contextlib.contextmanager
    def serving(self, host: str = "127.0.0.1", **access: Any) -> Iterator[ServerConnections]:
        """Yield connections to the server."""
        thread = threading.Thread(target=self.serve)
        thread.start()
        connections = connected(self.port, host, scheme="http" if self._context is None else "https", **access)
        try:
            yield connections
        finally:
            connections.close()
            thread.join()
            self._listener.close()


def connected(port: int, host: str = "127.0.0.1", *, scheme: str = "http", **access: Any) -> ServerConnections:
    options = {"timeout_seconds": 30.0, "connections": 2, **access}
    return ServerConnections(f"{scheme}://{host}:{port}/solr/a", "Solr", "CA", ServerAccess(**options), None)


def answer(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(head).encode() + content


def link_local() -> str:
    """Return an address of this machine that needs its interface, "" if it has none."""
    try:
        rows = [line.split() for line in Path("/proc/net/if_inet6").read_text().splitlines()]
    except OSError:
        return ""
    packed = ((bytes.fromhex(row[0]), row[-1]) for row in rows if row[0].startswith("fe80"))
    return next((f"{socket.inet_ntop(socket.AF_INET6, raw)}%{interface}" for raw, interface in packed), "")


def exchange(connections: ServerConnections, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
    response = connections.request(method, "/a?b=c", body, {"Accept-Encoding": "gzip"})
    return response.status, response.data


def test_one_connection_serves_several_requests() -> None:
    """
    Each request gets its own response, complete, with a length header or in chunks.
    """
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n4;x=y\r\n, ok\r\n0\r\n\r\n"
    server = Server([answer(b"one"), chunks, answer(b"", status="404 Not Found")])
    with server.serving() as connections:
        assert [exchange(connections) for _ in range(3)] == [(200, b"one"), (200, b"two, ok"), (404, b"")]
    assert server.connections == 1


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, int, bytes]:
    """Generate a response in bytes with its status and body."""
    status = draw(st.sampled_from([200, 404, 500]))
    chunks = draw(st.lists(st.binary(min_size=1, max_size=300), max_size=4))
    content = b"".join(chunks)
    if draw(st.booleans()):
        return answer(content, status=f"{status} said"), status, content
    extension, trailer = draw(st.sampled_from(["", ";a=b"])), draw(st.sampled_from([b"", b"X-Behind: 1\r\n"]))
    body = b"".join(f"{len(chunk):x}{extension}\r\n".encode() + chunk + b"\r\n" for chunk in chunks)
    head = f"HTTP/1.1 {status} said\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    return head + body + b"0\r\n" + trailer + b"\r\n", status, content


@given(st.lists(answers(), min_size=1, max_size=4), st.integers(1, 400))
def test_answers_in_any_form_and_pieces(several: list[tuple[bytes, int, bytes]], piece: int) -> None:
    """
    Responses are read correctly however they are split, over one connection.
    """
    server = Server([sent for sent, _, _ in several], piece=piece)
    with server.serving() as connections:
        for _, status, content in several:
            assert exchange(connections) == (status, content)
    assert server.connections == 1


def test_an_answer_that_ends_with_its_connection() -> None:
    """
    A response without a length ends with its connection; `Connection: close` ends the connection as well.
    """
    old = b"HTTP/1.0 200 OK\r\n\r\nall of it"
    server = Server([old], [answer(b"last", "Connection: close")], [answer(b"other")])
    with server.serving() as connections:
        assert [exchange(connections)[1] for _ in range(3)] == [b"all of it", b"last", b"other"]
    assert server.connections == 3


def test_responses_without_a_body() -> None:
    """
    HEAD and 204 have no body, whatever the length header says, and the connection stays open.
    """
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
    server = Server([head, b"HTTP/1.1 204 No Content\r\n\r\n", answer(b"one")])
    with server.serving() as connections:
        assert exchange(connections, "HEAD") == (200, b"")
        assert exchange(connections) == (204, b"")
        assert exchange(connections) == (200, b"one")
    assert server.connections == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
        b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + answer(b"one"),
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 3_000_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 3_000_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx",
        answer(b"{}", "Content-Encoding: gzip"),
        answer(PACKED[:10] + b"\xff" + PACKED[11:], "Content-Encoding: gzip"),
    ],
    ids=[
        *("nothing", "body", "chunks", "100", "two kinds of length", "two lengths", "103", "101"),
        *("another language", "endless header", "endless headers", "endless trailer", "length", "chunk length"),
        *("no gzip", "damaged gzip"),
    ],
)
def test_an_invalid_response_is_an_error(sent: bytes) -> None:
    """
    An invalid response raises an error, and the next request gets its own response.
    """
    server = Server([sent], [answer(b"next")])
    with server.serving() as connections:
        with pytest.raises(EngineUnavailableError, match=r"no Solr answers at http://.*/solr/a;") as caught:
            exchange(connections)
        assert caught.value.is_temporary
        assert exchange(connections) == (200, b"next")


@pytest.mark.parametrize(
    ("surplus", "is_reused"),
    [(answer(b"two"), True), (b"x" * 100_000, False)],
    ids=["another answer", "more than a buffer"],
)
def test_more_than_an_answer(surplus: bytes, is_reused: bool) -> None:
    """
    Bytes after a response are not taken for the response to the next request.
    """
    first, second = answer(b"one") + surplus, answer(b"next")
    server = Server([first, second]) if is_reused else Server([first], [second])
    with server.serving() as connections:
        assert [exchange(connections)[1] for _ in range(2)] == [b"one", b"next"]


def test_a_head_that_is_cut_off() -> None:
    """
    A response that ends within its headers has no content: it is not a JSON object, and its connection is not reused.
    """
    server = Server([b"HTTP/1.1 200 OK\r\nContent-Le"], [answer(b"next")])
    with server.serving() as connections:
        assert [exchange(connections) for _ in range(2)] == [(200, b""), (200, b"next")]


def test_an_api_key_that_no_header_can_carry() -> None:
    """
    A key with a line break would end its header; the error does not show the key.
    """
    for key in ("secret\r\nX: y", "secret\u20ac"):
        with pytest.raises(ParameterError, match="an API key has no line breaks") as caught:
            ServerAccess(api_key=key)
        assert "secret" not in repr((caught.value, caught.value.__context__))


@pytest.mark.parametrize(
    ("target", "sent"), [("/a b", b"/a%20b"), ("/a\r\nX: y", b"/a%0D%0AX:%20y"), ("/\u20ac", b"/%E2%82%AC")]
)
def test_targets_are_encoded(target: str, sent: bytes) -> None:
    """
    Characters that would end a line of the request early are percent-encoded.
    """
    server = Server([answer(b"one")])
    with server.serving() as connections:
        assert connections.request("GET", target, None, {}).data == b"one"
    assert server.received.startswith(b"GET " + sent + b" HTTP/1.1\r\n")


def test_a_host_whose_name_is_not_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The Host header has the name in its IDNA form, with the port.
    """
    server = Server([answer(b"one")])
    there = socket.create_connection(("127.0.0.1", server.port))
    monkeypatch.setattr(urllib3.util.connection, "create_connection", lambda *_, **__: there)
    with server.serving("b\xfccher") as connections:
        assert exchange(connections) == (200, b"one")
    assert f"\r\nHost: xn--bcher-kva:{server.port}\r\n".encode() in server.received


def test_a_connection_closed_by_the_server() -> None:
    """
    A connection that the server has closed is replaced without an error.
    """
    server = Server([answer(b"one")], [answer(b"two")])
    with server.serving() as connections:
        assert exchange(connections) == (200, b"one")
        assert server.closed.wait(240)
        assert exchange(connections) == (200, b"two")
    assert server.connections == 2


def test_discarded_connections_are_closed() -> None:
    """
    Discarded connections are closed.
    """
    server = Server([answer(b"one"), answer(b"again")])
    with server.serving():
        connections = connected(server.port)
        assert exchange(connections) == (200, b"one")
        del connections
        gc.collect()
        assert server.closed.wait(240)


def test_gzip_is_decompressed() -> None:
    """
    A compressed response is decompressed.
    """
    server = Server([answer(PACKED, "Content-Encoding: gzip")])
    with server.serving() as connections:
        assert exchange(connections) == (200, b"some words " * 1_000)


def test_an_answer_before_the_body_was_read() -> None:
    """
    The response of a server that refuses a body early is returned, not the closed connection.
    """
    server = Server([answer(b"too much", status="413 Too Large")], reads=False)
    with server.serving() as connections:
        assert exchange(connections, "POST", bytes(50_000_000)) == (413, b"too much")


@pytest.mark.parametrize("body", [None, bytes(50_000_000)])
def test_a_server_that_is_silent(body: bytes | None) -> None:
    """
    The error says whether the server does not read, or does not respond.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connections = connected(silent.getsockname()[1], timeout_seconds=0.2)
        words = "did not answer within 0.2 s" if body is None else "stopped reading the request within 0.2 s"
        with pytest.raises(EngineUnavailableError, match=words) as caught:
            exchange(connections, "POST", body)
        assert not caught.value.is_temporary


def test_a_refused_connection_is_a_temporary_failure() -> None:
    """
    A refused connection is a temporary failure.
    """
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(EngineUnavailableError, match=r"no Solr answers at .*; is it running") as caught:
            exchange(connected(closed.getsockname()[1]))
        assert caught.value.is_temporary


@pytest.mark.skipif(not link_local(), reason="this system tells of no address with an interface")
def test_an_address_with_an_interface() -> None:
    """
    The zone of an address selects the interface and is not sent to the server.
    """
    server = Server([answer(b"one")], address="::")
    with server.serving(f"[{link_local().replace('%', '%25')}]") as connections:
        assert exchange(connections) == (200, b"one")
    assert f"\r\nHost: [{link_local().partition('%')[0]}]:{server.port}\r\n".encode() in server.received


def test_interim_responses() -> None:
    """
    Responses with the status 100 are skipped.
    """
    waiting = b"HTTP/1.1 100 Continue\r\nX-Before: 1\r\n\r\n" * 3
    server = Server([waiting + answer(b"one"), answer(b"two")], piece=7)
    with server.serving() as connections:
        assert [exchange(connections) for _ in range(2)] == [(200, b"one"), (200, b"two")]


def test_trailers_replace_no_headers() -> None:
    """
    Trailers change neither the content type nor the encoding.
    """
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/a\r\nTransfer-Encoding: chunked\r\n\r\n"
    trailers = b"Content-Type: text/b\r\nContent-Encoding: gzip\r\nX-Behind: 1\r\n"
    server = Server([head + b"3\r\none\r\n0\r\n" + trailers + b"\r\n"])
    with server.serving() as connections:
        response = connections.request("GET", "/", None, {})
        assert (response.data, response.headers["content-type"]) == (b"one", "text/a")


def test_memory_of_a_large_answer() -> None:
    """
    A response is held in memory once, and freed without a garbage collection.
    """
    content = bytes(30_000_000)
    server = Server([answer(content)], piece=1 << 16)
    with server.serving() as connections:
        gc.disable()
        tracemalloc.start()
        try:
            response = exchange(connections)
            _, most = tracemalloc.get_traced_memory()
            assert response[1] == content
            del response
            left, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
    assert most < 1.5 * len(content)
    assert left < len(content) / 10


def test_an_interruption_while_an_answer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Ctrl-C is not reported as a failure of the server, and the interrupted connection is not used again.
    """

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    server = Server([answer(b"one")], [answer(b"two")])
    with server.serving() as connections:
        with monkeypatch.context() as patch:
            patch.setattr(urllib3.HTTPResponse, "read", interrupted)
            with pytest.raises(KeyboardInterrupt):
                exchange(connections)
        assert exchange(connections) == (200, b"two")


def test_a_large_body_is_sent_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The timeout applies to each block of a large body, since a socket has one time for all that it is given at once.
    """
    sizes = list[int]()
    send = HTTPConnection.send

    def counted(connection: HTTPConnection, data: bytes) -> None:
        sizes.append(len(data))
        send(connection, data)

    # http.client sends a large body given as bytes at once.
    monkeypatch.setattr(HTTPConnection, "send", counted)
    body = bytes(range(251)) * 4_000
    server = Server([answer(b"taken")], body_bytes=len(body))
    with server.serving() as connections:
        assert exchange(connections, "POST", body) == (200, b"taken")
    head, _, received = server.received.partition(b"\r\n\r\n")
    assert received == body
    assert b"chunked" not in head
    assert max(sizes) <= 1 << 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_has_connections_of_its_own() -> None:
    """
    The child's request does not go over the connection that its parent still uses.
    """
    server = Server([answer(b"first"), answer(b"third")], [answer(b"second")])
    # The server handles one connection after another, so the child gets its response after its parent's connection has
    # ended.
    with server.serving() as connections:
        assert exchange(connections) == (200, b"first")
        child = os.fork()
        if not child:
            os._exit(exchange(connections) != (200, b"second"))
        assert exchange(connections) == (200, b"third")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return str(tmp_path / "ca.pem")


def test_a_tls_connection_lost_while_sending(authority: trustme.CA, ca_file: str) -> None:
    """
    A connection lost over TLS is not an error of trust.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with (
        Server([b""], reads=False, context=context).serving(ca=ca_file) as connections,
        pytest.raises(EngineUnavailableError, match="no Solr answers"),
    ):
        exchange(connections, "POST", bytes(50_000_000))


def test_a_cut_off_answer_over_tls(authority: trustme.CA, ca_file: str) -> None:
    """
    An incomplete response over TLS is an error.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = Server([answer(b"one")], [answer(b"all of it")[:-3]], context=context)
    with server.serving(ca=ca_file) as connections:
        assert exchange(connections) == (200, b"one")
        with pytest.raises(EngineUnavailableError, match="no Solr answers"):
            exchange(connections)


def test_a_folder_of_authorities(authority: trustme.CA, tmp_path: Path) -> None:
    """
    The trusted authorities may be in a folder, as OpenSSL's `c_rehash` makes it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with (
        Server([b""], context=context).serving(ca=str(tmp_path)) as connections,
        pytest.raises(EngineUnavailableError, match=r"cannot be trusted \(.*\); .* does CA name the authority"),
    ):
        exchange(connections)


def test_trust_that_was_given_up(authority: trustme.CA) -> None:
    """
    Without verification, any certificate is accepted.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("other.example").configure_cert(context)
    with Server([answer(b"one")], context=context).serving(verify=False) as connections:
        assert exchange(connections) == (200, b"one")


def test_a_name_that_no_longer_counts(authority: trustme.CA, ca_file: str) -> None:
    """
    The server's name must be an alternative name of the certificate; the common name no longer counts.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(common_name="localhost").configure_cert(context)
    with (
        Server([b""], context=context).serving("localhost", ca=ca_file) as connections,
        pytest.raises(EngineUnavailableError, match=r"cannot be trusted \((?i:.*mismatch)"),
    ):
        exchange(connections)


def test_pauses() -> None:
    """
    Pauses are random, about double each time up to two seconds.
    """
    longest = [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    drawn = [[retry_pause(number) for number in range(1, 8)] for _ in range(50)]
    for pauses in drawn:
        assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len({tuple(pauses) for pauses in drawn}) == 50


@pytest.mark.parametrize(("retries", "is_temporary", "sent"), [(0, True, 1), (1, True, 2), (7, False, 1)])
def test_temporary_failures_are_retried_up_to_the_limit(retries: int, is_temporary: bool, sent: int) -> None:
    """
    Temporary failures are retried up to the limit; then the last error is raised.
    """
    calls: list[int] = []

    def send() -> None:
        calls.append(len(calls))
        raise EngineUnavailableError(f"away {len(calls)}", is_temporary=is_temporary)

    with pytest.raises(EngineUnavailableError, match=f"away {sent}"):
        with_retries(send, retries)
    assert len(calls) == sent


def test_one_retry_after_one_error() -> None:
    """
    One error, then a response: two requests, one of them a retry.
    """
    errors = [EngineUnavailableError("away", is_temporary=True)]

    def send() -> str:
        if errors:
            raise errors.pop()
        return "here"

    with new_request() as request:
        assert with_retries(send, 3) == "here"
    assert (request.trace.engine_requests, request.trace.engine_retries) == (2, 1)


#: Low surrogates only, because Python joins a high and a low one.
_ODD = st.text(st.characters(codec="utf-8") | st.sampled_from("\x00\x01\x1f\u2028\udc00\ufeff\U0010ffff"))
_NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(_ODD, _ODD | _NUMBERS))
def test_a_body_is_read_back(body: dict[str, object]) -> None:
    """
    Bodies are valid UTF-8, and Python's own parser reads the same values, including lone surrogates and numbers.
    """
    assert json.loads(json_bytes(body).decode()) == body
    terms = {"terms": orjson.Fragment(b'["a\\u0001b"]')}
    assert json.loads(json_bytes({**body, **terms})) == {**body, "terms": ["a\x01b"]}


_DEADLINE_SECONDS = 240.0


class Index:
    """Numbers sent, and numbers made searchable by commits: a commit includes those sent before it began."""

    def __init__(self) -> None:
        self.sent: set[int] = set()
        self.searchable: set[int] = set()
        self.commits = 0
        self.lock = threading.Lock()
        self.begun, self.held = threading.Semaphore(0), threading.Event()
        self.error: BaseException | None = None

    def commit(self) -> None:
        with self.lock:
            pending = set(self.sent)
            self.commits += 1
        self.begun.release()
        assert self.held.wait(_DEADLINE_SECONDS)
        error, self.error = self.error, self.error if isinstance(self.error, EngineUnavailableError) else None
        if error:
            raise error
        with self.lock:
            self.searchable |= pending


def test_documents_are_searchable_when_the_commit_returns() -> None:
    """
    With many threads, a document is searchable when its commit returns, and there are no more commits than calls.
    """
    index = Index()
    index.held.set()
    shared = SharedCommit(index.commit)

    def put(first: int) -> None:
        for number in range(first, first + 100):
            with index.lock:
                index.sent.add(number)
            shared()
            assert number in index.searchable

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(put, 100 * thread) for thread in range(8)]:
            done.result(_DEADLINE_SECONDS)
    assert index.searchable == set(range(800))
    assert index.commits <= 800


def waiting(index: Index, shared: SharedCommit, pool: ThreadPoolExecutor) -> list[Future[None]]:
    """Start one call whose commit runs, then five more calls."""
    entered = threading.Barrier(6)

    def late() -> None:
        entered.wait(_DEADLINE_SECONDS)
        shared()

    first = pool.submit(shared)
    assert index.begun.acquire(timeout=_DEADLINE_SECONDS)
    others = [pool.submit(late) for _ in range(5)]
    entered.wait(_DEADLINE_SECONDS)
    return [first, *others]


def test_waiting_threads_share_one_commit() -> None:
    """
    Calls that arrive during a commit wait for the next one, which serves all calls that arrived before it began.
    """
    index = Index()
    shared = SharedCommit(index.commit)
    with ThreadPoolExecutor(8) as pool:
        calls = waiting(index, shared, pool)
        index.held.set()
        for call in calls:
            call.result(_DEADLINE_SECONDS)
    assert 2 <= index.commits <= 6


def test_a_failure_is_shared_and_does_not_stay() -> None:
    """
    All threads that shared a failed commit get its error; later ones commit again.
    """
    index = Index()
    shared = SharedCommit(index.commit)
    index.error = EngineUnavailableError("no Solr answers")
    with ThreadPoolExecutor(8) as pool:
        calls = waiting(index, shared, pool)
        index.held.set()
        for call in calls:
            with pytest.raises(EngineUnavailableError):
                call.result(_DEADLINE_SECONDS)
    index.error = None
    shared()


def test_a_later_failure_does_not_concern_a_thread_whose_commit_succeeded() -> None:
    """
    If the commit with a thread's documents succeeds and a later one fails, the thread gets no error.
    """
    failing = False

    def commit() -> None:
        nonlocal failing
        if failing:
            raise EngineUnavailableError("no Solr answers")

    class Turn:
        """A lock. Before it is taken, other threads commit twice, and the second commit fails."""

        def __enter__(self) -> None:
            nonlocal failing
            shared._turn = threading.Lock()
            shared()
            failing = True
            with pytest.raises(EngineUnavailableError):
                shared()

        def __exit__(self, *_: object) -> None:
            pass

    shared = SharedCommit(commit)
    shared._turn = Turn()  # type: ignore[assignment]
    shared()
    with pytest.raises(EngineUnavailableError):
        shared()


@pytest.mark.parametrize("error", [RuntimeError("a defect"), KeyboardInterrupt()])
def test_an_interrupt_concerns_one_thread_only(error: BaseException) -> None:
    """
    Threads that waited during an interrupted commit commit themselves.
    """
    index = Index()
    shared = SharedCommit(index.commit)
    index.error = error
    failed: list[BaseException] = []

    def first() -> None:
        try:
            shared()
        except BaseException as caught:
            failed.append(caught)

    thread = threading.Thread(target=first)
    thread.start()
    assert index.begun.acquire(timeout=_DEADLINE_SECONDS)
    index.sent.add(1)
    waiting: Future[None] = Future()

    def second() -> None:
        shared()
        waiting.set_result(None)

    other = threading.Thread(target=second)
    other.start()
    index.held.set()
    waiting.result(_DEADLINE_SECONDS)
    thread.join(_DEADLINE_SECONDS)
    other.join(_DEADLINE_SECONDS)
    assert failed == [error]
    assert 1 in index.searchable


def test_concurrent_requests_share_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Concurrent calls share one request. It is repeated when the value has expired or was forgotten, with the old value.
    """
    clock = [0.0]
    monkeypatch.setattr("whorl.engine.server_engine.time.monotonic", lambda: clock[0])
    before: list[int | None] = []

    def ask(known: int | None) -> int:
        before.append(known)
        return len(before)

    answer = TtlCache(ask, 30.0)
    with ThreadPoolExecutor(8) as pool:
        assert {done.result(_DEADLINE_SECONDS) for done in [pool.submit(answer) for _ in range(50)]} == {1}
    clock[0] = 30.0
    assert answer() == 1
    clock[0] = 30.1
    assert answer() == 2
    answer.forget()
    assert answer() == 3
    assert before == [None, 1, 2]


def test_a_failed_answer_is_requested_again() -> None:
    """
    After a failed request, the next call asks again.
    """
    attempts: list[int | None] = []

    def ask(known: int | None) -> int:
        attempts.append(known)
        if len(attempts) == 1:
            raise EngineUnavailableError("gone")
        return 7

    answer = TtlCache(ask, 30.0)
    with pytest.raises(EngineUnavailableError):
        answer()
    assert answer() == 7


def test_a_value_forgotten_while_it_is_fetched_is_fetched_again() -> None:
    """
    The fetched value may be older than the change that made the old one invalid, so it is fetched again.
    """
    values = iter(range(9))

    def ask(_: int | None) -> int:
        value = next(values)
        if value == 0:
            cached.forget()
        return value

    cached = TtlCache(ask, 30.0)
    assert [cached(), cached(), cached()] == [0, 1, 1]


def test_a_refusal_names_the_pattern() -> None:
    """
    The error names the pattern with most states, wherever it is in the plan.
    """
    row = InOrder(((ANY, "a", ONE), (ANY, "b", ONE, ONE)), 0)
    plan = BoundPlan(Bool(must=(MatchAll(), WildcardValue("kind", (ANY, "c")), row)))
    with pytest.raises(UnsupportedQueryError, match=r"\*b\?\?: this pattern"), explain_refusals(plan):
        raise REFUSED


@pytest.mark.parametrize(
    ("test", "cause"),
    [
        (InOrder((("the",), ("a", ANY), ("words", ANY)), 0), r"a\*: more than 2,048 words fit"),
        (FuzzyWord("form", 2), "form~2: more than 2,048 words fit"),
    ],
)
def test_a_refusal_of_many_words_names_the_cause(test: Test, cause: str) -> None:
    """
    If more words fit than Lucene takes, the error names the pattern with the fewest letters, or the similar word.
    """
    error = EngineResponseError("Solr answers 400", status=400, detail="maxClauseCount is set to 2048")
    with pytest.raises(UnsupportedQueryError, match=cause), explain_refusals(BoundPlan(Bool(must=(test, MatchAll())))):
        raise error


def test_other_refusals_are_unchanged() -> None:
    """
    Other errors pass unchanged.
    """
    other = EngineResponseError("Solr answers 500", status=500, detail="out of memory")
    many = EngineResponseError("Solr answers 400", status=400, detail="maxClauseCount is set to 1024")
    for plan, error in (
        (BoundPlan(InOrder((("a", ANY),), 0)), many),
        (BoundPlan(MatchAll()), REFUSED),
        (BoundPlan(WildcardValue("kind", (ANY, "c"))), other),
    ):
        with pytest.raises(EngineResponseError) as raised, explain_refusals(plan):
            raise error
        assert raised.value is error


def tokens(count: int) -> SharedTokens:
    return SharedTokens("a", tuple(range(count)), 1)


def count(node: BoundLeaf) -> int:
    return len(node.tokens) if isinstance(node, SharedTokens) else 1


def apart(*nodes: BoundLeaf) -> list[BoundLeaf]:
    root: BoundNode = Bool(should=nodes, min_should_match=1)
    moved = fingerprints_to_move(root, count, movable=(SharedTokens,), moved_clauses=3, server="Lucene")
    return [node for node in nodes if id(node) in moved]


def test_the_largest_leave_first() -> None:
    """
    The largest fingerprints move first, and no more than necessary.
    """
    small, large, largest = tokens(300), tokens(500), tokens(512)
    assert apart(small, large) == []
    assert apart(tokens(512), tokens(512)) == []
    assert apart(small, large, largest) == [largest]
    assert apart(small, large, largest, tokens(512), tokens(512)) == [largest, tokens(512), tokens(512)]


@given(st.lists(st.integers(1, 512), max_size=40), st.integers(0, 1_100))
def test_remaining_clauses_are_within_the_limit(sizes: list[int], others: int) -> None:
    """
    The remaining clauses are within the limit. A query is refused only if moving all fingerprints is not enough.
    """
    nodes: list[BoundLeaf] = [tokens(size) for size in sizes]
    everything = [*nodes, *(MatchAll() for _ in range(others))]
    least = others + sum(min(size, 3) for size in sizes)
    if least > MAX_CLAUSES:
        with pytest.raises(ParameterError, match=f"comes to {least:,} clauses, and Lucene takes 1,024 at once"):
            apart(*everything)
        return
    moved = {id(node) for node in apart(*everything)}
    assert others + sum(3 if id(node) in moved else count(node) for node in nodes) <= MAX_CLAUSES
    if moved:
        assert others + sum(sizes) > MAX_CLAUSES, "nothing leaves without need"


def test_too_many_clauses_are_refused_with_the_limit() -> None:
    """
    The message has the number of clauses and the limit.
    """
    with pytest.raises(ParameterError, match="comes to 1,025 clauses, and Lucene takes 1,024 at once"):
        apart(*(MatchAll() for _ in range(1_025)))
