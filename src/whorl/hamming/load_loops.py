"""Chooses between numpy and the loops compiled by numba, which give the same results, and loads the loops."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

#: Time in seconds to import numba and load the compiled loops, once per process.
LOADING_SECONDS = 0.6

_LOOPS = "whorl.hamming.compiled_loops"
_spent_seconds = 0.0


def loops_if_worth_loading(plain_seconds: float) -> Any:
    """Return the module of compiled loops, or None to use numpy.

    `plain_seconds` is the estimated time of the current work with numpy. The loops are loaded once the process has
    spent as much time in numpy as loading takes. So a process takes at most twice as long as with the better choice.
    """
    global _spent_seconds
    if loaded := sys.modules.get(_LOOPS):
        return loaded
    _spent_seconds += plain_seconds
    if _spent_seconds < LOADING_SECONDS or find_spec("numba") is None:
        return None
    module = import_module(_LOOPS)
    module.warm_up()
    return module
