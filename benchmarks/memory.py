"""Measures the memory of an embedded store while threads search it, replace documents, or add to it.

Each workload runs in its own process, once with glibc's default number of arenas and once with two. The result has the
process's memory and its parts that could grow: allocated memory of the C library, its free memory, mapped token
segments, and Python's blocks. If no documents are added, the last rows must be as high as the earlier ones.

    make bench-memory
    .venv/bin/python benchmarks/memory.py --requests 400 --workloads replacing
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import ClassVar

from load_texts import VARIANTS, document_id, text
from whorl import Document, Store, open_store

_RESULT = Path(__file__).parent / "results" / "memory.txt"
#: Number of families of documents at the start, number of replaced documents, and number of documents per write.
_FAMILIES, _REPLACED, _AT_ONCE = 600, 300, 3
_THREADS, _ROWS = 16, 8
_WORKLOADS = ("replacing", "asking", "adding")
#: Requests of a workload; a write takes as long as many queries.
_REQUESTS = {"asking": 3_200, "replacing": 240, "adding": 240}


class _Mallinfo(ctypes.Structure):
    """Fields of glibc's mallinfo2, in bytes."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


class Workload:
    """Requests to a store from many threads.

    Args:
        name: One of `_WORKLOADS`.
        store: An open store.
        requests: Number of requests.
    """

    def __init__(self, name: str, store: Store, requests: int) -> None:
        self._name, self._store, self._requests = name, store, requests
        self._chance, self._lock, self._done = random.Random(7), threading.Lock(), 0

    def run(self) -> None:
        """Send requests from all threads until all are done."""
        threads = [threading.Thread(target=self._ask) for _ in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self) -> None:
        while True:
            with self._lock:
                if self._done == self._requests:
                    return
                self._done += 1
                number, family = self._done, self._chance.randrange(_FAMILIES)
                if number % (self._requests // _ROWS) == 0:
                    print(f"{number:10,}{_held()}", flush=True)
            if self._name != "asking":
                own = range(number * _AT_ONCE, (number + 1) * _AT_ONCE)
                most = _REPLACED if self._name == "replacing" else 1 << 60
                self._store.index(Document(f"n{number % most}", text(_FAMILIES + number, 0)) for number in own)
            elif number % 3 == 0:
                self._store.search(f"FINGERPRINT:{document_id(family, 0)}_50 AND NOT xyz")
            elif number % 3 == 1:
                self._store.similar(document_id(family, 1), metric="jaccard", threshold=40)
            else:
                self._store.similar(source=text(family, 1_000), metric="contains")


def _held() -> str:
    """Return a row: the process's own MB, allocated and free MB, mapped segments, Python's blocks."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    own = int(dict(re.findall(r"^(RssAnon):\s+(\d+)", status, re.MULTILINE))["RssAnon"]) / 1024
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    runs = sum(line.removesuffix(" (deleted)").endswith(".segment") for line in maps.splitlines())
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = _Mallinfo
    memory = libc.mallinfo2()
    given, free = (memory.uordblks + memory.hblkhd) / 2**20, memory.fordblks / 2**20
    return f"{own:8.0f}{given:10.0f}{free:7.0f}{runs:7}{sys.getallocatedblocks():10,}"


def main() -> None:
    """Run each workload in its own process, and record its memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default=",".join(_WORKLOADS))
    parser.add_argument("--requests", type=int, help="of each workload, instead of its own number")
    parser.add_argument("--out", type=Path, default=_RESULT)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.store:
        with open_store(arguments.store) as store:
            Workload(arguments.workloads, store, arguments.requests).run()
        return
    heading = f"{_FAMILIES * VARIANTS:,} documents at the start, {_THREADS} threads, {_AT_ONCE} documents in a write\n"
    arguments.out.write_text(heading, encoding="utf-8")
    for name in arguments.workloads.split(","):
        for arenas in ("", "2"):
            measured = _measured(name, arenas, arguments.requests or _REQUESTS[name])
            # Write each row at once, since the run may be stopped.
            with arguments.out.open("a", encoding="utf-8") as out:
                out.write(measured)
            print(measured, end="", flush=True)


def _measured(name: str, arenas: str, requests: int) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "MALLOC_ARENA_MAX"}
    if arenas:
        environment["MALLOC_ARENA_MAX"] = arenas
    with tempfile.TemporaryDirectory() as folder:
        with open_store(f"{folder}/store") as store:
            store.index(
                Document(document_id(family, variant), text(family, variant))
                for family in range(_FAMILIES)
                for variant in range(VARIANTS)
            )
        # A separate process, whose memory is the workload's alone.
        command = [sys.executable, __file__, "--store", f"{folder}/store", "--workloads", name]
        rows = subprocess.check_output([*command, "--requests", str(requests)], env=environment, text=True)
    head = f"{'requests':>10}{'own MB':>8}{'given out':>10}{'free':>7}{'runs':>7}{'blocks':>10}"
    return f"\n{name}, {arenas or 'any number of'} arenas\n{head}\n{rows}"


if __name__ == "__main__":
    main()
