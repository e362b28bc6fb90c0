"""Query defaults, and refusal of queries that can be parsed but not run, before any engine call."""

from __future__ import annotations

import pytest

from whorl.errors import UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import Operator, QueryLimits
from whorl.query.parser import parse
from whorl.query.plan.nodes import Bool, FieldClause, MatchAll, leaves
from whorl.query.plan.parse_and_plan import QueryDefaults


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("b a*~0.5", "a*~0.5", "a number behind a word with wildcards is not supported"),
        ('b OR "a*"~2', '"a*"~2', "a number behind a word with wildcards is not supported"),
        ("b AND %name", "%name", "a template has a meaning only as the text of a template"),
        ("NOT %(a, b)", "%(a, b)", "a template has a meaning only as the text of a template"),
    ],
)
def test_constructs_that_no_engine_runs_are_refused(query: str, place: str, message: str) -> None:
    strict = QueryDefaults(strict=True)
    strict.read(query)
    for ask in (strict.plan, strict.filter):
        with pytest.raises(UnsupportedQueryError) as caught:
            ask(query)
        assert caught.value.message == message
        assert query[caught.value.span.start : caught.value.span.end] == place


def planned(query: str, defaults: QueryDefaults) -> list[str]:
    """Return the clauses of a plan as `field:word^weight`, in order."""
    clauses = [leaf for leaf in leaves(defaults.plan(query)) if isinstance(leaf, FieldClause)]
    return [f"{clause.clause.field}:{getattr(clause.clause, 'text', '?')}^{clause.weight:g}" for clause in clauses]


@pytest.mark.parametrize(
    ("defaults", "query", "clauses"),
    [
        (QueryDefaults(), "a name:b TEXT:c", ["None:a^1", "name:b^1", "TEXT:c^1"]),
        # Another default field applies only to words without a field; TEXT keeps its meaning.
        (QueryDefaults(default_field="cm:title"), "a name:b TEXT:c", ["cm:title:a^1", "name:b^1", "TEXT:c^1"]),
        (QueryDefaults(text_fields=("cm:title",)), "a^3 TEXT:c", ["cm:title:a^3", "cm:title:c^1"]),
        # With several fields, a match in any of them is enough, and the clause scores once.
        (QueryDefaults(text_fields=("x", "y")), "a^3", ["x:a^0", "y:a^0"]),
        (QueryDefaults(default_field="z", text_fields=("x", "y")), "a TEXT:b", ["z:a^1", "x:b^0", "y:b^0"]),
        # The default namespace applies to properties without one, not to the language's own names.
        (QueryDefaults(namespace="ex"), "size:1 cm:size:1 {u}size:1 SITE:1", [
            "ex:size:1^1", "cm:size:1^1", "{u}size:1^1", "SITE:1^1",
        ]),
        (QueryDefaults(namespace="ex", default_field="title", text_fields=("body",)), "a TEXT:b my_size:1", [
            "ex:title:a^1", "ex:body:b^1", "my_size:1^1",
        ]),
    ],
)  # fmt: skip
def test_default_fields_and_namespace(defaults: QueryDefaults, query: str, clauses: list[str]) -> None:
    """
    The defaults supply fields and namespace where the query has none.
    """
    assert planned(query, defaults) == clauses


def test_a_clause_in_several_fields_scores_once() -> None:
    """
    A clause in several fields gives each matching document its weight once.
    """
    one, other = (FieldClause(ast.Term("a", name), 0.0) for name in "xy")
    plan = QueryDefaults(text_fields=("x", "y")).plan("a^3")
    assert plan == Bool(must=(MatchAll(3.0),), should=(one, other), min_should_match=1)


def test_a_filter_scores_nothing() -> None:
    """
    A filter scores nothing, even if it is boosted.
    """
    plan = QueryDefaults(default_operator=Operator.AND).filter("a^3 FINGERPRINT:b *")
    assert isinstance(plan, Bool)
    assert len(plan.must) == 3
    assert {getattr(leaf, "weight", None) for leaf in leaves(plan)} == {0.0}


def test_parse_options_are_passed_on() -> None:
    """
    Operators, templates, strictness and limits are passed to the parser.
    """
    template = {"both": "%(x y)"}
    assert QueryDefaults(default_operator=Operator.AND).read("a b") == ast.And((ast.Term("a"), ast.Term("b")))
    assert QueryDefaults(field_operator=Operator.AND).read("f:(a b)") == parse("f:a AND f:b")
    assert QueryDefaults(templates=template).read("both:a") == parse("x:a OR y:a")
    assert QueryDefaults(strict=True).read("a.b.c") == ast.Term("a.b.c")
    with pytest.raises(UnsupportedQueryError, match="at most 1 words"):
        QueryDefaults(limits=QueryLimits(clauses=1)).plan("a b")


def test_a_query_that_was_read_before() -> None:
    """
    The cache of parsed queries distinguishes defaults; an error is raised each time.
    """
    query = "a b f:(c d)"
    ways = [
        QueryDefaults(default_operator=one, field_operator=other, limits=QueryLimits(clauses=clauses))
        for one in Operator
        for other in Operator
        for clauses in (4, 400)
    ]
    for _ in range(2):
        for way in ways:
            wanted = parse(query, default_operator=way.default_operator, field_operator=way.field_operator)
            assert way.read(query) == wanted
        for way in (QueryDefaults(limits=QueryLimits(clauses=3)), QueryDefaults(strict=True, limits=QueryLimits(3))):
            with pytest.raises(UnsupportedQueryError):
                way.read(query)
    assert len({str(way.read(query)) for way in ways}) == 4
