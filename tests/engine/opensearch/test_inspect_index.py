"""Tests of reading the mapping of an index."""

from __future__ import annotations

from whorl.engine.opensearch.inspect_index import described


def test_fields_within_objects() -> None:
    """
    A name with a dot is looked up in the mapping of an object.
    """
    there = {"properties": {"body": {"properties": {"text": {"type": "text"}}}}}
    assert described(there, "body.text") == {"type": "text"}
    assert described(there, "body.title") == described(there, "text") == {}
