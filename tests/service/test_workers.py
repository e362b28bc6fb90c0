"""Tests of a service with two worker processes: one store, shared jobs, tickets and metrics; killed processes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import requests

from tests.sampling import sample, thorough
from tests.service.limited import until
from tests.service.served import DEADLINE_SECONDS, WHORL, Served, serving
from whorl import Document, open_store
from whorl.service.requests_and_responses import PEOPLE, TICKETS

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="looks processes and connections up in /proc"),
]
TEXT = "seven silver spoons shine softly since sunday"
USER, PASSWORD = "ann", "s3cret-of-ann"


#: States of a socket in /proc/net/tcp.
_OPEN, _LISTENING = "01", "0A"


class Answer(NamedTuple):
    """Response of a chosen worker."""

    status_code: int
    headers: http.client.HTTPMessage
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


class Workers:
    """The processes of a service, and requests to a chosen one."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.processes = self.started(2)

    def started(self, count: int) -> list[int]:
        """Wait until further worker processes accept connections, and return their ids."""
        start = len(self.served.lines)
        for _ in range(count):
            self.served.logged(lambda line: "startup complete" in line["event"])
        # Each worker listens with a socket of its own.
        until(lambda: self._listeners() == 2)
        events = (line["event"] for line in self.served.lines[start:])
        return [int(match[1]) for match in map(re.compile(r"Started server process \[(\d+)\]").match, events) if match]

    def _listeners(self) -> int:
        return sum((local, state) == (self.served.port, _LISTENING) for local, _, state, _ in _sockets())

    def connection(self, worker: int) -> socket.socket:
        """Open connections until a worker has accepted one, and return it."""
        while True:
            connection = self.served.connection()
            port = connection.getsockname()[1]
            until(partial(self._has_accepted, port))
            if self.accepted()[port] == self.processes[worker]:
                return connection
            connection.close()

    def _has_accepted(self, port: int) -> bool:
        return port in self.accepted()

    def accepted(self) -> dict[int, int]:
        """Return the worker process that has accepted each open connection, by the client's port."""
        ours = (self.served.port, _OPEN)
        inodes = {inode: remote for local, remote, state, inode in _sockets() if (local, state) == ours}
        holders = dict[int, int]()
        for process in self.processes:
            for descriptor in Path(f"/proc/{process}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):
                    inode = os.readlink(descriptor).removeprefix("socket:[").removesuffix("]")
                    if inode in inodes:
                        holders[inodes[inode]] = process
        return holders

    def ask(self, worker: int, method: str, path: str, **more: Any) -> Answer:
        """Send a request to a worker."""
        more = {"auth": (USER, PASSWORD), **more}
        request = requests.Request(method, self.served.url + path, **more).prepare()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1")) as connection:
            connection.sock = self.connection(worker)
            connection.request(method, request.path_url, request.body, dict(request.headers))
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())

    def store(self, worker: int, *ids: str) -> Answer:
        lines = "".join(json.dumps({"id": name, "text": f"{TEXT} {name}", "mark": name}) + "\n" for name in ids)
        return self.ask(
            worker, "POST", "/api/v1/documents", data=lines, headers={"Content-Type": "application/x-ndjson"}
        )

    def ids(self, worker: int, query: str) -> set[str]:
        answer = self.ask(worker, "GET", "/api/v1/search", params={"q": query, "rows": 100})
        assert answer.status_code == 200, answer.text
        return {hit["id"] for hit in answer.json()["hits"]}


