"""Hits sorted by the values of fields, against a plain comparison of keys."""

from __future__ import annotations

from functools import cmp_to_key

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.embedded.ordering import sort_hits
from whorl.model import Document, Order
from whorl.query.plan.clauses import Kind

IDS = list("abcdef")
KEYS = [
    Order(None),
    Order(None, True),
    Order("id", True, ((Kind.KEYWORD, "id"),)),
    Order("n", True, ((Kind.INTEGER, "n"),)),
    Order("n", False, ((Kind.INTEGER, "n"),)),
    Order("either", True, ((Kind.KEYWORD, "k"), (Kind.INTEGER, "n"))),
]


def document(document_id: str, **properties: str | list[int]) -> Document:
    return Document(document_id, "", properties=properties)


def plain_key(hit: tuple[str, float], stored: dict[str, Document], key: Order) -> object:
    """
    The value that a key is about: None where there is none.
    """
    if key.field is None:
        return hit[1]
    if key.field == "id":
        return hit[0]
    for _, field in key.places:
        values = stored[hit[0]].contents().get(field, ()) if hit[0] in stored else ()
        if values:
            return min(values) if key.is_ascending else max(values)
    return None


@given(
    st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from([0.0, 1.0, 2.0])), unique_by=lambda hit: hit[0]),
    st.dictionaries(st.sampled_from(IDS), st.tuples(st.lists(st.integers(0, 3)), st.sampled_from(["n", "k"]))),
    st.lists(st.sampled_from(KEYS[:5]), max_size=3),
)
def test_orders(hits: list[tuple[str, float]], values: dict[str, tuple[list[int], str]], order: list[Order]) -> None:
    """
    Key after key decides, none comes last either way, and equal ones are in the order of their ids.
    """
    stored = {each: document(each, **{field: numbers}) for each, (numbers, field) in values.items()}

    def compare(one: tuple[str, float], other: tuple[str, float]) -> int:
        for key in order:
            ours, theirs = plain_key(one, stored, key), plain_key(other, stored, key)
            if ours == theirs:
                continue
            if ours is None or theirs is None:
                return 1 if ours is None else -1
            is_less = ours < theirs  # type: ignore[operator]  # of one type
            return -1 if is_less == key.is_ascending else 1
        return -1 if one[0] < other[0] else 1

    assert sort_hits(hits, stored, order) == sorted(hits, key=cmp_to_key(compare))


@pytest.mark.parametrize(("is_ascending", "expected"), [(True, "bac"), (False, "abc")])
def test_several_values(is_ascending: bool, expected: str) -> None:
    """
    Of several values the smallest counts ascending and the largest descending.
    """
    stored = {each.id: each for each in (document("a", n=[2, 9]), document("b", n=[1, 8]), document("c"))}
    found = sort_hits([(each, 0.0) for each in "cab"], stored, [Order("n", is_ascending, ((Kind.INTEGER, "n"),))])
    assert "".join(document_id for document_id, _ in found) == expected


def test_the_first_place_that_has_values_counts() -> None:
    """
    Where a field keeps values in two types, a document's own are those of the first that it has.
    """
    places = (Kind.KEYWORD, "t"), (Kind.KEYWORD, "u")
    stored = {each.id: each for each in (document("a", t="m", u="a"), document("b", u="c"), document("c", t="z"))}
    found = sort_hits([(each, 0.0) for each in "abc"], stored, [Order("t", True, places)])
    assert [document_id for document_id, _ in found] == ["b", "a", "c"]
