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


# Hypothesis checks each new strategy, which takes longer than the draw: make these once.
_WORDS, _NAMES, _FLAGS = words(), fields(), st.booleans()
_CHARACTERS = st.sampled_from(ast.WildcardCharacter)
_NUMBERS = st.lists(fractions(), max_size=2)
_CHARACTERS_AND_WORDS = st.lists(st.one_of(_CHARACTERS, _WORDS), max_size=4)
_BOUNDS = st.none() | st.builds(ast.Bound, texts(), _FLAGS)
_SEVERAL_WORDS, _DISTANCES = st.lists(_WORDS, min_size=2, max_size=4), st.integers(0, 200)


@st.composite
def fingerprints(draw: Draw) -> ast.Fingerprint:
    overlap, probability = [*draw(_NUMBERS), None, None][:2]
    return ast.Fingerprint(draw(_WORDS), overlap, probability)


@st.composite
def patterns(draw: Draw) -> tuple[str | ast.WildcardCharacter, ...]:
    pieces: list[str | ast.WildcardCharacter] = [draw(_CHARACTERS)]
    for piece in draw(_CHARACTERS_AND_WORDS):
        if isinstance(piece, ast.WildcardCharacter) or isinstance(pieces[-1], ast.WildcardCharacter):
            pieces.append(piece)
    return tuple(pieces if draw(_FLAGS) else pieces[::-1])


_PATTERNS = patterns()


@st.composite
def wildcards(draw: Draw) -> ast.Wildcard:
    node = ast.Wildcard(draw(_PATTERNS), draw(_NAMES), draw(_FORMS), draw(_FLAGS))
    is_everything = node == ast.Wildcard((ast.WildcardCharacter.ANY,))
    return ast.Wildcard((ast.WildcardCharacter.ANY, "x")) if is_everything else node


@st.composite
def bounds(draw: Draw) -> ast.Bound | None:
    return draw(_BOUNDS)


@st.composite
def proximities(draw: Draw) -> ast.Proximity:
    return ast.Proximity(tuple(draw(_SEVERAL_WORDS)), draw(_DISTANCES), draw(_NAMES))


def _with_marked(clauses: list[ast.Clause], marked: ast.Clause, place: int) -> ast.Clauses:
    return ast.Clauses((*clauses[:place], marked, *clauses[place:]))


def clauses(nodes: st.SearchStrategy[ast.Node]) -> st.SearchStrategy[ast.Clauses]:
    others = st.lists(st.builds(ast.Clause, _OCCURS, nodes), min_size=1, max_size=3)
    marked = st.builds(ast.Clause, st.sampled_from([ast.Occur.MUST, ast.Occur.MUST_NOT]), nodes)
    return st.builds(_with_marked, others, marked, st.integers(0, 3))


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
