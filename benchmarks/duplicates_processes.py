"""Runs a process and measures its time, CPU time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

#: What libraries read to know how many threads they may have.
_ONE_THREAD = dict.fromkeys(
    ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
#: The installed program.
WHORL = [str(Path(sysconfig.get_path("scripts")) / "whorl")]
#: The same, in a Python without numba.
WHORL_WITHOUT_NUMBA = [
    sys.executable,
    "-c",
    "import sys; sys.modules['numba'] = None; from whorl.cli.main import main; main()",
]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a process took.

    Args:
        wall: Seconds by the clock, from its start to its end.
        cpu: Seconds of processors, all its threads together.
        megabytes: The most memory that it had at once, files that it mapped included.
        status: What it ended with.
        told: What it printed.
        complaints: What it wrote to standard error.
    """

    wall: float
    cpu: float
    megabytes: float
    status: int
    told: str
    complaints: str


def run(command: Sequence[str], folder: Path, *, one_core: bool, environment: Mapping[str, str] | None = None) -> Taken:
    """Run a process to its end.

    This process should be small: Linux counts what it holds as the other's memory while that is being started.

    Args:
        command: The program and its arguments.
        folder: For its temporary files, and for what it prints.
        one_core: Whether it may use one processor only, in one thread.
        environment: More variables.
    """
    more = {"TMPDIR": str(folder), "PYTHONHASHSEED": "0", **(_ONE_THREAD if one_core else {}), **(environment or {})}
    core = max(os.sched_getaffinity(0))
    told, complaints = folder / "told.txt", folder / "complaints.txt"
    with told.open("wb") as out, complaints.open("wb") as errors:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command,
            env={**os.environ, **more},
            stdout=out,
            stderr=errors,
            preexec_fn=(lambda: os.sched_setaffinity(0, {core})) if one_core else None,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
    return Taken(
        wall,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        process.returncode,
        told.read_text("utf-8", "replace"),
        complaints.read_text("utf-8", "replace"),
    )


def best(several: Sequence[Taken]) -> Taken:
    """Return the least time, by clock and processors, and the most memory of several runs of a process."""
    return replace(
        several[0],
        wall=min(each.wall for each in several),
        cpu=min(each.cpu for each in several),
        megabytes=max(each.megabytes for each in several),
    )


def required(taken: Taken) -> Taken:
    """Return the cost of a process that has to succeed.

    Raises:
        SystemExit: It failed; the message has its standard error.
    """
    if taken.status:
        raise SystemExit(f"ended with {taken.status}: {taken.complaints.strip()[-2000:]}")
    return taken


def say(told: str) -> None:
    """Tell the progress on standard error."""
    print(told, file=sys.stderr, flush=True)
