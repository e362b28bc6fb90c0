"""Transport to Solr: retries, timeouts and trust."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trustme

from tests import solr_runtime
from tests.clock import Clock
from tests.sampling import thorough
from whorl import Document, open_store
from whorl.engine.server_engine import ServerAccess
from whorl.engine.solr.client import SolrClient
from whorl.errors import EngineResponseError, EngineUnavailableError
from whorl.request_context import Trace, deadline, new_request, seconds_left
from whorl.settings.settings import Settings

_PATIENCE_SECONDS = 240.0


class Door:
    """Proxy before a real Solr that loses the first connections or responses, and passes on the rest.

    Args:
        url: URL of a core.
        lost: Connections that are reset at once.
        unanswered: Further connections whose request reaches Solr, and whose response is lost.
        context: TLS context of the proxy.
        is_silent: Whether all other connections stay silent instead of reaching Solr.
        stalls_after: Bytes after which each connection stops reading for a while.
        stall_seconds: Duration of the stall, None for the proxy's lifetime.
    """

    def __init__(
        self,
        url: str,
        *,
        lost: int = 0,
        unanswered: int = 0,
        context: ssl.SSLContext | None = None,
        is_silent: bool = False,
        stalls_after: int = 0,
        stall_seconds: float | None = 0.0,
    ) -> None:
        parts = urlsplit(url)
        self._upstream = (str(parts.hostname), int(parts.port or 0))
        self._lost, self._unanswered, self._context, self._is_silent = lost, unanswered, context, is_silent
        self._stalls_after, self._stall_seconds, self._closed = stalls_after, stall_seconds, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        scheme = "http" if context is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self._count, self._marks = 0, dict[tuple[str, int], threading.Event]()
        self._threads = [threading.Thread(target=self._take)]
        self._open: list[socket.socket] = []

    @property
    def connections(self) -> int:
        """Return the number of connections so far, including unaccepted ones."""
        with socket.socket() as mark:
            mark.bind(("127.0.0.1", 0))
            # Connections are accepted in order: once this one is accepted, so are all before it.
            taken = self._marks[mark.getsockname()] = threading.Event()
            mark.connect(self._listener.getsockname())
            assert taken.wait(_PATIENCE_SECONDS)
        return self._count

    def __enter__(self) -> Door:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        # Shutting down wakes waiting threads up, which closing would not.
        for connection in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in [self._listener, *self._open]:
            connection.close()

    def _take(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, sender = self._listener.accept()
                if sender in self._marks:
                    connection.close()
                    self._marks.pop(sender).set()
                    continue
                self._count += 1
                if self._count <= self._lost:
                    _reset(connection)
                else:
                    thread = threading.Thread(target=self._pass, args=(connection, self._count - self._lost))
                    self._threads.append(thread)
                    thread.start()

    def _pass(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            self._open.append(connection)
            if self._is_silent:
                return
            try:
                upstream = socket.create_connection(self._upstream)
            except OSError:
                connection.shutdown(socket.SHUT_RDWR)
                raise
            self._open.append(upstream)
            back = threading.Thread(target=_copy, args=(upstream, connection, number <= self._unanswered))
            back.start()
            if self._stalls_after:
                received = 0
                while received < self._stalls_after and (part := connection.recv(65_536)):
                    upstream.sendall(part)
                    received += len(part)
                self._closed.wait(self._stall_seconds)
            _copy(connection, upstream, False)
            back.join()


def _copy(source: socket.socket, target: socket.socket, is_lost: bool) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):
        while part := source.recv(65_536):
            if is_lost:
                # Solr has responded, so it has processed the request.
                _reset(target)
                return
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.shutdown(socket.SHUT_RD)
    connection.close()


@pytest.fixture(scope="module")
def core(solr_standalone_url: str) -> Iterator[str]:
    """URL of a core for these tests."""
    base_url = solr_standalone_url.rpartition("/")[0]
    yield solr_runtime.make_collection(base_url, "whorl_test_transport")
    solr_runtime.drop(base_url, "whorl_test_transport")


def counted(client: SolrClient) -> int:
    return int(client.post("select", {"query": "*:*", "limit": 0})["response"]["numFound"])


def count_with_retries(url: str, retries: int) -> tuple[Trace, EngineUnavailableError | None]:
    with contextlib.closing(SolrClient(url, ServerAccess(retries=retries))) as client, new_request() as request:
        try:
            counted(client)
        except EngineUnavailableError as error:
            return request.trace, error
        return request.trace, None


@pytest.mark.parametrize(
    ("lost", "retries", "requests"), [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 1, 2), (2, 2, 3), (1, 5, 2)]
)
def test_lost_requests_are_retried(core: str, lost: int, retries: int, requests: int) -> None:
    """
    A lost request is retried as often as the settings allow, and each attempt is recorded.
    """
    with Door(core, lost=lost) as door:
        trace, error = count_with_retries(door.url, retries)
        assert (error is None) == (retries >= lost)
        assert error is None or str(error).startswith(f"no Solr answers at {door.url}")
        assert door.connections == trace.engine_requests == requests
        assert trace.engine_retries == requests - 1


def test_documents_with_a_lost_answer_are_stored_once(core: str) -> None:
    """
    Documents and deletions whose response was lost are sent again, without duplicates.
    """
    with Door(core, unanswered=1) as door, contextlib.closing(SolrClient(door.url, ServerAccess(retries=1))) as client:
        client.add([{"id": "twice", "content": "seven silver spoons"}])
        client.commit()
        assert door.connections == 2
        assert counted(client) == 1
    with Door(core, unanswered=1) as door, contextlib.closing(SolrClient(door.url, ServerAccess(retries=1))) as client:
        client.post("update", {"delete": ["twice"]}, commit="true")
        assert counted(client) == 0


def test_a_change_of_the_schema_is_not_sent_again(core: str) -> None:
    """
    A schema change is not retried, since Solr would refuse it if the first attempt had succeeded.
    """
    command = {"add-field": {"name": "once", "type": "string"}}
    with Door(core, unanswered=1) as door, contextlib.closing(SolrClient(door.url, ServerAccess(retries=5))) as client:
        with pytest.raises(EngineUnavailableError):
            client.change("schema", command)
        assert door.connections == 1
    with contextlib.closing(SolrClient(core)) as client:
        with pytest.raises(EngineResponseError, match="once"):
            client.change("schema", command)
        client.change("schema", {"delete-field": {"name": "once"}})


def test_timed_out_requests_are_not_retried(core: str) -> None:
    """
    A request that timed out is not retried, which would add to the load of a slow Solr.
    """
    with Door(core, is_silent=True) as door:
        client = SolrClient(door.url, ServerAccess(timeout_seconds=0.2, retries=5))
        with pytest.raises(EngineUnavailableError, match=r"did not answer within 0\.2 s"), contextlib.closing(client):
            counted(client)
        assert door.connections == 1


def test_the_deadline_limits_the_wait(core: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A request's deadline limits the wait for Solr, also for the response to documents; after the deadline nothing is
    sent.
    """
    getresponse = http.client.HTTPConnection.getresponse

    def late(connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        # The time passes while the client waits for the response.
        clock.sleep(0.2)
        return getresponse(connection)

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", late)
    words = "did not answer in the time that this request has.*WHORL_REQUEST_TIMEOUT"
    with (
        Door(core, is_silent=True) as door,
        contextlib.closing(SolrClient(door.url, ServerAccess(timeout_seconds=600))) as client,
    ):
        for ask in (lambda: counted(client), lambda: client.add([{"id": "a"}])):
            with deadline(0.2), pytest.raises(EngineUnavailableError, match=words):
                ask()
        assert door.connections == 2
        with deadline(0), pytest.raises(EngineUnavailableError, match=words):
            counted(client)
        assert door.connections == 2


def test_no_pause_goes_beyond_the_end(clock: Clock) -> None:
    """
    Without time for another attempt, the error is raised at once.
    """
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/solr/whorl"
        with (
            contextlib.closing(SolrClient(url, ServerAccess(retries=10))) as client,
            new_request() as request,
            deadline(0.3),
        ):
            with pytest.raises(EngineUnavailableError):
                counted(client)
            # Two pauses take 0.15 to 0.3 seconds, and the third one 0.2 to 0.4.
            assert 1 < request.trace.engine_requests < 4
            left = seconds_left()
            assert left is not None
            assert left > 0


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def tls_for(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def test_an_authority_of_ones_own(core: str, authority: trustme.CA, ca_file: Path) -> None:
    """
    With the authority's file, Solr is trusted in all operations of a store.
    """
    settings = Settings.load({"WHORL_SOLR_CA": str(ca_file)})
    with Door(core, context=tls_for(authority, "127.0.0.1")) as door, open_store(door.url, settings) as store:
        store.index([Document("tls", "seven silver spoons shine softly since sunday")])
        assert [hit.id for hit in store.search("FINGERPRINT:tls_100").hits] == ["tls"]
        assert store.delete(["tls"]) == 1


@pytest.mark.parametrize(("settings", "name"), [({}, "127.0.0.1"), ({"WHORL_SOLR_CA": "ca"}, "other.example")])
def test_unknown_authorities_are_not_trusted(
    core: str, authority: trustme.CA, ca_file: Path, settings: dict[str, str], name: str
) -> None:
    """
    An unknown authority or another host's certificate is not trusted; there is no retry, and the message gives a
    remedy.
    """
    environment = {variable: str(ca_file) for variable in settings}
    with Door(core, context=tls_for(authority, name)) as door:
        store = open_store(door.url, Settings.load(environment))
        with store, pytest.raises(EngineUnavailableError, match=r"cannot be trusted \(.+\); .*WHORL_SOLR_CA"):
            store.count()
        assert door.connections == 1


def test_trust_can_be_given_up(core: str, authority: trustme.CA) -> None:
    """
    A certificate is left unchecked only if the setting says so.
    """
    settings = Settings.load({"WHORL_SOLR_VERIFY": "false"})
    with Door(core, context=tls_for(authority, "other.example")) as door, open_store(door.url, settings) as store:
        assert store.count() == 0


def test_the_environment_does_not_choose_whom_to_trust(
    core: str, authority: trustme.CA, ca_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Only whorl's settings decide on trust, not variables of the HTTP library.
    """
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(ca_file))
    with Door(core, context=tls_for(authority, "127.0.0.1")) as door:
        store = open_store(door.url, Settings.load({}))
        with store, pytest.raises(EngineUnavailableError, match="cannot be trusted"):
            store.count()


def test_a_file_without_certificates(core: str, authority: trustme.CA, tmp_path: Path) -> None:
    """
    A file without certificates is reported by the name of its setting.
    """
    (tmp_path / "ca.pem").write_text("no certificate", encoding="utf-8")
    settings = Settings.load({"WHORL_SOLR_CA": str(tmp_path / "ca.pem")})
    with Door(core, context=tls_for(authority, "127.0.0.1")) as door:
        store = open_store(door.url, settings)
        with store, pytest.raises(EngineUnavailableError, match="WHORL_SOLR_CA"):
            store.count()


def test_plain_http_to_a_tls_port(core: str) -> None:
    """
    https to a port without TLS is reported as a TLS problem.
    """
    with (
        open_store(core.replace("http://", "https://"), Settings.load({})) as store,
        pytest.raises(EngineUnavailableError, match="does it speak TLS"),
    ):
        store.count()


@thorough
@pytest.mark.parametrize(("silence", "stall"), [(240.0, 1.5), (0.6, None)])
def test_a_solr_that_stalls_in_the_middle_of_a_body(core: str, silence: float, stall: float | None) -> None:
    """
    The timeout for sending a body is the response timeout, not the connect timeout; the message names its setting.
    """
    text = "a b c d e " * 1_000_000
    with (
        Door(core, stalls_after=1_000_000, stall_seconds=stall) as door,
        contextlib.closing(SolrClient(door.url, ServerAccess(timeout_seconds=silence, connect_seconds=0.3))) as client,
    ):
        if stall is not None:
            client.add([{"id": "stalled", "content": text}])
            client.post("update", {"delete": ["stalled"]}, commit="true")
        else:
            with pytest.raises(EngineUnavailableError, match=r"stopped reading .* within 0\.6 s .*WHORL_TIMEOUT"):
                client.add([{"id": "stalled", "content": text}])


def test_the_connect_timeout_is_named(core: str) -> None:
    """
    The message names the connect timeout and its setting.
    """
    # A listener with a full queue accepts no more connections.
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as opened:
        address = full.getsockname()
        for _ in range(8):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        client = SolrClient(f"http://127.0.0.1:{address[1]}/solr/whorl", ServerAccess(connect_seconds=0.3))
        opened.callback(client.close)
        with pytest.raises(EngineUnavailableError, match=r"no connection .* within 0\.3 s .*WHORL_CONNECT_TIMEOUT"):
            client.commit()
