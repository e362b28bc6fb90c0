"""Tests of `whorl serve` as a process: accepted work, a Solr that hangs, and free memory."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
import requests
from starlette.responses import Response

from tests.sampling import thorough
from tests.service.served import DEADLINE_SECONDS, WHORL, Hung, Served, listening, sending, serving
from whorl import Document, open_store
from whorl.errors import ParameterError
from whorl.service.requests_and_responses import TICKETS
from whorl.service.run import Connection, serve
from whorl.settings.settings import Settings

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals, and counts threads in /proc"),
]
TEXT = "seven silver spoons shine softly since sunday"
HEAD = (
    "POST /api/v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    "Transfer-Encoding: chunked\r\n\r\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", TEXT)])
    return tmp_path / "store"


def chunk(text: str) -> bytes:
    return f"{len(text.encode()):x}\r\n{text}\r\n".encode()


def line(document_id: str) -> str:
    return f'{{"id": "{document_id}", "text": "{TEXT} {document_id}"}}\n'


def answered(connection: socket.socket) -> str:
    """Return all bytes until the end of the connection or of the answer."""
    received = b""
    while not received.endswith(b"}") and (part := connection.recv(65_536)):
        received += part
    return received.decode()


def search_status(served: Served, headers: dict[str, str]) -> int:
    """Return the status of a search with these headers."""
    return requests.get(f"{served.url}/api/v1/search?q=*", headers=headers, timeout=DEADLINE_SECONDS).status_code


def stopping(served: Served, number: signal.Signals = signal.SIGTERM) -> None:
    """Send the service a stop signal, and wait until it stops accepting."""
    served.process.send_signal(number)
    # The service logs the stop before it closes its listener, and that it waits afterwards.
    served.logged(lambda line: "Waiting" in str(line["event"]))


def test_a_missing_store_is_created(tmp_path: Path) -> None:
    """
    A service creates a missing store folder, logs that it has no documents, and then accepts documents.
    """
    with serving(tmp_path / "new" / "store") as served:
        assert f"the store {tmp_path / 'new' / 'store'} has no documents" in [line["event"] for line in served.lines]
        headers = {"Content-Type": "application/x-ndjson"}
        url = f"{served.url}/api/v1/documents"
        answer = requests.post(url, data=line("first"), headers=headers, timeout=DEADLINE_SECONDS)
        assert answer.json()["stored"] == 1
        assert requests.get(f"{served.url}/api/v1/search?q=*", timeout=DEADLINE_SECONDS).json()["total"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_accepted_uploads_are_finished(folder: Path, number: signal.Signals) -> None:
    """
    An upload that has begun is finished and answered during a stop, while new connections are refused.
    """
    with serving(folder) as served, served.connection() as connection:
        connection.sendall(HEAD.encode() + chunk(line("first")))
        # Other requests are answered at the same time.
        assert requests.get(f"{served.url}/api/v1/search?q=*", timeout=DEADLINE_SECONDS).json()["total"] == 1
        stopping(served, number)
        with pytest.raises(ConnectionError):
            served.connection()
        connection.sendall(chunk(line("second")) + b"0\r\n\r\n")
        answer = answered(connection)
        assert answer.startswith("HTTP/1.1 200")
        assert '"stored":2' in answer
        assert served.process.wait(DEADLINE_SECONDS) == 0
    with open_store(folder, create=False) as store:
        assert {hit.id for hit in store.search("*").hits} == {"a", "first", "second"}


def test_it_does_not_wait_for_ever(folder: Path) -> None:
    """
    A stop ends a stalled upload after the configured time with a 503, and the store is intact.
    """
    with serving(folder, shutdown_timeout=1) as served, served.connection() as connection:
        connection.sendall(HEAD.encode() + chunk(line("first")))
        assert requests.get(f"{served.url}/healthz", timeout=DEADLINE_SECONDS).status_code == 200
        stopping(served)
        answer = answered(connection)
        assert answer.startswith("HTTP/1.1 503 ")
        assert "being stopped" in answer
        served.process.wait(DEADLINE_SECONDS)
    with open_store(folder, create=False) as store:
        assert store.count() in (1, 2)


def test_a_client_that_falls_silent(folder: Path) -> None:
    """
    A silent client is a 408 after the configured time, on both kinds of body; the service continues.
    """
    similar = (
        "POST /api/v1/similar HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        'Content-Length: 2000\r\n\r\n{"text": '
    )
    # Send enough bytes at once that the pause ends the body before its pace does.
    much = " " * 1_000
    with serving(folder, body_timeout=0.3) as served:
        for begun in (HEAD.encode() + chunk(line("first") + much), (similar + much).encode()):
            with served.connection() as connection:
                connection.sendall(begun)
                answer = answered(connection)
                assert answer.startswith("HTTP/1.1 408")
                assert "nothing more of the body came for 0.3 s" in answer
        assert requests.get(f"{served.url}/api/v1/search?q=*", timeout=DEADLINE_SECONDS).status_code == 200


def test_slow_log_ins_do_not_block_searches(folder: Path) -> None:
    """
    Slow log-ins take no place of authenticated searches, since any client may try to log in.
    """
    begun = f"POST {TICKETS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
    own: dict[str, object] = {"api_key": "key", "max_concurrent": 1, "max_waiting": 0, "max_per_client": 1}
    with serving(folder, **own) as served, served.connection() as connection:
        connection.sendall(begun.encode() + b"Expect: 100-continue\r\n\r\n")
        # The service answers 100 when it waits for the body.
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        assert search_status(served, {"Authorization": "Bearer key"}) == 200


def test_a_solr_that_hangs() -> None:
    """
    Every request gets a timely error, the waiting threads and connections stay within the limits, and health still
    answers.
    """
    with (
        Hung() as hung,
        serving(hung.url, request_timeout=1, max_concurrent=4, max_waiting=20) as served,
        ExitStack() as clients,
    ):
        asking = [clients.enter_context(served.connection()) for _ in range(61)]
        # Send all requests while the process is paused, so that they arrive at the same time on any machine.
        served.process.send_signal(signal.SIGSTOP)
        for number, connection in enumerate(asking):
            path = f"/api/v1/search?q=FINGERPRINT:{number}" if number else "/readyz"
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        served.process.send_signal(signal.SIGCONT)
        assert requests.get(f"{served.url}/healthz", timeout=DEADLINE_SECONDS).status_code == 200
        not_ready, *answers = map(answered, asking)
        assert not_ready.startswith("HTTP/1.1 503 ")
        refused = [json.loads(answer.partition("\r\n\r\n")[2])["error"] for answer in answers]
        for answer, error in zip(answers, refused, strict=True):
            assert answer.startswith("HTTP/1.1 503 ")
            assert "\r\nretry-after: 5\r\n" in answer.lower()
            assert error["statusCode"] == 503
        assert [error["message"] for error in refused].count(
            "20 requests are waiting already; try again"
        ) == 60 - 4 - 20
        # Four requests work at a time. Few others get their turn, since the time of all is up at the same moment.
        assert hung.connections <= 4 + 20 + 1
        # The four workers, the threads for /readyz and for the page, and the thread of the event loop.
        assert served.threads() <= 4 + 2 + 8 + 4


def test_an_unreachable_solr() -> None:
    """
    A request that needs an unreachable Solr is a 503 at once, after the configured retries; an invalid request is still
    a 400.
    """
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/solr/whorl"
        with serving(url, engine_retries=1) as served:
            answer = requests.get(f"{served.url}/api/v1/search?q=FINGERPRINT:a", timeout=DEADLINE_SECONDS)
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
            noted = served.logged(lambda line: line.get("route") == "/api/v1/search")
            assert (noted["engine_requests"], noted["engine_retries"]) == (2, 1)
            assert requests.get(f"{served.url}/readyz", timeout=DEADLINE_SECONDS).status_code == 503
            assert requests.get(f"{served.url}/healthz", timeout=DEADLINE_SECONDS).status_code == 200
            assert requests.get(f"{served.url}/api/v1/search?q=(", timeout=DEADLINE_SECONDS).status_code == 400
            sent = requests.post(
                f"{served.url}/api/v1/documents",
                data=line("b"),
                headers={"Content-Type": "application/x-ndjson"},
                timeout=DEADLINE_SECONDS,
            )
            assert sent.status_code == 503
            assert sent.json()["error"]["so_far"]["stored"] == 0


def test_other_names_are_refused(folder: Path) -> None:
    """
    A foreign host name that resolves to this machine is refused, unless the service has a key.
    """
    attack = {"Host": "attacker.example"}
    with serving(folder) as served:
        assert [search_status(served, headers) for headers in ({}, attack)] == [200, 403]
    with serving(folder, api_key="key") as served:
        assert [search_status(served, headers) for headers in (attack, {**attack, "Authorization": "Bearer key"})] == [
            401,
            200,
        ]


@pytest.mark.slow
def test_clients_that_ask_for_much_and_hang_up(tmp_path: Path) -> None:
    """
    32 queries of 7 KB of patterns whose clients hang up at once neither delay other requests nor exhaust the memory.
    """
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [a + b + c + d for a in letters[:8] for b in letters for c in letters[:6] for d in letters]
    with open_store(tmp_path / "store") as store:
        store.index(Document(str(at), " ".join(words[at::97] + words[at::89])) for at in range(80))
    patterns = " OR ".join(f"*{letters[at % 26]}{letters[at % 7]}*{'x' * 55}{at}*" for at in range(100))
    body = json.dumps({"query": patterns}).encode()
    lines = ("POST /api/v1/search HTTP/1.1", "Host: localhost", "Content-Type: application/json")
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    assert len(body) > 6_500
    with serving(tmp_path / "store", max_concurrent=8) as served:
        for _ in range(32):
            with served.connection() as connection:
                connection.sendall(head.encode() + body)
        assert requests.get(f"{served.url}/healthz", timeout=DEADLINE_SECONDS).status_code == 200
        response = requests.get(f"{served.url}/api/v1/search?q=aaaa", timeout=DEADLINE_SECONDS)
        assert (response.status_code, response.json()["total"] > 0) == (200, True)
        status = Path(f"/proc/{served.process.pid}/status").read_text(encoding="ascii")
        assert int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) < 1_500_000  # type: ignore[index]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends connections of clients that do not read")
def test_an_answer_that_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The connection of a client that leaves its answer unread is closed, so that the answer does not stay in memory.
    """
    closed = Event()

    class Watched(Connection):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            closed.set()

    monkeypatch.setattr(f"{Connection.__module__}._UNREAD_SECONDS", 1)
    with (
        listening(Response(b" " * 50_000_000), Watched) as url,
        sending(url, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ):
        assert closed.wait(DEADLINE_SECONDS)


@thorough
@pytest.mark.skipif(
    os.name != "posix" or not hasattr(ctypes.CDLL(None), "malloc_info"), reason="the C library is not glibc"
)
def test_threads_share_two_arenas(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    All threads share two arenas of the C library, however many allocate memory.
    """
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    with serving(folder) as served, ThreadPoolExecutor(16) as clients:

        def store(number: int) -> int:
            line, kind = json.dumps({"id": f"d{number}", "text": TEXT}), {"Content-Type": "application/x-ndjson"}
            url = f"{served.url}/api/v1/documents"
            return requests.post(url, data=line, headers=kind, timeout=DEADLINE_SECONDS).status_code

        assert set(clients.map(store, range(48))) == {200}
        # The first arena is the heap; any other begins at a multiple of 64 MB.
        maps = Path(f"/proc/{served.process.pid}/maps").read_text(encoding="utf-8")
        begins = re.findall(r"^([0-9a-f]+)-[0-9a-f]+ rw-p 00000000 00:00 0 *$", maps, re.MULTILINE)
        assert sum(int(begin, 16) % (64 << 20) == 0 for begin in begins) <= 2


needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc"
)
#: A program that allocates 100 MB in blocks of 1,000 bytes, frees 99 of 100, and prints its memory before and after
#: `trim_memory`.
PROGRAM = """
import ctypes, re
from whorl.service.run import trim_memory

def own():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [libc.malloc(1000) for _ in range(100_000)]
for block in blocks:
    ctypes.memset(ctypes.c_void_p(block), 1, 1000)
for number, block in enumerate(blocks):
    if number % 100:
        libc.free(block)
before = own()
trim_memory()
print(before, own())
"""


#: A program that prints the number of arenas after eight threads at a time have allocated memory; a first line can be
#: added.
ARENAS = """
import ctypes, tempfile, threading

libc, all_here = ctypes.CDLL(None), threading.Barrier(8)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p

def take():
    all_here.wait()
    libc.malloc(1000)
    all_here.wait()

threads = [threading.Thread(target=take) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
with tempfile.NamedTemporaryFile() as told:
    file = ctypes.c_void_p(libc.fopen(told.name.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    print(told.read().count(b"<heap nr="))
"""


@thorough
@pytest.mark.parametrize(("before", "most"), [("", 8 + 1), ("limit_arenas()", 2)])
@needs_glibc
def test_threads_share_arenas(before: str, most: int) -> None:
    """
    By default, the C library gives each of a few threads an arena; with the limit, all share two.
    """
    program = f"from whorl.service.run import limit_arenas\n{before}\n{ARENAS}"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert most - 1 <= int(output) <= most


@thorough
@needs_glibc
def test_pages_that_are_free_are_given_back() -> None:
    """
    The hundredth of the blocks that stays takes at most two pages each: at most 8 of 100 MB.
    """
    output = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    before, after = map(float, output.split())
    assert before > 90
    assert before - after > 80


@pytest.mark.parametrize("workers", [1, 2])
def test_on_a_terminal(folder: Path, workers: int) -> None:
    """
    On a terminal the service prints the address to open, once, and readable lines; Ctrl+C ends it.
    """
    reader, terminal = os.openpty()
    command = [str(WHORL), "serve", "--store", str(folder), "--port", "0", "--workers", str(workers)]
    with (
        open(reader, encoding="utf-8", errors="replace", closefd=True) as lines,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal) as process,
    ):
        os.close(terminal)
        first = lines.readline()
        match = re.fullmatch(r"whorl is ready: open (http://127\.0\.0\.1:\d+) in a browser; Ctrl\+C ends it\s*", first)
        assert match is not None, first
        assert requests.get(f"{match[1]}/api/v1/documents", timeout=DEADLINE_SECONDS).status_code == 200
        assert re.match(r"\d\d:\d\d:\d\d GET /api/v1/documents 200 \d+ ms ", lines.readline())
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_SECONDS) == 0


def test_a_host_without_an_address_is_named(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        for workers in (1, 2):
            settings = Settings(listen=("nowhere.invalid", 0), workers=workers)
            with pytest.raises(ParameterError, match=r"the host 'nowhere\.invalid' has no address"):
                serve(store, settings)
