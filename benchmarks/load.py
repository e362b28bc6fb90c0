"""`whorl serve` under load on a real Solr that is killed in the middle: what is answered, how fast, and what is lost.

64 clients (locust, in an environment of its own) ask as fast as they are answered. In their midst Solr gets SIGKILL,
and some seconds later it is started again on the same folder. Then: were there answers other than 200 while Solr was
there, and other than 200 and 503 while it was not? When was everything as before? Is every document there that was
acknowledged? Did the service grow?

    make bench-load
    .venv/bin/python benchmarks/load.py --seconds 20 --families 100     # a short one
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import requests

from load_texts import VARIANTS, document_id, text
from whorl import Document, open_store
from whorl.engine.local.running import RunningServer
from whorl.engine.solr.local.launcher import configset_directory, start_standalone
from whorl.settings.settings import Settings

_HERE = Path(__file__).parent
_RESULTS = _HERE / "results"
_KEY = "load"
#: From the kill to the start, and from the start that memory and speed are not looked at.
_AWAY_SECONDS, _WARM_SECONDS = 5.0, 10.0
#: When Solr is killed, as a share of the run: what comes after takes its time to show.
_KILLED_AFTER = 0.4
_DEADLINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One request of a client; times in seconds since the epoch."""

    began: float
    ended: float
    name: str
    status: int


