"""Samples for `make test`; `make test-full` runs all combinations of parameters, and the tests marked `thorough`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
#: Whether to run all tests with all combinations.
FULL = os.environ.get("WHORL_TEST_FULL") == "1"
#: Marks a test that takes many seconds, and whose behaviour seldom changes: other versions of servers, killed servers,
#: files made to exhaust memory, long runs at a small scale.
thorough = pytest.mark.thorough


def sample(values: Iterable[T], step: int, start: int = 0) -> list[T]:
    """Return every `step`-th value, or all values in a full run.

    Args:
        start: Index of the first value, modulo `step`; varies the sample from case to case.
    """
    return list(values) if FULL else list(values)[start % step :: step]


def combine(*parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return a few combinations with each value of each parameter, or all combinations in a full run."""
    if FULL:
        return list(product(*parameters))
    count = max(map(len, parameters))
    return [tuple(values[number % len(values)] for values in parameters) for number in range(count)]
