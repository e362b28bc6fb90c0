"""Failures of Solr (away, slow, refusing, malformed, killed): the error, its message, and the remaining documents.

The faults are real responses on real sockets; a real Solr serves the requests before a fault.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import requests
import urllib3
from click.testing import CliRunner

from tests import solr_runtime
from tests.engine.solr.test_transport import Door
from tests.sampling import thorough
from whorl import Document, open_store
from whorl.cli.main import main
from whorl.engine.local.server_process import RunningServer
from whorl.engine.local.solr import start_standalone
from whorl.engine.server_engine import ServerAccess, ServerConnections
from whorl.engine.solr.client import SolrClient
from whorl.errors import EngineError, EngineResponseError, EngineUnavailableError

pytestmark = pytest.mark.process

WHORL = Path(sys.executable).parent / "whorl"
PASSWORD = "s3cr3t/#@"
QUOTED = "s3cr3t%2F%23%40"
_DEADLINE_SECONDS = 240.0


def http(status: str, body: str, content_type: str = "application/json", *more: str) -> bytes:
    """Return a complete HTTP response as bytes."""
    raw = body.encode()
    head = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {len(raw)}", "Connection: close"]
    return "\r\n".join([*head, *more, "", ""]).encode() + raw


PAGE = "<html><head><title>Welcome to the\nproxy</title></head><body><h1>Please log in</h1></body></html>"
NEVER, RESET = b"never", b"reset"
#: Timeout for a response that never comes, in seconds.
SOON = 0.3

#: By fault: the response, the expected error, and its message apart from the URL.
FAULTS: dict[str, tuple[bytes, type[EngineError], str]] = {
    "silent": (NEVER, EngineUnavailableError, r"did not answer within [\d.]+ s .*WHORL_TIMEOUT"),
    "reset": (RESET, EngineUnavailableError, "no Solr answers"),
    "empty": (b"", EngineUnavailableError, "no Solr answers"),
    "no-http": (b"SSH-2.0-OpenSSH_9.2\r\n", EngineUnavailableError, "no Solr answers"),
    "cut-off": (http("200 OK", '{"response": ')[:-3] + RESET, EngineUnavailableError, "no Solr answers"),
    "too-short": (
        http("200 OK", "{}").replace(b"Length: 2", b"Length: 2000"),
        EngineUnavailableError,
        "no Solr answers",
    ),
    "chunks-cut-off": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n",
        EngineUnavailableError,
        "no Solr answers",
    ),
    "no-gzip": (http("200 OK", "{}", "application/json", "Content-Encoding: gzip"), EngineUnavailableError, ""),
    "500-json": (
        http("500 Server Error", '{"error": {"msg": "it is\\nbroken", "trace": "java.lang"}}'),
        EngineResponseError,
        "answers 500: it is broken$",
    ),
    "500-trace": (
        http("500 Server Error", '{"error": {"trace": "java.lang.NullPointerException\\n at x"}}'),
        EngineResponseError,
        r"answers 500: java.lang.NullPointerException at x$",
    ),
    "500-log": (
        http("500 Server Error", json.dumps({"error": {"msg": 'no incref() because "lookupLog" is null'}})),
        EngineUnavailableError,
        "is still reading its log again",
    ),
    "500-full": (
        http("500 Server Error", '{"error": {"msg": "java.io.IOException: No space left on device"}}'),
        EngineResponseError,
        "No space left on device; see whether Solr's disk is full, and restart Solr when it has room$",
    ),
    "500-after-full": (
        http("500 Server Error", '{"error": {"msg": "this IndexWriter is closed"}}'),
        EngineResponseError,
        "this IndexWriter is closed; see whether Solr's disk is full, and restart Solr",
    ),
    "500-html": (http("500 Server Error", PAGE, "text/html"), EngineResponseError, "500: Welcome to the proxy$"),
    "500-list": (http("500 Server Error", "[]"), EngineResponseError, r"answers 500: \[\]$"),
    "500-other-json": (http("500 Server Error", '{"error": "x"}'), EngineResponseError, "answers 500: "),
    "500-latin-1": (
        http("500 Server Error", "", "text/html").replace(b"Length: 0", b"Length: 4") + b"\xe9\xe8\xff\xfe",
        EngineResponseError,
        "answers 500: ",
    ),
    "500-long": (http("500 Server Error", "x" * 100_000, "text/plain"), EngineResponseError, "answers 500: x{300}$"),
    "400": (http("400 Bad", '{"error": {"msg": "undefined field x"}}'), EngineResponseError, "400: undefined field x"),
    "200-html": (http("200 OK", PAGE, "text/html"), EngineResponseError, "not as a Solr does.*Welcome to the proxy"),
    "200-broken": (http("200 OK", '{"response": '), EngineResponseError, "not as a Solr does.*no JSON object"),
    "200-nothing": (http("200 OK", ""), EngineResponseError, "not as a Solr does.*no JSON object: nothing"),
    "200-list": (http("200 OK", "[1, 2]"), EngineResponseError, r"not as a Solr does.*\[1, 2\]"),
    "200-deep": (http("200 OK", "[" * 100_000), EngineResponseError, "not as a Solr does"),
    "204": (b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", EngineResponseError, "answers 204"),
    "401": (http("401 Unauthorized", PAGE, "text/html"), EngineResponseError, r"/\w+ answers 401: set "),
    "403": (http("403 Forbidden", "{}"), EngineResponseError, "403: set WHORL_SOLR_AUTH=user:password"),
    "404": (http("404 Not Found", PAGE, "text/html"), EngineResponseError, "no such core or collection"),
    "413": (http("413 Too Large", PAGE, "text/html"), EngineResponseError, "answers 413: Welcome to the proxy"),
    "502": (http("502 Bad Gateway", PAGE, "text/html"), EngineUnavailableError, r"cannot answer now \(502\)"),
    "503": (http("503 Away", '{"error": {"msg": "loading"}}'), EngineUnavailableError, r"\(503\): loading"),
    "504": (http("504 Timeout", PAGE, "text/html"), EngineUnavailableError, r"cannot answer now \(504\)"),
    "elsewhere": (
        http("302 Found", "", "text/html", f"Location: https://u:{QUOTED}@login.example/sso"),
        EngineResponseError,
        "answers 302, a redirect to https://login.example/sso",
    ),
    "loop": (
        http("307 Again", "", "text/html", "Location: /solr/whorl/schema"),
        EngineResponseError,
        "answers 307, a redirect to /solr/whorl/schema",
    ),
}  # fmt: skip


@dataclass
class Faulty:
    """Server on a free port that gives one response to all requests, or to some and passes the others to a real Solr.

    Args:
        answer: Bytes to send; NEVER sends none, RESET at the end resets the connection.
        upstream: Base URL of a Solr for all requests whose path does not match.
        when: Pattern of the paths with the fault.
        after: Number of matching requests that go to Solr before the fault.
    """

    answer: bytes
    upstream: str = ""
    when: str = ""
    after: int = 0
    requests_received: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve and yield the address, host and port."""
        faulty = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):
                    faulty.respond(self)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        with Server(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                yield f"127.0.0.1:{server.server_address[1]}"
            finally:
                self.released.set()
                server.shutdown()
                thread.join()

    def respond(self, handler: socketserver.StreamRequestHandler) -> None:
        method, path, headers, body = read_request(handler)
        if not method:
            return
        self.requests_received.append(f"{method} {path} {headers.get('authorization', '')}")
        if self.upstream and not (re.search(self.when, path) and self.hits() > self.after):
            forwarded = {name: value for name, value in headers.items() if name in ("content-type", "accept")}
            passed = requests.request(method, f"{self.upstream}{path}", data=body, headers=forwarded, timeout=240)
            handler.wfile.write(http(f"{passed.status_code} x", passed.text, passed.headers["Content-Type"]))
        elif self.answer == NEVER:
            self.released.wait()
        else:
            handler.wfile.write(self.answer.removesuffix(RESET))
            if self.answer.endswith(RESET):
                handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                # Close without shutdown, which would end the connection without a reset.
                handler.connection.close()

    def hits(self) -> int:
        """Return the number of requests that matched so far."""
        return sum(bool(re.search(self.when, line.split()[1])) for line in self.requests_received)

    def meets(self, path: str) -> bool:
        """Check whether a next request with this path gets the fault."""
        return bool(re.search(self.when, path)) and self.hits() >= self.after

    def have_come(self, count: int) -> None:
        """Wait for `count` requests: a client that gives up may be faster than the thread that reads its request."""
        wait_until(lambda: len(self.requests_received) >= count)


def read_request(handler: socketserver.StreamRequestHandler) -> tuple[str, str, dict[str, str], bytes]:
    method, _, target = handler.rfile.readline().decode("latin-1").partition(" ")
    headers = {}
    while line := handler.rfile.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return method, target.rpartition(" ")[0], headers, handler.rfile.read(int(headers.get("content-length", 0)))


def hurry(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a short timeout for requests with the fault only; Solr's own responses keep the long one."""
    request = ServerConnections.request

    def hurried(self: ServerConnections, method: str, target: str, *body: Any) -> urllib3.BaseHTTPResponse:
        self._access = replace(self._access, timeout_seconds=SOON if faulty.meets(target) else _DEADLINE_SECONDS)
        return request(self, method, target, *body)

    monkeypatch.setattr(ServerConnections, "request", hurried)


def said(error: BaseException) -> str:
    """Return an error's full text with its causes and stack frames."""
    return "".join(traceback.format_exception(error))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove the machine's configuration."""
    monkeypatch.delenv("WHORL_TIMEOUT", raising=False)
    monkeypatch.delenv("WHORL_SOLR_AUTH", raising=False)
    # Each fault is met once; test_transport.py tests the retries.
    monkeypatch.setenv("WHORL_ENGINE_RETRIES", "0")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_the_right_error(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    """
    Reading, searching, adding and committing raise the same error, which names the URL and never a password.
    """
    answer, kind, words = FAULTS[fault]
    caplog.set_level(logging.DEBUG)
    faulty = Faulty(answer)
    with faulty.serving() as address:
        url = f"http://{address}/solr/whorl"
        access = ServerAccess(timeout_seconds=SOON if answer == NEVER else 60, retries=0)
        client = SolrClient(f"http://admin:{QUOTED}@{address}/solr/whorl", access)
        doors: dict[str, Callable[[], object]] = {
            "get": lambda: client.get("schema"),
            "post": lambda: client.post("select", {"query": "*:*"}),
            "add": lambda: client.add([{"id": "a", "content": "text"}]),
            "commit": client.commit,
        }
        with contextlib.closing(client):
            for number, (door, go) in enumerate(doors.items(), 1):
                with pytest.raises(EngineError) as caught:
                    go()
                faulty.have_come(number)
                assert type(caught.value) is kind, door
                assert url in str(caught.value), door
                assert re.search(words, str(caught.value)), (door, str(caught.value))
                assert "\n" not in str(caught.value)
                assert not re.search("s3cr3t", said(caught.value) + repr(caught.value)), door
    assert "s3cr3t" not in caplog.text
    # Each request was sent once, with the credentials, and no response redirected it.
    paths = [line.split()[1].split("?")[0].removeprefix("/solr/whorl/").strip("/") for line in faulty.requests_received]
    assert paths == ["schema", "select", "update", "update"]
    assert len({line.split()[-1] for line in faulty.requests_received}) == 1
    assert requests.auth._basic_auth_str("admin", PASSWORD).split()[1] == faulty.requests_received[0].split()[-1]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_at_the_command_line(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Each command ends with one message and exit code 1, without a password or a traceback.
    """
    answer, _, words = FAULTS[fault]
    if answer == NEVER:
        monkeypatch.setenv("WHORL_TIMEOUT", str(SOON))
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    with Faulty(answer).serving() as address:
        store = f"http://admin:{QUOTED}@{address}/solr/whorl"
        for command in (
            ["search", "FINGERPRINT:a", "--store", store],
            ["search", "--json", "a", "--store", store],
            ["explain", "a", "--store", store],
            ["index", "a.txt", "--store", store],
            ["delete", "a", "--store", store],
            ["solr", "check", store],
            ["solr", "init", store],
        ):
            result = CliRunner().invoke(main, command)
            assert isinstance(result.exception, SystemExit), said(result.exception or AssertionError("no error"))
            assert result.exit_code == 1, command
            message = result.stderr.removeprefix("whorl: ").rstrip("\n")
            assert f"http://{address}/solr/whorl" in message
            assert re.search(words, message), (command, message)
            assert "\n" not in message
            assert "s3cr3t" not in result.output
            stopped = "stopped: 0 documents stored. Run the same command again to complete it.\n"
            assert result.stdout == (stopped if command[0] == "index" else "")


@pytest.mark.parametrize(
    "body",
    ["{}", '{"ok": true}', '{"responseHeader": {"status": 0}}', '{"schema": {}}', '{"response": {}}', '{"error": {}}'],
)
def test_json_of_something_else(body: str, tmp_path: Path) -> None:
    """
    JSON of another service is reported by the missing member, with the question whether the address is a Solr's.
    """
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    with Faulty(http("200 OK", body)).serving() as address:
        for command in (["search", "FINGERPRINT:a"], ["index", "a.txt"], ["delete", "a"]):
            result = CliRunner().invoke(main, [*command, "--store", f"http://{address}/solr/whorl"])
            assert isinstance(result.exception, SystemExit), said(result.exception or AssertionError("no error"))
            assert result.exit_code == 1
            assert re.match(
                rf"whorl: http://{address}/solr/whorl answers, but not as a Solr does \(no '", result.stderr
            )


def test_unreachable_addresses_raise_the_same_error() -> None:
    """
    A closed port, an unknown host and an invalid one raise the same error at once.
    """
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        for host in (f"127.0.0.1:{port}", "no-such-host.invalid", "two..dots.invalid", "a" * 70 + ".invalid"):
            url = f"http://admin:{QUOTED}@{host}/solr/whorl"
            client = SolrClient(url, ServerAccess(retries=0))
            add = partial(client.add, [{"id": "a"}])
            for go in (client.commit, add, open_store(url).count):
                with pytest.raises(EngineUnavailableError) as caught:
                    go()
                assert f"no Solr answers at http://{host}/solr/whorl" in str(caught.value)
                assert "s3cr3t" not in said(caught.value)


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Neither documents nor credentials are sent to a proxy of the environment.
    """
    proxy = Faulty(http("200 OK", "{}"))
    with proxy.serving() as address:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://{address}")
        with pytest.raises(EngineUnavailableError), open_store("http://no-such-host.invalid/solr/whorl") as store:
            store.count()
    assert proxy.requests_received == []


# Faults in front of a real Solr.

TEXT = "the quick brown fox jumps over the lazy dog and sleeps in the sun all day long number"


@pytest.fixture(scope="module")
def core(solr_standalone_url: str) -> Iterator[str]:
    """URL of a core for these tests."""
    base_url = solr_standalone_url.rpartition("/")[0]
    yield solr_runtime.keep_vectors(solr_runtime.make_collection(base_url, "whorl_test_faults"))
    solr_runtime.drop(base_url, "whorl_test_faults")


@pytest.mark.parametrize("fault", ["silent", "reset", "500-json", "200-html", "401", "503", "loop", "200-nothing"])
def test_a_fault_in_the_middle_of_indexing(
    fault: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The command reports the acknowledged documents, which are stored; repeated without the fault, it completes the rest.
    """
    answer, _, words = FAULTS[fault]
    rows = [{"id": f"{fault}-{number}", "text": f"{TEXT} {number}"} for number in range(20)]
    (tmp_path / "many.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    base, _, name = core.rpartition("/solr/")
    # The third batch of documents; commits go to /update as well, but come last.
    faulty = Faulty(answer, base, when="/update", after=2)
    with faulty.serving() as address, monkeypatch.context() as patch:
        if answer == NEVER:
            hurry(faulty, patch)
        stopped = CliRunner().invoke(
            main, ["index", "many.jsonl", "--batch", "5", "--store", f"http://{address}/solr/{name}"]
        )
    assert stopped.exit_code == 1
    assert stopped.stdout == "stopped: 10 documents stored. Run the same command again to complete it.\n"
    assert re.search(words, stopped.stderr.strip())
    with open_store(core) as store:
        assert len(store.engine.digests([row["id"] for row in rows])) in (0, 10)
        store.engine.refresh()
        assert set(store.engine.digests([row["id"] for row in rows])) == {row["id"] for row in rows[:10]}
    again = CliRunner().invoke(main, ["index", "many.jsonl", "--store", core])
    assert again.stdout == f"10 documents stored in {core}, 10 unchanged and left alone.\n"
    with open_store(core) as store:
        assert store.delete([row["id"] for row in rows]) == 20


@pytest.mark.parametrize(
    ("fault", "step"),
    [
        *product(
            ["cut-off", "500-html", "200-list", "503"],
            ["/schema/fields", "/config", "/admin/system", "/tvrh", "/select"],
        ),
        ("silent", "/tvrh"),
    ],
)
def test_a_fault_at_each_step_of_a_search(fault: str, step: str, core: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A search fails with the same message whichever of its requests fails, and succeeds once the fault is gone.
    """
    answer, kind, words = FAULTS[fault]
    with open_store(core) as store:
        store.index([Document("a", TEXT)])
    base, _, name = core.rpartition("/solr/")
    faulty = Faulty(answer, base, when=step)
    if answer == NEVER:
        hurry(faulty, monkeypatch)
    with faulty.serving() as address, open_store(f"http://{address}/solr/{name}") as store:
        with pytest.raises(kind, match=words):
            store.search("FINGERPRINT:a", with_shared=True)
        wait_until(lambda: faulty.hits() > 0)
        assert faulty.hits() == 1
        faulty.after = 1_000
        assert [hit.id for hit in store.search("FINGERPRINT:a", with_shared=True).hits] == ["a"]


@pytest.mark.parametrize("fault", ["403", "404", "200-list"])
def test_a_usual_number_of_segments_is_assumed(fault: str, core: str) -> None:
    """
    A calibrated search assumes a usual number of segments if Solr refuses to report it.
    """
    with open_store(core) as store:
        store.index([Document("a", TEXT), Document("b", TEXT)])
    base, _, name = core.rpartition("/solr/")
    faulty = Faulty(FAULTS[fault][0], base, when="/admin/luke")
    with faulty.serving() as address, open_store(f"http://{address}/solr/{name}") as store:
        assert [hit.hit.id for hit in store.similar("a", metric="jaccard", threshold=100).found] == ["b"]
    assert faulty.hits() == 1


class Killed:
    """Separate Solr whose JVM is killed while documents are indexed."""

    count = 2_000

    def __init__(self, home: Path, cache: Path) -> None:
        self.home, self.cache = home, cache
        rows = [{"id": f"d{number:04}", "text": f"{TEXT} {number}"} for number in range(self.count)]
        home.mkdir()
        self.file = home.parent / "many.jsonl"
        self.file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    @contextlib.contextmanager
    def started(self) -> Iterator[RunningServer]:
        with start_standalone(self.home, {"whorl": solr_runtime.CONFIGSET}, cache=self.cache) as solr:
            yield solr

    def indexing(self, store: str) -> subprocess.Popen[str]:
        command = [str(WHORL), "index", "--batch", "20", "--store", store, str(self.file)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored_ids(solr: RunningServer, *ids: str) -> set[str]:
    """Return the ids of the documents that Solr has, committed or not."""
    form = {"ids": ",".join(ids), "fl": "id"}
    answer = requests.post(f"{solr.url}/whorl/get", data=form, timeout=240).json()
    return {document["id"] for document in answer["response"]["docs"]}


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not reached():
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.01)


@thorough
@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL")
def test_kill_9_in_the_middle_of_indexing(solr_cache: Path, tmp_path: Path) -> None:
    """
    The command reports the number of acknowledged documents; after a restart all of these exist, although none was
    committed; a second run completes the set, each document once.
    """
    killed = Killed(tmp_path / "home", solr_cache)
    # The door stalls after a part of the documents, so the kill happens in the middle at any speed.
    with killed.started() as solr, Door(f"{solr.url}/whorl", stalls_after=600_000, stall_seconds=None) as door:
        running = killed.indexing(door.url)
        wait_until(lambda: "d0020" in stored_ids(solr, "d0020"))
        solr.process.send_signal(signal.SIGKILL)
        out, error = running.communicate(timeout=_DEADLINE_SECONDS)
        assert running.returncode == 1
        assert re.fullmatch(rf"whorl: no Solr answers at {door.url}; .*\n", error)
        reported = re.fullmatch(
            r"stopped: ([\d,]+) documents stored\. Run the same command again to complete it\.\n", out
        )
        assert reported
        acknowledged = int(reported[1].replace(",", ""))
        assert 20 <= acknowledged < killed.count

    with killed.started() as solr:
        ids = {f"d{number:04}" for number in range(acknowledged)}
        # Solr replays its log in the background of its start, and commits afterwards.
        with open_store(f"{solr.url}/whorl") as store:
            wait_until(lambda: store.count() >= acknowledged)
        assert stored_ids(solr, *ids) == ids
        done = killed.indexing(f"{solr.url}/whorl")
        out, error = done.communicate(timeout=_DEADLINE_SECONDS)
        assert (done.returncode, error.startswith("Documents like one of them: ")) == (0, True)
        counts = re.fullmatch(r"([\d,]+) documents? stored in \S+, ([\d,]+) unchanged and left alone\.\n", out)
        assert counts, out
        stored, unchanged = (int(number.replace(",", "")) for number in counts.groups())
        assert stored + unchanged == killed.count
        # The batch under way may have arrived.
        assert acknowledged <= unchanged <= acknowledged + 20
        with open_store(f"{solr.url}/whorl") as store:
            hit_ids = [hit.id for hit in store.search("*", rows=10_000).hits]
            assert hit_ids == [f"d{number:04}" for number in range(killed.count)]
            assert store.count() == killed.count
            assert store.search("FINGERPRINT:d0000_100", with_shared=True).hits[0].shared_tokens == 512


@thorough
@pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL")
def test_documents_are_searchable_although_solr_ignores_commits(solr_cache: Path, tmp_path: Path) -> None:
    """
    After a crash, Solr replays its log, and until it is done, it answers commits without committing anything.
    """
    killed = Killed(tmp_path / "home", solr_cache)
    with killed.started() as solr:
        # Solr makes the tokens of these texts itself, so replaying them takes a while.
        rows = [{"id": f"d{number:04}", "content": f"{TEXT} {number} " * 40} for number in range(killed.count)]
        requests.post(f"{solr.url}/whorl/update", json=rows, timeout=240).raise_for_status()
        solr.process.send_signal(signal.SIGKILL)
        solr.process.wait()
    with killed.started() as solr, open_store(f"{solr.url}/whorl") as store:
        store.index([Document("new", TEXT)])
        assert [hit.id for hit in store.search("id:new").hits] == ["new"]
        store.delete(["new"])
        assert not store.search("id:new").hits
        assert "Starting log replay" in solr.log.read_text(errors="replace")
