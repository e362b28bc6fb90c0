"""Tests of the JSON of responses: long lists, and values that UTF-8 or JSON lacks."""

from __future__ import annotations

import json

import pytest

from whorl.errors import StoppedError
from whorl.request_context import new_request
from whorl.service.responses import Json


def test_long_lists_are_encoded_in_portions() -> None:
    """
    Long lists are encoded in portions to the same JSON, also for text that is not UTF-8; between portions the work can
    be stopped.
    """
    many: list[object] = [{"at": at, "text": f"é{at}", "none": None} for at in range(2_500)]
    for content in (many, {"a": 1, "b": {"c": many, "d": [], "e": {}}}, {"a": [*many, "\ud800"]}, {}, [], 1.5, None):
        assert json.loads(bytes(Json(content).body)) == content
    compact = json.dumps({"b": many}, ensure_ascii=False, separators=(",", ":"))
    assert bytes(Json({"b": many}).body).decode() == compact
    assert bytes(Json([float("nan")]).body) == b"[null]"
    assert bytes(Json([1 << 80]).body) == b"[1208925819614629174706176]"
    with new_request() as request:
        request.cancel()
        with pytest.raises(StoppedError):
            Json({"b": many})
