"""Persistent connections to a scripted server on real sockets, and retries."""

from __future__ import annotations

import contextlib
import gc
import gzip
import os
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import Buffer

from whorl.context import new_request
from whorl.engine import http as connections
from whorl.engine.http import ConnectError, ConnectionPool, HttpResponse, SendTimeoutError, retry_pause, with_retries
from whorl.errors import EngineUnavailableError

pytestmark = pytest.mark.process


class Server:
    """Send scripted bytes for each request of a connection, then close it.

    Args:
        answers: Of the connections in their order, each a list of answers.
        reads: Whether requests are read to their end.
        context: Of TLS; None for none.
        piece: Bytes that are sent at once.
        address: Where it listens.
        declares_end: Whether the end of a connection is declared over TLS.
    """

    def __init__(
        self,
        *answers: list[bytes],
        reads: bool = True,
        context: ssl.SSLContext | None = None,
        piece: int = 1 << 20,
        address: str = "127.0.0.1",
        declares_end: bool = False,
    ) -> None:
        self._answers, self._reads, self._context, self._piece = answers, reads, context, piece
        self._declares_end = declares_end
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.create_server((address, 0), family=family)
        # For connections that a failed test never makes.
        self._listener.settimeout(60)
        self.port = int(self._listener.getsockname()[1])
        self.closed = threading.Event()
        self.connections = 0
        #: The request that was read last.
        self.seen = b""

    def serve(self) -> None:
        for answers in self._answers:
            # Who has seen enough closes it, whatever is still to be sent.
            with self._secured(self._listener.accept()[0]) as connection, contextlib.suppress(OSError):
                self.connections += 1
                for answer in answers:
                    # Who asks no more has closed it.
                    if self._reads and not self._read(connection):
                        break
                    # Split the response, so that reads end anywhere.
                    for at in range(0, len(answer), self._piece):
                        connection.sendall(answer[at : at + self._piece])
                if self._declares_end and isinstance(connection, ssl.SSLSocket):
                    connection.unwrap()
            self.closed.set()

    def _read(self, connection: socket.socket) -> bool:
        # Only requests that the server does not read have a body.
        self.seen = b""
        while not self.seen.endswith(b"\r\n\r\n"):
            if not (part := connection.recv(65_536)):
                return False
            self.seen += part
        return True

    def _secured(self, connection: socket.socket) -> socket.socket:
        return connection if self._context is None else self._context.wrap_socket(connection, server_side=True)

    @contextlib.contextmanager
    def serving(
        self, trust: bool | str | None = None, *, host: str = "127.0.0.1", most_idle: int = 2
    ) -> Iterator[ConnectionPool]:
        """Give connections to it."""
        thread = threading.Thread(target=self.serve)
        thread.start()
        way = ConnectionPool(host, self.port, trust, most_idle)
        try:
            yield way
        finally:
            way.close()
            thread.join()
            self._listener.close()