@contextlib.contextmanager
def working(store: str | Path, **settings: object) -> Iterator[Workers]:
    with serving(store, workers=2, user=USER, password=PASSWORD, **settings) as served:
        workers = Workers(served)
        try:
            yield workers
        finally:
            served.process.terminate()
            assert served.process.wait(DEADLINE_SECONDS) in (0, -signal.SIGKILL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers") / "store"


@pytest.fixture(scope="module")
def workers(folder: Path) -> Iterator[Workers]:
    with working(folder) as both:
        yield both


@pytest.fixture(
    params=[
        "embedded",
        pytest.param("solr", marks=[pytest.mark.solr, thorough]),
        pytest.param("opensearch", marks=[pytest.mark.opensearch, thorough]),
    ]
)
def engines(request: pytest.FixtureRequest) -> Iterator[Workers]:
    """Two workers on an embedded store, or on the store of a server."""
    if request.param == "embedded":
        yield request.getfixturevalue("workers")
        return
    with working(request.getfixturevalue(f"{request.param}_contracts_url")) as both:
        yield both


@thorough
def test_connections_are_distributed(workers: Workers) -> None:
    """
    If 64 connections are opened at once, each worker accepts some of them.
    """
    with contextlib.ExitStack() as opened:
        ports = {opened.enter_context(workers.served.connection()).getsockname()[1] for _ in range(64)}
        until(lambda: ports <= workers.accepted().keys())
        assert {workers.accepted()[port] for port in ports} == {*workers.processes}


def test_two_services_at_one_address(tmp_path: Path) -> None:
    """
    If two services start at the same time at one address, one ends with an error, and the other answers.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(WHORL), "serve", "--port", str(port), "--workers", "2", "--store"]
    with contextlib.ExitStack() as opened:
        services = [
            opened.enter_context(subprocess.Popen([*command, tmp_path / name], stderr=subprocess.PIPE, text=True))
            for name in ("a", "b")
        ]
        for service in services:
            opened.callback(service.terminate)
        until(lambda: any(service.poll() is not None for service in services))
        loser, winner = sorted(services, key=lambda service: service.poll() is None)
        assert (loser.returncode, loser.stderr.read()) == (  # type: ignore[union-attr]
            2,
            f"whorl: 127.0.0.1:{port} is taken by another whorl serve; stop it, or choose another port with --port\n",
        )
        announced = next(line for line in winner.stderr if "running on" in line)  # type: ignore[union-attr]
        assert f":{port} " in announced
        winner.terminate()
        winner.communicate(timeout=DEADLINE_SECONDS)


def test_an_address_that_another_program_has_taken(tmp_path: Path) -> None:
    """
    If another program listens at the address before workers are replaced, the service ends with a message.
    """
    with serving(tmp_path / "store", workers=2) as served, socket.socket() as other:
        workers = Workers(served)
        served.process.send_signal(signal.SIGSTOP)
        for process in workers.processes:
            os.kill(process, signal.SIGKILL)
        until(lambda: not workers._listeners())
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", served.port))
        other.listen()
        served.process.send_signal(signal.SIGCONT)
        said = f"bind on address ('127.0.0.1', {served.port}): address already in use"
        served.logged(lambda line: said in line["event"])
        assert served.process.wait(DEADLINE_SECONDS) == 3


def test_a_write_is_seen_by_the_other_worker(engines: Workers) -> None:
    """
    A document is found by all workers once one of them has acknowledged it, and by none once it is deleted.
    """
    for number in sample(range(6), 3):
        writer, name = number % 2, f"written{number}"
        assert engines.store(writer, name).json()["stored"] == 1
        for worker in (1 - writer, writer):
            assert engines.ids(worker, f"spoons AND {name}") == {name}
            assert name in engines.ids(worker, f"FINGERPRINT:{name}")
            assert engines.ask(worker, "GET", f"/api/v1/documents/{name}").json()["id"] == name
        assert engines.ask(1 - writer, "DELETE", f"/api/v1/documents/{name}").status_code == 200
        for worker in (writer, 1 - writer):
            assert engines.ids(worker, f"spoons AND {name}") == set()
            assert engines.ask(worker, "GET", f"/api/v1/documents/{name}").status_code == 404


def test_another_process_changes_the_store_s_options(tmp_path: Path) -> None:
    """
    Every worker adopts the options for searches and uploads, without a restart.
    """
    store = tmp_path / "store"
    with working(store) as both:
        assert both.store(0, "one", "two").status_code == 200
        changes: list[dict[str, Any]] = [{"short_minhash": True}, {"passages": True}, {"without_minhash": True}]
        for number, options in enumerate(changes):
            open_store(store, **options).close()
            for worker, name in enumerate(("one", "two")):
                assert both.ask(worker, "GET", "/readyz").status_code == 200
                description = both.ask(worker, "GET", "/api/v1/store").json()
                assert description["keeps_passages"] == (number > 0)
                assert description["minhash"] == ("none" if number == 2 else "short")
                assert both.ids(worker, f"spoons AND {name}") == {name}
                assert both.store(worker, name).json()["unchanged"] == 1
                new = f"{name}{number}"
                assert both.store(worker, new).json()["stored"] == 1
                assert both.ids(1 - worker, new) == {new}
        refused = both.ask(1, "GET", "/api/v1/search", params={"q": "FINGERPRINT:one"})
        assert "keeps no MINHASH tokens" in refused.text


def test_jobs_are_shared(workers: Workers) -> None:
    """
    A job that one worker has started can be read, fetched as a file and deleted through the other.
    """
    assert workers.store(0, "one", "two").status_code == 200
    started = workers.ask(0, "POST", "/api/v1/duplicates", json={"threshold": 50})
    assert started.status_code == 202
    address = "/api/v1/" + started.headers["Location"]
    until(lambda: workers.ask(1, "GET", address).json()["state"] == "done")
    page = workers.ask(1, "GET", address).json()
    (cluster,) = page["result"]["clusters"]
    assert {member["id"] for member in cluster["members"]} == {"one", "two"}
    assert workers.ask(0, "GET", address).json() == page
    rows = workers.ask(1, "GET", address, params={"format": "csv"})
    assert "duplicates.csv" in rows.headers["content-disposition"]
    assert len(rows.text.splitlines()) == 3
    assert workers.ask(1, "DELETE", address).status_code == 204
    assert workers.ask(0, "GET", address).status_code == 404
    wrong = workers.ask(1, "POST", "/api/v1/duplicates", json={"keep": "newest:"})
    assert wrong.status_code == 400, wrong.text


def test_tickets_are_shared(workers: Workers) -> None:
    """
    A ticket of one worker admits to the other, and ends everywhere.
    """
    body = {"userId": USER, "password": PASSWORD}
    ticket = workers.ask(0, "POST", TICKETS, json=body, auth=None).json()["entry"]["id"]
    address = f"?alf_ticket={ticket}"
    person = workers.ask(1, "GET", f"{PEOPLE}/-me-{address}", auth=None)
    assert person.json()["entry"]["id"] == USER
    assert workers.ask(0, "GET", f"{PEOPLE}/-me-{address}", auth=None).status_code == 200
    assert workers.ask(1, "DELETE", f"{TICKETS}/-me-{address}", auth=None).status_code == 204
    for worker in (0, 1):
        assert workers.ask(worker, "GET", f"{PEOPLE}/-me-{address}", auth=None).status_code == 401


def test_metrics_are_of_all_workers(workers: Workers) -> None:
    """
    Each worker reports the requests of both.
    """

    def count(worker: int) -> float:
        text = workers.ask(worker, "GET", "/metrics").text
        values = re.findall(r'whorl_requests_total\{method="GET",route="/healthz",status="200"\} (\S+)', text)
        return float(values[0]) if values else 0.0

    before = count(0)
    for worker in (0, 0, 1):
        assert workers.ask(worker, "GET", "/healthz").status_code == 200
    assert (count(0), count(1)) == (before + 3, before + 3)
    assert "whorl_requests_working 0.0" in workers.ask(0, "GET", "/metrics").text


def test_command_lines_have_no_secret(workers: Workers) -> None:
    """
    No password stands in a command line.
    """
    for process in (workers.served.process.pid, *workers.processes):
        assert PASSWORD.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()


def test_a_stop_finishes_accepted_requests(tmp_path: Path) -> None:
    """
    On SIGTERM, all workers finish their uploads, and the supervisor ends after them.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document("a", TEXT)])
    with serving(tmp_path / "store", workers=2) as served, contextlib.ExitStack() as opened:
        workers = Workers(served)
        connections = []
        for worker in (0, 1):
            connection = opened.enter_context(workers.connection(worker))
            connection.sendall(
                b"POST /api/v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
                b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
            connections.append(connection)
        served.process.terminate()
        for _ in (0, 1):
            served.logged(lambda line: "Waiting for connections" in line["event"])
        for number, connection in enumerate(connections):
            line = f'{{"id": "late{number}", "text": "{TEXT}"}}\n'.encode()
            connection.sendall(f"{len(line):x}\r\n".encode() + line + b"\r\n0\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        assert served.process.wait(DEADLINE_SECONDS) == 0
    with open_store(tmp_path / "store", create=False) as store:
        assert {hit.id for hit in store.search("*").hits} == {"a", "late0", "late1"}


# The last test on these workers, since it ends them.
@thorough
def test_a_worker_that_is_killed_at_its_start_is_replaced(folder: Path) -> None:
    """
    The supervisor notices at once that a worker died before it answered; it does not wait for the timeout of a hung
    worker.
    """
    with working(folder) as service:
        supervisor = service.served.process.pid

        def children() -> set[int]:
            return set(map(int, Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()))

        before = children()
        for worker in service.processes:
            os.kill(worker, signal.SIGKILL)
        until(lambda: len(children() - before) == 2)
        for replacement in children() - before:
            os.kill(replacement, signal.SIGKILL)
        until(lambda: service._listeners() == 2)
        assert requests.get(f"{service.served.url}/healthz", timeout=DEADLINE_SECONDS).status_code == 200


def test_a_killed_worker_is_replaced(workers: Workers, folder: Path) -> None:
    """
    A new worker replaces a killed one; no acknowledged document is lost, and clients see no answer other than 200. If
    the supervisor is killed, its workers end as well, and leave the port.
    """
    stopped, acknowledged, statuses = threading.Event(), set[str](), set[int]()
    killed = threading.Event()

    def write(client: int) -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            name = f"c{client}n{number}"
            line = json.dumps({"id": name, "text": f"{TEXT} {name}"})
            with contextlib.suppress(requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
                answer = requests.post(
                    f"{workers.served.url}/api/v1/documents", data=line, auth=(USER, PASSWORD),
                    headers={"Content-Type": "application/x-ndjson"}, timeout=DEADLINE_SECONDS,
                )  # fmt: skip
                statuses.add(answer.status_code)
                if answer.status_code == 200:
                    acknowledged.add(name)
            if number == 5:
                killed.wait(DEADLINE_SECONDS)

    clients = [threading.Thread(target=write, args=(client,)) for client in range(4)]
    for client in clients:
        client.start()
    until(lambda: len(acknowledged) >= 8)
    os.kill(workers.processes[0], signal.SIGKILL)
    killed.set()
    workers.processes[:1] = workers.started(1)
    stopped.set()
    for client in clients:
        client.join()
    assert statuses == {200}
    for worker in (0, 1):
        assert workers.store(worker, f"last{worker}").status_code == 200
        answer = workers.ask(worker, "GET", "/readyz")
        assert answer.json()["documents"] >= len(acknowledged)
    workers.served.process.kill()
    workers.served.process.wait()
    until(lambda: not any(_runs(process) for process in workers.processes))
    with pytest.raises(ConnectionError):
        workers.served.connection()
    with open_store(folder, create=False) as store:
        assert store.documents(acknowledged).keys() == acknowledged


def _sockets() -> Iterator[tuple[int, int, str, str]]:
    """Yield the local and the remote port, the state and the inode of each TCP socket of this machine."""
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, remote, state, *_, inode = line.split()[:10]
        yield int(local.rpartition(":")[2], 16), int(remote.rpartition(":")[2], 16), state, inode


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
