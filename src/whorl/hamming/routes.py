"""Which route a search takes: plain numpy, or the loops that numba compiles. Both give the same answers."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

#: What importing numba and loading the compiled loops costs a process, once.
LOADING_SECONDS = 0.6

_LOOPS = "whorl.hamming.compiled"
_spent_seconds = 0.0


def loops(plain_seconds: float) -> Any:
    """Return the module of compiled loops, or None for the plain route.

    The loops are loaded when the plain route has taken about as long as loading them takes: whatever is asked of a
    process, it takes at most twice as long as if one had known before what is the better route.

    Args:
        plain_seconds: What the plain route will take for the work at hand, roughly.
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
