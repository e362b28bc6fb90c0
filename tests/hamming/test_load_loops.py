"""The choice between numpy and the compiled loops."""

from __future__ import annotations

import sys

import pytest

from tests.sampling import thorough
from whorl.hamming import load_loops

pytest.importorskip("numba", reason="numba is not installed")


@thorough
def test_loops_are_loaded_when_loading_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The loops are loaded once the plain route would have taken as long as loading them, summed over all calls, and then
    stay.
    """
    monkeypatch.delitem(sys.modules, "whorl.hamming.compiled_loops", raising=False)
    monkeypatch.setattr(load_loops, "_spent_seconds", 0.0)
    half = load_loops.LOADING_SECONDS / 2
    assert load_loops.loops_if_worth_loading(half) is None
    loaded = load_loops.loops_if_worth_loading(half)
    assert loaded.__name__ == "whorl.hamming.compiled_loops"
    assert load_loops.loops_if_worth_loading(0.0) is loaded


def test_without_numba_numpy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without numba the loops are never loaded, whatever the amount of work.
    """
    monkeypatch.delitem(sys.modules, "whorl.hamming.compiled_loops", raising=False)
    monkeypatch.setattr(load_loops, "find_spec", lambda name: None)
    assert load_loops.loops_if_worth_loading(1e9) is None
