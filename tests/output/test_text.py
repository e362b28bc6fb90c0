"""Text without control characters, for terminals and CSV."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.output.text import as_json, cell, counted, is_one_line, printable, without_controls


@given(st.dictionaries(st.text(), st.text()))
def test_json_says_the_same_without_controls(told: dict[str, str]) -> None:
    """
    The JSON is read back unchanged, and contains no control character except line feeds.
    """
    text = as_json(told)
    assert json.loads(text) == told
    assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in text if char != "\n")


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 documents"), (1, "1 document"), (2, "2 documents"), (2000, "2,000 documents")]
)
def test_numbers_with_their_noun(number: int, told: str) -> None:
    """
    The noun is singular for 1, and thousands are separated.
    """
    assert counted(number, "document") == told


def test_controls_are_replaced() -> None:
    """
    Escape sequences and line feeds are replaced; letters and blanks stay.
    """
    assert printable("a\x1b[31m b\nc é") == "a\ufffd[31m b\ufffdc é"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_cell_is_a_formula(text: str) -> None:
    """
    A cell that looks like a formula gets a quote; numbers and other texts are unchanged.
    """
    assert cell(text) == f"'{text}"
    assert [cell(each) for each in (-1, 1.5, None, "a=1", "", False)] == [-1, 1.5, None, "a=1", "", "false"]


def test_control_characters_of_terminals() -> None:
    """
    C1 controls are escaped in JSON, replaced in CSV, and not allowed in a line of ids.
    """
    text = "".join(map(chr, range(0x20, 0xA1)))
    shown = without_controls(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert shown.isprintable() or shown.replace("\xa0", "").isprintable()
    assert cell("a\x9b31m") == "a\ufffd31m"
    assert cell("a\tb\nc") == "a\tb\nc"
    assert cell("\x85=1") == "\ufffd=1"
    assert not any(is_one_line(f"a{chr(code)}b") for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x09)
