"""Rounding of shares in all output: shares down, intervals outward."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.fingerprint.statistics.metric import Intervals, Shares, round_down
from whorl.output.formatting import (
    as_json,
    cell,
    is_one_line,
    percent,
    percent_interval,
    plural,
    printable,
    without_controls,
)
from whorl.output.json_conversion import values

counts = st.integers(1, 10**6).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0.0%"),
        (1.0, "100.0%"),
        (float(Fraction(10**9 - 1, 10**9)), "99.9%"),
        (1e-9, "<0.1%"),
        (0.001, "0.1%"),
        (22 / 187, "11.7%"),
        (0.29, "29.0%"),
    ],
)
def test_percent(share: float, shown: str) -> None:
    """
    Only a share of 1 is 100 percent, and only a share of 0 is 0 percent.
    """
    assert percent(share) == shown


@given(counts)
def test_shares_are_rounded_down(count: tuple[int, int]) -> None:
    """
    Shares are rounded down exactly, to six decimals and to a tenth of a percent; rounding twice changes nothing.
    """
    part, whole = count
    assert Fraction(str(round_down(part / whole))) == Fraction(10**6 * part // whole, 10**6)
    tenths = 1000 * part // whole
    if tenths or not part:
        assert percent(part / whole) == percent(round_down(part / whole)) == f"{tenths // 10}.{tenths % 10}%"


@given(st.lists(st.integers(0, 1000), min_size=3, max_size=3).map(sorted), st.integers(1000, 10**6))
def test_rounded_intervals_contain_the_exact_ones(overlaps: list[int], size: int) -> None:
    """
    The lower ends of intervals are rounded down, the upper ends up.
    """
    low, likeliest, high = (Shares.of_counts(overlap, size, size + 7) for overlap in overlaps)
    intervals = values(Intervals.between(low, high))
    for name in Shares.NAMES:
        least, largest = intervals[name]
        assert least <= getattr(low, name) <= getattr(high, name) <= largest + 1e-15
        assert least <= round_down(getattr(likeliest, name)) <= largest
        first, last = map(int, percent_interval(getattr(low, name), getattr(high, name)).split("–"))
        assert first / 100 <= getattr(low, name) + 1e-9
        assert last / 100 >= getattr(high, name) - 1e-9


@given(st.dictionaries(st.text(), st.text()))
def test_json_without_control_characters(values: dict[str, str]) -> None:
    """
    The JSON is read back unchanged, and contains no control character except line feeds.
    """
    text = as_json(values)
    assert json.loads(text) == values
    assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in text if char != "\n")


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 documents"), (1, "1 document"), (2, "2 documents"), (2000, "2,000 documents")]
)
def test_numbers_with_their_noun(number: int, text: str) -> None:
    """
    The noun is singular for 1; large numbers have separators of thousands.
    """
    assert plural(number, "document") == text


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
    assert [cell(value) for value in (-1, 1.5, None, "a=1", "", False)] == [-1, 1.5, None, "a=1", "", "false"]


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
