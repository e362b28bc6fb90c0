"""Alfresco's strict reading: the queries that it accepts and refuses."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.query.trees import ANY, EXACT, TOKENISED, A, Pairs, between
from whorl.errors import QuerySyntaxError
from whorl.query import ast
from whorl.query.ast import And, Boost, Everything, Fingerprint, Fuzzy, Node, Or, Phrase, Proximity, Term, Wildcard
from whorl.query.parser import parse

MOMENT = "2012-01-01T00:00:00.000Z"

#: Alfresco's own readings; tests/query/differences.py lists the surprising ones.
READ: Pairs = [
    ("red or blue OR pink", Or((Term("red"), Term("blue"), Term("pink")))),
    (
        "one and cm:name:two and seven * eight",
        And((Term("one"), Term("two", "cm:name"), Proximity(("seven", "eight")))),
    ),
    ("test.txt", Term("test.txt")),
    (".txt.doc.banana", Term(".txt.doc.banana")),
    ("1.2.3.4.", Term("1.2.3.4.")),
    ("-1.02", Term("-1.02")),
    (r"+\++", Term("++")),
    (r"wlss\:FourBC\:'BEBO'", Term("wlss:FourBC:'BEBO'")),
    ("1..2", between("1", "2")),
    ("cm_name:[1.2 TO 3.4]", between("1.2", "3.4", "cm_name")),
    ("<apple TO pear]", between("apple", "pear", ends="<]")),
    ("zebra~2.4", Fuzzy("zebra", Decimal("2.4"))),
    ("a^-2", Boost(A, Decimal(-2))),
    ('"zebra"~2', Phrase("zebra", slop=2)),
    ("big *(7) apple", Proximity(("big", "apple"), 7)),
    ("*woof*woof*", Wildcard((ANY, "woof", ANY, "woof", ANY))),
    ("name:*", Wildcard((ANY,), "name")),
    ("*", Everything()),
    ("cm:name:(woof ~banana)", Or((Term("woof", "cm:name"), Term("banana", "cm:name", TOKENISED)))),
    ("TYPE:{http://x/1.0}folder", Term("{http://x/1.0}folder", "TYPE")),
    ("cm:content.mimetype:*", Wildcard((ANY,), "cm:content.mimetype")),
    ("NOW/DAY-1DAY", Term("NOW/DAY-1DAY")),
    (f"cm:created:[{MOMENT} TO NOW]", between(MOMENT, "NOW", "cm:created")),
    ("FINGERPRINT:1234_20_80", Fingerprint("1234", Decimal("0.2"), Decimal("0.8"))),
    ("OR a", A),
    ("TO:x OR OR:y", Or((Term("x", "TO"), Term("y", "OR")))),
    ("name:report.txt", Term("report.txt", "name")),
    ("=name:report.txt", Term("report.txt", "name", EXACT)),
    ("cm:name:a.b.c", Term("a.b.c", "cm:name")),
    ("my-field:a", Term("a", "my-field")),
    ("a*~0.5", Wildcard(("a", ANY), fuzziness=Decimal("0.5"))),
    ('"a*"~2', Wildcard(("a", ANY), is_phrase=True, fuzziness=Decimal(2))),
    ("%a", ast.Template(("a",))),
    ("%(a b)", ast.Template(("a", "b"))),
    ("a AND %(cm:a, b)^2", And((A, Boost(ast.Template(("cm:a", "b")), Decimal(2))))),
]


@pytest.mark.parametrize(("query", "tree"), READ)
def test_as_alfresco_reads_it(query: str, tree: Node) -> None:
    assert parse(query, strict=True) == tree


#: Queries that Alfresco refuses, and therefore also strict=True.
REFUSED = [
    ("\u200b\u180e", "^^", "the query is empty"),
    ("AND a", "^^^", "AND needs something to search for before it"),
    ("OR OR a", "   ^^", "OR needs something to search for after it"),
    ("NOT:x", "   ^", "Alfresco's grammar cannot go on with :"),
    ("--a", " ^", "Alfresco's grammar cannot go on with -"),
    ("!!a", " ^", "Alfresco's grammar cannot go on with !"),
    ("{1 TO 2}", "^", "this { is not part of a range"),
    ("http://x", "     ^", "/ begins nothing in Alfresco's language"),
    ("$", "^", "Alfresco's grammar cannot go on with $"),
    ("-.5.", "^^^^", "a number with a sign cannot stand between dots"),
    ("#tag", "^", "# begins nothing in Alfresco's language"),
    ("😀", "^", "😀 begins nothing in Alfresco's language"),
    ('f:(="a b")', "   ^", "Alfresco's grammar cannot go on with ="),
    ("a^1e3", " ^", "Alfresco's grammar cannot go on with ^"),
    ("zebra~", "     ^", "Alfresco's grammar cannot go on with ~"),
    ("1..", " ^^", "Alfresco's grammar cannot go on with .."),
    ("(%(a", "    ^", "this is not the name of a field"),
    ("a.b.c:d", "     ^", "Alfresco's grammar cannot go on with :"),
    ("a NOT", "     ^", "something to search for is missing at the end"),
    ("(a", "^", "this parenthesis is never closed"),
    ("a)", " ^", "this parenthesis closes nothing"),
    ("f:(a:b)", "    ^", "Alfresco's grammar cannot go on with :"),
    ("a~12345678901234567890123", "  ^^^^^^^^^^^^^^^^^^^^^^^", "a number has more than 20 characters"),
    ("2012-01-01T00:00:00+x", "^^^^^^^^^^^^^^^^^^^^", "this date does not go on as a date does"),
    ("2012-01-01T00:00:00.000Z/DA", "^^^^^^^^^^^^^^^^^^^^^^^^^^^", "this date does not go on as a date does"),
]


@pytest.mark.parametrize(("query", "caret", "message"), REFUSED)
def test_queries_that_alfresco_refuses(query: str, caret: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(query, strict=True)
    assert message in caught.value.message
    assert str(caught.value).splitlines()[2] == "  " + caret
    assert caught.value.span.end <= len(query)
