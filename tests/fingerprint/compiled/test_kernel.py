"""The compiled kernel, compared with plain Python on all kinds of text, and its first use on a machine."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings

from tests.fingerprint.compiled.scripts import (
    AROUND,
    SCRIPTS,
    WINDOW,
    assert_same,
    cache_without_rotate,
    needs_numba,
    new_kernel,
    texts,
)
from tests.plain import full_minima
from whorl.errors import ParameterError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.fingerprint.minhash.signature_and_tokens import text_minima
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, PROFILES, SURROGATE_OR_PAIR, tokens, tokens_and_spans

pytestmark = needs_numba


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_every_script_alone_and_mixed(text: str, profile: str) -> None:
    """
    Words, minima and numbers of shingles equal those of the plain route, in every script and next to any other.
    """
    for whole in (text, AROUND + text, text + "x", text.replace(" ", ""), "".join(SCRIPTS) + text):
        assert_same(whole, Scheme(profile))


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts)
@example(text="")
@example(text="a b c d")
@example(text="a b c d e")
def test_any_text(profile: str, text: str) -> None:
    """
    Both routes agree on any text.
    """
    assert_same(text, Scheme(profile))


@pytest.mark.slow
@pytest.mark.parametrize("filler", ["word ", "x", "слово ", "日本語", "😀", "e\u0301 ", "3.14 don't "])
def test_the_border_of_a_window(filler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A text that is read in several windows has the words and shingles of the whole.
    """
    monkeypatch.setattr(kernel, "WINDOW", WINDOW)
    numbered = "".join(f"{filler}{number} " for number in range(WINDOW // 8))
    for length in (WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + BUFFER_UNITS, 2 * WINDOW + 1):
        assert_same((numbered * 3)[:length], Scheme())
    assert_same((filler * 3 * WINDOW)[: 2 * WINDOW + 5], Scheme(shingle_size=7))


def test_results_of_a_batch_equal_those_of_single_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    No shingle extends from one text into the next, also at the end of a window, and next to words that the plain route
    reads.
    """
    monkeypatch.setattr(kernel, "WINDOW", WINDOW)
    whole = [
        "",
        "a b c d",
        "e\u0301",
        AROUND * 40,
        "日本語",
        "\ud800",
        "\udc00",
        *SCRIPTS,
        "long " * WINDOW,
        *SCRIPTS * 40,
        "",
    ]
    minima, counts = new_kernel(Scheme()).bucket_minima(whole)
    for text, row, count in zip(whole, minima, counts.tolist(), strict=True):
        words = tokens(text)
        assert count == max(0, len(words) - 4)
        if count:
            assert np.array_equal(row, full_minima(words, Scheme()))


@pytest.mark.slow
def test_threads_give_the_same_results() -> None:
    """
    Kernels in several threads, which share caches, give the same numbers.
    """
    whole = [f"{line} {number} {other}" for number in range(40) for line in SCRIPTS for other in SCRIPTS[::5]]
    expected = new_kernel(Scheme()).bucket_minima(whole)[0]
    with ThreadPoolExecutor(4) as pool:
        for actual, _ in pool.map(lambda _: Kernel().bucket_minima(whole), range(4)):
            assert np.array_equal(actual, expected)


@pytest.mark.process
def test_long_texts_take_no_more_memory() -> None:
    """
    Memory beyond the text itself does not grow with the text: one of 40 MB raises the peak by less than 24 MB.
    """
    program = """
import resource
from whorl.fingerprint.compiled.kernel import Kernel
one, text = Kernel(), "word number and some others " * 1_500_000
one.bucket_minima([text[:3_000_000]])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
one.bucket_minima([text])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    pytest.importorskip("resource", reason="the highest mark of memory is asked of the resource module")
    grown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 24 * 1024 * (1024 if sys.platform == "darwin" else 1)


def test_parameters() -> None:
    """
    An unknown profile is an error.
    """
    with pytest.raises(ParameterError, match="icu99"):
        Kernel(Scheme("icu99"))


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_too_little_memory_for_llvm() -> None:
    """
    The error says that memory is too low, not that a library is missing.
    """
    program = (
        "import resource\n"
        "from whorl.fingerprint.compiled import kernel\n"
        "resource.setrlimit(resource.RLIMIT_AS, (250_000_000, 250_000_000))\n"
        "try:\n    kernel.load_loops()\n"
        "except MemoryError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "too little memory" in done.stdout


#: A program for a machine with one loop to compile: it reads the stream while another process compiles, and again
#: afterwards.
STREAM = """
import json
from whorl.fingerprint import fingerprint_texts
from whorl.fingerprint.compiled import kernel

fingerprint_texts.LARGE = 100_000
texts = [f"текст номер {n} из многих слов " * 40 for n in range(500)]

def sums():
    return [int(row.sum()) for row in fingerprint_texts.signatures_of(texts, workers=2)]

first, was_kept = sums(), kernel.load_loops().jit.is_cached(kernel.__package__)
[compiler] = kernel._started
compiler.wait()
print(json.dumps({
    "same": first == sums(),
    "sums": first[:3],
    "was_kept": was_kept,
    "is_kept": kernel.load_loops().jit.is_cached(kernel.__package__),
    "is_compiling": kernel.is_compiling(),
}))
"""


@pytest.mark.process
@pytest.mark.slow
def test_compilation_runs_in_the_background(tmp_path: Path) -> None:
    """
    While the loops are compiled, the plain route gives the same numbers, and one line on standard error says so.
    """
    environment = cache_without_rotate(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", STREAM], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    record = json.loads(ended.stdout)
    # The machine's speed decides whether the stream ends before the compilation, but must not change the result.
    assert record["same"]
    assert record["is_kept"]
    assert not record["is_compiling"]
    plain = [int(text_minima(f"текст номер {n} из многих слов " * 40, Scheme())[:, 0].sum()) for n in range(3)]
    assert [number % 2**64 for number in record["sums"]] == plain
    assert ended.stderr.count("compiling whorl's loops for this machine, once") == 1


def test_unsupported_schemes_have_no_kernel() -> None:
    """
    Nothing is compiled for a scheme that the plain route handles alone.
    """
    assert kernel.kernel_if_ready(Scheme(hash_set_size=3)) is None
    assert not kernel.is_compiling()


@pytest.fixture
def nobody_loads() -> None:
    """Wait for loading threads that earlier tests of this process started."""
    for thread in _loading():
        thread.join()


@pytest.mark.usefixtures("nobody_loads")
@pytest.mark.parametrize("weights", [(1, 1, 1), (2, 2), (1, 5)])
def test_many_searches_load_the_loops(monkeypatch: pytest.MonkeyPatch, weights: tuple[int, ...]) -> None:
    """
    A process that only searches loads the loops after the third search, which is the threshold here. A search with a
    weight counts as several.
    """
    kernel.Kernel()
    monkeypatch.setattr(kernel, "_compiled", Event())
    monkeypatch.setattr(kernel, "_searches", itertools.count(1))
    monkeypatch.setattr(kernel, "SEARCHES_WORTH_LOADING", 3)
    for weight in weights[:-1]:
        kernel.count_search(Scheme(), weight)
    assert _loading() == []
    # numba's modules are imported, but the loops count as not loaded yet.
    assert not kernel.is_loaded()
    kernel.count_search(Scheme(), weights[-1])
    for thread in _loading():
        thread.join()
    assert kernel.loops_if_loaded() is not None


@pytest.mark.usefixtures("nobody_loads")
def test_searches_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If the loops cannot be cached on disk, searches do without them; a large amount of text compiles them.
    """
    from whorl.fingerprint.compiled import jit

    monkeypatch.setattr(jit, "_CACHED", [])
    monkeypatch.setattr(kernel, "_compiled", Event())
    monkeypatch.setattr(kernel, "SEARCHES_WORTH_LOADING", 1)
    kernel.count_search(Scheme())
    for thread in _loading():
        thread.join()
    assert not kernel.is_loaded()
    assert kernel.kernel_if_ready(Scheme()) is not None
    assert kernel.is_loaded()


#: A program that forks while its thread is in the middle of importing numba; the child then uses the loops, too.
FORK = """
import os, signal, sys, threading
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import kernel_if_ready
from whorl.fingerprint.shingling import Scheme

# However long loading takes here.
kernel._FORK_WAITS_SECONDS = 240

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
kernel_if_ready(Scheme()).bucket_minima(["a b c d e"])
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
    return [thread for thread in threading.enumerate() if thread.name == "whorl-loops"]


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts)
def test_positions_of_any_text(profile: str, text: str) -> None:
    """
    Words and positions equal those of the plain route, except in texts with surrogates.
    """
    placed = new_kernel(Scheme(profile)).words_and_spans(text)
    words, spans = tokens_and_spans(text, profile)
    if placed is None:
        assert SURROGATE_OR_PAIR.search(text)
    else:
        assert (placed[0], placed[1].tolist()) == (words, spans.tolist())


@pytest.mark.parametrize("text", ["", "x", "Don't — “e.g.” 3.14", *SCRIPTS])
def test_positions_in_several_windows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A text of several windows has the positions of the plain route.
    """
    one = Kernel()
    monkeypatch.setattr(one, "_window", WINDOW)
    for whole in (text, f"{text} " * (3 * WINDOW // (len(text) + 1)), "a" * (3 * WINDOW) + text):
        placed = one.words_and_spans(whole)
        words, spans = tokens_and_spans(whole)
        if SURROGATE_OR_PAIR.search(whole):
            assert placed is None
            continue
        assert placed is not None
        assert (placed[0], placed[1].tolist()) == (words, spans.tolist())
