"""Measures the CPU time that the service adds to a request, compared with the same work in process.

    python benchmarks/service_costs.py [--requests N] [--rounds N] [--before FOLDER]

The store is that of `whorl demo`: texts of this machine. The server and this process run the same requests in turn, so
other load on the machine affects both. With --before, the server of another checkout of whorl takes turns with them.
Prints medians of the CPU milliseconds of a request, from `/proc/PID/task/*/schedstat`.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

from load_servers import free_port, until_it_answers
from whorl import Store, open_store
from whorl.cli.demo import find_texts
from whorl.fingerprint.compiled.kernel import SEARCHES_WORTH_LOADING, Kernel
from whorl.output.json_conversion import values
from whorl.output.search import make_measured_page

_SOURCE = "licence/BSD"
_QUERY = f'FINGERPRINT:"{_SOURCE}"_50'
_ADDRESSES: Mapping[str, tuple[str, dict[str, object] | None]] = {
    "healthz": ("/healthz", None),
    "search of a word": ("/api/v1/search?q=copyright", None),
    "FINGERPRINT page": (f"/api/v1/search?q={quote(_QUERY)}", None),
    "similar at 80 %": ("/api/v1/similar", {"id": _SOURCE, "threshold": 80, "metric": "jaccard"}),
}


class Server:
    """A `whorl serve` process and one connection to it."""

    def __init__(self, process: int, port: int) -> None:
        self._process = process
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def cpu_seconds(self) -> float:
        """Return the CPU time of the server's threads."""
        threads = Path(f"/proc/{self._process}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in threads) / 1e9

    def answer(self, address: str, body: dict[str, object] | None) -> None:
        """Send a request, and read the response."""
        data = b"" if body is None else json.dumps(body).encode()
        request = f"{'POST' if data else 'GET'} {address} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n"
        if data:
            request += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        self._socket.sendall(f"{request}\r\n".encode() + data)
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._socket.recv(65_536)
        head, _, content = received.decode("latin-1").partition("\r\n\r\n")
        assert head.startswith("HTTP/1.1 200"), head
        length = int(head.lower().partition("content-length:")[2].split()[0])
        while len(content) < length:
            content += self._socket.recv(65_536).decode("latin-1")


@contextmanager
def _server(store: Path, source: Path) -> Iterator[Server]:
    port = free_port()
    start = "from whorl.cli.main import main; main()"
    command = [sys.executable, "-c", start, "serve", "--store", str(store), "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        until_it_answers(lambda: socket.create_connection(("127.0.0.1", port)).close())
        yield Server(process.pid, port)
    finally:
        process.terminate()
        process.wait()


def _in_process(store: Store) -> Mapping[str, Callable[[], object]]:
    def search(query: str) -> object:
        prepared = store.prepare(query)
        page = prepared.search()
        return values(
            make_measured_page(query, page, prepared.references, prepared.measure_hits([hit.id for hit in page.hits]))
        )

    return {
        "healthz": lambda: None,
        "search of a word": lambda: search("copyright"),
        "FINGERPRINT page": lambda: search(_QUERY),
        "similar at 80 %": lambda: values(store.similar(_SOURCE, threshold=80, metric="jaccard")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100, help="requests of one kind in a round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--before", type=Path, help="another checkout of whorl, whose server takes turns")
    options = parser.parse_args()
    costs: dict[tuple[str, str], list[float]] = defaultdict(list)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        store = opened.enter_context(open_store(folder / "store"))
        store.index(find_texts())
        sources = {"service": Path(__file__).parents[1]} | ({"before": options.before} if options.before else {})
        servers = {
            name: opened.enter_context(_server(folder / "store", checkout / "src"))
            for name, checkout in sources.items()
        }
        # Every process loads the compiled loops first, as it would after some time.
        Kernel()
        for server in servers.values():
            for _ in range(SEARCHES_WORTH_LOADING):
                server.answer(*_ADDRESSES["similar at 80 %"])
        functions = _in_process(store)
        for number in range(options.rounds + 1):
            for case, (address, body) in _ADDRESSES.items():
                for name, server in servers.items():
                    began = server.cpu_seconds()
                    for _ in range(options.requests):
                        server.answer(address, body)
                    costs[name, case].append(1e3 * (server.cpu_seconds() - began) / options.requests)
                began = time.process_time()
                for _ in range(options.requests):
                    functions[case]()
                costs["process", case].append(1e3 * (time.process_time() - began) / options.requests)
            if not number:  # the first round warms up
                costs.clear()
    for case in _ADDRESSES:
        shown = {name: statistics.median(costs[name, case]) for name in ("process", *servers)}
        more = statistics.median(map(float.__sub__, costs["service", case], costs["process", case]))
        pairs = zip(costs["service", case], costs["process", case], strict=True)
        ratio = statistics.median(with_http / without for with_http, without in pairs)
        figures = "  ".join(f"{name} {milliseconds:.2f}" for name, milliseconds in shown.items())
        print(f"{case:17} {figures} ms  service adds {more:.2f} ms" + (f", ratio {ratio:.2f}" if ratio < 100 else ""))


if __name__ == "__main__":
    main()
