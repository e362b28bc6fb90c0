"""Query defaults, refused queries, and resolution of clauses by field type: golden pairs by hand.

Resolution is for a store with a field of every type. Also wildcard patterns split into words, the edits allowed by a
similarity, and edit distances.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plain_clauses
from whorl.errors import FieldError, Span, UnsupportedQueryError
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.words.tokenizer import PROFILES, tokens
from whorl.query import ast
from whorl.query.ast import Bound, Form, Operator, QueryLimits, WildcardCharacter
from whorl.query.literals import read_pattern
from whorl.query.parser import parse
from whorl.query.plan.fields_and_values import Fields
from whorl.query.plan.nodes import (
    Between,
    Bool,
    Equal,
    Exists,
    FieldClause,
    FuzzyWord,
    InOrder,
    Kind,
    MatchAll,
    Nothing,
    ResolvedPlan,
    Test,
    WildcardValue,
    Words,
    leaves,
    match_any,
)
from whorl.query.plan.planner import QueryDefaults, edit_distance, edits_of, resolve, words_of


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("b a*~0.5", "a*~0.5", "a number after a word with wildcards is not supported"),
        ('b OR "a*"~2', '"a*"~2', "a number after a word with wildcards is not supported"),
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


NOW = datetime(2024, 3, 31, 12, tzinfo=UTC)
DAY = 86_400_000
K, T, N, F, D, B = Kind.KEYWORD, Kind.TEXT, Kind.INTEGER, Kind.FLOAT, Kind.DATE, Kind.BOOLEAN
IS_CONTENT = match_any(
    (
        Equal("TYPE", K, "cm:content", 0.0),
        Equal("TYPE", K, "{http://www.alfresco.org/model/content/1.0}content", 0.0),
    ),
    1.0,
)
FIELDS = Fields(
    {
        "id": {K: "id"},
        "content": {T: "content"},
        "name": {T: "name", K: "name_whole"},
        "kind": {K: "kind"},
        "pages": {N: "pages_i"},
        "price": {N: "price_i", F: "price_f"},
        "made": {D: "made_d"},
        "done": {B: "done_b"},
        "mixed": {T: "mixed", K: "mixed_s", N: "mixed_i"},
        "TYPE": {K: "TYPE"},
        "a b": {T: "a b"},
        "cm_odd": {K: "cm_odd"},
    },
    patterns={"*_i": N, "*_xx_i": K},
    collection_names={"DBID": "number_i"},
)


def resolved(clause: ast.Leaf, weight: float = 1.0, **names: str) -> ResolvedPlan:
    assert not isinstance(clause, ast.Everything | ast.Fingerprint | ast.Template)
    return resolve(FieldClause(clause, weight), FIELDS, "query", NOW, names)[0]


def pattern(text: str) -> ast.Pattern:
    return read_pattern(text, 0)


def between(low: str | None, high: str | None, field: str, *, low_in: bool = True, high_in: bool = True) -> ast.Range:
    return ast.Range(low and Bound(low, low_in), high and Bound(high, high_in), field)  # type: ignore[arg-type]


def word_of_a_text(word: str) -> Bool[Test]:
    """Return a test for a word in texts; it excludes documents that have only numbers, because digits are indexed."""
    only_numbers = Bool(should=(Exists("mixed_i", N, 0.0),), must_not=(Exists("mixed_s", K, 0.0),), min_should_match=1)
    return Bool(must=(Words(word, "mixed", 0.0),), must_not=(only_numbers,))


PAIRS: list[tuple[ast.Leaf, ResolvedPlan]] = [
    # A clause without a field searches the words of the default fields, whatever its form.
    (ast.Term("Big", None), Words("Big")),
    (ast.Term("Big", None, Form.EXACT), Words("Big")),
    (ast.Phrase("a b", None, Form.DEFAULT, 3), Words("a b", None, 1.0, 3)),
    (ast.Wildcard(pattern("Bi*"), None), InOrder((pattern("bi*"),))),
    (ast.Wildcard(pattern("big do?"), None, Form.DEFAULT, True), InOrder((("big",), pattern("do?")))),
    (ast.Fuzzy("Roam", Decimal("0.7")), FuzzyWord("roam", 1)),
    (ast.Fuzzy("roam", Decimal("0.9")), Words("roam")),
    (ast.Proximity(("Big", "it's red"), 3), InOrder((("big",), ("it's",), ("red",)), 3)),
    # Words, and whole values where requested.
    (ast.Term("big", "content"), Words("big", "content")),
    (ast.Term("big", "content", Form.EXACT), Words("big", "content")),
    (ast.Term("big", "TEXT"), Words("big", "content")),
    (ast.Term("Big", "name"), Words("Big", "name")),
    (ast.Phrase("Big Dog", "name", Form.EXACT), Equal("name_whole", K, "Big Dog")),
    (ast.Term("Big", "kind"), Equal("kind", K, "Big")),
    (ast.Term("Big", "kind", Form.TOKENISED), Equal("kind", K, "Big")),
    (ast.Wildcard(pattern("B*"), "kind"), WildcardValue("kind", pattern("B*"))),
    (
        ast.Wildcard(pattern("B*"), "name"),
        match_any((InOrder((pattern("b*"),), 0, "name", 0.0), WildcardValue("name_whole", pattern("B*"), 0.0)), 1.0),
    ),
    (ast.Wildcard(pattern("B*"), "name", Form.EXACT), WildcardValue("name_whole", pattern("B*"))),
    (ast.Wildcard(pattern("B*"), "name", Form.TOKENISED), InOrder((pattern("b*"),), 0, "name")),
    # Only the whole value contains the characters between words.
    (ast.Wildcard(pattern("x-*"), "name"), WildcardValue("name_whole", pattern("x-*"))),
    (ast.Wildcard(pattern("*"), "name"), Exists("name_whole", K)),
    (ast.Wildcard(pattern("*"), "content"), Exists("content", T)),
    (ast.Fuzzy("Roam", Decimal(2), "kind"), FuzzyWord("Roam", 2, "kind")),
    (ast.Fuzzy("Roam", Decimal("0.9"), "kind"), Equal("kind", K, "Roam")),
    # Numbers are compared by value.
    (ast.Term("007", "pages"), Equal("pages_i", N, 7)),
    (ast.Term("7.0", "pages"), Equal("pages_i", N, 7)),
    (ast.Term("7.5", "price"), Equal("price_f", F, 7.5)),
    (ast.Term("7", "price"), match_any((Equal("price_i", N, 7, 0.0), Equal("price_f", F, 7.0, 0.0)), 1.0)),
    (ast.Term("7", "x_i"), Equal("x_i", N, 7)),
    (ast.Term("7", "x_xx_i"), Equal("x_xx_i", K, "7")),
    (ast.Term("7", "DBID"), Equal("number_i", N, 7)),
    (between("1", "5", "pages"), Between("pages_i", N, 1, 5)),
    (between("1", "5", "pages", low_in=False, high_in=False), Between("pages_i", N, 1, 5, False, False)),
    # 1.5 is not a whole number, so the range begins at 2, inclusive or not.
    (between("1.5", "5.5", "pages", low_in=False, high_in=False), Between("pages_i", N, 2, 5)),
    (between("-1e30", "1e30", "pages"), Between("pages_i", N, None, None)),
    (between("1e30", None, "pages"), Between("pages_i", N, (1 << 63) - 1, None, False)),
    (between(None, "-1e30", "pages"), Between("pages_i", N, None, -(1 << 63), True, False)),
    (between(None, None, "pages"), Exists("pages_i", N)),
    # A day is in a range entirely or not at all.
    (ast.Term("1970-01-02", "made"), Between("made_d", D, DAY, 2 * DAY - 1)),
    (between("1970-01-02", "1970-01-02", "made"), Between("made_d", D, DAY, 2 * DAY - 1)),
    (
        between("1970-01-02", "1970-01-04", "made", low_in=False, high_in=False),
        Between("made_d", D, 2 * DAY - 1, 3 * DAY, False, False),
    ),
    (ast.Term("TRUE", "done"), Equal("done_b", B, True)),
    # A field of several types matches by every type that can read the text.
    (ast.Term("7", "mixed"), match_any((word_of_a_text("7"), Equal("mixed_i", N, 7, 0.0)), 1.0)),
    (ast.Term("seven", "mixed"), match_any((word_of_a_text("seven"),), 1.0)),
    (
        ast.Term("7", "mixed", Form.EXACT),
        match_any((Equal("mixed_s", K, "7", 0.0), Equal("mixed_i", N, 7, 0.0)), 1.0),
    ),
    (ast.Term("seven", "mixed", Form.EXACT), Equal("mixed_s", K, "seven")),
    (between("1", "5", "mixed"), Between("mixed_i", N, 1, 5)),
    (between("a", "b", "mixed"), Between("mixed_s", K, "a", "b")),
    # Names with a namespace.
    (ast.Term("x", "cm:kind"), Equal("kind", K, "x")),
    (ast.Term("x", "cm_kind"), Equal("kind", K, "x")),
    (ast.Term("x", "{http://www.alfresco.org/model/content/1.0}kind"), Equal("kind", K, "x")),
    (ast.Term("x", "ex:a_x0020_b"), Words("x", "a b")),
    (ast.Term("x", "cm_odd"), Equal("cm_odd", K, "x")),
    (ast.Term("x", "ID"), Equal("id", K, "x")),
    # Alfresco's index has the full namespace.
    (ast.Term("cm:content", "EXACTTYPE"), IS_CONTENT),
    (ast.Term("cm:content", "CLASS"), IS_CONTENT),
    (ast.Term("true", "d:boolean"), Equal("done_b", B, True)),
    (ast.Term("x", "d:content"), Words("x", "content")),
    # Presence of any value.
    (ast.Phrase("cm:kind", "EXISTS"), Exists("kind", K)),
    (ast.Term("pages", "ISNOTNULL"), Exists("pages_i", N)),
    (ast.Term("price", "EXISTS"), match_any((Exists("price_i", N, 0.0), Exists("price_f", F, 0.0)), 1.0)),
    (ast.Term("kind", "ISNULL"), Bool(must=(MatchAll(1.0),), must_not=(Exists("kind", K, 0.0),))),
    (ast.Term("name", "ISUNSET"), Bool(must=(MatchAll(1.0),), must_not=(Exists("name_whole", K, 0.0),))),
]


@pytest.mark.parametrize(("clause", "plan"), PAIRS, ids=str)
def test_the_type_of_a_field_determines_the_test(clause: ast.Leaf, plan: ResolvedPlan) -> None:
    """
    The type of its field determines the test of a clause.
    """
    assert resolved(clause) == plan


@pytest.mark.parametrize(("clause", "name"), [(ast.Term("x", "ALL"), 4), (ast.Term("x", "d:any"), 8)])
def test_all_fields(clause: ast.Leaf, name: int) -> None:
    """
    A clause on many fields searches the fields that can read it, and scores once.
    """
    plan = resolved(clause, 2.0)
    assert isinstance(plan, Bool)
    assert plan.must == (MatchAll(2.0),)
    assert len(plan.should) == name
    assert {test.weight for test in leaves(plan) if not isinstance(test, MatchAll)} == {0.0}  # type: ignore[union-attr]


def test_weights_are_kept() -> None:
    """
    A boost is the score of the clause, however many fields it searches.
    """
    assert resolved(ast.Term("x", "kind"), 2.5) == Equal("kind", K, "x", 2.5)
    inside = Bool(must=(FieldClause(ast.Term("x", "kind"), 3.0),), must_not=(FieldClause(ast.Term("1", "pages"), 0.0),))
    assert resolve(inside, FIELDS, "", NOW)[0] == Bool(
        must=(Equal("kind", K, "x", 3.0),), must_not=(Equal("pages_i", N, 1, 0.0),)
    )


def test_fields_without_a_value() -> None:
    """
    A field declared empty has no values, in every kind of clause, and a warning says so.
    """
    for leaf in (
        ast.Term("x", "QNAME"),
        between("a", "b", "QNAME"),
        ast.Wildcard(pattern("x*"), "QNAME"),
        ast.Term("QNAME", "EXISTS"),
    ):
        clause, warnings = resolve(FieldClause(leaf), FIELDS, "", NOW, empty={"QNAME"})
        assert isinstance(clause, Nothing)
        assert warnings == (clause.reason,) == ("the store has no field QNAME, so no document has a value there",)
    clause, _ = resolve(FieldClause(ast.Term("QNAME", "ISNULL")), FIELDS, "", NOW, empty={"QNAME"})
    assert clause == Bool(must=(MatchAll(1.0),))
    assert resolve(FieldClause(ast.Term("x", "kind")), FIELDS, "", NOW, empty={"kind"})[1] == ()


ERRORS: list[tuple[ast.Leaf, str, str]] = [
    (ast.Term("x", "knid"), "the store has no field 'knid'", "Did you mean kind"),
    (ast.Term("x", "cm:knid"), "the store has no field 'cm:knid'", "Did you mean kind"),
    (ast.Term("x", "zzzzzzz"), "the store has no field 'zzzzzzz'", ""),
    (ast.Term("x", "SITE"), "SITE needs an Alfresco repository behind it", "Index a property SITE, or name"),
    (ast.Term("x", "EXISTS"), "the store has no field 'x'", ""),
    (between("a", "b", "EXISTS"), "EXISTS takes the name of a field", ""),
    (ast.Term("x", "pages"), "'pages' holds whole numbers: 'x' is not a number", ""),
    (ast.Term("1.5", "pages"), "'1.5' is not a whole number", ""),
    (ast.Term("9" * 20, "pages"), "is above 2^63 - 1 or below -2^63", ""),
    (ast.Term("1e999", "price"), "is above 2^63 - 1 or below -2^63", ""),
    (ast.Term("x", "price"), "holds whole numbers and numbers: 'x' is not a number", ""),
    (ast.Term("x", "made"), "'x' is not a date", ""),
    (ast.Term("maybe", "done"), "neither true nor false", ""),
    (between("true", None, "done"), "a range needs values that have an order", ""),
    (between("a", "b", "content"), "holds words: a range needs whole values", ""),
    (ast.Range(Bound("a"), None), "a range needs a field", ""),
    (between("x" * 101, None, "kind"), "at most 100 characters, got 101", ""),
    (ast.Wildcard(pattern("2*"), "pages"), "wildcards need text", "Write a range"),
    (ast.Wildcard(pattern("a * b"), "content"), "must be part of a word", "big * apple"),
    (ast.Fuzzy("a b", Decimal("0.5"), "content"), "'a b' is 2 words", ""),
    (ast.Fuzzy("12", Decimal("0.5"), "pages"), "holds whole numbers: this needs words", ""),
    (ast.Proximity(("a", "b"), 2, "kind"), "holds text: this needs words", ""),
    (ast.Term("x", "d:date"), "'x' is not a date", ""),
]


@pytest.mark.parametrize(("clause", "message", "hint"), ERRORS, ids=str)
def test_clauses_that_a_type_does_not_support(clause: ast.Leaf, message: str, hint: str) -> None:
    """
    The error names the type, the problem and the clause.
    """
    with pytest.raises(FieldError) as raised:
        resolved(clause)
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert (raised.value.query, raised.value.span) == ("query", clause.span)


def test_the_caret() -> None:
    """
    The caret marks the clause.
    """
    clause = ast.Term("x", "knid", span=Span(6, 12))
    with pytest.raises(FieldError) as raised:
        resolve(FieldClause(clause), FIELDS, "a AND knid:x", NOW)
    assert str(raised.value).splitlines()[1:3] == ["  a AND knid:x", "        ^^^^^^"]


def test_a_value_with_a_colon() -> None:
    """
    A value with a colon and without quotes is read as another field; the hint puts it into quotes.
    """
    query = "a AND =kind:ark:/12148/x"
    with pytest.raises(FieldError) as raised:
        resolve(FieldClause(ast.Term("/12148/x", "kind:ark", span=Span(6, len(query)))), FIELDS, query, NOW)
    assert raised.value.hint == 'Put a value with a colon into quotes: =kind:"ark:/12148/x"'


@pytest.mark.parametrize(
    ("value", "quoted"), [('a:"b c"', "a:b c"), (r"a:\"b\" c", r"a:\"b\" c"), (r"x\:y:z", r"x\:y:z")]
)
def test_a_value_with_a_colon_and_quotation_marks(value: str, quoted: str) -> None:
    """
    The hint has no quotation marks within its quotes, unless they are escaped.
    """
    query = f"kind:{value}"
    with pytest.raises(FieldError) as raised:
        resolve(FieldClause(ast.Term("z", f"kind:{value}", span=Span(0, len(query)))), FIELDS, query, NOW)
    assert raised.value.hint == f'Put a value with a colon into quotes: kind:"{quoted}"'


def test_a_mark_below_a_special_value() -> None:
    """
    The caret marks the whole clause with a special value of SITE if the store has no such field.
    """
    query = "a AND SITE:_ALL_SITES_"
    with pytest.raises(FieldError) as raised:
        resolve(QueryDefaults().plan(query), FIELDS, query, NOW)
    assert raised.value.span == Span(6, len(query))


def test_a_hint_at_a_field_called_fingerprint() -> None:
    """
    A query cannot search in such a field, but the hint can name it, as EXISTS can.
    """
    fields = Fields({"fingerprint": {Kind.KEYWORD: "fingerprint"}})
    with pytest.raises(FieldError) as raised:
        resolve(FieldClause(ast.Term("fingerprnt", "EXISTS")), fields, "EXISTS:fingerprnt", NOW)
    assert raised.value.hint == "Did you mean fingerprint?"


def test_names_of_the_settings() -> None:
    """
    The mapping of the settings is used unchanged, even if its field does not exist.
    """
    assert resolved(ast.Term("x", "SITE"), SITE="kind") == Equal("kind", K, "x")
    assert resolved(ast.Term("x", "cm:title"), title="kind") == Equal("kind", K, "x")
    assert resolved(ast.Term("x", "name"), name="kind") == Equal("kind", K, "x")
    with pytest.raises(FieldError, match=r"no field 'knid' \(SITE\)") as raised:
        resolved(ast.Term("x", "SITE"), SITE="knid")
    assert raised.value.hint == "Did you mean kind or id?"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("kind=pdf", "kind:pdf"),
        ("kind==pdf", "kind:pdf"),
        ("kind!=pdf", "NOT kind:pdf"),
        ("kind=", "kind:…"),
        ("x=pdf", ""),
        ("kind", ""),
    ],
)
def test_an_equals_sign_after_a_field(typed: str, meant: str) -> None:
    """
    `kind=pdf` is no field clause; a warning says how to write one, if the store has the field.
    """
    warnings = resolve(FieldClause(ast.Term(typed)), FIELDS, "", NOW)[1]
    expected = (f"{typed!r} is looked for as words; in the field it is {meant}",) if meant else ()
    assert warnings == expected


@pytest.mark.parametrize(("high", "warns"), [(ast.Bound("20"), True), (None, True), (ast.Bound("b"), False)])
def test_a_range_of_numbers_among_texts(high: ast.Bound | None, warns: bool) -> None:
    """
    A range of numbers in a field that holds only texts compares letters, and a warning says so.
    """
    warnings = resolve(FieldClause(ast.Range(ast.Bound("5"), high, "kind")), FIELDS, "", NOW)[1]
    assert [text.partition(":")[0] for text in warnings] == [
        "field 'kind' holds text, so the range compares letters"
    ] * warns


@pytest.mark.parametrize(
    "clause",
    [
        ast.Wildcard(pattern("-*"), "content"),
        ast.Proximity(("--", "."), 3),
        ast.Term("_._"),
        ast.Phrase("--", "content"),
    ],
)
def test_no_words(clause: ast.Leaf) -> None:
    """
    A clause without any word matches nothing, with a warning.
    """
    assert not isinstance(clause, ast.Everything | ast.Fingerprint | ast.Template)
    plan, warnings = resolve(FieldClause(clause), FIELDS, "", NOW)
    assert isinstance(plan, Nothing)
    assert warnings == (plan.reason,)


def test_now_is_the_same_in_all_clauses() -> None:
    """
    Every NOW of a query is the given moment.
    """
    plan = resolve(
        Bool(should=(FieldClause(ast.Term("NOW", "made")), FieldClause(between("NOW", "NOW", "made")))), FIELDS, "", NOW
    )
    milliseconds = int(NOW.timestamp() * 1000)
    assert plan[0] == Bool(should=(Between("made_d", D, milliseconds, milliseconds),) * 2)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("Bi*", ["bi*"]),
        ("*port", ["*port"]),
        ("b?g*", ["b?g*"]),
        ("big dog*", ["big", "dog*"]),
        ("my-file*", ["my", "file*"]),
        ("x-*", ["x", "*"]),
        ("*.pdf", ["*.pdf"]),
        ("при*", ["при*"]),
        ("п*ет", ["п*ет"]),
        ("東京*", ["東京*"]),
        ("STRA?E", ["stra?e"]),
        ("ﬁ*", ["fi*"]),
        ("it's*", ["it's*"]),
        ("ꟻ*", ["ꟻ*"]),
        ("---*", ["*"]),
    ],
)
def test_words_of_patterns(typed: str, words: list[str]) -> None:
    """
    A wildcard belongs to the word that it touches, in every script.
    """
    assert words_of(read_pattern(typed, 0), "icu74") == [read_pattern(word, 0) for word in words]


@pytest.mark.parametrize(
    ("similarity", "length", "edits"),
    # 0.8 as a 32-bit float is slightly larger, so it allows no edit in five characters.
    [
        ("0.8", 5, 0),
        ("0.8", 6, 1),
        ("0.9", 10, 1),
        ("0.5", 4, 2),
        ("0.1", 30, 2),
        ("0", 9, 0),
        ("1", 9, 1),
        ("7", 9, 2),
    ],
)
def test_edits(similarity: str, length: int, edits: int) -> None:
    """
    The number of edits is that of Lucene's FuzzyQuery.floatToEdits.
    """
    assert edits_of(Decimal(similarity), length) == edits


@pytest.mark.parametrize("profile", PROFILES)
@given(st.lists(st.one_of(st.sampled_from(WildcardCharacter), st.text(max_size=6)), max_size=5))
def test_every_wildcard_is_kept(profile: str, pieces: list[str | WildcardCharacter]) -> None:
    """
    Every wildcard is kept in order, whatever surrounds it, even the placeholder letters; without wildcards the words
    are those of the text.
    """
    pattern = tuple(pieces)
    words = words_of(pattern, profile)
    assert [part for word in words for part in word if isinstance(part, WildcardCharacter)] == [
        part for part in pattern if isinstance(part, WildcardCharacter)
    ]
    assert all(not (isinstance(a, str) and isinstance(b, str)) for word in words for a, b in pairwise(word))
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    assert words_of((text,), profile) == [(word,) for word in tokens(well_formed(text), profile) if word]


def test_placeholder_letters_are_text() -> None:
    """
    If a text contains the first placeholder letter, the next one is used.
    """
    assert words_of(("ꟻꟼ", WildcardCharacter.ANY, "ꟽ", WildcardCharacter.ONE), "icu74") == [
        ("ꟻꟼ", WildcardCharacter.ANY, "ꟽ", WildcardCharacter.ONE)
    ]


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distances(one: str, other: str) -> None:
    """
    The edit distance is that of the reference implementation, which tries every edit.
    """
    assert edit_distance(one, other) == plain_clauses.distance(one, other)


@pytest.mark.parametrize("path", ["//cm:lease", "/app:company_home//cm:lease", "/app:company_home/cm:lease"])
def test_paths_of_words_are_compared_as_words(path: str) -> None:
    """
    In a field with only words, which a collection of another program may have, a path is a phrase.
    """
    clause = FieldClause(ast.Phrase(path, "PATH"))
    assert resolve(clause, Fields({"PATH": {T: "PATH"}}), "", NOW)[0] == Words(path, "PATH", 1.0)
