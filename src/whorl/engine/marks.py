"""Cluster labels among a document's properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from whorl.engine.protocol import Mark
from whorl.model import CLUSTER, IS_PRINCIPAL, Document, PropertyValue


def mark_in(properties: Mapping[str, PropertyValue | Sequence[PropertyValue]]) -> Mark | None:
    """Return the cluster label among properties; None if it is missing or incomplete."""
    cluster, is_principal = _first(properties.get(CLUSTER)), _first(properties.get(IS_PRINCIPAL))
    return Mark(cluster, is_principal) if isinstance(cluster, str) and isinstance(is_principal, bool) else None


def marks_in(
    documents: Mapping[str, Mapping[str, PropertyValue | Sequence[PropertyValue]]],
) -> dict[str, Mark]:
    """Return the cluster labels among documents' properties, by id; documents without one are left out."""
    return {each: mark for each, properties in documents.items() if (mark := mark_in(properties)) is not None}


def marked(document: Document, mark: Mark | None) -> Document:
    """Return a document with a cluster label among its properties, or without one."""
    others = {name: values for name, values in document.properties.items() if name not in (CLUSTER, IS_PRINCIPAL)}
    own: dict[str, PropertyValue] = {}
    if mark is not None:
        own = {CLUSTER: mark.cluster, IS_PRINCIPAL: mark.is_principal}
    return replace(document, properties={**others, **own})


def _first(value: PropertyValue | Sequence[PropertyValue] | None) -> object:
    """Return a value, or the first of several."""
    return next(iter(value), None) if isinstance(value, tuple | list) else value
