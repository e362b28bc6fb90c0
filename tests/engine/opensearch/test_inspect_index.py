"""Tests of reading the mapping of an index."""

from __future__ import annotations

from whorl.engine.opensearch.inspect_and_extend_index import field_definition


def test_fields_within_objects() -> None:
    """
    A name with a dot is looked up in the mapping of an object.
    """
    there = {"properties": {"body": {"properties": {"text": {"type": "text"}}}}}
    assert field_definition(there, "body.text") == {"type": "text"}
    assert field_definition(there, "body.title") == field_definition(there, "text") == {}
