"""Golden pairs of queries and trees for every construct of AFTS, checked by hand; reading and refusing templates."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.query.trees import ANY, EXACT, ONE, TOKENISED, A, B, C, D, Pairs, between, clauses
from whorl.errors import ParameterError, QuerySyntaxError, UnsupportedQueryError
from whorl.query import ast
from whorl.query.ast import (
    And,
    Boost,
    Bound,
    Everything,
    Fingerprint,
    Form,
    Fuzzy,
    Node,
    Not,
    Operator,
    Or,
    Phrase,
    Proximity,
    Range,
    Term,
    Wildcard,
)
from whorl.query.parser import parse
from whorl.query.unparse import unparse

F1, F2, F2_90 = Fingerprint("1"), Fingerprint("2"), Fingerprint("2", Decimal("0.9"))


FORMS: Pairs = [
    ("=run", Term("run", form=EXACT)),
    ("~run", Term("run", form=TOKENISED)),
    ("= run", Term("run", form=EXACT)),
    ("~1b:run", Term("run", "1b", TOKENISED)),
    ("=cm:name:run", Term("run", "cm:name", EXACT)),
    ("~cm:name:run", Term("run", "cm:name", TOKENISED)),
    ("=@cm:name:run", Term("run", "cm:name", EXACT)),
    ('="big dog"', Phrase("big dog", form=EXACT)),
    ("~'big dog'", Phrase("big dog", form=TOKENISED)),
    ('=cm:name:"big dog"', Phrase("big dog", "cm:name", EXACT)),
    ("NOT =a", Not(Term("a", form=EXACT))),
    ("-=a", Not(Term("a", form=EXACT))),
    ("=a ~b", Or((Term("a", form=EXACT), Term("b", form=TOKENISED)))),
    ("=a^2", Boost(Term("a", form=EXACT), Decimal(2))),
    ("x=1", Term("x=1")),
    (r"\=x", Term("=x")),
]

FUZZY: Pairs = [
    ("roam~0.9", Fuzzy("roam", Decimal("0.9"))),
    ("roam~.9", Fuzzy("roam", Decimal("0.9"))),
    ("roam~1", Fuzzy("roam", Decimal(1))),
    ("roam~2", Fuzzy("roam", Decimal(2))),
    ("roam~0", Fuzzy("roam", Decimal(0))),
    ("roam ~0.9", Fuzzy("roam", Decimal("0.9"))),
    ("cm:name:roam~0.9", Fuzzy("roam", Decimal("0.9"), "cm:name")),
    ("=roam~0.9", Fuzzy("roam", Decimal("0.9"))),
    ("roam~0.9^2", Boost(Fuzzy("roam", Decimal("0.9")), Decimal(2))),
    ("roam~0.9 b", Or((Fuzzy("roam", Decimal("0.9")), B))),
    (r"roam\~1", Term("roam~1")),
]

SLOP: Pairs = [
    ('"big dog"~2', Phrase("big dog", slop=2)),
    ("'big dog'~0", Phrase("big dog", slop=0)),
    ('"big dog" ~2', Phrase("big dog", slop=2)),
    ('cm:name:"big dog"~2', Phrase("big dog", "cm:name", slop=2)),
    ('="big dog"~2', Phrase("big dog", form=EXACT, slop=2)),
    ('"big dog"~2^3', Boost(Phrase("big dog", slop=2), Decimal(3))),
    ('"big dog" ~big', Or((Phrase("big dog"), Term("big", form=TOKENISED)))),
]

PROXIMITY: Pairs = [
    ("big * apple", Proximity(("big", "apple"))),
    ("big *(3) apple", Proximity(("big", "apple"), 3)),
    ("big *() apple", Proximity(("big", "apple"), 100)),
    ("big *( 3 ) apple", Proximity(("big", "apple"), 3)),
    ("big * red * apple", Proximity(("big", "red", "apple"))),
    ("big *(2) red *(2) apple", Proximity(("big", "red", "apple"), 2)),
    ("cm:name:big * apple", Proximity(("big", "apple"), 100, "cm:name")),
    ("f:(big * apple)", Proximity(("big", "apple"), 100, "f")),
    ("(big * apple)^2", Boost(Proximity(("big", "apple")), Decimal(2))),
    ("NOT a * b", Not(Proximity(("a", "b")))),
    ("x a * b y", Or((Term("x"), Proximity(("a", "b")), Term("y")))),
    ("a * b AND c", And((Proximity(("a", "b")), C))),
    (r"big * \*", Proximity(("big", "*"))),
    ("a * to", Proximity(("a", "to"))),
    ("a * AND b", Or((A, And((Everything(), B))))),
    ("* a", Or((Everything(), A))),
    ("a * (b)", Or((A, Everything(), B))),
]

WILDCARDS: Pairs = [
    ("*ple", Wildcard((ANY, "ple"))),
    ("ple*", Wildcard(("ple", ANY))),
    ("a*le", Wildcard(("a", ANY, "le"))),
    ("ap?le", Wildcard(("ap", ONE, "le"))),
    ("?", Wildcard((ONE,))),
    ("**", Wildcard((ANY, ANY))),
    ("*a?b*", Wildcard((ANY, "a", ONE, "b", ANY))),
    ("*.txt", Wildcard((ANY, ".txt"))),
    ("doc.*", Wildcard(("doc.", ANY))),
    ("what?", Wildcard(("what", ONE))),
    (r"a\*b*", Wildcard(("a*b", ANY))),
    (r"\u0041*", Wildcard(("A", ANY))),
    ("cm:name:*ple", Wildcard((ANY, "ple"), "cm:name")),
    ("cm:name:*", Wildcard((ANY,), "cm:name")),
    ("f:(*)", Wildcard((ANY,), "f")),
    ("=a*", Wildcard(("a", ANY), form=EXACT)),
    ("=*", Wildcard((ANY,), form=EXACT)),
    ("~a*", Wildcard(("a", ANY), form=TOKENISED)),
    ('"ap*le"', Wildcard(("ap", ANY, "le"), is_phrase=True)),
    ("'big ap?le'", Wildcard(("big ap", ONE, "le"), is_phrase=True)),
    ('PATH:"//cm:x//*"', Wildcard(("//cm:x//", ANY), "PATH", is_phrase=True)),
    (r'"a\*"', Phrase("a*")),
    ("http://x/*", Wildcard(("http://x/", ANY))),
    ("http://x/y?z=1", Term("http://x/y?z=1")),
    ("a*^2", Boost(Wildcard(("a", ANY)), Decimal(2))),
    ("or*", Wildcard(("or", ANY))),
]

RANGES: Pairs = [
    ("1..2", between("1", "2")),
    ("1.2..2.5", between("1.2", "2.5")),
    ("1 .. 2", between("1", "2")),
    ("apple..pear", between("apple", "pear")),
    ('"apple".."pear"', between("apple", "pear")),
    ("size:1..2", between("1", "2", "size")),
    ("-5..-1", between("-5", "-1")),
    ("size:-5..5", between("-5", "5", "size")),
    ("size:*..5", between(None, "5", "size")),
    ("5..MAX", between("5", None)),
    ("[1 TO 2]", between("1", "2")),
    ("[1 to 2]", between("1", "2")),
    ("[ 1 TO 2 ]", between("1", "2")),
    ("<1 TO 2>", between("1", "2", ends="<>")),
    ("[1 TO 2>", between("1", "2", ends="[>")),
    ("<1 TO 2]", between("1", "2", ends="<]")),
    ("{1 TO 2}", between("1", "2", ends="<>")),
    ("[1 TO 2}", between("1", "2", ends="[>")),
    ("cm:created:[1 TO 2>", between("1", "2", "cm:created", "[>")),
    ("[* TO *]", Range(None, None)),
    ("[MIN TO MAX]", Range(None, None)),
    ("<5 TO MAX]", between("5", None, ends="<]")),
    ('["MIN" TO "*"]', between("MIN", "*")),
    (r"[\* TO b]", between("*", "b")),
    ("[min TO b]", between("min", "b")),
    ("[\"a b\" TO 'c d']", between("a b", "c d")),
    ("[a:b TO c]", between("a:b", "c")),
    ("f:([1 TO 2] 3..4)", Or((between("1", "2", "f"), between("3", "4", "f")))),
    ("[1 TO 2]^3", Boost(between("1", "2"), Decimal(3))),
    ("NOT size:[1 TO 2]", Not(between("1", "2", "size"))),
    ("[TO TO TO]", between("TO", "TO")),
]

TODAY, MOMENT = "NOW/DAY", "2012-01-01T00:00:00.000Z"
DATES: Pairs = [
    ("NOW/DAY-1DAY", Term("NOW/DAY-1DAY")),
    ("NOW+1DAY", Term("NOW+1DAY")),
    ("2012-01-01", Term("2012-01-01")),
    (MOMENT, Term(MOMENT)),
    (f"cm:created:{MOMENT}", Term(MOMENT, "cm:created")),
    (f"{MOMENT}/DAY+6MONTHS", Term(f"{MOMENT}/DAY+6MONTHS")),
    ("1972-05-20T17:33:18.772Z+6MONTHS+3DAYS/DAY", Term("1972-05-20T17:33:18.772Z+6MONTHS+3DAYS/DAY")),
    ("2012-01-01T00:00:00+01:00", Term("2012-01-01T00:00:00+01:00")),
    ("[NOW/DAY-1DAY TO *]", between("NOW/DAY-1DAY", None)),
    ("cm:created:[NOW/DAY-1DAY TO NOW/DAY+1DAY>", between("NOW/DAY-1DAY", "NOW/DAY+1DAY", "cm:created", "[>")),
    (f"[{MOMENT} TO NOW]", between(MOMENT, "NOW")),
    (f"{MOMENT}..NOW", between(MOMENT, "NOW")),
    ("created:2012..2013-06", between("2012", "2013-06", "created")),
    ('["2012-01-01T00:00:00" TO MAX]', between("2012-01-01T00:00:00", None)),
]

FIELDS: Pairs = [
    ("name:a", Term("a", "name")),
    ("cm:name:a", Term("a", "cm:name")),
    ("@cm:name:a", Term("a", "cm:name")),
    (r"@cm\:name:a", Term("a", "cm:name")),
    (r"cm\:name:a", Term("a", "cm:name")),
    ("cm_name:a", Term("a", "cm_name")),
    ("d:content:a", Term("a", "d:content")),
    ("{http://www.alfresco.org/model/content/1.0}name:a", Term("a", "{http://www.alfresco.org/model/content/1.0}name")),
    ("@{http://x/1.0}name:a", Term("a", "{http://x/1.0}name")),
    ('{http://x}name:"a b"', Phrase("a b", "{http://x}name")),
    ("cm:content.mimetype:a", Term("a", "cm:content.mimetype")),
    ("float_x002D_ista:a", Term("a", "float-ista")),
    ("_x0032_024:a", Term("a", "2024")),
    (r"float\-ista:a", Term("a", "float-ista")),
    ("C#:a", Term("a", "C#")),
    ("1b:1a", Term("1a", "1b")),
    ("OR:a", Term("a", "OR")),
    ("TO:a", Term("a", "TO")),
    ("NOT:a", Term("a", "NOT")),
    ("name :a", Term("a", "name")),
    ("name: a", Term("a", "name")),
    ("cm :name :a", Term("a", "cm:name")),
    ("size:-5", Term("-5", "size")),
    ("size:+5", Term("+5", "size")),
    ("state:not", Term("not", "state")),
    ("TYPE:content", Term("content", "TYPE")),
    ("TYPE:cm:content", Term("cm:content", "TYPE")),
    ('TYPE:"cm:content"', Phrase("cm:content", "TYPE")),
    ("TYPE:{http://x}folder", Term("{http://x}folder", "TYPE")),
    ("ASPECT:cm:*", Wildcard(("cm:", ANY), "ASPECT")),
    ("ISNULL:cm:title", Term("cm:title", "ISNULL")),
    ("ID:'workspace://SpacesStore/1-2'", Phrase("workspace://SpacesStore/1-2", "ID")),
    ("SITE:swsdp", Term("swsdp", "SITE")),
    ("TAG:news", Term("news", "TAG")),
    ("{!lucene}x", Term("{!lucene}x")),
]

FA, FB = Term("a", "f"), Term("b", "f")
FIELD_GROUPS: Pairs = [
    ("f:(a)", FA),
    ("f:(a b)", Or((FA, FB))),
    ("f:(a AND b)", And((FA, FB))),
    ("f:(+a -b)", clauses(("+", FA), ("-", FB))),
    ("f:(a OR NOT b)", Or((FA, Not(FB)))),
    ("f:(a (b AND c))", Or((FA, And((FB, Term("c", "f")))))),
    ('f:("a b" c~0.8)', Or((Phrase("a b", "f"), Fuzzy("c", Decimal("0.8"), "f")))),
    ("f:(=a ~b)", Or((Term("a", "f", EXACT), Term("b", "f", TOKENISED)))),
    ('f:(="a b" ~"c d"~2)', Or((Phrase("a b", "f", EXACT), Phrase("c d", "f", TOKENISED, 2)))),
    ("f:(a^2 b)^3", Boost(Or((Boost(FA, Decimal(2)), FB)), Decimal(3))),
    ("cm:name:(a* 1..2)", Or((Wildcard(("a", ANY), "cm:name"), between("1", "2", "cm:name")))),
    ("f:(a) b", Or((FA, B))),
    ("f:(*:*)", Everything()),
    ("(f:(a) b)", Or((FA, B))),
    ("NOT f:(a b)", Not(Or((FA, FB)))),
]

SIGNS: Pairs = [
    ("|a", A),
    ("a |b", Or((A, B))),
    ("|a |b", Or((A, B))),
    ("+a |b -c", clauses(("+", A), ("", B), ("-", C))),
    ("a AND |b", clauses(("+", A), ("", B))),
    ("|a AND |b", Or((A, B))),
    ("|a AND -b", clauses(("+", Everything()), ("", A), ("-", B))),
    ("|a AND NOT b", clauses(("+", Everything()), ("", A), ("-", B))),
    ("|a -b", clauses(("+", Everything()), ("", A), ("-", B))),
    ("|a |b -c", clauses(("+", Everything()), ("", A), ("", B), ("-", C))),
    ("a |b -c", clauses(("", A), ("", B), ("-", C))),
    ("OR a", A),
    ("(or a) b", Or((A, B))),
    ("|| a", A),
]

FINGERPRINTS: Pairs = [
    ("FINGERPRINT:1^2 OR FINGERPRINT:2_90", Or((Boost(F1, Decimal(2)), F2_90))),
    ("NOT FINGERPRINT:1 AND cm:name:a*", And((Not(F1), Wildcard(("a", ANY), "cm:name")))),
    ("+FINGERPRINT:1 -FINGERPRINT:2_90 |a", clauses(("+", F1), ("-", F2_90), ("", A))),
    ("(FINGERPRINT:1 size:[1 TO 2])^2", Boost(Or((F1, between("1", "2", "size"))), Decimal(2))),
    ("FINGERPRINT:(1 2)", Or((F1, F2))),
]

GOLDEN: Pairs = [
    *FORMS,
    *FUZZY,
    *SLOP,
    *PROXIMITY,
    *WILDCARDS,
    *RANGES,
    *DATES,
    *FIELDS,
    *FIELD_GROUPS,
    *SIGNS,
    *FINGERPRINTS,
]

#: In AND mode; words in the group of a field are still joined by OR.
AND_MODE: Pairs = [
    ("a b", And((A, B))),
    ("a b OR c d", Or((And((A, B)), And((C, D))))),
    ("a OR b c", Or((A, And((B, C))))),
    ("a b AND c", And((A, B, C))),
    ("a -b", And((A, Not(B)))),
    ("a NOT b", And((A, Not(B)))),
    ("+a b", And((A, B))),
    ("a |b", clauses(("+", A), ("", B))),
    ("a |b -c", clauses(("+", A), ("", B), ("-", C))),
    ("|a |b", Or((A, B))),
    ("|a -b", clauses(("+", Everything()), ("", A), ("-", B))),
    ("-a", Not(A)),
    ("a (b c)", And((A, And((B, C))))),
    ("f:(a b)", Or((FA, FB))),
    ("f:(a (b c)) d", And((Or((FA, Or((FB, Term("c", "f"))))), D))),
    ("AND a", A),
    ("a OR AND b", Or((A, B))),
    ("big * apple b", And((Proximity(("big", "apple")), B))),
]


@pytest.mark.parametrize(("query", "tree"), GOLDEN)
def test_query_and_tree(query: str, tree: Node) -> None:
    assert parse(query) == tree


@pytest.mark.parametrize(("query", "tree"), GOLDEN + AND_MODE)
def test_tree_survives_being_written(query: str, tree: Node) -> None:
    assert parse(unparse(tree)) == tree


@pytest.mark.parametrize(("query", "tree"), AND_MODE)
def test_and_as_default_operator(query: str, tree: Node) -> None:
    assert parse(query, default_operator=Operator.AND) == tree


def test_the_two_operators_are_apart() -> None:
    assert parse("a f:(a b)", field_operator=Operator.AND) == Or((A, And((FA, FB))))
    assert parse("a f:(a b)", default_operator=Operator.AND) == And((A, Or((FA, FB))))


SPANS = [
    ("=cm:name:a b", ["=cm:name:a b", "=cm:name:a", "b"]),
    ("f:(a b)", ["a b", "a", "b"]),
    ("f:(a b)^2", ["f:(a b)^2", "a b", "a", "b"]),
    ("f : [1 TO 2] x", ["f : [1 TO 2] x", "f : [1 TO 2]", "x"]),
    ("a * b c", ["a * b c", "a * b", "c"]),
    ("1 .. 2", ["1 .. 2"]),
    ("roam ~0.8 b", ["roam ~0.8 b", "roam ~0.8", "b"]),
]


@pytest.mark.parametrize(("query", "parts"), SPANS)
def test_spans_cover_what_was_typed(query: str, parts: list[str]) -> None:
    assert [query[node.span.start : node.span.end] for node in ast.walk(parse(query))] == parts


def test_there_is_a_pair_for_each_kind_of_node() -> None:
    """
    The golden pairs contain every node type.
    """
    kinds = {type(part) for _, tree in GOLDEN for part in ast.walk(tree)}
    assert {kind.__name__ for kind in kinds} == {
        *("Term", "Phrase", "Wildcard", "Fuzzy", "Range", "Proximity", "Everything", "Fingerprint"),
        *("And", "Or", "Not", "Clauses", "Boost"),
    }


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


@pytest.mark.parametrize("strict", [False, True])
def test_a_template_as_default_field(strict: bool) -> None:
    """
    A template with the name of the default field replaces words that name no field, as in Alfresco Share's requests.
    """
    tree = parse("a AND z:a AND (a)", templates=BOTH, default_field="Name", strict=strict)
    assert tree == And((Or((AX, AY)), Term("a", "z"), Or((AX, AY))))
    assert parse("a", templates=BOTH, default_field="other", strict=strict) == A
    inner = {"name": "%(x y)", "one": "a AND %x"}
    assert parse("one:b", templates=inner, default_field="name", strict=strict) == And((A, Term("b", "x")))


def test_a_template_has_the_span_of_its_use() -> None:
    tree = parse("x OR name:a^2", templates={"name": "%(cm:name cm:title) AND NOT TYPE:t"})
    boosted = ast.children(tree)[1]
    assert {node.span for node in ast.walk(ast.children(boosted)[0])} == {ast.children(boosted)[0].span}
    assert (ast.children(boosted)[0].span.start, ast.children(boosted)[0].span.end) == (5, 11)


REFUSED_TEMPLATES = [
    ({"a": "%b", "b": "%a"}, ParameterError, "templates refer to each other in a circle: a -> b -> a"),
    ({"a": "%(a cm:name)"}, ParameterError, "templates refer to each other in a circle: a -> a"),
    ({"a": "%b", "A": "%c"}, ParameterError, "two templates have the same name, case aside: A, a"),
    ({"a": "%("}, QuerySyntaxError, "a template is %field or %(field field)"),
    ({"a": "%(b", "c": "%d"}, QuerySyntaxError, "a template is %field"),
    ({"a": "f:(%b)"}, QuerySyntaxError, "%b is in the group of another field"),
    ({f"t{n}": f"%(t{n + 1} t{n + 1})" for n in range(20)}, ParameterError, "parts, more than a query can have"),
]


@pytest.mark.parametrize(("templates", "kind", "message"), REFUSED_TEMPLATES)
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