@dataclass(frozen=True, slots=True)
class Memory:
    """The service at one moment: resident bytes and threads."""

    at: float
    resident: int
    threads: int


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run.

    Args:
        answers: All of them, in order.
        memory: Sketches, in order.
        killed: When Solr was.
        back: When it answered again.
        ended: When the clients were told to stop.
        acknowledged: Documents that the service said it had stored.
        missing: Those of them that are not in Solr.
    """

    answers: list[Answer]
    memory: list[Memory]
    killed: float
    back: float
    ended: float
    acknowledged: int
    missing: int


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--families", type=int, default=600, help=f"families of {VARIANTS} documents at the start")
    parser.add_argument("--locust", default=".venv/load/bin/locust")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = measured(Path(folder), asked.locust, asked.seconds, asked.clients, asked.families)
    lines = report(run, asked.clients, asked.families)
    (asked.out / "load.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _write_seconds(run, asked.out / "load.csv")
    print("\n".join(lines))
    if run.missing or failures(run):
        sys.exit(1)


def measured(folder: Path, locust: str, seconds: int, clients: int, families: int) -> Run:
    """Return what came of one run.

    Args:
        folder: An empty one.
        locust: The command.
        seconds: How long the clients ask.
        clients: How many.
        families: Of documents that are there at the start.
    """
    with contextlib.ExitStack() as stack:
        solr = stack.enter_context(_solr(folder / "solr", 0))
        url, port = f"{solr.url}/whorl", int(solr.url.rpartition(":")[2].partition("/")[0])
        with open_store(url) as store:
            store.index(
                Document(document_id(family, variant), text(family, variant))
                for family in range(families)
                for variant in range(VARIANTS)
            )
        process, address = stack.enter_context(_service(url, folder))
        sketches: list[Memory] = []
        stack.enter_context(_sketched(process.pid, sketches))
        environment = {
            **os.environ,
            "LOAD_FAMILIES": str(families),
            "LOAD_FOLDER": str(folder),
            "LOAD_KEY": _KEY,
        }
        command = [locust, "-f", str(_HERE / "load_users.py"), "--headless", "--only-summary", "--host", address]
        command += ["-u", str(clients), "-r", str(clients), "-t", f"{seconds}s", "--stop-timeout", "60"]
        began = time.time()
        users = stack.enter_context(
            subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        time.sleep(seconds * _KILLED_AFTER)
        killed = time.time()
        solr.process.send_signal(signal.SIGKILL)
        solr.process.wait()
        time.sleep(_AWAY_SECONDS)
        stack.enter_context(_solr(folder / "solr", port))
        with open_store(url) as store:
            _until_it_answers(store.count)
        back = time.time()
        users.wait(seconds + _DEADLINE_SECONDS)
        ended = began + seconds
        with (folder / "answers.csv").open(encoding="utf-8", newline="") as file:
            answers = [Answer(float(row[0]), float(row[1]), row[2], int(row[3])) for row in csv.reader(file)]
        ids = (folder / "stored.txt").read_text(encoding="utf-8").split()
        with open_store(url) as store:
            there = store.documents(ids)
        return Run(answers, sketches, killed, back, ended, len(ids), len(set(ids) - there.keys()))


def _solr(home: Path, port: int) -> RunningServer:
    cores = {"whorl": configset_directory()}
    return start_standalone(home, cores, port=port, heap="1g", cache=Settings.load().solr_cache)


@contextlib.contextmanager
def _service(store: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / "whorl"), "serve", "--store", store, "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with (folder / "service.log").open("wb") as log:
        # As in the image.
        environment = {**os.environ, "WHORL_API_KEY": _KEY, "MALLOC_ARENA_MAX": "2"}
        process = subprocess.Popen(command, env=environment, stderr=log)
        try:
            _until_it_answers(lambda: requests.get(f"{address}/readyz", timeout=5).raise_for_status())
            yield process, address
        finally:
            process.terminate()
            process.wait(_DEADLINE_SECONDS)


def _until_it_answers(ask: object) -> None:
    assert callable(ask)
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while True:
        try:
            ask()
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


@contextlib.contextmanager
def _sketched(pid: int, sketches: list[Memory]) -> Iterator[None]:
    """Look at a process every second."""
    stopped, status = threading.Event(), Path(f"/proc/{pid}/status")

    def look() -> None:
        while not stopped.wait(1.0):
            told = dict(re.findall(r"^(VmRSS|Threads):\s+(\d+)", status.read_text(encoding="ascii"), re.MULTILINE))
            sketches.append(Memory(time.time(), 1024 * int(told["VmRSS"]), int(told["Threads"])))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def failures(run: Run) -> Counter[tuple[str, int]]:
    """Return the answers that there should not have been, by phase and status."""
    wrong: Counter[tuple[str, int]] = Counter()
    for answer in run.answers:
        phase = phase_of(run, answer)
        if answer.status != 200 and not (answer.status == 503 and phase == "away"):
            wrong[phase, answer.status] += 1
    return wrong


def phase_of(run: Run, answer: Answer) -> str:
    """Return the phase of a request: one that met the kill, or began before Solr was back, belongs to the outage."""
    if answer.ended < run.killed:
        return "before"
    return "away" if answer.began <= run.back else "after"


def report(run: Run, clients: int, families: int) -> list[str]:
    """Return the report."""
    first = run.answers[0].began
    last_503 = max((each.ended for each in run.answers if each.status == 503), default=run.killed)
    lines = [
        f"whorl serve, {clients} clients asking as fast as they are answered, Solr with {families * VARIANTS:,}",
        f"documents, and all three on one machine: {os.cpu_count()} cores, Python {platform.python_version()}",
        "",
        f"Solr killed after {run.killed - first:.0f} s, back {run.back - run.killed:.0f} s later; the clients stopped "
        f"after {run.ended - first:.0f} s",
        f"last 503 {last_503 - run.back:+.1f} s from when Solr was back",
        f"{run.acknowledged:,} documents acknowledged, {run.missing:,} of them missing afterwards",
        "",
        f"{'phase':8}{'request':18}{'200':>8}{'503':>8}{'other':>7}{'a second':>10}{'median':>9}{'p95':>8}{'p99':>8}"
        f"{'slowest':>9}  (ms, of the 200s)",
    ]
    spans = {
        "before": run.killed - first,
        "away": run.back - run.killed,
        "after": max(run.ended - run.back, 0.001),
    }
    for phase, seconds in spans.items():
        of_phase = [each for each in run.answers if phase_of(run, each) == phase]
        lines += [
            _row(phase, name, [each for each in of_phase if name in (each.name, "all")], seconds)
            for name in [*sorted({each.name for each in of_phase}), "all"]
        ]
    return [*lines, "", *_memory_lines(run, first)]


def _row(phase: str, name: str, answers: list[Answer], seconds: float) -> str:
    counts = Counter(each.status for each in answers)
    other = len(answers) - counts[200] - counts[503]
    taken = np.array([1000 * (each.ended - each.began) for each in answers if each.status == 200] or [0.0])
    p50, p95, p99 = np.percentile(taken, [50, 95, 99])
    return (
        f"{phase:8}{name:18}{counts[200]:8,}{counts[503]:8,}{other:7,}{counts[200] / seconds:10.1f}"
        f"{p50:9.0f}{p95:8.0f}{p99:8.0f}{taken.max():9.0f}"
    )


def _memory_lines(run: Run, first: float) -> list[str]:
    lines = []
    warm = first + _WARM_SECONDS
    for phase, begin, end in (("before", warm, run.killed), ("after", run.back + _WARM_SECONDS, run.ended)):
        sketches = [each for each in run.memory if begin <= each.at <= end]
        if len(sketches) < 3:
            continue
        minutes = np.array([(each.at - begin) / 60 for each in sketches])
        slope = float(np.polyfit(minutes, [each.resident / 1e6 for each in sketches], 1)[0])
        sizes = [each.resident / 1e6 for each in sketches]
        lines.append(
            f"resident memory {phase:7}{sizes[0]:6.0f} to {sizes[-1]:4.0f} MB, at most {max(sizes):4.0f}; slope "
            f"{slope:+.2f} MB a minute over {len(sketches)} s"
        )
    lines.append(f"threads of the service, at most {max(each.threads for each in run.memory)}")
    return lines


def _write_seconds(run: Run, path: Path) -> None:
    """Write what was answered in each second, and the memory then."""
    first = run.answers[0].began
    by_second: dict[int, list[Answer]] = {}
    for answer in run.answers:
        by_second.setdefault(int(answer.ended - first), []).append(answer)
    resident = {int(each.at - first): each.resident for each in run.memory}
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["second", "answered_200", "answered_503", "other", "median_ms", "resident_mb"])
        for second in range(max(by_second) + 1):
            answers = by_second.get(second, [])
            counts = Counter(each.status for each in answers)
            taken = [1000 * (each.ended - each.began) for each in answers if each.status == 200]
            median = round(float(np.median(taken))) if taken else ""
            size = round(resident[second] / 1e6, 1) if second in resident else ""
            other = len(answers) - counts[200] - counts[503]
            rows.writerow([second, counts[200], counts[503], other, median, size])


if __name__ == "__main__":
    main()
