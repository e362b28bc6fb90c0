"""Search bodies of plans: scores are counts, and no query exceeds the cluster's limit on clauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl import Document, Store
from whorl.engine.opensearch.document_fields import word_term
from whorl.engine.opensearch.request_body import clause, leaf_clauses, sort_keys, translate
from whorl.engine.server_engine import MAX_CLAUSES
from whorl.errors import ParameterError
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.model import Order
from whorl.query.ast import WildcardCharacter
from whorl.query.plan.nodes import (
    Between,
    Bool,
    BoundPlan,
    DocumentsByScore,
    Equal,
    Exists,
    FuzzyWord,
    InOrder,
    Kind,
    Nothing,
    SharedBands,
    SharedTokens,
    SketchTokens,
    Test,
    WildcardValue,
    Words,
)


def query(root: Any) -> dict[str, Any]:
    return translate(BoundPlan(root), Scheme())


def counted(body: Any) -> int:
    """Count leaf clauses as Lucene does, without those in functions."""
    if isinstance(body, list):
        return sum(map(counted, body))
    if not isinstance(body, dict):
        return 0
    if "function_score" in body:
        return counted(body["function_score"]["query"])
    if "match" in body:
        ((_, words),) = body["match"].items()
        return len(words["query"].split())
    own = sum(name in ("term", "terms", "range", "exists", "match_phrase", "wildcard") for name in body)
    return own or sum(map(counted, body.values()))


@pytest.mark.parametrize("count", [1, 2, 8, 40])
def test_fingerprints_stay_within_the_limit(count: int) -> None:
    """
    Any number of fingerprints, by tokens, bands and sketches, stays within the limit: the excess moves into functions.
    """
    numbers = tuple(range(512))
    kinds = [
        SharedTokens("a", numbers, 300),
        SharedBands("a", tuple(numbers[at : at + 5] for at in range(0, 500, 5))),
        SketchTokens("a", SketchScheme(), numbers, 10, 1, None),
    ]
    body = query(Bool(should=tuple(kinds[at % 3] for at in range(count)), min_should_match=1))
    assert 0 < counted(body) <= MAX_CLAUSES


def test_too_many_clauses_are_refused() -> None:
    """
    The error contains the number of clauses and the limit.
    """
    near = FuzzyWord("word", 2)
    query(Bool(should=(near,) * 512, min_should_match=1))
    with pytest.raises(ParameterError, match="comes to 1,026 clauses, and a cluster takes 1,024"):
        query(Bool(should=(near,) * 513, min_should_match=1))


@pytest.mark.parametrize(
    "root",
    [
        Nothing("no"),
        SharedTokens("a", (1, 2), 3),
        SharedTokens("a", (1 << 64,), 1),
        SketchTokens("a", SketchScheme(), (1,), 2, 1, None),
        DocumentsByScore("a", ()),
        Bool(should=(), min_should_match=1),
    ],
)
def test_a_plan_without_matches_becomes_match_none(root: Any) -> None:
    """
    A plan without possible matches becomes match_none.
    """
    assert query(root) == {"match_none": {}}


def test_orders() -> None:
    """
    Hits are sorted by score by default, and equal ones by id.
    """
    assert sort_keys(()) == [{"_score": "desc"}, {"whorl_id": "asc"}]
    assert sort_keys([Order("id", True, ((Kind.KEYWORD, "id"),))])[0] == {"whorl_id": "asc"}
    (number, _) = sort_keys([Order("n", True, ((Kind.INTEGER, "n"), (Kind.FLOAT, "n")))])
    assert number["_script"]["type"] == "number"
    assert number["_script"]["script"]["params"]["beginnings"] == ["n\x1fi", "n\x1ff"]


def test_tokens_are_asked_for_as_words() -> None:
    """
    Tokens are looked up as words of one query, with repeats: a tenth of the bytes of a clause per token.
    """
    body = query(SharedTokens("a", (1, 2, 1), 2, weight=3.0))
    (words,) = body["match"].values()
    assert words == {
        "query": "AAAAAAAAAAE AAAAAAAAAAI AAAAAAAAAAE", "analyzer": "whitespace",
        "minimum_should_match": 2, "boost": 3.0,
    }  # fmt: skip


def test_the_same_whether_apart_or_not(store: Store) -> None:
    """
    Tokens counted in functions give the same hits and scores as clauses, for any weight, including zero.
    """
    words = [f"w{number}" for number in range(700)]
    store.index([Document(f"d{at}", " ".join(words[at * 50 :]), properties={"n": at}) for at in range(8)])
    nobodys = (SharedTokens("x", tuple(range(512)), 512), SharedTokens("y", tuple(range(600)), 512))
    for query in ("FINGERPRINT:d0_20", "FINGERPRINT:d0_20_90"):
        plan = store.prepare(query).bound
        alone = store.engine.search(plan, start=0, rows=50)
        assert alone.total > 3
        for weight in (1.0, 3.0, 0.001, 0.0):
            several = Bool(should=(replace(plan.root, weight=weight), *nobodys), min_should_match=1)  # type: ignore[arg-type, type-var]
            page = store.engine.search(BoundPlan(several), start=0, rows=50)
            assert {hit.id: hit.score for hit in page.hits} == {
                hit.id: pytest.approx(weight * hit.score, rel=1e-5) for hit in alone.hits
            }


ANY, ONE = WildcardCharacter.ANY, WildcardCharacter.ONE
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
        FuzzyWord("roam", 1, "f"),
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
    (WildcardValue("f", ("a?", ONE, "b")), {"wildcard": {"whorl_values": {"value": "f\x1fta\\??b"}}}),
    (
        Between("f", Kind.INTEGER, 1, None),
        {"range": {"whorl_values": {"gte": "f\x1fi8000000000000001", "lt": "f\x1fj"}}},
    ),
    (
        Between("f", Kind.KEYWORD, "a", "b", includes_low=False),
        {"range": {"whorl_values": {"gt": "f\x1fta", "lte": "f\x1ftb"}}},
    ),
    (Between("id", Kind.KEYWORD, None, None), {"exists": {"field": "whorl_id"}}),
    (Exists("f", Kind.DATE), {"term": {"whorl_fields": {"value": "f\x1fDATE"}}}),
]  # fmt: skip


@pytest.mark.parametrize(("test", "wanted"), CLAUSES)
def test_golden_pairs(test: Test, wanted: dict[str, Any]) -> None:
    """
    Each clause becomes the expected query on whorl's words and values.
    """
    assert clause(test, "icu74") == wanted
    assert leaf_clauses(test) >= 1


def strings(query: Any) -> list[str]:
    """Return all texts in a query that a server may parse."""
    if isinstance(query, dict):
        return [text for value in query.values() for text in strings(value)]
    return [text for value in query for text in strings(value)] if isinstance(query, list) else [query]


@given(st.text(min_size=1))
def test_a_pattern_s_text_is_no_pattern(text: str) -> None:
    """
    In a wildcard query, all wildcards typed as text are escaped.
    """
    (value,) = strings(clause(WildcardValue("f", (text, ANY)), "icu74"))
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
    assert (leaf_clauses(Words("a b")), leaf_clauses(Words("a b", "f"))) == (2, 1)
    assert leaf_clauses(InOrder((("a",), ("b",)), 0, "f")) == 3
    assert leaf_clauses(FuzzyWord("a", 1)) == 2
