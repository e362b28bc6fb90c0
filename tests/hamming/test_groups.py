"""Groups of codes as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from whorl.hamming import Groups


def test_groups_are_counted_from_both_ends() -> None:
    """
    Groups have the indices of a list, also negative ones.
    """
    groups = Groups(np.array([1, 2, 3], np.uint64), np.array([0, 2, 2, 3]))
    assert [groups[0].tolist(), groups[1].tolist(), groups[-1].tolist()] == [[1, 2], [], [3]]
    assert len(groups) == 3
    with pytest.raises(IndexError):
        _ = groups[3]
