"""Sorting of hits by the values of fields, for indexes that cannot sort by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whorl.model import Document, Order


def sort_hits(
    found: Sequence[tuple[str, float]], documents: Mapping[str, Document], order: Sequence[Order]
) -> list[tuple[str, float]]:
    """Return hits sorted by the keys of an order, ties by id.

    Args:
        found: The hits, as pairs of id and score.
        documents: Documents by id; a hit without a document has no values.
        order: The keys, the primary one first.
    """
    hits = sorted(found)
    # Sorting is stable, so the primary key is the last one sorted by.
    for key in reversed(order):
        value = _reader(documents, key)
        present = [(value(hit), hit) for hit in hits]
        absent = [hit for worth, hit in present if worth is None]
        present = [(worth, hit) for worth, hit in present if worth is not None]
        present.sort(key=lambda pair: pair[0], reverse=not key.is_ascending)
        hits = [hit for _, hit in present] + absent
    return hits


def goes_by_value(key: Order) -> bool:
    """Check whether a sort key needs documents; scores and ids do not."""
    return key.field is not None and not key.is_by_id


def _reader(documents: Mapping[str, Document], key: Order) -> Callable[[tuple[str, float]], Any]:
    """Return a function from a hit to its sort value, None for a hit without one."""
    if key.field is None:
        return lambda hit: hit[1]
    if key.is_by_id:
        return lambda hit: hit[0]
    best = min if key.is_ascending else max

    def value(hit: tuple[str, float]) -> Any:
        document = documents.get(hit[0])
        wholes = document.wholes() if document else []
        values = ([each for name, kind, each in wholes if (kind, name) == place] for place in key.places)
        return next((best(some) for some in values if some), None)

    return value
