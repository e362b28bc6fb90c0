"""Tests of SIGTERM during long work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import DEADLINE_SECONDS, FIRST, SECOND

#: A `whorl` process that waits after it has read its documents.
UNENDING = """
import signal
from whorl.cli.main import main
from whorl.duplicates.sketch_store import PersistentSketchStore
from whorl.duplicates.sketch_store import TemporarySketchStore

def never(*_):
    print("at work", flush=True)
    while True:
        signal.pause()

TemporarySketchStore.put = PersistentSketchStore.read_sketches = never
main()
"""
OWN = """
import signal
from whorl.cli.run_duplicates import terminable

signal.signal(signal.SIGTERM, lambda *_: print("own"))
with terminable():
    signal.raise_signal(signal.SIGTERM)
    print("goes on")
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "left", "message"),
    [
        ([], [], ""),
        (["--workers", "2"], [], ""),
        (["--filtered", "clean"], [], ""),
        (["--level", "passage"], [], ""),
        (["--state", "seen"], ["seen"], "stopped; run the same command again to go on from seen\n"),
    ],
)
def test_all_duplicates_are_removed(tmp_path: Path, options: list[str], left: list[str], message: str) -> None:
    """
    Temporary and unfinished files are deleted, and a run with a state prints how to continue.
    """
    temporary, work = tmp_path / "temporary", tmp_path / "work"
    temporary.mkdir()
    work.mkdir()
    lines = tmp_path / "lines.jsonl"
    lines.write_text(f'{{"id": "a", "text": "{FIRST}"}}\n{{"id": "b", "text": "{SECOND}"}}\n')
    command = [sys.executable, "-c", UNENDING, "duplicates", str(lines), "-o", "found.jsonl", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n", process.communicate()
        assert bool(left) or any(temporary.iterdir())
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=DEADLINE_SECONDS)
    assert (process.returncode, out, error) == (128 + signal.SIGTERM, "", message)
    assert list(temporary.iterdir()) == []
    assert [path.name for path in work.iterdir()] == left


@pytest.mark.process
def test_a_program_with_a_handler_of_its_own_keeps_it() -> None:
    """
    A Python program that calls whorl keeps its own signal handler.
    """
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=True)
    assert done.stdout == "own\ngoes on\n"
