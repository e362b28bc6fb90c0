"""Solr queries of clauses on fields: golden pairs, and no user input is read as syntax."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.solr.clauses import clause
from whorl.engine.solr.request import Names, search_request
from whorl.query.ast import Joker, Pattern
from whorl.query.plan.nodes import Between, BoundPlan, Equal, InOrder, Kind, Like, Near, Present, Test, Words

ANY, ONE = Joker.ANY, Joker.ONE
CLAUSES: list[tuple[Test, dict[str, Any]]] = [
    (Words('say "hi"', "f"), {"lucene": {"df": "f", "query": r'"say\u0020\u0022hi\u0022"'}}),
    (
        Words("a"),
        {"bool": {"should": [{"lucene": {"df": field, "query": '"a"'}} for field in ("name", "content")]}},
    ),
    # Characters other than letters and digits are escaped by number, so no quote ends the phrase.
    (Words('big "dog\\', "f", slop=2), {"lucene": {"df": "f", "query": r'"big\u0020\u0022dog\u005c"~2'}}),
    (InOrder((("big",),), 0, "f"), {"lucene": {"df": "f", "query": "big"}}),
    (InOrder((("bi", ANY),), 0, "f"), {"lucene": {"df": "f", "query": "bi*"}}),
    (InOrder(((ONE, "3.1", ANY),), 0, "f"), {"lucene": {"df": "f", "query": "?3.1*"}}),
    (
        InOrder((("big",), ("do", ANY)), 0, "f"),
        {"complexphrase": {"df": "f", "inOrder": "true", "query": r'"big\u0020do\u002a"~0'}},
    ),
    (
        InOrder((("big",), ("it's",)), 3, "f"),
        {"complexphrase": {"df": "f", "inOrder": "true", "query": r'"big\u0020it\u0027s"~3'}},
    ),
    (Near("roam", 1, "f"), {"lucene": {"df": "f", "query": r"\u0072oam~1"}}),
    # Unescaped, AND would be an operator.
    (Near("AND", 2, "f"), {"lucene": {"df": "f", "query": r"\u0041ND~2"}}),
    (Near("a b", 2, "f"), {"lucene": {"df": "f", "query": r"\u0061\u0020b~2"}}),
    (Equal("f", Kind.KEYWORD, "{!x} *"), {"term": {"f": "f", "query": "{!x} *"}}),
    (Equal("f", Kind.INTEGER, -7), {"term": {"f": "f", "query": "-7"}}),
    (Equal("f", Kind.FLOAT, 1e20), {"term": {"f": "f", "query": "1e+20"}}),
    (Equal("f", Kind.BOOLEAN, True), {"term": {"f": "f", "query": "true"}}),
    (Like("f", ("A-1 ", ONE, "*", ANY)), {"lucene": {"df": "f", "query": r"A\-1\ ?\**"}}),
    (Between("f", Kind.INTEGER, -1, 5), {"lucene": {"df": "f", "query": "[-1 TO 5]"}}),
    (Between("f", Kind.INTEGER, None, 5, True, False), {"lucene": {"df": "f", "query": "[* TO 5}"}}),
    (Between("f", Kind.FLOAT, 0.5, None, False), {"lucene": {"df": "f", "query": "{0.5 TO *]"}}),
    (
        Between("f", Kind.DATE, 0, 86_400_000),
        {"lucene": {"df": "f", "query": "[1970-01-01T00:00:00.000Z TO 1970-01-02T00:00:00.000Z]"}},
    ),
    (
        Between("f", Kind.KEYWORD, "a]", '"é😀'),
        {"lucene": {"df": "f", "query": r'["a\u005d" TO "\u0022\u00e9\ud83d\ude00"]'}},
    ),
    (Present("a b", Kind.DATE), {"lucene": {"query": r"a\ b:[* TO *]"}}),
]


@pytest.mark.parametrize(("test", "query"), CLAUSES, ids=str)
def test_clauses(test: Test, query: dict[str, Any]) -> None:
    """
    Each clause becomes the expected query inside a constant score.
    """
    body = search_request(BoundPlan(test), Names(), start=0, rows=10)
    assert body["query"] == {"bool": {"must": ["*:*^=1.0"], "filter": [query]}}


@given(st.text(), st.sampled_from(["f", "whorl_keyword_f"]))
def test_no_typed_character_is_syntax(text: str, field: str) -> None:
    """
    Without the escapes, only letters, digits and the clause's own syntax remain.
    """
    pattern: Pattern = (text, ANY) if text else (ANY,)
    tests: list[Test] = [
        Words(text, field, slop=3),
        InOrder((pattern, pattern), 2, field),
        InOrder((pattern,), 0, field),
        Near(text or "x", 1, field),
        Like(field, pattern),
        Between(field, Kind.KEYWORD, text, text),
        Present(text or "x", Kind.KEYWORD),
    ]
    for test in tests:
        ((parser, told),) = clause(test, ()).items()
        typed = re.sub(r"\\u[0-9a-f]{4}|\\.", "", told["query"], flags=re.DOTALL)
        own = re.fullmatch(r'"(.*)"~\d|(.*)~\d|\["(.*)" TO "(.*)"\]|(.*):\[\* TO \*\]|(.*)\*', typed, re.DOTALL)
        assert own, (parser, typed)
        assert not re.search(r'[\\+\-!():^\[\]"{}~*?|&;/\s]', "".join(filter(None, own.groups()))), (parser, typed)
