"""Hypothesis strategies for texts, fields, numbers, trees and queries; and `answer`, which parses a query or returns
its error.
"""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from whorl.errors import QueryError
from whorl.query import ast
from whorl.query.ast import Operator
from whorl.query.parser import parse

#: Every character with a meaning in the language, and a few without one.
ALPHABET = "aZ19 _-+*?~^:|!&=\\/()[]{}<>\"'.,@#$%\t\nué😀"
_AWKWARD = [
    "AND",
    "or",
    "Not",
    "ANd!",
    "or'x",
    "a:b",
    "FINGERPRINT:x_1",
    'say "hi"',
    "it's",
    "back\\slash",
    "\\u0041",
    "u0041",
    "my_doc_1",
    "//x",
    "http://x/y?z=*",
    "a..b",
    "...",
    "*:*",
    "-a",
    "+a",
    "\x00",
    "\x85",
    "\u3000",
    "👩‍👩‍👧",
    "\U0010ffff",
    "50%",
    "%(a)",
    "2024",
    "@cm:name",
    "a*b?",
    "~2",
    "[1 TO 2]",
    "{x}y",
    "_x0041_",
    "MAX",
    "TO",
    "*",
    "NOW/DAY-1DAY",
    "2012-01-01T00:00:00.000Z",
]

_TEXTS = st.one_of(st.text(max_size=8), st.text(alphabet=ALPHABET, max_size=8), st.sampled_from(_AWKWARD))
_FIELDS = st.one_of(
    st.sampled_from(
        ["type", "cm:name", "a.b-c_d", "d:content", "cm_name", "{http://x/1.0}name", "TYPE", "TYPE:cm", "OR"]
    ),
    _TEXTS,
)
_FORMS = st.sampled_from(ast.Form)
_FRACTIONS = st.one_of(
    st.integers(1, 100).map(lambda percent: Decimal(percent) / 100), st.decimals("0.000001", "1", places=6)
)
_OCCURS = st.sampled_from(ast.Occur)

# These are functions, because hypothesis shows a nested strategy in full, but a function by its name.
Draw = st.DrawFn


@st.composite
def texts(draw: Draw) -> str:
    return draw(_TEXTS)


@st.composite
def words(draw: Draw) -> str:
    return draw(_TEXTS) or "word"


@st.composite
def fields(draw: Draw) -> str | None:
    name = draw(_FIELDS)
    return None if name.lower() in ("", "fingerprint") else name


@st.composite
def fractions(draw: Draw) -> Decimal:
    return draw(_FRACTIONS)


@st.composite
def fingerprints(draw: Draw) -> ast.Fingerprint:
    numbers = draw(st.lists(fractions(), max_size=2))
    overlap, probability = [*numbers, None, None][:2]
    return ast.Fingerprint(draw(words()), overlap, probability)


@st.composite
def patterns(draw: Draw) -> tuple[str | ast.WildcardCharacter, ...]:
    pieces: list[str | ast.WildcardCharacter] = [draw(st.sampled_from(ast.WildcardCharacter))]
    for piece in draw(st.lists(st.one_of(st.sampled_from(ast.WildcardCharacter), words()), max_size=4)):
        if isinstance(piece, ast.WildcardCharacter) or isinstance(pieces[-1], ast.WildcardCharacter):
            pieces.append(piece)
    return tuple(pieces if draw(st.booleans()) else pieces[::-1])


@st.composite
def wildcards(draw: Draw) -> ast.Wildcard:
    node = ast.Wildcard(draw(patterns()), draw(fields()), draw(_FORMS), draw(st.booleans()))
    is_everything = node == ast.Wildcard((ast.WildcardCharacter.ANY,))
    return ast.Wildcard((ast.WildcardCharacter.ANY, "x")) if is_everything else node


@st.composite
def bounds(draw: Draw) -> ast.Bound | None:
    return draw(st.none() | st.builds(ast.Bound, texts(), st.booleans()))


@st.composite
def proximities(draw: Draw) -> ast.Proximity:
    return ast.Proximity(
        tuple(draw(st.lists(words(), min_size=2, max_size=4))), draw(st.integers(0, 200)), draw(fields())
    )


@st.composite
def clauses(draw: Draw, nodes: st.SearchStrategy[ast.Node]) -> ast.Clauses:
    group = [ast.Clause(draw(_OCCURS), node) for node in draw(st.lists(nodes, min_size=1, max_size=3))]
    marked = ast.Clause(draw(st.sampled_from([ast.Occur.MUST, ast.Occur.MUST_NOT])), draw(nodes))
    group.insert(draw(st.integers(0, len(group))), marked)
    return ast.Clauses(tuple(group))


factors = st.decimals("0.001", "1000", places=3)
similarities = st.decimals("0", "2", places=3)
slops = st.none() | st.integers(0, 1000)
leaves = st.one_of(
    st.builds(ast.Term, words(), fields(), _FORMS),
    st.builds(ast.Phrase, texts(), fields(), _FORMS, slops),
    wildcards(),
    st.builds(ast.Fuzzy, words(), similarities, fields()),
    st.builds(ast.Range, bounds(), bounds(), fields()),
    proximities(),
    fingerprints(),
    st.just(ast.Everything()),
)


def _groups(nodes: st.SearchStrategy[ast.Node]) -> st.SearchStrategy[ast.Node]:
    members = st.lists(nodes, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        st.builds(ast.And, members),
        st.builds(ast.Or, members),
        clauses(nodes),
        st.builds(ast.Not, nodes),
        st.builds(ast.Boost, nodes, factors),
    )


nodes = st.recursive(leaves, _groups, max_leaves=12)

#: Pieces that combine to nearly valid queries, so that the parser both accepts and refuses.
PIECES = [
    *("a", "word", "don't", "a.b", "1", "2.5", "-3", "é", "😀", r"\u0041", r"\:", "a_b", "a@b.com", "10.pdf"),
    *("b:", "cm:name:", "@cm:x:", "{u}n:", r"cm\:y:", "TYPE:", "f:(", "NOT:", '"c d"', "'e'", "http://i/j"),
    *("FINGERPRINT:f_20_80", 'FINGERPRINT:"g_h"_5', "FINGERPRINT:", "*", "*:*", "wh*t", "?", '"p*"', "*(3)"),
    *("1..2", "..", "[1 TO 9>", "<a TO *]", "{1 TO 2}", "[", "]", " TO ", "NOW/DAY-1DAY", "2012-01-01T00:00:00.000Z"),
    *("=", "~", "~0.8", "~2", "%f", "%(a b)", "MAX"),
]
SIGNS = [
    " ",
    " ",
    " ",
    "(",
    ")",
    "+",
    "-",
    "|",
    "!",
    "^2",
    "^0",
    " AND ",
    " or ",
    " NOT ",
    " * ",
    "&&",
    "||",
    "\\",
    "_",
]
near_queries = st.one_of(
    st.text(alphabet=ALPHABET, max_size=30),
    st.lists(st.sampled_from(PIECES + SIGNS), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join),
)
operators = st.sampled_from(Operator)


def answer(
    query: str, *, strict: bool = False, operator: Operator = Operator.OR, inside: Operator = Operator.OR
) -> ast.Node | QueryError:
    """Return the tree, or the error after checking that its span lies in the query; other exceptions fail the test."""
    try:
        return parse(query, strict=strict, default_operator=operator, field_operator=inside)
    except QueryError as error:
        assert error.query == query  # noqa: PT017 - whether it is raised is not the question
        assert 0 <= error.span.start <= error.span.end <= len(query)  # noqa: PT017
        assert error.message in str(error)  # noqa: PT017
        return error
