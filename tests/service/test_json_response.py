"""Tests of the JSON of responses: values that UTF-8 or JSON lacks."""

from __future__ import annotations

import json

from whorl.service.requests_and_responses import Json


def test_values_of_any_kind_are_encoded() -> None:
    """
    Text that is not UTF-8, numbers of any size and nested values are encoded as compact JSON.
    """
    many: list[object] = [{"at": at, "text": f"é{at}", "none": None} for at in range(2_500)]
    for content in (many, {"a": 1, "b": {"c": many, "d": [], "e": {}}}, {"a": [*many, "\ud800"]}, {}, [], 1.5, None):
        assert json.loads(bytes(Json(content).body)) == content
    compact = json.dumps({"b": many}, ensure_ascii=False, separators=(",", ":"))
    assert bytes(Json({"b": many}).body).decode() == compact
    assert bytes(Json([float("nan")]).body) == b"[null]"
    assert bytes(Json([1 << 80]).body) == b"[1208925819614629174706176]"
