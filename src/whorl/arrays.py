"""Runs of equal numbers in arrays where equal ones stand together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def run_starts(together: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return where each run of equal numbers begins; int64 array of shape (runs,)."""
    if not together.size:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], together[1:] != together[:-1]]))
