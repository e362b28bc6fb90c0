"""Templates: how their use is read, and which ones are refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from whorl.errors import ParameterError, QuerySyntaxError, UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import And, Boost, Bound, Form, Node, Not, Or, Phrase, Range, Term
from whorl.query.parser import parse

A = Term("a")
AX, AY, AZ = Term("a", "x"), Term("a", "y"), Term("a", "z")
ONE_TO_TWO_X, ONE_TO_TWO_Y = (Range(Bound("1"), Bound("2"), name) for name in "xy")
BOTH = {"name": "%(x y)"}
NAMES = Or((Term("a", "cm:name"), Term("a", "cm:title")))
TEMPLATES = [
    ({"name": "%(cm:name cm:title)"}, "name:a", NAMES),
    ({"name": "%(cm:name, cm:title)"}, "NAME:a", NAMES),
    ({"Name": "%(@cm:name,cm:title)"}, "name:a", NAMES),
    ({"name": "%cm:name"}, "name:a", Term("a", "cm:name")),
    ({"name": "%x OR %y^2"}, "name:a", Or((AX, Boost(AY, Decimal(2))))),
    ({"name": "%{http://x}n"}, "name:a", Term("a", "{http://x}n")),
    (BOTH, 'name:"a b"~2', Or((Phrase("a b", "x", slop=2), Phrase("a b", "y", slop=2)))),
    (BOTH, "=name:a", Or((Term("a", "x", Form.EXACT), Term("a", "y", Form.EXACT)))),
    (BOTH, "name:[1 TO 2]", Or((ONE_TO_TWO_X, ONE_TO_TWO_Y))),
    (BOTH, "name:(a b)", Or((Or((AX, AY)), Or((Term("b", "x"), Term("b", "y")))))),
    ({"name": "%x AND NOT TYPE:t"}, "-name:a", Not(And((AX, Not(Term("t", "TYPE")))))),
    ({"name": "%(two x)", "two": "%(y z)"}, "name:a", Or((Or((AY, AZ)), AX))),
    ({"one": "%two", "two": "%three", "three": "%x"}, "one:a", AX),
    (BOTH, "other:a", Term("a", "other")),
    (BOTH, "a", A),
    ({"name": "%x %y"}, "name:a", Or((AX, AY))),
]


@pytest.mark.parametrize(("templates", "query", "tree"), TEMPLATES)
def test_template(templates: dict[str, str], query: str, tree: Node) -> None:
    assert parse(query, templates=templates) == tree
    if "(a b)" not in query:
        assert parse(query, templates=templates, strict=True) == tree


def test_a_template_stands_where_its_use_stands() -> None:
    tree = parse("x OR name:a^2", templates={"name": "%(cm:name cm:title) AND NOT TYPE:t"})
    boosted = ast.children(tree)[1]
    assert {node.span for node in ast.walk(ast.children(boosted)[0])} == {ast.children(boosted)[0].span}
    assert (ast.children(boosted)[0].span.start, ast.children(boosted)[0].span.end) == (5, 11)


REFUSED = [
    ({"a": "%b", "b": "%a"}, ParameterError, "templates refer to each other in a circle: a -> b -> a"),
    ({"a": "%(a cm:name)"}, ParameterError, "templates refer to each other in a circle: a -> a"),
    ({"a": "%b", "A": "%c"}, ParameterError, "two templates have the same name, case aside: A, a"),
    ({"a": "%("}, QuerySyntaxError, "a template is %field or %(field field)"),
    ({"a": "%(b", "c": "%d"}, QuerySyntaxError, "a template is %field"),
    ({"a": "f:(%b)"}, QuerySyntaxError, "%b stands in the group of another field"),
    ({f"t{n}": f"%(t{n + 1} t{n + 1})" for n in range(20)}, ParameterError, "parts, more than a query can have"),
]


@pytest.mark.parametrize(("templates", "kind", "message"), REFUSED)
def test_template_that_cannot_be_used(templates: dict[str, str], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        parse("word", templates=templates)
    assert message in str(caught.value)


def test_templates_count_towards_the_limit() -> None:
    templates = {"all": f"%({' '.join(f'f{n}' for n in range(200))})"}
    parse("all:a " * 5, templates=templates)
    with pytest.raises(UnsupportedQueryError, match="at most 1,000 words") as caught:
        parse("all:a " * 6, templates=templates)
    assert caught.value.span.start == 30
