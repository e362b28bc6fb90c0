"""First use of the compiled loops on a machine: texts are processed while another process compiles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from threading import Event

import pytest

from tests.fingerprint.compiled.scripts import all_but_one_kept
from whorl.fingerprint.compiled import first_use, kernel
from whorl.fingerprint.minhash.signature import text_minima
from whorl.fingerprint.scheme import Scheme

pytestmark = pytest.mark.skipif(not kernel.is_available(), reason="numba is not installed")

#: A program for a machine with one loop to compile: it reads the stream while another process compiles, and again
#: afterwards.
STREAM = """
import json
from whorl.fingerprint import batch
from whorl.fingerprint.compiled import first_use, kernel

batch.LARGE = 100_000
texts = [f"текст номер {n} из многих слов " * 40 for n in range(500)]

def sums():
    return [int(row.sum()) for row in batch.signatures_of(texts, workers=2)]

first, was_kept = sums(), kernel.is_kept()
[compiler] = first_use._started
compiler.wait()
print(json.dumps({
    "same": first == sums(),
    "sums": first[:3],
    "was_kept": was_kept,
    "is_kept": kernel.is_kept(),
    "is_compiling": first_use.is_compiling(),
}))
"""


@pytest.mark.process
@pytest.mark.slow
def test_nobody_waits(tmp_path: Path) -> None:
    """
    While the loops are compiled, the plain route gives the same numbers, and one line on standard error says so.
    """
    environment = all_but_one_kept(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", STREAM], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    told = json.loads(ended.stdout)
    # The machine's speed decides whether the stream ends before the compilation, but must not change the result.
    assert told["same"]
    assert told["is_kept"]
    assert not told["is_compiling"]
    plain = [int(text_minima(f"текст номер {n} из многих слов " * 40, Scheme())[:, 0].sum()) for n in range(3)]
    assert [each % 2**64 for each in told["sums"]] == plain
    assert ended.stderr.count("compiling whorl's loops for this machine, once") == 1


def test_a_scheme_that_the_loops_do_not_know() -> None:
    """
    Nothing is compiled for a scheme that the plain route handles alone.
    """
    assert first_use.kernel_if_ready(Scheme(hash_set_size=3)) is None
    assert not first_use.is_compiling()


@pytest.fixture
def nobody_loads() -> None:
    """Wait for loading threads that earlier tests of this process started."""
    for thread in _loading():
        thread.join()


@pytest.mark.usefixtures("nobody_loads")
def test_many_searches_load_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A process that only searches loads the loops after the third search, the threshold here, and not before.
    """
    kernel.Kernel()
    monkeypatch.setattr(kernel, "_compiled", Event())
    monkeypatch.setattr(first_use, "_searches", count(1))
    monkeypatch.setattr(first_use, "WORTH_LOADING", 3)
    for _ in range(2):
        first_use.count_search(Scheme())
    assert _loading() == []
    # numba's modules are imported, but the loops count as not loaded yet.
    assert not kernel.is_loaded()
    first_use.count_search(Scheme())
    for thread in _loading():
        thread.join()
    assert kernel.loops_at_hand() is not None


@pytest.mark.usefixtures("nobody_loads")
def test_searches_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If the loops cannot be cached on disk, searches do without them; a large amount of text compiles them.
    """
    from whorl.fingerprint.compiled import jit

    monkeypatch.setattr(jit, "_KEPT", [])
    monkeypatch.setattr(kernel, "_compiled", Event())
    monkeypatch.setattr(first_use, "WORTH_LOADING", 1)
    first_use.count_search(Scheme())
    for thread in _loading():
        thread.join()
    assert not kernel.is_loaded()
    assert first_use.kernel_if_ready(Scheme()) is not None
    assert kernel.is_loaded()


#: A program that forks while its thread is in the middle of importing numba; the child then uses the loops, too.
FORK = """
import os, signal, sys, threading
from whorl.fingerprint.compiled import first_use
from whorl.fingerprint.compiled.first_use import kernel_if_ready
from whorl.fingerprint.scheme import Scheme

# However long loading takes here.
first_use._FORK_WAITS_SECONDS = 240

is_half = threading.Event()

class Halves:
    def find_spec(self, name, *_):
        if name == "numba.core.compiler":
            is_half.set()

sys.meta_path.insert(0, Halves())
threading.Thread(target=kernel_if_ready, args=(Scheme(),)).start()
is_half.wait()
if child := os.fork():
    sys.exit(os.waitpid(child, 0)[1])
signal.alarm(240)
kernel_if_ready(Scheme()).many(["a b c d e"])
os._exit(0)
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_waits_for_the_loops() -> None:
    """
    A process that is forked while its parent loads the loops can use them.
    """
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], timeout=540, check=False).returncode == 0


def _loading() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "whorl-loops"]
