"""Measures requests a second of `whorl serve` with one and two workers, and of the library in one and two processes.

    python benchmarks/throughput.py [--engine embedded|solr|opensearch] [--seconds N] [--rounds N] [--csv FILE]

The store has the texts of `whorl demo`, and each request is about another document. Clients send the next request after
an answer. The services and the library take turns, so that other load on the machine affects all of them; figures are
medians of the rounds. "During an upload", one further client stores documents. Clients run on the same cores as the
service, and take about 0.15 ms of each request.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import multiprocessing
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from load_servers import ENGINES, KEY, SearchServer, Service
from whorl import Document, open_store
from whorl.cli.demo import found_texts
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.output.json_fields import values
from whorl.output.search import measured_page

_WORKERS, _CLIENTS = (1, 2), (1, 16, 64)
_KINDS = ("search of a word", "FINGERPRINT page", "similar at 80 %")
_WORDS = ("copyright", "warranty", "notice", "source", "binary", "permission", "licence", "software")
#: Documents of one upload, each with this number of words.
_UPLOADED, _UPLOADED_WORDS = 200, 2_000


class Measured(NamedTuple):
    """Requests a second, CPU milliseconds of the service for each, and the milliseconds of each answer."""

    rate: float
    cpu: float
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


async def _ask(address: str, requests: Iterator[bytes], until: float, times: list[float]) -> None:
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    while time.monotonic() < until:
        began = time.monotonic()
        writer.write(next(requests))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert b" 200 " in head[:20], head
        await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
        times.append(1000 * (time.monotonic() - began))
    writer.close()


async def load(
    service: Service, make: Callable[[], Iterator[bytes]], clients: int, seconds: float, uploads: Iterator[bytes] | None
) -> Measured:
    """Send requests from several clients for some seconds."""
    times, stored = list[float](), list[float]()
    began, used = time.monotonic(), service.cpu_seconds
    asking = [_ask(service.address, make(), began + seconds, times) for _ in range(clients)]
    if uploads is not None:
        asking.append(_ask(service.address, uploads, began + seconds, stored))
    await asyncio.gather(*asking)
    return Measured(len(times) / seconds, 1000 * (service.cpu_seconds - used) / max(1, len(times)), sorted(times))


def _endless(kind: str, names: Sequence[str], seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    while True:
        yield request(kind, chance.choice(names), chance)


def _uploads() -> Iterator[bytes]:
    chance = random.Random(7)
    while True:
        texts = (" ".join(f"w{chance.randrange(50_000)}" for _ in range(_UPLOADED_WORDS)) for _ in range(_UPLOADED))
        lines = (json.dumps({"id": f"upload {number}", "text": text}) for number, text in enumerate(texts))
        yield _post("/api/v1/documents", "\n".join(lines).encode(), "application/x-ndjson")


def count_in_process(store: str, kind: str, seconds: float, seed: int) -> float:
    """Return the requests a second that the library answers in one thread, with the same JSON as the service."""
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
            measured = prepared.measured([hit.id for hit in page.hits])
            values(measured_page(query, page, prepared.references, measured))

        for _ in range(20):
            answer()
        count, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            answer()
            count += 1
        return count / seconds


def measure(store: str, folder: Path, seconds: float, rounds: int) -> Iterator[tuple[str, str, int, Measured]]:
    """Yield measurements, each with its server or library, the kind of request, and the number of clients."""
    with open_store(store, create=False) as opened:
        names = [hit.id for hit in opened.search("*", rows=1_000).hits]
    with ExitStack() as stack:
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(max(_WORKERS)))
        services = {workers: Service(store, folder, workers) for workers in _WORKERS}
        for service in services.values():
            stack.callback(service.stop)
            service.start()
            # Load the compiled loops.
            for kind in _KINDS:
                asyncio.run(load(service, partial(_endless, kind, names, 0), 16, seconds, None))
        for number in range(rounds):
            for kind in _KINDS:
                for processes in _WORKERS:
                    jobs = [(store, kind, seconds, number * 100 + seed) for seed in range(processes)]
                    rate = sum(pool.starmap(count_in_process, jobs, chunksize=1))
                    yield f"library, {processes}", kind, processes, Measured(rate, 0.0, [1000 * processes / rate])
                for clients in _CLIENTS:
                    for workers, service in services.items():
                        seeds = iter(range(number * 100, number * 100 + 100))
                        make = lambda kind=kind, seeds=seeds: _endless(kind, names, next(seeds))  # noqa: E731
                        yield (
                            f"service, {workers}",
                            kind,
                            clients,
                            asyncio.run(load(service, make, clients, seconds, None)),
                        )
            for workers, service in services.items():
                make = partial(_endless, _KINDS[2], names, number)
                yield (
                    f"service, {workers}",
                    "similar during an upload",
                    16,
                    asyncio.run(load(service, make, 16, 2 * seconds, _uploads())),
                )


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
            opened.index(Document(text.id, text.text, text.name) for text in found_texts())
        for who, kind, clients, measured in measure(store, folder, options.seconds, options.rounds):
            results[who, kind, clients].append(measured)
    header = ["answers, processes", "request", "clients", "a second", "median ms", "p99 ms", "slowest ms", "CPU ms"]
    rows = [[*map(str, key), *_summary(measurements)] for key, measurements in sorted(results.items())]
    for row in (header, *rows):
        print("{:20}{:26}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}".format(*row))
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


def _summary(measurements: Sequence[Measured]) -> list[str]:
    """Return the medians over the rounds: rate; median, 99th percentile and maximum of the times; CPU."""
    figures = [
        (rate, statistics.median(times), times[int(0.99 * len(times))], times[-1], cpu)
        for rate, cpu, times in measurements
    ]
    return [f"{statistics.median(column):.2f}" for column in zip(*figures, strict=True)]


if __name__ == "__main__":
    main()
