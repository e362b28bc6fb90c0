"""Fixtures of the embedded store's tests: a place for it, and processes that use it."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.engine.embedded import store_process

#: Where `tests` is a package.
ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "store"


@pytest.fixture
def start():
    """
    Start a task of store_process.py as a process. The end of the test kills processes that still run.
    """
    with ExitStack() as stack:

        def begin(*arguments):
            command = [
                sys.executable,
                "-W",
                "ignore::DeprecationWarning",
                "-m",
                store_process.__name__,
                *map(str, arguments),
            ]
            pipe = subprocess.PIPE
            child = stack.enter_context(
                subprocess.Popen(command, text=True, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)
            )
            stack.callback(child.kill)
            return child

        yield begin
