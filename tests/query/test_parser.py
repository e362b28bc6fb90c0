"""Golden pairs of queries and trees, and the checks of tokens: their number, missing spaces, leading operators."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings

from tests.query.strategies import answer, nodes
from tests.query.trees import A, B, C, D, Pairs, clauses
from tests.sampling import thorough
from whorl.errors import QueryError, QuerySyntaxError, UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import (
    DEFAULT_CLAUSES,
    And,
    Boost,
    Everything,
    Fingerprint,
    Node,
    Not,
    Operator,
    Or,
    Phrase,
    QueryLimits,
    Term,
)
from whorl.query.parser import build_grammars, parse
from whorl.query.unparse import unparse

TERMS: Pairs = [
    ("word", Term("word")),
    ("  word\n", Term("word")),
    ("Straße", Term("Straße")),
    ("日本語", Term("日本語")),
    ("😀", Term("😀")),
    ("👩‍👩‍👧", Term("👩‍👩‍👧")),
    ("don't", Term("don't")),
    ("dogs'", Term("dogs'")),
    ("C++", Term("C++")),
    ("C#", Term("C#")),
    ("R&D", Term("R&D")),
    ("Yahoo!", Term("Yahoo!")),
    ("a+b", Term("a+b")),
    ("x=1", Term("x=1")),
    ("a|b", Term("a|b")),
    ("well-known", Term("well-known")),
    ("me@example.org", Term("me@example.org")),
    ("test.txt", Term("test.txt")),
    ("1,234.5", Term("1,234.5")),
    ("50%", Term("50%")),
    ("so...", Term("so...")),
    ("notes/a.md", Term("notes/a.md")),
    ("/etc/hosts", Term("/etc/hosts")),
    ("#tag", Term("#tag")),
    ("$5", Term("$5")),
    ("@home", Term("@home")),
    ("android", Term("android")),
    ("or.txt", Term("or.txt")),
    ("notable", Term("notable")),
    ("http://x.org:80/y?q=1&r=2#z", Term("http://x.org:80/y?q=1&r=2#z")),
    ("workspace://SpacesStore/1-2", Term("workspace://SpacesStore/1-2")),
]

ESCAPES: Pairs = [
    (r"a\ b", Term("a b")),
    (r"a\:b", Term("a:b")),
    (r"\and", Term("and")),
    (r"\\", Term("\\")),
    (r"\-a", Term("-a")),
    (r"wh\*t\?", Term("wh*t?")),
    (r"\u00e9t\u00E9", Term("été")),
    (r"\u0000", Term("\0")),
    (r"\ud83d\ude00", Term("😀")),
    (r"\\u0041", Term("\\u0041")),
    (r"12\:30", Term("12:30")),
]

PHRASES: Pairs = [
    ('"big dog"', Phrase("big dog")),
    ("'big dog'", Phrase("big dog")),
    ('""', Phrase("")),
    ('"don\'t"', Phrase("don't")),
    (r"'don\'t'", Phrase("don't")),
    (r'"say \"hi\""', Phrase('say "hi"')),
    (r'"back\\slash"', Phrase("back\\slash")),
    (r'"\u0022"', Phrase('"')),
    ('"a (b) [c] {!d} e:f ^2 ~ AND"', Phrase("a (b) [c] {!d} e:f ^2 ~ AND")),
    ('"two\nlines"', Phrase("two\nlines")),
]

FIELDS: Pairs = [
    ("type:pdf", Term("pdf", "type")),
    ("cm:name:run", Term("run", "cm:name")),
    ("@cm:name:run", Term("run", "cm:name")),
    (r"cm\:name:run", Term("run", "cm:name")),
    (r"@cm\:name:run", Term("run", "cm:name")),
    ("content.mime-type:pdf", Term("pdf", "content.mime-type")),
    ("_x:y", Term("y", "_x")),
    ("1b:1a", Term("1a", "1b")),
    ("größe:10", Term("10", "größe")),
    ('title:"big dog"', Phrase("big dog", "title")),
    ("title:'big dog'", Phrase("big dog", "title")),
    ("type: pdf", Term("pdf", "type")),
    ("state:or", Term("or", "state")),
    ("AND:x", Term("x", "AND")),
    ("url:http://x/y", Term("http://x/y", "url")),
    ("FINGERPRINTS:x", Term("x", "FINGERPRINTS")),
    ('_query_:"{!lucene}x"', Phrase("{!lucene}x", "_query_")),
]

EVERYTHING: Pairs = [
    ("*", Everything()),
    ("*:*", Everything()),
    ("(*)", Everything()),
    ("*^2", Boost(Everything(), Decimal(2))),
    ("* -a", clauses(("", Everything()), ("-", A))),
    ("a *", Or((A, Everything()))),
    ("a AND *", And((A, Everything()))),
]

OPERATORS: Pairs = [
    ("a b", Or((A, B))),
    ("a OR b", Or((A, B))),
    ("a or b", Or((A, B))),
    ("a || b", Or((A, B))),
    ("a||b", Or((A, B))),
    ("a b OR c", Or((A, B, C))),
    ("a OR b c OR d", Or((A, B, C, D))),
    ("a AND b", And((A, B))),
    ("a and b AnD c", And((A, B, C))),
    ("a && b", And((A, B))),
    ("a&&b", And((A, B))),
    ("NOT a", Not(A)),
    ("not a", Not(A)),
    ("!a", Not(A)),
    ("! a", Not(A)),
    ("NOT NOT a", Not(Not(A))),
    ("!!a", Not(Not(A))),
    ("NOT a AND NOT b", And((Not(A), Not(B)))),
    ("a AND !b", And((A, Not(B)))),
    ("a AND!b", And((A, Not(B)))),
]

PRECEDENCE: Pairs = [
    ("a OR b AND c", Or((A, And((B, C))))),
    ("a AND b OR c", Or((And((A, B)), C))),
    ("a AND b OR c AND d", Or((And((A, B)), And((C, D))))),
    ("NOT a OR b", Or((Not(A), B))),
    ("NOT a AND b", And((Not(A), B))),
    ("a OR NOT b AND c", Or((A, And((Not(B), C))))),
    ("a b AND c", Or((A, And((B, C))))),
    ("a AND b c", Or((And((A, B)), C))),
    ("a NOT b", Or((A, Not(B)))),
    ("NOT a b", Or((Not(A), B))),
]

GROUPS: Pairs = [
    ("(a)", A),
    ("((a))", A),
    ("(a OR b) AND c", And((Or((A, B)), C))),
    ("a AND (b OR c)", And((A, Or((B, C))))),
    ("(a OR b) OR c", Or((Or((A, B)), C))),
    ("(a AND b) AND c", And((And((A, B)), C))),
    ("NOT (a b)", Not(Or((A, B)))),
    ("NOT (NOT (a))", Not(Not(A))),
    ("(a)(b)", Or((A, B))),
    ("(a)AND(b)", And((A, B))),
    ("(-a)", Not(A)),
    ("-(a b)", Not(Or((A, B)))),
    ("+(a -b) c", clauses(("+", clauses(("", A), ("-", B))), ("", C))),
]

SIGNS: Pairs = [
    ("+a -b c", clauses(("+", A), ("-", B), ("", C))),
    ("a -b", clauses(("", A), ("-", B))),
    ("-a -b", clauses(("-", A), ("-", B))),
    ("+a +b", clauses(("+", A), ("+", B))),
    ("a - b", clauses(("", A), ("-", B))),
    ("+a", A),
    ("-a", Not(A)),
    ("+ a", A),
    ("a OR -b", Or((A, Not(B)))),
    ("a OR +b", Or((A, B))),
    ("a -b OR c", Or((clauses(("", A), ("-", B)), C))),
    ("a OR b -c", Or((A, clauses(("", B), ("-", C))))),
    ("a -b OR c d", Or((clauses(("", A), ("-", B)), C, D))),
    ("a AND -b", And((A, Not(B)))),
    ("-a AND b", And((Not(A), B))),
    ("+a AND b", And((A, B))),
    ("+a AND b c", Or((And((A, B)), C))),
    ("+a b AND c", clauses(("+", A), ("", And((B, C))))),
    ("a -b AND c", Or((A, And((Not(B), C))))),
    ("+a NOT b", clauses(("+", A), ("", Not(B)))),
    ("+NOT a b", clauses(("+", Not(A)), ("", B))),
    ("-!a", Not(Not(A))),
    ("+type:pdf -'b'", clauses(("+", Term("pdf", "type")), ("-", Phrase("b")))),
]

BOOSTS: Pairs = [
    ("a^2", Boost(A, Decimal(2))),
    ("a^2.5", Boost(A, Decimal("2.5"))),
    ("a^.5", Boost(A, Decimal("0.5"))),
    ("a ^2", Boost(A, Decimal(2))),
    ("a^1000", Boost(A, Decimal(1000))),
    ("a^0002", Boost(A, Decimal(2))),
    ('"a b"^2', Boost(Phrase("a b"), Decimal(2))),
    ("type:pdf^2", Boost(Term("pdf", "type"), Decimal(2))),
    ("(a b)^3", Boost(Or((A, B)), Decimal(3))),
    ("(a^2)^3", Boost(Boost(A, Decimal(2)), Decimal(3))),
    ("NOT a^2", Not(Boost(A, Decimal(2)))),
    ("(NOT a)^2", Boost(Not(A), Decimal(2))),
    ("-a^2 b", clauses(("-", Boost(A, Decimal(2))), ("", B))),
    ("FINGERPRINT:1_70^2", Boost(Fingerprint("1", Decimal("0.7")), Decimal(2))),
    ("http://x/y^2", Boost(Term("http://x/y"), Decimal(2))),
]

GOLDEN: Pairs = TERMS + ESCAPES + PHRASES + FIELDS + EVERYTHING + OPERATORS + PRECEDENCE + GROUPS + SIGNS + BOOSTS


@pytest.mark.parametrize(("query", "tree"), GOLDEN)
def test_query_and_tree(query: str, tree: Node) -> None:
    assert parse(query) == tree


@pytest.mark.parametrize(("query", "tree"), GOLDEN)
def test_tree_survives_being_written(query: str, tree: Node) -> None:
    assert parse(unparse(tree)) == tree


SPANS = [
    ("type:pdf", ["type:pdf"]),
    ("  a  ", ["a"]),
    ("a AND (b OR c)", ["a AND (b OR c)", "a", "b OR c", "b", "c"]),
    ("(a b)^2", ["(a b)^2", "a b", "a", "b"]),
    ("NOT (a)", ["NOT (a)", "a"]),
    ("+a -b", ["+a -b", "a", "b"]),
    ("a OR -b", ["a OR -b", "a", "-b", "b"]),
    ('FINGERPRINT:"x y"_20 z', ['FINGERPRINT:"x y"_20 z', 'FINGERPRINT:"x y"_20', "z"]),
]


@pytest.mark.parametrize(("query", "parts"), SPANS)
def test_spans_cover_what_was_typed(query: str, parts: list[str]) -> None:
    assert [query[node.span.start : node.span.end] for node in ast.walk(parse(query))] == parts


@pytest.mark.slow
def test_grammars_are_built_before_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    After build_grammars, no query builds a grammar or a scanner, in either reading.
    """
    build_grammars()

    def built(*_: object, **__: object) -> None:
        raise AssertionError("somebody waits for this")

    monkeypatch.setattr("whorl.query.parser.parser_of", built)
    monkeypatch.setattr("lark.lexer.Scanner", built)
    for query, _ in GOLDEN:
        for is_strict in (False, True):
            with suppress(QueryError):
                parse(query, strict=is_strict)


