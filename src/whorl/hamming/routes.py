"""Choice between numpy and the loops compiled by numba; both give the same answers."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

#: Time to import numba and load the compiled loops, once per process.
LOADING_SECONDS = 0.6

_LOOPS = "whorl.hamming.compiled"
_spent_seconds = 0.0


def loops(plain_seconds: float) -> Any:
    """Return the module of compiled loops, or None to use numpy.

    The loops are loaded once numpy has taken about as long as loading takes. So a process takes at most twice as long
    as with the best choice made in advance.

    Args:
        plain_seconds: Estimated time of the current work with numpy.
    """
    global _spent_seconds
    loaded = sys.modules.get(_LOOPS)
    if loaded is not None:
        return loaded
    _spent_seconds += plain_seconds
    if _spent_seconds < LOADING_SECONDS or find_spec("numba") is None:
        return None
    module = import_module(_LOOPS)
    module.warm_up()
    return module
