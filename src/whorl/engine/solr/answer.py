"""What Solr's answers hold, as plain values."""

from __future__ import annotations

from typing import Any

from whorl.errors import EngineResponseError

#: A JSON object as it comes from or goes to Solr.
Json = dict[str, Any]


def vectors(answer: Json, field: str) -> dict[str, dict[str, int]]:
    """Return each document's tokens of a field with their frequencies, by unique key, from a term vector answer.

    Raises:
        EngineResponseError: The answer has another shape.
    """
    told = answer.get("termVectors", {})
    if not isinstance(told, dict):
        raise EngineResponseError("Solr's term vectors came in an unknown shape (json.nl=map was asked for)")
    return {
        str(each["uniqueKey"]): {token: int(about.get("tf", 1)) for token, about in each.get(field, {}).items()}
        for each in told.values()
        if isinstance(each, dict) and "uniqueKey" in each
    }


def first_text(value: object) -> str:
    """Return a field's value, the first of several, as text."""
    if isinstance(value, list):
        value = value[0] if value else ""
    return "" if value is None else str(value)