def test_threads_share_the_parser() -> None:
    queries = [f"a{number} AND FINGERPRINT:{number}_20 -c" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(parse, queries)) == [parse(query) for query in queries]


@thorough
@pytest.mark.slow
@settings(max_examples=200)
@given(nodes)
def test_leaves_and_levels_are_counted_as_the_tree_has_them(tree: ast.Node) -> None:
    """
    A query at the limits is read; one leaf or level more is refused.
    """
    query = unparse(tree)
    leaves = sum(not ast.children(node) for node in ast.walk(tree))
    levels = ast.depth(tree)
    assert parse(query, limits=QueryLimits(clauses=leaves, depth=levels)) == tree
    with pytest.raises(UnsupportedQueryError, match=f"at most {leaves - 1} words"):
        parse(query, limits=QueryLimits(clauses=leaves - 1))
    if levels:
        with pytest.raises(UnsupportedQueryError, match=f"at most {levels - 1} levels"):
            parse(query, limits=QueryLimits(depth=levels - 1))


@pytest.mark.parametrize(
    ("query", "leaves"),
    [
        ("a b", 2),
        ("a * b * c", 1),
        ("1..2", 1),
        ("[1 TO 2] 3..4", 2),
        ('"a b c"~3 f:(d e)', 3),
        ("*:* AND * AND f:*", 3),
        ("FINGERPRINT:1_20_80 OR FINGERPRINT:(2 3)", 3),
        ("TYPE:cm:content^2", 1),
    ],
)
def test_leaves_by_hand(query: str, leaves: int) -> None:
    """
    An operator that joins two words to one leaf reduces the count by one.
    """
    parse(query, limits=QueryLimits(clauses=leaves))
    with pytest.raises(UnsupportedQueryError, match=f"at most {leaves - 1} words"):
        parse(query, limits=QueryLimits(clauses=leaves - 1))


