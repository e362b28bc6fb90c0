"""Runs `whorl index` and `whorl duplicates` on files made to exhaust memory or time, with the default limits.

    make prove-bombs
    python -m tests.ingest.rows.prove_bombs --only short-rows.parquet deep.jsonl     # a short one

Each command runs in a process of its own and reads one such file and then two good ones. The proof fails if a command
prints a traceback, does not end, takes more than the stated time or memory, does not read the good files, or fails with
a message that does not name the file.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tests.cli.running import WHORL
from tests.ingest.rows.test_bombs import BOMBS, HEAVY, long_lists, repeated_rows, stream
from whorl import open_store

#: The largest allowed processor time of a command, in seconds, and memory of its largest process, in bytes.
MOST_SECONDS, MOST_BYTES = 400.0, 1_500_000_000
#: A command that runs for longer hangs, however busy the machine is.
DEADLINE_SECONDS = 1_800.0
GOOD = ("y.txt", "z.txt")
SHORT_TEXT = "one two three four five six seven"
GOOD_TEXT = "eight nine ten eleven twelve thirteen fourteen"


def short_runs() -> bytes:
    """Return an Arrow stream of a few hundred bytes whose 250,000 rows share one text of seven words."""
    text = pa.array([SHORT_TEXT])
    return stream(pa.RunEndEncodedArray.from_arrays(pa.array([250_000], pa.int32()), text))


#: The tests also have the same contents in other compressions.
FILES: dict[str, Callable[[], bytes]] = {
    "short-rows.parquet": partial(repeated_rows, SHORT_TEXT, 250_000),
    "short-lists.parquet": partial(long_lists, 100_000, 200),
    "short-runs.arrow": short_runs,
    **{name: make for name, (make, *_) in HEAVY.items()},
    **{name: make for name, (make, _) in BOMBS.items() if not name.endswith((".bz2", ".xz"))},
}


class Outcome(NamedTuple):
    """A command on a file; `message` is the first line that names the file, or a failure of the proof."""

    command: str
    file: str
    bytes: int
    status: int
    cpu_seconds: float
    memory_mb: int
    message: str
    failure: str


def write_files(file: Path) -> None:
    """Write a bomb, which the file name selects, and two good files in the same folder."""
    file.write_bytes(FILES[file.name]())
    for good in GOOD:
        (file.parent / good).write_text(GOOD_TEXT, encoding="utf-8")


def run(command: str, file: Path) -> Outcome:
    """Run a command on a file and on two good ones, and check how it ends."""
    options = ("--store", "store") if command == "index" else ()
    arguments = [str(WHORL), command, *options, "--text-column", "text", file.name, *GOOD]
    with (file.parent / "out").open("w+b") as out, (file.parent / "err").open("w+b") as err:
        process = subprocess.Popen(arguments, cwd=file.parent, stdout=out, stderr=err, start_new_session=True)
        end = threading.Timer(DEADLINE_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        end.start()
        _, status, usage = os.wait4(process.pid, 0)
        end.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, problems = (file.read().decode(errors="replace") for file in (out, err))
    seconds, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    named = [line.strip() for line in problems.splitlines() if line.strip().startswith(file.name)]
    failures = {
        "it did not end": process.returncode == -signal.SIGKILL,
        "a traceback": "Traceback" in problems,
        f"more than {MOST_SECONDS:.0f} seconds": seconds > MOST_SECONDS,
        f"more than {MOST_BYTES:,} bytes": memory > MOST_BYTES,
        "an error that does not name the file": process.returncode != 0 and not named,
        "the next file was not read": not _has_read(command, file.parent, said),
    }
    message = named[-1] if named else ""
    failure = "; ".join(failure for failure, is_so in failures.items() if is_so)
    return Outcome(
        command, file.name, file.stat().st_size, process.returncode, round(seconds, 1), memory >> 20, message, failure
    )


def _has_read(command: str, folder: Path, said: str) -> bool:
    """Check that the good files, which are equal, form a pair or are stored."""
    if command == "duplicates":
        return GOOD[1] in said
    if not (folder / "store").is_dir():
        return False
    with open_store(folder / "store", create=False) as store:
        return sorted(store.documents(GOOD)) == sorted(GOOD)


def main() -> None:
    """Run both commands on all files, and record the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=FILES, default=[*FILES], metavar="FILE")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    outcomes = []
    for name in arguments.only:
        for command in ("index", "duplicates"):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / name
                # The peak memory of a process includes its parent's memory at the start: make the file elsewhere.
                maker = get_context("fork").Process(target=write_files, args=(file,))
                maker.start()
                maker.join()
                outcomes.append(run(command, file))
            print(*outcomes[-1], sep="\t", flush=True)
    if arguments.csv:
        with arguments.csv.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(Outcome._fields)
            writer.writerows(outcomes)
    sys.exit(any(outcome.failure for outcome in outcomes))


if __name__ == "__main__":
    main()
