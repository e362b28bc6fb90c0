"""Size limit for JSON answers: shortens lists and texts, and counts the removed items."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Items kept in each list as long as another list can be shortened.
_FEW = 3
#: Characters kept of each text as long as a list can be shortened.
_LONG_TEXT = 1_000
#: Space reserved for the counts themselves, in characters of JSON.
_COUNTS = 500


@dataclass(frozen=True, slots=True)
class _Part:
    """A list or a text within an answer.

    Args:
        holder: The object or list that contains it.
        key: Its key or index there.
        path: Its keys from the top, without indices: `sources.passages`.
    """

    holder: Any
    key: Any
    path: str

    @property
    def value(self) -> Any:
        return self.holder[self.key]


def trim(answer: dict[str, Any], limit: int) -> Counter[str]:
    """Shorten the lists and texts of an answer in place until its JSON has at most `limit` characters.

    Long texts are shortened first, then lists without lists in them, the largest first, then the lists around these.
    Lists keep their first items, texts their beginning.

    Args:
        answer: JSON values.
        limit: At least 1,000 characters; an answer of many short fields may stay longer.

    Returns:
        Numbers of removed items or characters by path: `{"sources.passages": 12}`.
    """
    left_out: Counter[str] = Counter()
    while (size := len(json.dumps(answer, ensure_ascii=False))) > limit - _COUNTS:
        parts = list(_parts(answer, ""))
        texts = [part for part in parts if isinstance(part.value, str)]
        lists = [part for part in parts if isinstance(part.value, list)]
        leaves = [part for part in lists if not any(isinstance(item, list) for item in _inside(part.value))]
        for choice, least in (
            ([part for part in texts if len(part.value) > _LONG_TEXT], _LONG_TEXT),
            ([part for part in leaves if len(part.value) > _FEW], _FEW),
            ([part for part in lists if len(part.value) > 1], 1),
            ([part for part in texts if len(part.value) > 1], 1),
        ):
            if choice:
                _halve(max(choice, key=_size), least, size - limit + _COUNTS, left_out)
                break
        else:
            break
    return left_out


def _halve(part: _Part, least: int, surplus: int, left_out: Counter[str]) -> None:
    """Remove the second half, or less if that suffices, but keep at least `least`."""
    count = len(part.value)
    share = 1 - surplus / max(_size(part), 1)
    kept = max(least, count // 2, int(count * share) if share > 0 else 0)
    kept = min(kept, count - 1)
    left_out[part.path] += count - kept
    part.holder[part.key] = part.value[:kept]


def _size(part: _Part) -> int:
    return len(json.dumps(part.value, ensure_ascii=False))


def _parts(holder: Any, path: str) -> Iterator[_Part]:
    """Yield all lists and texts below an object or list."""
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    for key, value in items:
        inner = f"{path}.{key}".lstrip(".") if isinstance(holder, dict) else path
        if isinstance(value, str | list):
            yield _Part(holder, key, inner)
        if isinstance(value, dict | list):
            yield from _parts(value, inner)


def _inside(value: Any) -> Iterator[Any]:
    """Yield all values below a value."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield item
            yield from _inside(item)
