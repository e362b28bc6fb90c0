"""Compares simhash-find-all and simhash-find-clusters with those of simhash-cpp, in one run.

    python benchmarks/hamming_commands.py [--binaries FOLDER] [--codes 100000 1000000 10000000] [--rounds 3]

FOLDER has the peer's simhash-find-all and simhash-find-clusters, built by its Makefile (the source archive of
simhash-pybind also has its library). Processes take turns; the best round counts, separately for CPU and wall seconds.
The outputs must have the same lines, in any order.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

from hamming_workloads import make

HERE = Path(__file__).resolve().parent
FIELDS = ("workload", "codes", "job", "contender", "cpu", "wall", "peak MB", "times as fast", "lines", "digest")
BLOCKS, BITS = 5, 3


def digest(path: Path) -> tuple[int, str]:
    """Return the number of lines, and a digest that is independent of their order."""
    count, sum_ = 0, 0
    with path.open("rb") as lines:
        for line in lines:
            members = b",".join(sorted(line.strip(b"[]\n").split(b", ")))
            sum_ ^= int.from_bytes(hashlib.blake2b(members, digest_size=8).digest(), "big")
            count += 1
    return count, f"{sum_:016x}"


def run(program: Path, source: Path, target: Path) -> tuple[float, float, float]:
    """Return CPU seconds, wall seconds and megabytes of a process."""
    command = [str(program), "-b", str(BLOCKS), "-d", str(BITS), "-i", str(source), "-o", str(target)]
    begun = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{program} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss / 1024


def write_input(workload: str, count: int, source: Path) -> None:
    """Write the codes of a workload, one a line."""
    source.write_text("\n".join(map(str, make(workload, count, 2)[0].tolist())) + "\n")


def measured(workload: str, count: int, programs: dict[str, Path], rounds: int, folder: Path) -> list[dict[str, str]]:
    """Return the rows of both jobs for one input."""
    source, target = folder / "codes.txt", folder / "out.txt"
    # A separate process, because a child's peak includes its parent's memory at the start.
    writing = get_context("spawn").Process(target=write_input, args=(workload, count, source))
    writing.start()
    writing.join()
    rows = []
    for job in ("find-all", "find-clusters"):
        best: dict[str, tuple[float, ...]] = {}
        written = {}
        for _ in range(rounds):
            for name, home in programs.items():
                figures = run(home / f"simhash-{job}", source, target)
                best[name] = tuple(map(min, figures, best.get(name, figures)))
                written[name] = digest(target)
        if len(set(written.values())) > 1:
            raise SystemExit(f"contenders disagree: {written}")
        for name, (cpu, wall, megabytes) in best.items():
            ratio = f"{best['simhash-cpp'][0] / cpu:.1f}" if "simhash-cpp" in best and name != "simhash-cpp" else ""
            figures_shown = (f"{cpu:.2f}", f"{wall:.2f}", f"{megabytes:.0f}", ratio, str(written[name][0]))
            row = (workload, str(count), job, name, *figures_shown, written[name][1])
            rows.append(dict(zip(FIELDS, row, strict=True)))
            print(*row, sep="\t", flush=True)
    return rows


def main() -> None:
    """Measure; rows of other sizes stay."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path)
    parser.add_argument("--codes", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--workload", default="planted")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "hamming_commands.csv")
    arguments = parser.parse_args()
    peer = {"simhash-cpp": arguments.binaries} if arguments.binaries else {}
    programs = {**peer, "whorl": Path(sysconfig.get_path("scripts"))}
    rows = []
    if arguments.out.exists():
        with arguments.out.open(newline="", encoding="utf-8") as file:
            measured_now = {(arguments.workload, str(count)) for count in arguments.codes}
            rows = [row for row in csv.DictReader(file) if (row["workload"], row["codes"]) not in measured_now]
    print(f"Python {sys.version.split()[0]}; seconds of the best of {arguments.rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        for count in arguments.codes:
            rows += measured(arguments.workload, count, programs, arguments.rounds, Path(folder))
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
