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

#: Variables that limit the threads of libraries.
_ONE_THREAD = dict.fromkeys(
    ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
#: The installed command.
WHORL = [str(Path(sysconfig.get_path("scripts")) / "whorl")]
#: The command in a Python without numba.
WHORL_WITHOUT_NUMBA = [
    sys.executable,
    "-c",
    "import sys; sys.modules['numba'] = None; from whorl.cli.main import main; main()",
]


@dataclass(frozen=True, slots=True)
class Taken:
    """Measurements of a process.

    Args:
        wall: Seconds from start to end.
        cpu: Processor seconds of all threads.
        megabytes: Peak memory, with mapped files.
        status: Exit status.
        output: Standard output.
        errors: Standard error.
    """

    wall: float
    cpu: float
    megabytes: float
    status: int
    output: str
    errors: str


def run(command: Sequence[str], folder: Path, *, one_core: bool, environment: Mapping[str, str] | None = None) -> Taken:
    """Run a process to its end.

    This process should be small: while the new process starts, Linux counts this one's memory as the new one's.

    Args:
        folder: For temporary files and output.
        one_core: Restrict the process to one processor and one thread.
        environment: Additional variables.
    """
    more = {"TMPDIR": str(folder), "PYTHONHASHSEED": "0", **(_ONE_THREAD if one_core else {}), **(environment or {})}
    core = max(os.sched_getaffinity(0))
    output, error_file = folder / "output.txt", folder / "errors.txt"
    with output.open("wb") as out, error_file.open("wb") as errors:
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
        output.read_text("utf-8", "replace"),
        error_file.read_text("utf-8", "replace"),
    )


def best(several: Sequence[Taken]) -> Taken:
    """Return the least wall and processor time, and the highest memory, of several runs."""
    return replace(
        several[0],
        wall=min(run.wall for run in several),
        cpu=min(run.cpu for run in several),
        megabytes=max(run.megabytes for run in several),
    )


def required(taken: Taken) -> Taken:
    """Return the cost of a process that must succeed.

    Raises:
        SystemExit: The process failed; the message has its standard error.
    """
    if taken.status:
        raise SystemExit(f"ended with {taken.status}: {taken.errors.strip()[-2000:]}")
    return taken


def say(message: str) -> None:
    """Print progress on standard error."""
    print(message, file=sys.stderr, flush=True)
