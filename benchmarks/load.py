"""Loads `whorl serve` with 64 clients, kills its engine, and checks answers, times and stored documents.

64 clients (locust, in its own environment) send a request after each response. During the run Solr or OpenSearch gets
SIGKILL, and is restarted on the same folder some seconds later. The report says whether there were responses other than
200 while the engine ran, or other than 200 and 503 while it did not; when the service had recovered; whether every
acknowledged document is stored; and whether the service's memory grew. An embedded store is part of the service, so the
service is killed; requests then fail (status 0), like the 502 of a proxy.

    make bench-load
    .venv/bin/python benchmarks/load.py --seconds 20 --families 100 --engine embedded     # a short one
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import platform
import re
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

from load_servers import DEADLINE_SECONDS, ENGINES, KEY, Service, served
from load_texts import VARIANTS, document_id, text
from whorl import Document, open_store

_HERE = Path(__file__).parent
_RESULTS = _HERE / "results"
#: Seconds from the kill to the restart, and seconds after the restart that the figures for memory and speed leave out.
_AWAY_SECONDS, _WARM_SECONDS = 5.0, 10.0
#: Time of the kill as a share of the run; its effects take time to show.
_KILLED_AFTER = 0.4


@dataclass(frozen=True, slots=True)
class Answer:
    """A client's request; times in seconds since the epoch."""

    began: float
    ended: float
    name: str
    status: int


@dataclass(frozen=True, slots=True)
class Memory:
    """The service at one moment: its anonymous memory in bytes, and its threads."""

    at: float
    own: int
    threads: int


