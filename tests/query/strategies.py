"""Generated texts, fields, numbers and whole trees of the query language; and what the parser makes of a text."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from whorl.errors import QueryError
from whorl.query import ast
from whorl.query.parser import parse

#: Every character that means something somewhere in the language, and a few that do not.
ALPHABET = "aZ19 _-+*?~^:|!&=\\/()[]{}<>\"'.,@#$%\t\nué😀"
_AWKWARD = [
    "AND",
    "or",
    "Not",
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
]

_TEXTS = st.one_of(st.text(max_size=8), st.text(alphabet=ALPHABET, max_size=8), st.sampled_from(_AWKWARD))
_FIELDS = st.one_of(st.sampled_from(["type", "cm:name", "a.b-c_d"]), _TEXTS)
_FRACTIONS = st.one_of(
    st.integers(1, 100).map(lambda percent: Decimal(percent) / 100), st.decimals("0.000001", "1", places=6)
)
_OCCURS = st.sampled_from(ast.Occur)

# Functions, because hypothesis writes a nested strategy out in full, and a function by its name.
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
def clauses(draw: Draw, nodes: st.SearchStrategy[ast.Node]) -> ast.Clauses:
    group = [ast.Clause(draw(_OCCURS), node) for node in draw(st.lists(nodes, min_size=1, max_size=3))]
    marked = ast.Clause(draw(st.sampled_from([ast.Occur.MUST, ast.Occur.MUST_NOT])), draw(nodes))
    group.insert(draw(st.integers(0, len(group))), marked)
    return ast.Clauses(tuple(group))


factors = st.decimals("0.001", "1000", places=3)
leaves = st.one_of(
    st.builds(ast.Term, words(), fields()),
    st.builds(ast.Phrase, texts(), fields()),
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

#: Pieces that make queries which are nearly right, so that both answers of the parser are met.
_PIECES = [
    "a",
    "b:",
    "cm:name:",
    '"c d"',
    "'e'",
    "FINGERPRINT:f_20_80",
    'FINGERPRINT:"g_h"_5',
    "*",
    "*:*",
    "http://i/j",
]
_SIGNS = [" ", " ", " ", "(", ")", "+", "-", "!", "^2", "^0", " AND ", " or ", " NOT ", "&&", "||", "\\", "_", "?", "~"]
near_queries = st.one_of(
    st.text(alphabet=ALPHABET, max_size=30),
    st.lists(st.sampled_from(_PIECES + _SIGNS), max_size=12).map("".join),
)


def answer(query: str) -> ast.Node | QueryError:
    """Return the tree, or the error, whose place must then lie in the query; any other exception fails the test."""
    try:
        return parse(query)
    except QueryError as error:
        assert error.query == query  # noqa: PT017 - whether it is raised is not the question
        assert 0 <= error.span.start <= error.span.end <= len(query)  # noqa: PT017
        assert error.message in str(error)  # noqa: PT017
        return error
