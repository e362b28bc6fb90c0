"""OpenSearch queries of clauses on fields: golden pairs, and no user input is read as syntax."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.opensearch.clauses import clause, leaves
from whorl.engine.opensearch.fields import word_term
from whorl.query.ast import Joker
from whorl.query.plan.nodes import Between, Equal, InOrder, Kind, Like, Near, Present, Test, Words

ANY, ONE = Joker.ANY, Joker.ONE
BIG, DOG = word_term("f", "big"), word_term("f", "dog")


def words_term(term: str) -> dict[str, Any]:
    return {"term": {"whorl_words": {"value": term}}}


CLAUSES: list[tuple[Test, dict[str, Any]]] = [
    (Words('big "dog\\', "f", slop=2), {"match_phrase": {"whorl_words": {"query": f"{BIG} {DOG}", "slop": 2}}}),
    (Words("BIG", "f"), words_term(BIG)),
    (Words("big", "TEXT"), words_term(word_term("content", "big"))),
    (
        Words("big"),
        {
            "bool": {
                "should": [words_term(word_term(field, "big")) for field in ("name", "content")],
                "minimum_should_match": 1,
            }
        },
    ),
    (InOrder((("big",),), 0, "f"), words_term(BIG)),
    (InOrder((("b*", ANY),), 0, "f"), {"wildcard": {"whorl_words": {"value": "f\x01b\\**"}}}),
    (
        InOrder((("big",), ("d", ONE)), 3, "f"),
        {
            "span_near": {
                "clauses": [
                    {"span_term": {"whorl_words": {"value": BIG}}},
                    {"span_multi": {"match": {"wildcard": {"whorl_words": {"value": "f\x01d?"}}}}},
                ],
                "slop": 3,
                "in_order": True,
            }
        },
    ),
    (
        Near("roam", 1, "f"),
        {
            "fuzzy": {
                "whorl_words": {
                    "value": "f\x01roam", "fuzziness": 1, "prefix_length": 2, "rewrite": "constant_score",
                    "transpositions": True,
                }
            }
        },
    ),
    (Equal("f", Kind.KEYWORD, "{x} *"), {"term": {"whorl_values": {"value": "f\x1ft{x} *"}}}),
    (Equal("id", Kind.KEYWORD, "a"), {"term": {"whorl_id": {"value": "a"}}}),
    (Like("f", ("a?", ONE, "b")), {"wildcard": {"whorl_values": {"value": "f\x1fta\\??b"}}}),
    (
        Between("f", Kind.INTEGER, 1, None),
        {"range": {"whorl_values": {"gte": "f\x1fi8000000000000001", "lt": "f\x1fj"}}},
    ),
    (
        Between("f", Kind.KEYWORD, "a", "b", includes_low=False),
        {"range": {"whorl_values": {"gt": "f\x1fta", "lte": "f\x1ftb"}}},
    ),
    (Between("id", Kind.KEYWORD, None, None), {"exists": {"field": "whorl_id"}}),
    (Present("f", Kind.DATE), {"term": {"whorl_fields": {"value": "f\x1fDATE"}}}),
]  # fmt: skip


@pytest.mark.parametrize(("test", "wanted"), CLAUSES)
def test_golden_pairs(test: Test, wanted: dict[str, Any]) -> None:
    """
    Each clause becomes the expected query on whorl's words and values.
    """
    assert clause(test, "icu74") == wanted
    assert leaves(test) >= 1


def test_no_words() -> None:
    """
    A text without words gives the reason why it cannot match.
    """
    assert clause(Words("!?", "f"), "icu74") == "there is no word in '!?', so it matches nothing"


def strings(query: Any) -> list[str]:
    """Return all texts in a query that a server may parse."""
    if isinstance(query, dict):
        return [found for each in query.values() for found in strings(each)]
    return [found for each in query for found in strings(each)] if isinstance(query, list) else [query]


@given(st.text(min_size=1))
def test_a_pattern_s_text_is_no_pattern(text: str) -> None:
    """
    In a wildcard query, all wildcards typed as text are escaped.
    """
    (value,) = strings(clause(Like("f", (text, ANY)), "icu74"))
    plain, at = [], 0
    while at < len(value) - 1:
        at += value[at] == "\\"
        plain.append(value[at])
        at += 1
    assert "".join(plain) == f"f\x1ft{text}"
    assert value[-1] == "*"


def test_leaves_are_counted_by_field() -> None:
    """
    A clause on the default fields counts as two.
    """
    assert (leaves(Words("a b")), leaves(Words("a b", "f"))) == (2, 1)
    assert leaves(InOrder((("a",), ("b",)), 0, "f")) == 3
    assert leaves(Near("a", 1)) == 2
