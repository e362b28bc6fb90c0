"""Requests to Solr, checked against a plain restatement of Solr's MinHash parser."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.solr.request_body import (
    SolrFields,
    band_parameters,
    clause,
    join_tokens,
    overlap_similarity,
    search_request,
)
from whorl.errors import ParameterError
from whorl.fingerprint.minhash.signature_and_tokens import integers, read_tokens
from whorl.query.ast import Pattern, WildcardCharacter
from whorl.query.plan.nodes import (
    Between,
    Bool,
    BoundPlan,
    Equal,
    Exists,
    FuzzyWord,
    InOrder,
    Kind,
    MatchAll,
    Nothing,
    SharedBands,
    SharedTokens,
    Test,
    WildcardValue,
    Words,
)


def solr_rows(count: int, similarity: np.float32, probability: np.float32) -> int:
    """MinHashQParser.computeBandSize, with floats from the request and doubles inside."""
    for bands in range(1, count + 1):
        rows = count // bands
        if 1.0 - (1.0 - float(similarity) ** rows) ** bands > float(probability):
            return rows
    return 1


@pytest.mark.parametrize("rows", [*range(1, 60), 64, 85, 100, 128, 170, 200, 255, 256, 300, 511, 512])
def test_solr_cuts_the_bands_that_are_meant(rows: int) -> None:
    """
    Solr's loop stops at the intended rows, for every number of tokens that fills bands of these rows.
    """
    for bands in {1, 2, 3, 5, 7, 11, 31, 57, 103, -(-512 // rows), 1023 // rows} - {0}:
        if bands * rows <= 1023:
            similarity, probability = map(np.float32, band_parameters(bands, rows))
            assert 0 < similarity <= 1
            assert 0 < probability < 1
            assert solr_rows(bands * rows, similarity, probability) == rows


def test_solr_asks_for_the_minimum_that_is_meant() -> None:
    """
    ceil(count * sim) in 32-bit floats is the minimum, for every count up to 1,024.
    """
    for count in range(1, 1025):
        minima = np.arange(1, count + 1)
        similarities = np.array([overlap_similarity(count, int(minimum)) for minimum in minima], dtype=np.float32)
        required = np.ceil(np.float32(count) * similarities).astype(int)
        assert (required == minima).all()
        assert (similarities < 1).all()


def body(*nodes: object) -> dict[str, object]:
    plan = BoundPlan(nodes[0] if len(nodes) == 1 else Bool(should=nodes, min_should_match=1))  # type: ignore[arg-type]
    return search_request(plan, SolrFields(), start=0, rows=10)


def test_user_text_is_escaped() -> None:
    """
    User text becomes a phrase whose every character of syntax is escaped.
    """
    hostile = '{!lucene}*:* OR "x" $t0 \\'
    clause = body(Words(hostile, "name", 0.0))["query"]["bool"]["filter"]  # type: ignore[index]
    (query,) = [part["lucene"]["query"] for part in clause]
    assert re.fullmatch(r'"([A-Za-z0-9]|\\u[0-9a-f]{4})*"', query)
    assert query[1:-1].encode().decode("unicode_escape") == hostile


@given(st.lists(st.text("~%@=!,;:a\ufffd\U0001f600", min_size=1, max_size=9), min_size=1, max_size=40))
def test_tokens_are_cut_where_they_were_joined(tokens: list[str]) -> None:
    """
    Joined tokens are split into the same tokens, whatever their length and even with letters of the separator; Java's
    String.split takes the leftmost match first, then the next one after it, like Python's.
    """
    text, separator = join_tokens(tokens)
    assert text.split(separator) == tokens
    assert re.split(separator, text) == tokens


def test_a_token_that_ends_as_a_separator_begins() -> None:
    """
    A token that ends in `~` needs another separator: Java splits `a~` and `b`, joined by `~~~`, into `a` and `~b`.
    """
    request = body(SharedTokens("a", integers(read_tokens(["abc~", "defg"]))))
    arguments = request["query"]["min_hash"]  # type: ignore[index]
    assert arguments["query"].split(arguments["sep"]) == ["abc~", "defg"]


@pytest.mark.parametrize(("fingerprints", "apart"), [(1, 0), (2, 0), (3, 2)], ids=["one", "two of 512", "three of 512"])
def test_clause_limit(fingerprints: int, apart: int) -> None:
    """
    Fingerprints beyond Lucene's limit of 1,024 clauses move into functions, whose clauses are counted separately.
    """
    tokens = tuple(range(512))
    request = body(*(SharedTokens(str(number), tokens) for number in range(fingerprints)))
    assert str(request["query"]).count("'frange'") == apart


def test_more_clauses_than_solr_allows() -> None:
    """
    A query with too many immovable clauses is refused before it is sent, with the number.
    """
    with pytest.raises(ParameterError, match="1,200 clauses"):
        body(*(Words("x", "f") for _ in range(600)))


def test_nothing_matches_nothing() -> None:
    """
    A clause that cannot match does not become a query that matches everything.
    """
    assert body(Nothing("why"))["query"] == {"bool": {"must_not": ["*:*"]}}
    assert body(SharedTokens("a", (1, 2), 3))["query"] == {"bool": {"must_not": ["*:*"]}}


def test_alternatives_with_a_condition() -> None:
    """
    Alternatives are required without `mm`, which Solr 8.11 ignores: one by a clause of its own, several by their summed
    scores, which must be counts.
    """
    words = [Words(word, "f", weight=0.0) for word in "abc"]
    required, *alternatives = [{"bool": {"filter": [{"lucene": {"df": "f", "query": f'"{word}"'}}]}} for word in "abc"]
    plan = Bool(must=(words[0],), should=tuple(words[1:]), min_should_match=1)
    assert body(plan)["query"] == {"bool": {"must": [required, {"bool": {"should": alternatives}}]}}
    with pytest.raises(ValueError, match="cannot require 2 of 2 clauses"):
        body(Bool(should=tuple(words[1:]), min_should_match=2))
    request: Any = body(Bool(should=tuple(Words(word, "f") for word in "abc"), min_should_match=2))
    (name,) = request["queries"]
    any_of, least = request["query"]["bool"]["filter"]
    assert any_of == request["queries"][name]
    assert len(any_of["bool"]["should"]) == 3
    assert least == {"frange": {"l": "2", "query": f"query(${name},0)"}}


def test_weights() -> None:
    """
    A weight of zero makes a filter; any other weight is the constant score.
    """
    assert body(MatchAll(0.0))["query"] == {"bool": {"filter": [{"bool": {"must": ["*:*"]}}]}}
    assert body(Words("x", "f", 2.5))["query"]["bool"]["must"] == ["*:*^=2.5"]  # type: ignore[index]
    boosted = body(SharedBands("a", ((1, 2),), 3.0))["query"]["boost"]  # type: ignore[index]
    assert boosted["b"] == "3.0"
    assert math.isclose(float(boosted["query"]["min_hash"]["sim"]), 1.0)


def test_fuzzy_words_count_as_all_that_they_may_become() -> None:
    """
    A fuzzy word counts as the maximum of 50 words that it may expand to.
    """
    with pytest.raises(ParameterError, match="1,071 clauses"):
        body(*(FuzzyWord(f"x{number}", 1, "f") for number in range(21)))


#: The fields in a Solr before 9.9.
OLD = SolrFields(has_fuzzy_parser=False)
ANY, ONE = WildcardCharacter.ANY, WildcardCharacter.ONE
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
    # Solr reads a lone * as all documents.
    (InOrder(((ANY,),), 0, "f"), {"prefix": {"f": "f", "query": ""}}),
    (
        FuzzyWord("a~b", 2, "f"),
        {
            "bool": {
                "should": [
                    {"fuzzy": {"f": "f", "maxEdits": "2", "maxExpansions": "100000", "query": "a~b"}},
                    {"term": {"f": "f", "query": "\uffff"}},
                ]
            }
        },
    ),
    (Equal("f", Kind.KEYWORD, "{!x} *"), {"term": {"f": "f", "query": "{!x} *"}}),
    (Equal("f", Kind.INTEGER, -7), {"term": {"f": "f", "query": "-7"}}),
    (Equal("f", Kind.FLOAT, 1e20), {"term": {"f": "f", "query": "1e+20"}}),
    (Equal("f", Kind.BOOLEAN, True), {"term": {"f": "f", "query": "true"}}),
    (WildcardValue("f", ("A-1 ", ONE, "*", ANY)), {"lucene": {"df": "f", "query": r"A\-1\ ?\**"}}),
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
    # Solr has no notation for an empty end.
    (Between("f", Kind.KEYWORD, "", "b"), {"lucene": {"df": "f", "query": '[* TO "b"]'}}),
    (Between("f", Kind.KEYWORD, "", None, False), {"lucene": {"df": "f", "query": r'["\u0000" TO *]'}}),
    (Between("f", Kind.KEYWORD, None, ""), {"lucene": {"df": "f", "query": r'[* TO "\u0000"}'}}),
    (Between("f", Kind.KEYWORD, None, "", True, False), {"lucene": {"df": "f", "query": r'["\u0000" TO "\u0000"}'}}),
    (Exists("a b", Kind.DATE), {"lucene": {"query": r"a\ b:[* TO *]"}}),
]


@pytest.mark.parametrize(("test", "query"), CLAUSES, ids=str)
def test_clauses(test: Test, query: dict[str, Any]) -> None:
    """
    Each clause becomes the expected query inside a constant score.
    """
    body = search_request(BoundPlan(test), SolrFields(), start=0, rows=10)
    assert body["query"] == {"bool": {"must": ["*:*^=1.0"], "filter": [query]}}


@pytest.mark.parametrize(
    ("word", "edits", "query"),
    # Unescaped, AND would be an operator.
    [("roam", 1, r"\u0072oam~1"), ("AND", 2, r"\u0041ND~2"), ("a b", 2, r"\u0061\u0020b~2")],
)
def test_fuzzy_words_before_solr_9_9(word: str, edits: int, query: str) -> None:
    """
    A Solr without the parser `fuzzy` gets similar words in the syntax of the standard parser.
    """
    assert clause(FuzzyWord(word, edits, "f"), OLD) == {"lucene": {"df": "f", "query": query}}


def test_fingerprints_leave_room_for_similar_words() -> None:
    """
    A similar word may become any number of clauses, so every fingerprint of its query is a function.
    """
    fingerprint, near = SharedTokens("a", tuple(range(100))), FuzzyWord("x", 1, "f")
    assert "queries" in body(fingerprint, near)
    assert "queries" not in search_request(BoundPlan(Bool(should=(fingerprint, near))), OLD, start=0, rows=10)


@given(st.text(), st.sampled_from(["f", "whorl_keyword_f"]))
def test_no_typed_character_is_syntax(text: str, field: str) -> None:
    """
    Without the escapes, only letters, digits and the clause's own syntax remain.
    """
    pattern: Pattern = (text or "x", ANY)
    tests: list[Test] = [
        Words(text, field, slop=3),
        InOrder((pattern, pattern), 2, field),
        InOrder((pattern,), 0, field),
        FuzzyWord(text or "x", 1, field),
        WildcardValue(field, pattern),
        Between(field, Kind.KEYWORD, text or "x", text or "x"),
        Exists(text or "x", Kind.KEYWORD),
    ]
    for test in tests:
        ((parser, arguments),) = clause(test, OLD).items()
        typed = re.sub(r"\\u[0-9a-f]{4}|\\.", "", arguments["query"], flags=re.DOTALL)
        own = re.fullmatch(r'"(.*)"~\d|(.*)~\d|\["(.*)" TO "(.*)"\]|(.*):\[\* TO \*\]|(.*)\*', typed, re.DOTALL)
        assert own, (parser, typed)
        assert not re.search(r'[\\+\-!():^\[\]"{}~*?|&;/\s]', "".join(filter(None, own.groups()))), (parser, typed)
