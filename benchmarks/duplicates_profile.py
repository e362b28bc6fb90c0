"""Measures the time of each stage of `whorl duplicates FILE --pairs`.

    python benchmarks/duplicates_profile.py CORPUS.jsonl [PERCENT] [--workers 1] [--without-numba]

It runs the command once in this process, with two clocks around the parts: wall time, and processor time of all
threads. A part that another one calls pauses the caller's clocks. With several workers, the parts are those of the main
process, and its waiting time is a part.
"""

from __future__ import annotations

import time

_BEGUN = time.perf_counter()

import argparse  # noqa: E402 - the clock comes first
import os  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from functools import wraps  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402


class Clocks:
    """Seconds of each part; only one part's clocks run at a time.

    Args:
        now: Returns the current wall and processor time.
    """

    def __init__(self, now: Callable[[], tuple[float, float]]) -> None:
        self._now = now
        self.seconds: dict[str, list[float]] = {}
        self._running: list[str] = []
        self._since = now()

    def begin(self, part: str) -> None:
        """Start the clocks of a part, and pause the running ones."""
        self._pass()
        self._running.append(part)

    def end(self) -> None:
        """Stop the running clocks, and resume the paused ones."""
        self._pass()
        self._running.pop()

    def _pass(self) -> None:
        before, self._since = self._since, self._now()
        if self._running:
            both = self.seconds.setdefault(self._running[-1], [0.0, 0.0])
            for at in range(2):
                both[at] += self._since[at] - before[at]

    def around(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its clocks; a generator is timed while it computes the next item."""

        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            self.begin(part)
            try:
                returned = function(*arguments, **named)
            finally:
                self.end()
            return self._each(part, returned) if isinstance(returned, Iterator) else returned

        return timed

    def _each(self, part: str, several: Iterator[Any]) -> Iterator[Any]:
        while True:
            self.begin(part)
            try:
                one = next(several)
            except StopIteration:
                return
            finally:
                self.end()
            yield one


#: Timed functions: the part, the module, and the name in it; a method is Class.name.
PARTS = (
    ("reading documents", "whorl.duplicates.input", "documents_in"),
    ("words and hashes", "whorl.duplicates.sketching", "hash_in_batches"),
    ("importing numba and loading the loops", "whorl.fingerprint.fingerprint_texts", "kernel_if_ready"),
    ("waiting for workers", "whorl.duplicates.worker_pool", "Future.result"),
    ("ending workers", "whorl.duplicates.worker_pool", "ProcessPoolExecutor.shutdown"),
    ("columns and keys of sketches", "whorl.duplicates.sketching", "Sketching._make_batch"),
    ("putting documents aside", "whorl.duplicates.sketch_store", "TemporarySketchStore.put"),
    ("looking for ids that came before", "whorl.duplicates.sketch_store", "IdFile._occurrences"),
    ("candidates", "whorl.duplicates.all_pairs", "find_candidates"),
    ("hashes that meet, of these", "whorl.duplicates.prefix_filter", "collect_shared_hashes"),
    ("verification", "whorl.duplicates.all_pairs", "verify_pairs"),
    ("output", "whorl.cli.run_duplicates", "_write"),
)


def main() -> None:
    """Run the command with clocks, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("percent", nargs="?", type=int, default=80)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--without-numba", action="store_true")
    arguments = parser.parse_args()
    if arguments.without_numba:
        sys.modules["numba"] = None  # type: ignore[assignment]
    clocks = Clocks(lambda: (time.perf_counter(), time.process_time()))
    clocks.begin("everything else")
    clocks.begin("imports")
    from importlib import import_module

    for part, module, name in PARTS:
        home: Any = import_module(module)
        *owner, name = name.split(".")
        for attribute in owner:
            home = getattr(home, attribute)
        setattr(home, name, clocks.around(part, getattr(home, name)))
    from whorl.cli.main import main as whorl

    clocks.end()
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "pairs.jsonl")
        settings = ["--pairs", "--workers", str(arguments.workers), "--threshold", str(arguments.percent), "-o", out]
        whorl(["duplicates", str(arguments.corpus), *settings], standalone_mode=False)
    clocks.end()
    wall, cpu = time.perf_counter() - _BEGUN, time.process_time()
    known = [sum(column) for column in zip(*clocks.seconds.values(), strict=True)]
    clocks.seconds["Python itself"] = [wall - known[0], cpu - known[1]]
    megabytes = os.stat(arguments.corpus).st_size / 1e6
    print(f"{'part':40}{'wall s':>8}{'CPU s':>8}{'CPU share':>11}{'ms of CPU a MB':>16}")
    for part, (by_wall, by_cpu) in sorted(clocks.seconds.items(), key=lambda item: -item[1][1]):
        print(f"{part:40}{by_wall:8.2f}{by_cpu:8.2f}{by_cpu / cpu:11.1%}{1000 * by_cpu / megabytes:16.1f}")
    print(f"{'together':40}{wall:8.2f}{cpu:8.2f}{1:11.1%}{1000 * cpu / megabytes:16.1f}")


if __name__ == "__main__":
    main()
