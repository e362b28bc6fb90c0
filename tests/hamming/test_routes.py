"""The time at which the compiled loops are loaded."""

from __future__ import annotations

import sys

import pytest

from whorl.hamming import routes

pytest.importorskip("numba", reason="numba is not installed")


def test_loops_are_loaded_when_loading_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The loops are loaded once the plain route would have taken as long as loading them, summed over all calls, and then
    stay.
    """
    monkeypatch.delitem(sys.modules, "whorl.hamming.compiled", raising=False)
    monkeypatch.setattr(routes, "_spent_seconds", 0.0)
    half = routes.LOADING_SECONDS / 2
    assert routes.loops(half) is None
    loaded = routes.loops(half)
    assert loaded.__name__ == "whorl.hamming.compiled"
    assert routes.loops(0.0) is loaded


def test_without_numba_all_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without numba the loops are never loaded, whatever the amount of work.
    """
    monkeypatch.delitem(sys.modules, "whorl.hamming.compiled", raising=False)
    monkeypatch.setattr(routes, "find_spec", lambda name: None)
    assert routes.loops(1e9) is None