def answer(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(head).encode() + content


def link_local() -> str:
    """Return an address of this machine that needs its interface, "" where there is none to be found."""
    try:
        rows = [line.split() for line in Path("/proc/net/if_inet6").read_text().splitlines()]
    except OSError:
        return ""
    packed = ((bytes.fromhex(row[0]), row[-1]) for row in rows if row[0].startswith("fe80"))
    return next((f"{socket.inet_ntop(socket.AF_INET6, raw)}%{interface}" for raw, interface in packed), "")


def asked(way: ConnectionPool, method: str = "GET", body: bytes | None = None) -> HttpResponse:
    return way.request(method, "/a?b=c", body, {"Accept-Encoding": "gzip"}, connect_seconds=5, silence_seconds=30)


def test_one_connection_serves_several_requests() -> None:
    """
    Each request gets its own response, complete, with a length header or in chunks.
    """
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n4;x=y\r\n, ok\r\n0\r\n\r\n"
    server = Server([answer(b"one", "X-Told: yes"), chunks, answer(b"", status="404 Not Found")])
    with server.serving() as way:
        first = asked(way)
        assert (first.status, first.content, first.headers["x-told"]) == (200, b"one", "yes")
        assert asked(way).content == b"two, ok"
        assert asked(way)[::2] == (404, b"")
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
    told = b"".join(f"{len(chunk):x}{extension}\r\n".encode() + chunk + b"\r\n" for chunk in chunks)
    head = f"HTTP/1.1 {status} said\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    return head + told + b"0\r\n" + trailer + b"\r\n", status, content


@given(st.lists(answers(), min_size=1, max_size=4), st.integers(1, 400))
def test_answers_in_any_form_and_pieces(several: list[tuple[bytes, int, bytes]], piece: int) -> None:
    """
    Responses are read correctly however they are split, over one connection.
    """
    server = Server([sent for sent, _, _ in several], piece=piece)
    with server.serving() as way:
        for _, status, content in several:
            assert asked(way)[::2] == (status, content)
    assert server.connections == 1


def test_an_answer_that_ends_with_its_connection() -> None:
    """
    Nothing says how long it is, so it is whole once the server has closed; and so it is where that says it will.
    """
    old = b"HTTP/1.0 200 OK\r\n\r\nall of it"
    server = Server([old], [answer(b"last", "Connection: close")], [answer(b"other")])
    with server.serving() as way:
        assert [asked(way).content for _ in range(3)] == [b"all of it", b"last", b"other"]
    assert server.connections == 3


def test_what_only_has_a_head() -> None:
    """
    The length is that of the body that GET would bring: none comes, and the connection goes on.
    """
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
    server = Server([head, b"HTTP/1.1 204 No Content\r\n\r\n", answer(b"one")])
    with server.serving() as way:
        assert asked(way, "HEAD")[::2] == (200, b"")
        assert asked(way)[::2] == (204, b"")
        assert asked(way).content == b"one"
    assert server.connections == 1


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "ended before"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "ended before"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour", "ended before"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n", "ended before"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "ended before"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "no answer of HTTP"),
        (answer(b"one") + answer(b"two"), "no answer of HTTP"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no answer of HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "no answer of HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 3_000_000, "bytes beside"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 3_000_000, "bytes beside"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000, "bytes beside"),
    ],
    ids=[
        *("nothing", "head", "body", "chunks", "100", "two lengths", "two answers", "another language", "101"),
        *("endless head", "endless trailer", "endless 100"),
    ],
)
def test_what_is_no_answer(sent: bytes, reason: str) -> None:
    """
    An invalid response raises an error, and the next request gets its own response.
    """
    server = Server([sent], [answer(b"next")])
    with server.serving() as way:
        with pytest.raises(ConnectionError, match=reason):
            asked(way)
        assert asked(way).content == b"next"


@pytest.mark.parametrize(
    ("target", "header"),
    [
        *(("/a b", "c"), ("/a\r\nX: y", "c"), ("/a", "c\r\nX: y"), ("/a", "c\0")),
        *(("/\u20ac", "c"), ("/\xe9", "c"), ("/a", "c\u20ac")),
    ],
)
def test_what_cannot_be_sent(target: str, header: str) -> None:
    """
    It would end where it should not, and what follows be read as something else, or its encoding is known to nobody; so
    nothing is sent. A password is nowhere in the error.
    """
    way = ConnectionPool("127.0.0.1", 1, None, 1)
    with pytest.raises(ValueError, match="no request of HTTP") as caught:
        way.request("GET", target, None, {"X-Pass": "secret", "X-Told": header}, connect_seconds=1, silence_seconds=1)
    assert "secret" not in repr((caught.value, caught.value.__context__))


