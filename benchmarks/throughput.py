"""Measures requests a second of `whorl serve` with one and two workers, and of the library in one and two processes.

    python benchmarks/throughput.py [--engine embedded|solr|opensearch] [--seconds N] [--rounds N] [--csv FILE]

The store has the texts of `whorl demo`, and each request is about another document. Clients send the next request after
an answer. The services and the library take turns, so that other load on the machine affects all of them; figures are
medians of the rounds. "During an upload", one further client stores documents. Clients run on the same cores as the
service; "client ms" is their CPU time for each request, "CPU ms" that of the service or the library.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import random
import selectors
import socket
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, cycle
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from load_servers import ENGINES, KEY, SearchServer, Service
from whorl import Document, open_store
from whorl.cli.demo import find_texts
from whorl.fingerprint.compiled.kernel import SEARCHES_WORTH_LOADING, Kernel
from whorl.output.json_conversion import values
from whorl.output.search import make_measured_page

_WORKERS, _CLIENTS = (1, 2), (1, 16, 64)
_KINDS = ("search of a word", "FINGERPRINT page", "similar at 80 %")
_WORDS = ("copyright", "warranty", "notice", "source", "binary", "permission", "licence", "software")
#: Number of documents per upload, and number of words per document.
_UPLOADED, _UPLOADED_WORDS = 200, 2_000


class Measured(NamedTuple):
    """Requests per second, CPU milliseconds per request (of the service, of the clients), and times of the answers."""

    rate: float
    cpu: float
    client_cpu: float
    times: Sequence[float]


def request(kind: str, name: str, chance: random.Random) -> bytes:
    """Return an HTTP request about a document."""
    if kind == _KINDS[2]:
        return _post("/api/v1/similar", {"id": name, "threshold": 80, "metric": "jaccard"})
    query = chance.choice(_WORDS) if kind == _KINDS[0] else f'FINGERPRINT:"{name}"_50'
    return _request("GET", f"/api/v1/search?q={quote(query)}")


def _post(address: str, body: object, kind: str = "application/json") -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _request("POST", address, f"Content-Type: {kind}\r\nContent-Length: {len(content)}\r\n") + content


def _request(method: str, address: str, headers: str = "") -> bytes:
    return f"{method} {address} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n{headers}\r\n".encode()


class _Client:
    """A connection; call `send`, and then `receive` whenever it is readable, until it returns True."""

    def __init__(self, address: str, requests: Iterator[bytes]) -> None:
        parts = urlsplit(address)
        self.socket = socket.create_connection((parts.hostname, parts.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests, self._received, self.began = requests, b"", 0.0

    def send(self) -> None:
        request, self._received, self.began = next(self._requests), b"", time.monotonic()
        self.socket.sendall(request)

    def receive(self) -> bool:
        self._received += self.socket.recv(1 << 18)
        head, end, body = self._received.partition(b"\r\n\r\n")
        assert b" 200 " in head[:20], head
        return bool(end) and len(body) == int(head.lower().partition(b"content-length:")[2].split(maxsplit=1)[0])


def load(
    service: Service, make: Callable[[], Iterator[bytes]], clients: int, seconds: float, uploads: Iterator[bytes] | None
) -> Measured:
    """Send requests from several clients for some seconds; one thread drives all, to take little CPU time."""
    times, selector, count = list[float](), selectors.DefaultSelector(), 0
    connections = [_Client(service.address, make()) for _ in range(clients)]
    used, own, until = service.cpu_seconds, time.process_time(), time.monotonic() + seconds
    with ExitStack() as stack:
        if uploads is not None:
            upload = threading.Thread(target=_upload, args=(_Client(service.address, uploads), until))
            upload.start()
            stack.callback(upload.join)
        for client in connections:
            stack.callback(client.socket.close)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        while selector.get_map():
            for key, _ in selector.select():
                if key.data.receive():
                    now = time.monotonic()
                    count += now < until
                    times.append(1000 * (now - key.data.began))
                    if now < until:
                        key.data.send()
                    else:
                        selector.unregister(key.fileobj)
    used, own = service.cpu_seconds - used, time.process_time() - own
    return Measured(count / seconds, 1000 * used / len(times), 1000 * own / len(times), sorted(times))


def _upload(client: _Client, until: float) -> None:
    while time.monotonic() < until:
        client.send()
        while not client.receive():
            pass
    client.socket.close()


def _endless(kind: str, names: Sequence[str], seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    while True:
        yield request(kind, chance.choice(names), chance)


def _uploads() -> Iterator[bytes]:
    """Return an endless iterator over uploads of the same documents with other texts, which are made beforehand."""
    chance, made = random.Random(7), list[bytes]()
    for _ in range(3):
        texts = (" ".join(f"w{chance.randrange(50_000)}" for _ in range(_UPLOADED_WORDS)) for _ in range(_UPLOADED))
        lines = (json.dumps({"id": f"upload {number}", "text": text}) for number, text in enumerate(texts))
        made.append(_post("/api/v1/documents", "\n".join(lines).encode(), "application/x-ndjson"))
    return cycle(made)


def measure_library(store: str, kind: str, seconds: float, seed: int) -> Measured:
    """Answer requests in one thread, with the same JSON as the service."""
    with open_store(store, create=False) as opened:
        Kernel()
        names, chance = [hit.id for hit in opened.search("*", rows=1_000).hits], random.Random(seed)

        def answer() -> None:
            name = chance.choice(names)
            if kind == _KINDS[2]:
                values(opened.similar(name, threshold=80, metric="jaccard"))
                return
            query = chance.choice(_WORDS) if kind == _KINDS[0] else f'FINGERPRINT:"{name}"_50'
            prepared = opened.prepare(query)
            page = prepared.search()
            measured = prepared.measure_hits([hit.id for hit in page.hits])
            values(make_measured_page(query, page, prepared.references, measured))

        for _ in range(20):
            answer()
        times, used, until = list[float](), time.process_time(), time.monotonic() + seconds
        while (began := time.monotonic()) < until:
            answer()
            times.append(1000 * (time.monotonic() - began))
        used = time.process_time() - used
        return Measured(len(times) / seconds, 1000 * used / len(times), 0.0, sorted(times))


def _together(measured: Sequence[Measured]) -> Measured:
    """Return the measurements of processes that ran at the same time as one."""
    rate = sum(part.rate for part in measured)
    cpu = sum(part.rate * part.cpu for part in measured) / rate
    return Measured(rate, cpu, 0.0, sorted(chain.from_iterable(part.times for part in measured)))


def measure(store: str, folder: Path, seconds: float, rounds: int) -> Iterator[tuple[str, str, int, Measured]]:
    """Yield measurements, each with its server or library, the kind of request, and the number of clients."""
    with open_store(store, create=False) as opened:
        names = [hit.id for hit in opened.search("*", rows=1_000).hits]
    with ExitStack() as stack:
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(max(_WORKERS)))
        services = {workers: Service(store, folder, workers) for workers in _WORKERS}
        for workers, service in services.items():
            stack.callback(service.stop)
            service.start()
            # Every worker loads the compiled loops, as it would after some time.
            answered = 0
            while answered < 2 * workers * SEARCHES_WORTH_LOADING:
                answered += len(load(service, partial(_endless, _KINDS[2], names, 0), 16, seconds, None).times)
        for number in range(rounds):
            for kind in _KINDS:
                for processes in _WORKERS:
                    jobs = [(store, kind, seconds, number * 100 + seed) for seed in range(processes)]
                    measured = _together(pool.starmap(measure_library, jobs, chunksize=1))
                    yield f"library, {processes}", kind, processes, measured
                for clients in _CLIENTS:
                    for workers, service in services.items():
                        seeds = iter(range(number * 100, number * 100 + 100))
                        make = lambda kind=kind, seeds=seeds: _endless(kind, names, next(seeds))  # noqa: E731
                        yield f"service, {workers}", kind, clients, load(service, make, clients, seconds, None)
            for workers, service in services.items():
                make = partial(_endless, _KINDS[2], names, number)
                measured = load(service, make, 16, 2 * seconds, _uploads())
                yield f"service, {workers}", "similar during an upload", 16, measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, default="embedded")
    parser.add_argument("--seconds", type=float, default=4, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    results: dict[tuple[str, str, int], list[Measured]] = defaultdict(list)
    # Otherwise the services would compile the loops during the measurements.
    Kernel()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, store = Path(name), str(Path(name) / "store")
        if options.engine != "embedded":
            store = stack.enter_context(SearchServer(options.engine, folder / options.engine)).store
        with open_store(store) as opened:
            opened.index(Document(text.id, text.text, text.name) for text in find_texts())
        for who, kind, clients, measured in measure(store, folder, options.seconds, options.rounds):
            results[who, kind, clients].append(measured)
    header = ["answers, processes", "request", "clients", "a second", "median ms", "p99 ms", "slowest ms"]
    header += ["CPU ms", "client ms"]
    rows = [[*map(str, key), *_summary(measurements)] for key, measurements in sorted(results.items())]
    for row in (header, *rows):
        print("{:20}{:26}{:>9}{:>11}{:>11}{:>11}{:>12}{:>9}{:>11}".format(*row))
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


def _summary(measurements: Sequence[Measured]) -> list[str]:
    """Return the medians over the rounds: rate; median, 99th percentile and maximum of the times; CPU times."""
    figures = [
        (rate, statistics.median(times), times[int(0.99 * len(times))], times[-1], cpu, client_cpu)
        for rate, cpu, client_cpu, times in measurements
    ]
    return [f"{statistics.median(column):.2f}" for column in zip(*figures, strict=True)]


if __name__ == "__main__":
    main()
