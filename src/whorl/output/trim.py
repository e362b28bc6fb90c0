"""Shortens JSON answers to a size limit, and counts the removed items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

#: Number of items that each list keeps as long as other lists can be shortened.
_FEW = 3
#: Number of characters that each text keeps as long as a list can be shortened.
_LONG_TEXT = 1_000
#: Number of characters reserved for the JSON of the counts.
_COUNTS = 500


@dataclass(frozen=True, slots=True)
class _Part:
    """A list or text in an answer; `path` has the keys from the top to it, without indices: `sources.passages`."""

    holder: Any
    key: Any
    path: str

    @property
    def value(self) -> Any:
        return self.holder[self.key]


def trim(answer: dict[str, Any], limit: int) -> Counter[str]:
    """Shorten the lists and texts of an answer in place until its JSON has at most `limit` characters, 1,000 or more.

    Long texts are shortened first, then innermost lists (the largest first), then the lists around them. Lists keep
    their first items, texts their beginning. An answer of many short fields may stay longer.

    Returns:
        Numbers of removed items or characters by path: `{"sources.passages": 12}`.
    """
    left_out: Counter[str] = Counter()
    surplus = _size(answer) - (limit - _COUNTS)
    if surplus > 0:
        surplus = _shorten(_texts(answer), _LONG_TEXT, surplus, left_out)
    if surplus > 0:
        surplus = _shorten(_innermost_lists(answer), _FEW, surplus, left_out)
    outer = list(_outermost_lists(answer))
    while outer and surplus > 0:
        surplus = _shorten(outer, 1, surplus, left_out)
        outer = [inner for part in outer for inner in _outermost_lists(part.value, part.path)]
    if surplus > 0:
        _shorten(_texts(answer), 1, surplus, left_out)
    return left_out


def _shorten(parts: Iterator[_Part] | list[_Part], least: int, surplus: int, left_out: Counter[str]) -> int:
    """Halve the largest parts in turn until the surplus is gone; each part keeps at least `least` items or characters.

    No part may contain another part, so that removing items shrinks the answer by exactly the JSON of these items.

    Returns:
        The remaining surplus; 0 or less if the answer fits.
    """
    largest = [(-_size(part.value), number, part) for number, part in enumerate(parts) if len(part.value) > least]
    heapify(largest)
    while largest and surplus > 0:
        negative_size, number, part = heappop(largest)
        count = len(part.value)
        # Keep more than half if that suffices.
        remaining = min(max(least, count // 2, int(count * (1 + surplus / negative_size))), count - 1)
        removed = part.value[remaining:]
        # The JSON of removed items has two brackets, and the answer loses a comma and a space with them.
        saved = _size(removed) - (2 if isinstance(removed, str) else 0)
        part.holder[part.key] = part.value[:remaining]
        left_out[part.path] += count - remaining
        surplus -= saved
        if remaining > least:
            heappush(largest, (negative_size + saved, number, part))
    return surplus


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _items(holder: Any, path: str) -> Iterator[_Part]:
    if isinstance(holder, dict):
        for key in holder:
            yield _Part(holder, key, f"{path}.{key}".lstrip("."))
    elif isinstance(holder, list):
        for index in range(len(holder)):
            yield _Part(holder, index, path)


def _texts(holder: Any, path: str = "") -> Iterator[_Part]:
    for part in _items(holder, path):
        if isinstance(part.value, str):
            yield part
        else:
            yield from _texts(part.value, part.path)


def _outermost_lists(holder: Any, path: str = "") -> Iterator[_Part]:
    """Yield the lists within an object or list that are not inside another list of the object or list."""
    for part in _items(holder, path):
        if isinstance(part.value, list):
            yield part
        else:
            yield from _outermost_lists(part.value, part.path)


def _innermost_lists(holder: Any, path: str = "") -> Iterator[_Part]:
    """Yield the lists that contain no other list."""
    for part in _items(holder, path):
        inner = list(_innermost_lists(part.value, part.path))
        yield from inner
        if isinstance(part.value, list) and not inner:
            yield part
