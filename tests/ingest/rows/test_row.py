"""Rows in groups."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl.ingest.rows.row import portions


def test_what_comes_before_an_error_is_not_lost() -> None:
    """
    A group that is not full, too.
    """

    def rows() -> Iterator[int]:
        yield from range(5)
        raise ValueError("the end")

    groups = portions(rows(), 2)
    assert [next(groups) for _ in range(3)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="the end"):
        next(groups)
    assert list(portions(range(4), 2)) == [[0, 1], [2, 3], []]