@dataclass(frozen=True, slots=True)
class Run:
    """Results of a run.

    Args:
        engine: The service's engine.
        answers: All answers in order.
        memory: The service's memory in order.
        killed: Time of the kill.
        back: Time of the first answer after the restart.
        ended: Time when the clients were stopped.
        acknowledged: Number of documents that the service acknowledged.
        missing: Number of acknowledged documents that the store lacks.
        machine_load: Load averages of the machine at the start and the end of the clients.
    """

    engine: str
    answers: list[Answer]
    memory: list[Memory]
    killed: float
    back: float
    ended: float
    acknowledged: int
    missing: int
    machine_load: tuple[float, float]


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, default="solr")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--families", type=int, default=600, help=f"families of {VARIANTS} documents at the start")
    parser.add_argument(
        "--uploads",
        choices=("new", "same", "none"),
        default="new",
        help="what clients store: new documents, the same 300 over and over with other texts, or nothing",
    )
    # An interpreter, since the script `locust` has the path of its installation in it.
    parser.add_argument("--python", default=".venv/load/bin/python", help="one that has locust")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = measured(
            arguments.engine,
            Path(folder),
            arguments.python,
            arguments.seconds,
            arguments.clients,
            arguments.families,
            arguments.uploads,
        )
    lines = report(run, arguments.clients, arguments.families, arguments.uploads)
    name = f"load-{arguments.engine}" + (f"-{arguments.uploads}" if arguments.uploads != "new" else "")
    (arguments.out / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _write_seconds(run, arguments.out / f"{name}.csv")
    print("\n".join(lines))
    if run.missing or failures(run):
        sys.exit(1)


def measured(engine: str, folder: Path, python: str, seconds: int, clients: int, families: int, uploads: str) -> Run:
    """Return the results of one run.

    Args:
        engine: The service's engine.
        folder: An empty folder.
        python: An interpreter with locust.
        seconds: Duration of the load.
        clients: Number of clients.
        families: Number of families stored at the start.
        uploads: Kind of documents that the clients store.
    """
    with served(engine, folder) as (name, service, killed_server), contextlib.ExitStack() as stack:
        with open_store(name) as store:
            store.index(
                Document(document_id(family, variant), text(family, variant))
                for family in range(families)
                for variant in range(VARIANTS)
            )
        service.start()
        samples: list[Memory] = []
        stack.enter_context(_sampled(service, samples))
        environment = {
            **os.environ,
            "LOAD_FAMILIES": str(families),
            "LOAD_FOLDER": str(folder),
            "LOAD_KEY": KEY,
            "LOAD_UPLOADS": uploads,
        }
        command = [
            python,
            "-m",
            "locust",
            "-f",
            str(_HERE / "load_users.py"),
            "--headless",
            "--only-summary",
            "--host",
            service.address,
        ]
        command += ["-u", str(clients), "-r", str(clients), "-t", f"{seconds}s", "--stop-timeout", "60"]
        began, load = time.time(), os.getloadavg()[1]
        users = stack.enter_context(
            subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        time.sleep(seconds * _KILLED_AFTER)
        killed = time.time()
        killed_server.kill()
        time.sleep(_AWAY_SECONDS)
        killed_server.start()
        back = time.time()
        users.wait(seconds + DEADLINE_SECONDS)
        ended = began + seconds
        with (folder / "answers.csv").open(encoding="utf-8", newline="") as file:
            answers = [Answer(float(row[0]), float(row[1]), row[2], int(row[3])) for row in csv.reader(file)]
        loads = load, os.getloadavg()[1]
        ids = (folder / "stored.txt").read_text(encoding="utf-8").split()
        service.stop()
        with open_store(name) as store:
            there = store.documents(ids)
        return Run(engine, answers, samples, killed, back, ended, len(ids), len(set(ids) - there.keys()), loads)


@contextlib.contextmanager
def _sampled(service: Service, samples: list[Memory]) -> Iterator[None]:
    """Sample the service's process every second while it runs."""
    stopped = threading.Event()

    def look() -> None:
        while not stopped.wait(1.0):
            with contextlib.suppress(OSError, KeyError):
                assert service.process is not None
                status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
                values = dict(re.findall(r"^(RssAnon|Threads):\s+(\d+)", status, re.MULTILINE))
                samples.append(Memory(time.time(), 1024 * int(values["RssAnon"]), int(values["Threads"])))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def failures(run: Run) -> Counter[tuple[str, int]]:
    """Return the unacceptable answers by phase and status."""
    wrong: Counter[tuple[str, int]] = Counter()
    for answer in run.answers:
        phase = phase_of(run, answer)
        meanwhile = 0 if run.engine == "embedded" else 503
        if answer.status != 200 and not (answer.status == meanwhile and phase == "away"):
            wrong[phase, answer.status] += 1
    return wrong


def phase_of(run: Run, answer: Answer) -> str:
    """Return the phase of a request; a request that overlaps the outage belongs to it."""
    if answer.ended < run.killed:
        return "before"
    return "away" if answer.began <= run.back else "after"


def report(run: Run, clients: int, families: int, uploads: str) -> list[str]:
    stored = {"new": "storing new documents", "same": "storing 300 documents over and over", "none": "storing nothing"}
    first = run.answers[0].began
    killed = "the service" if run.engine == "embedded" else run.engine
    last_failure = max((answer.ended for answer in run.answers if answer.status != 200), default=run.killed)
    lines = [
        f"whorl serve on {run.engine}, {clients} clients asking as fast as they are answered, {families * VARIANTS:,}",
        f"documents at the start, {stored[uploads]}, and all on one machine: {os.cpu_count()} cores, "
        f"Python {platform.python_version()},",
        "load averages of {:.0f} at the start and {:.0f} at the end".format(*run.machine_load),
        "",
        f"{killed} killed after {run.killed - first:.0f} s, back {run.back - run.killed:.0f} s later; "
        f"the clients stopped after {run.ended - first:.0f} s",
        f"last failure {last_failure - run.back:+.1f} s from when it was back",
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
        of_phase = [answer for answer in run.answers if phase_of(run, answer) == phase]
        lines += [
            _row(phase, name, [answer for answer in of_phase if name in (answer.name, "all")], seconds)
            for name in [*sorted({answer.name for answer in of_phase}), "all"]
        ]
    return [*lines, "", *_memory_lines(run, first)]


def _row(phase: str, name: str, answers: list[Answer], seconds: float) -> str:
    counts = Counter(answer.status for answer in answers)
    other = len(answers) - counts[200] - counts[503]
    taken = np.array([1000 * (answer.ended - answer.began) for answer in answers if answer.status == 200] or [0.0])
    p50, p95, p99 = np.percentile(taken, [50, 95, 99])
    return (
        f"{phase:8}{name:18}{counts[200]:8,}{counts[503]:8,}{other:7,}{counts[200] / seconds:10.1f}"
        f"{p50:9.0f}{p95:8.0f}{p99:8.0f}{taken.max():9.0f}"
    )


def _memory_lines(run: Run, first: float) -> list[str]:
    lines = []
    warm = first + _WARM_SECONDS
    back = run.back + _WARM_SECONDS
    spans = (
        ("before", warm, run.killed),
        ("after", back, run.ended),
        ("its last half", (back + run.ended) / 2, run.ended),
    )
    for phase, begin, end in spans:
        samples = [sample for sample in run.memory if begin <= sample.at <= end]
        if len(samples) < 3:
            continue
        minutes = np.array([(sample.at - begin) / 60 for sample in samples])
        slope = float(np.polyfit(minutes, [sample.own / 1e6 for sample in samples], 1)[0])
        sizes = [sample.own / 1e6 for sample in samples]
        lines.append(
            f"own memory {phase:14}{sizes[0]:6.0f} to {sizes[-1]:4.0f} MB, at most {max(sizes):4.0f}; slope "
            f"{slope:+.2f} MB a minute over {len(samples)} s"
        )
    lines.append(f"threads of the service, at most {max(sample.threads for sample in run.memory)}")
    return lines


def _write_seconds(run: Run, path: Path) -> None:
    """Write the answers and the memory of each second."""
    first = run.answers[0].began
    by_second: dict[int, list[Answer]] = {}
    for answer in run.answers:
        by_second.setdefault(int(answer.ended - first), []).append(answer)
    own = {int(sample.at - first): sample.own for sample in run.memory}
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["second", "answered_200", "answered_503", "other", "median_ms", "own_mb"])
        for second in range(max(by_second) + 1):
            answers = by_second.get(second, [])
            counts = Counter(answer.status for answer in answers)
            taken = [1000 * (answer.ended - answer.began) for answer in answers if answer.status == 200]
            median = round(float(np.median(taken))) if taken else ""
            size = round(own[second] / 1e6, 1) if second in own else ""
            other = len(answers) - counts[200] - counts[503]
            rows.writerow([second, counts[200], counts[503], other, median, size])


if __name__ == "__main__":
    main()