def test_a_query_is_refused_where_it_becomes_too_large() -> None:
    """
    A query is refused at the first word too many, before any later mistake; a word of Alfresco has up to five pieces,
    so its limit is five times as high.
    """
    for strict, pieces in ((False, DEFAULT_CLAUSES), (True, 5 * DEFAULT_CLAUSES)):
        with pytest.raises(UnsupportedQueryError, match="at most 1,000 words") as caught:
            parse("a " * pieces + "b )))", strict=strict)
        assert caught.value.span.start == 2 * pieces
        with pytest.raises(UnsupportedQueryError, match="at most 100 levels deep") as caught:
            parse("(" * 101 + ")" * 10, strict=strict)
        assert caught.value.span.start == 100


@pytest.mark.parametrize("count", [3, 7, 999, 1000])
def test_words_of_five_pieces_are_counted_exactly(count: int) -> None:
    """
    A query of the maximum number of words is read, even if each has the maximum of five pieces in Alfresco's reading.
    """
    query = " ".join(["?,?,?,?.?"] * count)
    assert len(ast.children(parse(query, strict=True, limits=QueryLimits(clauses=count)))) == count


ENDS = [
    "a",
    '"a"',
    "f:a",
    "[1 TO 2]",
    "a^2",
    "*:*",
    "a~0.5",
    '"a"~2',
    "TYPE:cm:x",
    "FINGERPRINT:1_20",
    'FINGERPRINT:"1"',
]
STARTS = ['"b"', "[1 TO 2]", "+b", "-b", "!b", "=b", "~b", "f:b", "FINGERPRINT:2"]


