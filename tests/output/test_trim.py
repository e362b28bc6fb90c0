"""Trimming of answers to a maximum size, from the end of their lists and texts."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.mcp import trim

ITEMS = st.fixed_dictionaries(
    {
        "id": st.text(max_size=20),
        "passages": st.lists(
            st.fixed_dictionaries({"text": st.text(max_size=60), "words": st.integers(0, 99)}), max_size=9
        ),
    }
)


def test_small_answers_stay() -> None:
    """
    An answer that fits is not changed.
    """
    answer = {"hits": [{"id": "a"}], "total": 1}
    assert trim(answer, 1_000) == {}
    assert answer == {"hits": [{"id": "a"}], "total": 1}


def test_inner_lists_go_first() -> None:
    """
    Lists inside other lists are shortened first: all sources stay, each with its first passages.
    """
    answer = {"sources": [{"id": name, "passages": [f"passage {number}" for number in range(500)]} for name in "ab"]}
    left_out = trim(answer, 4_000)
    assert [source["id"] for source in answer["sources"]] == ["a", "b"]
    shown = [len(source["passages"]) for source in answer["sources"]]
    assert left_out == {"sources.passages": 1_000 - sum(shown)}
    assert all(source["passages"][:2] == ["passage 0", "passage 1"] for source in answer["sources"])


def test_long_texts_are_cut() -> None:
    """
    A text keeps its beginning; the count is of characters.
    """
    answer = {"text": "abcdefghij" * 10_000, "id": "x"}
    left_out = trim(answer, 3_000)
    assert answer["text"] == ("abcdefghij" * 10_000)[: len(answer["text"])]
    assert left_out == {"text": 100_000 - len(answer["text"])}
    assert 2_000 < len(json.dumps(answer)) <= 3_000


def test_many_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The whole answer is serialised a few times only, however many lists are shortened.
    """
    answer = {"clusters": [{"members": [{"id": f"{n}-{m}"} for m in range(200)]} for n in range(100)]}
    size, serialised, dumps = len(json.dumps(answer)), 0, json.dumps

    def counting(value: Any, **options: Any) -> str:
        nonlocal serialised
        text = dumps(value, **options)
        serialised += len(text)
        return text

    monkeypatch.setattr(json, "dumps", counting)
    left_out = trim(answer, 20_000)
    assert len(dumps(answer)) <= 20_000
    assert left_out["clusters.members"] > 10_000
    assert serialised < 5 * size


@given(st.lists(ITEMS, max_size=60), st.integers(1_000, 20_000))
def test_any_answer_fits(items: list[dict[str, Any]], limit: int) -> None:
    """
    The size is kept, the rest is a prefix, and the number of missing items is returned.
    """
    whole: dict[str, Any] = {"total": len(items), "hits": items}
    answer = copy.deepcopy(whole)
    left_out = trim(answer, limit)
    assert len(json.dumps(answer, ensure_ascii=False)) <= limit
    hits = answer["hits"]
    assert len(hits) + left_out["hits"] == len(items)
    assert [item["id"] for item in hits] == [item["id"] for item in items[: len(hits)]]
    if not left_out:
        assert answer == whole
