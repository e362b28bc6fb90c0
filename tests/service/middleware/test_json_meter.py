"""Tests of the count of keys, values and depth in JSON that arrives in parts; Python's own parser is the oracle."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import ParameterError
from whorl.service.middleware.json_meter import MOST_DEPTH, JsonMeter

_TEXTS = st.text(st.sampled_from('a"\\,:[]{}é€\n '), max_size=8)
_VALUES = st.recursive(
    _TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


def marks(value: Any) -> int:
    """Return the number of commas, colons and opening brackets of a value."""
    if isinstance(value, dict):
        return 1 + len(value) + max(len(value) - 1, 0) + sum(map(marks, value.values()))
    if isinstance(value, list):
        return 1 + max(len(value) - 1, 0) + sum(map(marks, value))
    return 0


def is_accepted(body: bytes, most: int, size: int) -> bool:
    """Return whether a meter accepts a body in parts of this size."""
    meter = JsonMeter("it", most)
    try:
        for begin in range(0, len(body), size):
            meter.feed(body[begin : begin + size])
    except ParameterError:
        return False
    return True


@given(_VALUES, st.booleans(), st.integers(1, 40))
def test_values_are_counted(value: Any, is_ascii: bool, size: int) -> None:
    """
    Marks within strings do not count, wherever a body is cut, even within escapes or characters.
    """
    body = json.dumps(value, ensure_ascii=is_ascii).encode()
    assert is_accepted(body, marks(value), size)
    assert not marks(value) or not is_accepted(body, marks(value) - 1, size)


def test_depth_is_bounded() -> None:
    """
    The maximum depth is accepted, one level more is refused, and so are unmatched closing brackets.
    """
    for extra in (0, 1):
        depth = MOST_DEPTH + extra
        assert is_accepted(b"[" * depth + b"]" * depth, 1_000, 7) is not extra
    with pytest.raises(ParameterError, match="closes more brackets"):
        JsonMeter("it").feed(b"[]]")


def test_the_count_stops_at_the_limit() -> None:
    """
    The first part over the limit is refused, whatever follows.
    """
    meter = JsonMeter("a body here", 10)
    meter.feed(b"[1,2,3,4,5,6,7,8,9,10")
    with pytest.raises(ParameterError, match="a body here has at most 10 keys and values"):
        meter.feed(b",11")
