"""Runs one contender of hamming.py in its own process, and prints JSON.

    python benchmarks/hamming_worker.py corpus|single|pairs CODES.npy QUERIES.npy CONTENDER

CONTENDER is `corpus` (whorl.simhash_compat) or `index` (whorl.hamming, arrays in and out), both also with `-plain`
(without numba), or `simhash`, the peer in PYTHONPATH.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

BLOCKS, BITS = 5, 3
#: Number of timed calls, each with one query or one code.
CALLS = 100_000

Record = dict[str, float | str]


def timed(record: Record, name: str, work: Callable[[], Any]) -> Any:
    """Record the CPU and wall seconds of a call, and return its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    record[f"{name}_cpu"], record[f"{name}_wall"] = time.process_time() - cpu, time.perf_counter() - wall
    return result


def memory() -> int:
    """Return the resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def digest(lists: list[list[int]]) -> str:
    """Return a digest of answers as sets."""
    made = hashlib.blake2b(digest_size=8)
    for ids in lists:
        made.update(json.dumps(sorted(set(ids))).encode())
    return made.hexdigest()


def empty(contender: str) -> Any:
    if contender == "simhash":
        return import_module("simhash").Corpus(BLOCKS, BITS)
    if contender == "corpus":
        return import_module("whorl.simhash_compat").Corpus(BLOCKS, BITS)
    return import_module("whorl.hamming").HammingIndex(BITS)


def warm(contender: str) -> None:
    """Load everything that a process loads once."""
    if contender != "simhash":
        import_module("whorl.hamming.load_loops").loops_if_worth_loading(60.0)
        empty(contender)


def corpus(contender: str, codes: Any, queries: Any) -> Record:
    """The workload of simhash-py's bench.py."""
    record, held = Record(), memory()
    index = empty(contender)
    timed(record, "insert", lambda: index.insert_bulk(codes))
    record["bytes_per_code"] = (memory() - held) / len(codes)
    timed(record, "find first", lambda: index.find_first_bulk(queries))
    answers = timed(record, "find all", lambda: index.find_all_bulk(queries))
    record["answers"] = digest(answers if isinstance(answers, list) else answers.to_lists())
    del answers
    timed(record, "removal", lambda: index.remove_bulk(codes))
    for unit in ("cpu", "wall"):
        record[f"total_{unit}"] = sum(
            float(record[f"{name}_{unit}"]) for name in ("insert", "find first", "find all", "removal")
        )
    return record


def single(contender: str, codes: Any, queries: Any) -> Record:
    """Time single queries, and insertions of one code that alternate with queries, in microseconds a call."""
    record, index = Record(), empty(contender)
    index.insert_bulk(codes)
    few = [int(query) for query in queries[:CALLS]]

    def for_each(call: Callable[[int], Any]) -> Callable[[], None]:
        def run() -> None:
            for query in few:
                call(query)

        return run

    def insert_and_find(query: int) -> None:
        index.insert(query ^ 1)
        index.find_first(query)

    timed(record, "find first", for_each(index.find_first))
    timed(record, "find all", for_each(index.find_all))
    timed(record, "insert one, find one", for_each(insert_and_find))
    return {name: 1e6 * float(value) / len(few) for name, value in record.items()}


def pairs(contender: str, codes: Any, queries: Any) -> Record:
    """Find all pairs in a set of codes."""
    record = Record()
    if contender == "simhash":
        peer = import_module("simhash")
        pair_list = timed(record, "pairs", lambda: peer.find_all(codes, BLOCKS, BITS))
    else:
        find_pairs = import_module("whorl.hamming").find_pairs
        pair_list = timed(record, "pairs", lambda: find_pairs(codes, BITS))
    record["answers"] = str(len(pair_list))
    record["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return record


def main() -> None:
    what, codes_file, queries_file, contender = sys.argv[1:]
    name, _, route = contender.partition("-")
    if route == "plain":
        sys.modules["numba"] = None  # type: ignore[assignment]  # as if it were not installed
    codes, queries = np.load(codes_file), np.load(queries_file)
    if name != "index":
        codes, queries = codes.tolist(), queries.tolist()
    warm(name)
    print(json.dumps({"corpus": corpus, "single": single, "pairs": pairs}[what](name, codes, queries)))


if __name__ == "__main__":
    main()
