"""Worker processes of a pool, and the end of their parent process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE_SECONDS = 240.0
#: A program with a pool of two; it prints the process ids of the workers once both have started.
PROGRAM = """
import multiprocessing, os, signal, sys
from concurrent.futures import ProcessPoolExecutor
from whorl.duplicates.worker_pool import begin_as_worker

def begin(barrier):
    begin_as_worker()
    barrier.wait()

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: print("the parent's", flush=True))
    context = multiprocessing.get_context(sys.argv[1])
    with ProcessPoolExecutor(2, context, begin, (context.Barrier(3),)) as pool:
        for _ in range(2):
            pool.submit(os.getpid)
        pool._initargs[0].wait()
        print(*pool._processes, flush=True)
        while True:
            signal.pause()
"""
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes as copies"),
    pytest.mark.parametrize("method", ["fork", "spawn"]),
]


@contextmanager
def pool_of_two(folder: Path, method: str) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """Yield a process and the ids of its workers; all of them write to its standard output."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, program, method], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process, list(map(int, process.stdout.readline().split()))
        finally:
            process.kill()


def test_no_worker_survives_its_parent(tmp_path: Path, method: str) -> None:
    """
    Workers end with their parent, even if it is killed.
    """
    with pool_of_two(tmp_path, method) as (process, workers):
        assert len(workers) == 2
        process.kill()
        # Standard output ends when the last process that holds it ends.
        assert process.communicate(timeout=PATIENCE_SECONDS)[0] == b""


def test_a_worker_ends_on_sigterm_but_not_on_ctrl_c(tmp_path: Path, method: str) -> None:
    """
    SIGTERM ends a worker, whatever handler the parent has installed; Ctrl+C does not.
    """
    with pool_of_two(tmp_path, method) as (process, workers):
        ends = os.pidfd_open(workers[0])
        os.kill(workers[0], signal.SIGINT)
        os.kill(workers[0], signal.SIGTERM)
        assert select.select([ends], [], [], PATIENCE_SECONDS)[0]
        os.close(ends)
        process.kill()
        assert process.communicate(timeout=PATIENCE_SECONDS)[0] == b""
