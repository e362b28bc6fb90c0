"""The compiled kernel, compared with the plain route on all kinds of text."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings

from tests.fingerprint.compiled.scripts import (
    AROUND,
    SCRIPTS,
    WINDOW,
    assert_same,
    made,
    needs_numba,
    texts,
)
from tests.plain import full_minima
from whorl.errors import ParameterError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.tokenizer import BUFFER_UNITS, PROFILES, tokens

pytestmark = needs_numba


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_every_script_alone_and_among_others(text: str, profile: str) -> None:
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


def test_many_texts_are_each_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    No shingle extends from one text into the next, wherever windows end and slow words occur.
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
    minima, counts = made(Scheme()).many(whole)
    for text, row, count in zip(whole, minima, counts.tolist(), strict=True):
        words = tokens(text)
        assert count == max(0, len(words) - 4)
        if count:
            assert np.array_equal(row, full_minima(words, Scheme()))


@pytest.mark.slow
def test_threads_give_the_same() -> None:
    """
    Kernels in several threads, which share caches, give the same numbers.
    """
    whole = [f"{line} {number} {other}" for number in range(40) for line in SCRIPTS for other in SCRIPTS[::5]]
    expected = made(Scheme()).many(whole)[0]
    with ThreadPoolExecutor(4) as pool:
        for found, _ in pool.map(lambda _: Kernel().many(whole), range(4)):
            assert np.array_equal(found, expected)


@pytest.mark.process
def test_long_texts_take_no_more_memory() -> None:
    """
    Memory beyond the text itself does not grow with the text: one of 40 MB raises the peak by less than 24 MB.
    """
    program = """
import resource
from whorl.fingerprint.compiled.kernel import Kernel
one, text = Kernel(), "word number and some others " * 1_500_000
one.many([text[:3_000_000]])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
one.many([text])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    pytest.importorskip("resource", reason="the highest mark of memory is asked of the resource module")
    grown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(grown) < 24 * 1024 * (1024 if sys.platform == "darwin" else 1)


def test_parameters() -> None:
    """
    An unknown profile and an unsupported scheme are errors.
    """
    with pytest.raises(ParameterError, match="icu99"):
        Kernel(Scheme("icu99"))
    with pytest.raises(ParameterError, match="one hash in each bucket; minhash1-icu74-w5-b512-h2 takes"):
        Kernel(Scheme(hash_count=2))


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
        "try:\n    kernel.is_kept()\n"
        "except MemoryError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "too little memory" in done.stdout
