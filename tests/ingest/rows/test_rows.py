"""Rows in groups."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl.ingest.rows.rows import portions


def test_what_comes_before_an_error_is_not_lost() -> None:
    """
    Rows before an error are yielded first, even in an incomplete group.
    """

    def rows() -> Iterator[int]:
        yield from range(5)
        raise ValueError("the end")

    groups = portions(rows(), lambda row: 1, 2)
    assert [next(groups) for _ in range(3)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(ValueError, match="the end"):
        next(groups)
    assert list(portions(range(4), lambda row: 1, 2)) == [[0, 1], [2, 3], []]


def test_heavy_rows_are_handed_on_early() -> None:
    """
    A group ends with the row that reaches the size limit, so many small rows do not wait after a large one.
    """
    rows = [1, 9_000_000, 5_000_000, 5_000_000, 3]
    assert list(portions(rows, int)) == [[1, 9_000_000], [5_000_000, 5_000_000], [3]]
