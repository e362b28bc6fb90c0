"""Text that a terminal shows and does not act on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.wire.text import as_json, cell, counted, printable


@given(st.dictionaries(st.text(), st.text()))
def test_json_says_the_same_without_controls(told: dict[str, str]) -> None:
    """
    What is read back is what was written, and no character of it moves a cursor.
    """
    text = as_json(told)
    assert json.loads(text) == told
    assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in text if char != "\n")


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 documents"), (1, "1 document"), (2, "2 documents"), (2000, "2,000 documents")]
)
def test_numbers_with_their_noun(number: int, told: str) -> None:
    """
    One is singular, thousands are parted.
    """
    assert counted(number, "document") == told


def test_controls_are_replaced() -> None:
    """
    Escape sequences and new lines of an id are shown as characters that are none; letters and blanks stay.
    """
    assert printable("a\x1b[31m b\nc é") == "a\ufffd[31m b\ufffdc é"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_cell_is_a_formula(text: str) -> None:
    """
    A spreadsheet shows it; numbers stay numbers, other texts what they are.
    """
    assert cell(text) == f"'{text}"
    assert [cell(each) for each in (-1, 1.5, None, "a=1", "", False)] == [-1, 1.5, None, "a=1", "", "false"]