@pytest.mark.parametrize("end", ENDS)
def test_operands_are_apart(end: str) -> None:
    """
    A token directly after an operand becomes part of it or is refused; after a space it is another operand.
    """
    for start in STARTS:
        apart = parse(f"{end} {start}")
        assert len(list(ast.walk(apart))) > len(list(ast.walk(parse(end))))
        glued = answer(end + start)
        assert isinstance(glued, QueryError) or not ast.children(glued), (end, start)


@pytest.mark.parametrize(
    ("query", "operator", "inside"),
    [
        ("OR a", Operator.OR, Operator.OR),
        ("AND a", Operator.AND, Operator.OR),
        ("(AND a)", Operator.AND, Operator.OR),
        ("f:(OR a)", Operator.AND, Operator.OR),
        ("f:(AND a)", Operator.OR, Operator.AND),
        ("f:((AND a))", Operator.OR, Operator.AND),
        ("x OR AND a", Operator.AND, Operator.OR),
    ],
)
def test_the_operator_that_is_understood_may_stand_first(query: str, operator: Operator, inside: Operator) -> None:
    """
    A leading default operator changes nothing; the other operator would, so it is refused.
    """
    with_it = parse(query, default_operator=operator, field_operator=inside)
    first = "OR a" if "OR a" in query else "AND a"
    assert with_it == parse(query.replace(first, "a"), default_operator=operator, field_operator=inside)
    other = query.replace(first, "AND a" if first == "OR a" else "OR a")
    with pytest.raises(QuerySyntaxError, match="needs something to search for"):
        parse(other, default_operator=operator, field_operator=inside)