def test_a_host_whose_name_is_not_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The Host header has the name in its IDNA form, with the port.
    """
    server = Server([answer(b"one")])
    there = socket.create_connection(("127.0.0.1", server.port))
    monkeypatch.setattr(socket, "create_connection", lambda *_: there)
    with server.serving(host="b\xfccher") as way:
        assert asked(way).content == b"one"
    assert f"\r\nHost: xn--bcher-kva:{server.port}\r\n".encode() in server.seen


def test_a_connection_that_was_closed_meanwhile() -> None:
    """
    A connection that the server has closed is replaced without an error.
    """
    server = Server([answer(b"one")], [answer(b"two")])
    with server.serving() as way:
        assert asked(way).content == b"one"
        assert server.closed.wait(240)
        assert asked(way).content == b"two"
    assert server.connections == 2


def test_no_more_are_kept_than_are_wanted() -> None:
    """
    A connection beyond these is closed once it has served its request.
    """
    server = Server([answer(b"one"), answer(b"again")], [answer(b"two")])
    with server.serving(most_idle=0) as way:
        assert [asked(way).content, asked(way).content] == [b"one", b"two"]


def test_what_nobody_has_closed() -> None:
    """
    The connections of a discarded pool are closed.
    """
    server = Server([answer(b"one"), answer(b"again")])
    with server.serving():
        way = ConnectionPool("127.0.0.1", server.port, None, 2)
        assert asked(way).content == b"one"
        del way
        gc.collect()
        assert server.closed.wait(240)


def test_what_is_packed_is_unpacked() -> None:
    """
    Gzip, and nothing else: what only says to be gzip, is damaged or cut off, is no answer.
    """
    content = b"some words " * 1_000
    packed = gzip.compress(content)
    told = "Content-Encoding: gzip"
    damaged = [b"{}", packed[:10] + b"\xff" + packed[11:], packed[:-20]]
    server = Server([answer(packed, told)], *([answer(each, told)] for each in damaged))
    with server.serving() as way:
        assert asked(way).content == content
        for _ in damaged:
            with pytest.raises(OSError, match=r"gzip|decompressing|Compressed"):
                asked(way)


def test_an_answer_before_the_body_was_read() -> None:
    """
    The response of a server that refuses a body early is returned, not the closed connection.
    """
    server = Server([answer(b"too much", status="413 Too Large")], reads=False)
    with server.serving() as way:
        told = asked(way, "POST", bytes(50_000_000))
        assert told[::2] == (413, b"too much")


@pytest.mark.parametrize("body", [None, bytes(50_000_000)])
def test_a_server_that_is_silent(body: bytes | None) -> None:
    """
    The error distinguishes a server that does not read from one that does not respond.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        way = ConnectionPool("127.0.0.1", silent.getsockname()[1], None, 2)
        with pytest.raises(TimeoutError) as caught:
            way.request("POST", "/", body, {}, connect_seconds=5, silence_seconds=0.2)
        assert isinstance(caught.value, SendTimeoutError) == (body is not None)


def test_nobody_there() -> None:
    """
    The error tells apart that there was no connection, and its cause why.
    """
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        way = ConnectionPool("127.0.0.1", closed.getsockname()[1], None, 2)
        with pytest.raises(ConnectError) as caught:
            asked(way)
        assert isinstance(caught.value.__cause__, ConnectionRefusedError)


@pytest.mark.parametrize(
    ("host", "trust", "address"),
    [("::1", None, "http://[::1]:7"), ("a.example", True, "https://a.example:7"), ("b", False, "https://b:7")],
)
def test_addresses(host: str, trust: bool | None, address: str) -> None:
    """
    Hosts are written in URL syntax.
    """
    assert ConnectionPool(host, 7, trust, 1).address == address


@pytest.mark.skipif(not link_local(), reason="this system tells of no address with an interface")
def test_an_address_with_an_interface() -> None:
    """
    The zone of an address selects the interface and is not sent to the server.
    """
    server = Server([answer(b"one")], address="::")
    with server.serving(host=link_local().replace("%", "%25")) as way:
        assert asked(way).content == b"one"
    assert f"\r\nHost: [{link_local().partition('%')[0]}]:{server.port}\r\n".encode() in server.seen


