"""The fixture `route`: a test that uses it runs with the compiled loops and with numpy."""

from __future__ import annotations

import math
import sys
from importlib.util import find_spec

import pytest

from whorl.hamming import groups, load_loops

ROUTES = ["plain", pytest.param("compiled", marks=pytest.mark.skipif(find_spec("numba") is None, reason="no numba"))]


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force the use of the compiled loops or of numpy; return the name of the route."""
    name: str = request.param
    if name == "plain":
        monkeypatch.setitem(sys.modules, "whorl.hamming.compiled_loops", None)
    monkeypatch.setattr(load_loops, "LOADING_SECONDS", math.inf if name == "plain" else 0)
    # Counting the frozen objects of a test process takes ten times as long as a test.
    monkeypatch.setattr(groups, "_MANY_OBJECTS", math.inf)
    assert (load_loops.loops_if_worth_loading(1.0) is None) == (name == "plain")
    return name
