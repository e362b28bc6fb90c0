"""Codes as lines of decimal numbers: reading and writing."""

from __future__ import annotations

import io

import numpy as np
import pytest

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from whorl.errors import ParameterError
from whorl.hamming import Groups
from whorl.hamming.text import lines_of, read_codes

MOST = 2**64 - 1


def test_numbers_as_they_may_come(route: str) -> None:  # noqa: F811
    """
    Blanks, carriage returns and leading zeros are ignored.
    """
    text = f" 1\t\n2\r\n{MOST}\n{'0' * 5000}7\n0\n"
    assert read_codes(io.BytesIO(text.encode()), "F").tolist() == [1, 2, MOST, 7, 0]


def test_input_is_read_in_pieces(route: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """
    Numbers and line numbers are the same for any size of the pieces.
    """
    codes = [10**power for power in range(20)] * 3
    text = "\n".join(map(str, codes)).encode()
    for size in (1, 7, 20, 64):
        monkeypatch.setattr("whorl.hamming.text._CHUNK", size)
        assert read_codes(io.BytesIO(text), "F").tolist() == codes
        with pytest.raises(ParameterError, match=r"^F:61: "):
            read_codes(io.BytesIO(text + b"\nx\n1"), "F")


def test_lines(route: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """
    Groups are written as Python writes lists, for any numbers and any portion size.
    """
    lists = [[0], [10**power for power in range(20)], [], [MOST, 9, 10, 99], [1, 2]]
    ends = np.cumsum([0, *map(len, lists)])
    groups = Groups(np.array([code for each in lists for code in each], np.uint64), ends)
    monkeypatch.setattr("whorl.hamming.text._GROUPS", 2)
    assert b"".join(lines_of(groups)).decode() == "".join(f"{each}\n" for each in lists)