@pytest.mark.parametrize(
    "damaged",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx",
    ],
)
def test_a_length_that_nothing_has(damaged: bytes) -> None:
    """
    No answer, and the next request gets its own over another connection.
    """
    server = Server([damaged], [answer(b"two")])
    with server.serving() as way:
        with pytest.raises(ConnectionError, match="no answer of HTTP"):
            asked(way)
        assert asked(way).content == b"two"


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_what_comes_before_an_answer(piece: int) -> None:
    """
    100 and its like are passed over, however many there are, and with them their headers.
    """
    before = b"".join(f"HTTP/1.1 {status} Wait\r\nX-Before: 1\r\n\r\n".encode() for status in (100, 102, 103, 103))
    head = before + b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n"
    server = Server([before + answer(b"one"), head, answer(b"two")], piece=piece)
    with server.serving() as way:
        assert asked(way) == (200, {"content-length": "3"}, b"one")
        assert asked(way, "HEAD")[::2] == (404, b"")
        assert asked(way).content == b"two"
    assert server.connections == 1


def test_what_comes_behind_an_answer() -> None:
    """
    Trailers replace no headers, neither the content type nor the encoding.
    """
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/a\r\nTransfer-Encoding: chunked\r\n\r\n"
    behind = b"Content-Type: text/b\r\nContent-Encoding: gzip\r\nX-Behind: 1\r\n"
    server = Server([head + b"3\r\none\r\n0\r\n" + behind + b"\r\n"])
    with server.serving() as way:
        assert asked(way) == (200, {"content-type": "text/a", "transfer-encoding": "chunked"}, b"one")


def test_a_body_where_only_the_head_was_asked_for() -> None:
    """
    It is no answer; what is still to come of the body is not taken for the answer to the next request.
    """
    server = Server([answer(b"one")], [answer(b"two")])
    with server.serving() as way:
        with pytest.raises(ConnectionError, match="a body where only the head"):
            asked(way, "HEAD")
        assert asked(way).content == b"two"


def test_blanks_behind_a_header() -> None:
    """
    They do not belong to it (RFC 9110, 5.5), so that an answer is unpacked all the same.
    """
    server = Server([answer(gzip.compress(b"one"), "Content-Encoding: gzip \t")])
    with server.serving() as way:
        assert asked(way).content == b"one"


def test_memory_of_a_large_answer() -> None:
    """
    It is held once while it comes, and not at all once nobody needs it, without a collection of garbage.
    """
    content = bytes(30_000_000)
    server = Server([answer(content)], piece=1 << 16)
    with server.serving() as way:
        gc.disable()
        tracemalloc.start()
        try:
            told = asked(way)
            _, most = tracemalloc.get_traced_memory()
            assert told.content == content
            del told
            left, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
    assert most < 1.5 * len(content)
    assert left < len(content) / 10


def test_an_interruption_while_an_answer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Ctrl-C is not taken for a fault of the server, after which a request would be repeated.
    """

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(connections._ResponseParser, "on_body", interrupted)
    with Server([answer(b"one")]).serving() as way, pytest.raises(KeyboardInterrupt):
        asked(way)


def test_the_time_to_take_a_body_is_not_that_of_the_whole() -> None:
    """
    A socket has one time for all that it is given at once, so a large body is given to it in pieces.
    """

    class Counted(socket.socket):
        sizes: list[int]

        def sendall(self, data: Buffer, *rest: int) -> None:
            self.sizes.append(memoryview(data).nbytes)
            super().sendall(data, *rest)

    here, there = socket.socketpair()
    with there, Counted(fileno=here.detach()) as counted:
        counted.sizes = []
        body = bytes(range(251)) * 4_000
        sender = threading.Thread(target=connections._send, args=(counted, b"head", body))
        sender.start()
        taken = b""
        while len(taken) < len(body) + 4:
            taken += there.recv(1 << 20)
        sender.join()
        assert taken == b"head" + body
        assert max(counted.sizes) <= 1 << 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_has_connections_of_its_own() -> None:
    """
    The child's request does not go over the connection that its parent still uses.
    """
    server = Server([answer(b"first"), answer(b"third")], [answer(b"second")])
    # Served one after the other, so the child's is only answered once its parent's connection has ended.
    with server.serving() as way:
        assert asked(way).content == b"first"
        child = os.fork()
        if not child:
            os._exit(asked(way).content != b"second")
        assert asked(way).content == b"third"
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return str(tmp_path / "ca.pem")


def test_a_server_that_goes_while_it_is_told_something_over_tls(authority: trustme.CA, ca_file: str) -> None:
    """
    A connection lost over TLS is no error of trust.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with Server([b""], reads=False, context=context).serving(ca_file) as way:
        with pytest.raises(ConnectionError) as caught:
            asked(way, "POST", bytes(50_000_000))
        assert not isinstance(caught.value.__cause__, ssl.SSLError)


@pytest.mark.parametrize("declares_end", [True, False])
def test_an_answer_that_ends_with_its_connection_over_tls(
    authority: trustme.CA, ca_file: str, *, declares_end: bool
) -> None:
    """
    It is whole if the server says that this is the end; else anybody between may have cut it off (RFC 9112, 9.8).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = Server([b"HTTP/1.0 200 OK\r\n\r\nall of it"], context=context, declares_end=declares_end)
    with server.serving(ca_file) as way:
        if declares_end:
            assert asked(way).content == b"all of it"
        else:
            with pytest.raises(ConnectionError, match="cut off") as caught:
                asked(way)
            assert caught.value.__cause__ is None


def test_trust_that_was_given_up(authority: trustme.CA) -> None:
    """
    Without verification, any certificate is accepted.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("other.example").configure_cert(context)
    with Server([answer(b"one")], context=context).serving(trust=False) as way:
        assert asked(way).content == b"one"


def test_a_name_that_no_longer_counts(authority: trustme.CA, ca_file: str) -> None:
    """
    A certificate names its server by an alternative name; the common name was given up.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(common_name="localhost").configure_cert(context)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError), listener.accept()[0] as plain:
                context.wrap_socket(plain, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(ConnectError, match=r"(?i)certificate"):
            asked(ConnectionPool("localhost", listener.getsockname()[1], ca_file, 1))
        thread.join()


def test_pauses() -> None:
    """
    About twice as long each time up to two seconds, never the same.
    """
    longest = [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    drawn = [[retry_pause(number) for number in range(1, 8)] for _ in range(50)]
    for pauses in drawn:
        assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len({tuple(pauses) for pauses in drawn}) == 50


@pytest.mark.parametrize(("retries", "is_passing", "sent"), [(0, True, 1), (1, True, 2), (7, False, 1)])
def test_how_often(retries: int, is_passing: bool, sent: int) -> None:
    """
    Temporary failures are retried up to the limit; then the last error is raised.
    """
    calls: list[int] = []

    def send() -> None:
        calls.append(len(calls))
        raise EngineUnavailableError(f"away {len(calls)}", is_passing=is_passing)

    with pytest.raises(EngineUnavailableError, match=f"away {sent}"):
        with_retries(send, retries)
    assert len(calls) == sent


def test_what_answers_in_the_end() -> None:
    """
    One error, then a response: two requests, one of them a retry.
    """
    errors = [EngineUnavailableError("away", is_passing=True)]

    def send() -> str:
        if errors:
            raise errors.pop()
        return "here"

    with new_request() as request:
        assert with_retries(send, 3) == "here"
    assert (request.trace.engine_requests, request.trace.engine_retries) == (2, 1)
