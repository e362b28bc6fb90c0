"""Literals: FINGERPRINTs with ids of every kind and numbers, field names, and how they are written."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.query.strategies import answer, words
from whorl.errors import ParameterError, QueryError, QuerySyntaxError
from whorl.query import ast
from whorl.query.ast import And, Bound, Fingerprint, Form, Or, Phrase, Range, Term
from whorl.query.literals import QUALIFIED, Typed, read_field, read_number, split_at_underscores, unescape
from whorl.query.parser import parse
from whorl.query.unparse import quote, unparse, write_field, write_number, write_quoted, write_word

F20, F80 = Decimal("0.2"), Decimal("0.8")
UUID = "2d5d2e4b-0f6c-4a53-9c6f-3f0f0d1a9b70"

UNQUOTED = [
    ("FINGERPRINT:1234", Fingerprint("1234")),
    ("FINGERPRINT:1234_20", Fingerprint("1234", F20)),
    ("FINGERPRINT:1234_20_80", Fingerprint("1234", F20, F80)),
    ("FINGERPRINT:1234_0.5_0.9", Fingerprint("1234", Decimal("0.5"), Decimal("0.9"))),
    (f"FINGERPRINT:{UUID}_70_90", Fingerprint(UUID, Decimal("0.7"), Decimal("0.9"))),
    (f"FINGERPRINT:workspace://SpacesStore/{UUID}_20", Fingerprint(f"workspace://SpacesStore/{UUID}", F20)),
    ("FINGERPRINT:notes/a.md_50", Fingerprint("notes/a.md", Decimal("0.5"))),
    ("FINGERPRINT:50%*?~=&!|[]{}<>,;+-@#$", Fingerprint("50%*?~=&!|[]{}<>,;+-@#$")),
    ("FINGERPRINT:😀é", Fingerprint("😀é")),
    ("FINGERPRINT:and", Fingerprint("and")),
    ("FINGERPRINT:-5", Fingerprint("-5")),
    (r"FINGERPRINT:my\_doc\_1_20", Fingerprint("my_doc_1", F20)),
    (r"FINGERPRINT:a\ \(b\)\"\'\^\\", Fingerprint("a (b)\"'^\\")),
    (r"FINGERPRINT:\u005f_20", Fingerprint("_", F20)),
    ("FINGERPRINT: 1234_20", Fingerprint("1234", F20)),
    ("@FINGERPRINT:1234_20", Fingerprint("1234", F20)),
    ("=FINGERPRINT:1234_20", Fingerprint("1234", F20)),
    ("~FINGERPRINT:1234_20", Fingerprint("1234", F20)),
]

QUOTED = [
    ('FINGERPRINT:"1234_20_80"', Fingerprint("1234", F20, F80, whole_reference="1234_20_80")),
    ("FINGERPRINT:'1234_20_80'", Fingerprint("1234", F20, F80, whole_reference="1234_20_80")),
    ('FINGERPRINT:("1234_20")', Fingerprint("1234", F20, whole_reference="1234_20")),
    ('FINGERPRINT:"load_test_pkg_err.txt"', Fingerprint("load_test_pkg_err.txt")),
    ("FINGERPRINT:'my_doc'", Fingerprint("my_doc")),
    ('FINGERPRINT:"report_140"', Fingerprint("report_140")),
    ('FINGERPRINT:"_50"', Fingerprint("_50")),
    ('FINGERPRINT:"a_1_2_3"', Fingerprint("a_1_2_3")),
    (r'FINGERPRINT:"my\_doc_20"', Fingerprint("my_doc", F20)),
    (r'FINGERPRINT:"say \"no\"_20"', Fingerprint('say "no"', F20, whole_reference='say "no"_20')),
    ('FINGERPRINT:"report (1).pdf"', Fingerprint("report (1).pdf")),
    ('FINGERPRINT:"report (1).pdf_20"', Fingerprint("report (1).pdf", F20, whole_reference="report (1).pdf_20")),
    (r'FINGERPRINT:"my\_doc\_1"', Fingerprint("my_doc_1")),
    (r'FINGERPRINT:"a\"b\\c\u0041"', Fingerprint('a"b\\cA')),
    ('FINGERPRINT:"it\'s"', Fingerprint("it's")),
    ('FINGERPRINT:"what? *"', Fingerprint("what? *")),
    ('FINGERPRINT:"my_doc_1"_20_80', Fingerprint("my_doc_1", F20, F80)),
    ("FINGERPRINT:'my_doc_1'_20", Fingerprint("my_doc_1", F20)),
    ('FINGERPRINT:"_"_20', Fingerprint("_", F20)),
    ('FINGERPRINT:"a:b,c/d"_20', Fingerprint("a:b,c/d", F20)),
]

NUMBERS = [
    ("FINGERPRINT:x_1", "1"),
    ("FINGERPRINT:x_100", "1"),
    ("FINGERPRINT:x_1.0", "1"),
    ("FINGERPRINT:x_50", "0.5"),
    ("FINGERPRINT:x_0.5", "0.5"),
    ("FINGERPRINT:x_.5", "0.5"),
    ("FINGERPRINT:x_050", "0.5"),
    ("FINGERPRINT:x_1.5", "0.015"),
    ("FINGERPRINT:x_12.5", "0.125"),
    ("FINGERPRINT:x_0.01", "0.01"),
    ("FINGERPRINT:x_99.99999999999999999", "0.9999999999999999999"),
    ("FINGERPRINT:x_0.0000000000000000001", "0.0000000000000000001"),
]


@pytest.mark.parametrize(("query", "node"), UNQUOTED + QUOTED)
def test_literal(query: str, node: Fingerprint) -> None:
    assert parse(query) == node


@pytest.mark.parametrize(("query", "fraction"), NUMBERS)
def test_number_is_an_exact_fraction(query: str, fraction: str) -> None:
    node = parse(query)
    assert isinstance(node, Fingerprint)
    assert str(node.overlap) == str(Decimal(fraction))


def test_a_literal_ends_before_the_next_clause() -> None:
    assert parse("(FINGERPRINT:1_20)AND(a)") == And((Fingerprint("1", F20), Term("a")))
    assert parse("FINGERPRINT:1_20 a") == Or((Fingerprint("1", F20), Term("a")))


def test_a_group_of_fingerprints() -> None:
    """
    A group after FINGERPRINT works as after any field; each id has its own numbers.
    """
    assert parse("FINGERPRINT:(1_20 2_0.5_0.8 -'3')") == parse("FINGERPRINT:1_20 FINGERPRINT:2_50_80 -FINGERPRINT:3")
    assert parse("FINGERPRINT:(\"a b_1\"_20 OR 'c d'_50_80)") == parse(
        "FINGERPRINT:\"a b_1\"_20 OR FINGERPRINT:'c d'_50_80"
    )


RANGE = "must be above 0 and at most 100 percent, got"
#: Query, caret line, message, hint.
MISTAKES = [
    (
        "FINGERPRINT:a_140",
        "              ^^^",
        f"the overlap {RANGE} 140",
        r"FINGERPRINT:a\_140",
    ),
    (
        "FINGERPRINT:a_0",
        "              ^",
        f"the overlap {RANGE} 0",
        r"FINGERPRINT:a\_0",
    ),
    (
        "FINGERPRINT:a_-5",
        "              ^^",
        f"the overlap {RANGE} -5",
        r"FINGERPRINT:a\_-5",
    ),
    (
        "FINGERPRINT:a_20_100.5",
        "                 ^^^^^",
        f"the probability {RANGE} 100.5",
        r"FINGERPRINT:a\_20\_100.5",
    ),
    (
        'FINGERPRINT:"a"_20_0.0',
        "                   ^^^",
        f"the probability {RANGE} 0.0",
        "",
    ),
    (
        "FINGERPRINT:a_50%",
        "              ^^^",
        "the overlap must be a number, got 50%",
        "Leave out the %: 50",
    ),
    (
        "FINGERPRINT:a_0,5",
        "              ^^^",
        "the overlap must be a number, got 0,5",
        "Use a point: 0.5",
    ),
    (
        "FINGERPRINT:a_1e2",
        "              ^^^",
        "the overlap must be a number, got 1e2",
        "without an exponent",
    ),
    (
        "FINGERPRINT:a_٢٠",
        "              ^^",
        "the overlap must be a number, got ٢٠",
        "",
    ),
    (
        "FINGERPRINT:a_20.",
        "              ^^^",
        "the overlap must be a number, got 20.",
        "",
    ),
    (
        "FINGERPRINT:my_doc_1",
        "               ^^^",
        "the overlap must be a number, got doc",
        'FINGERPRINT:"my_doc"_1 (in an id,',
    ),
    (
        r"FINGERPRINT:a\_b_doc",
        "                 ^^^",
        "the overlap must be a number, got doc",
        r"FINGERPRINT:a\_b\_doc",
    ),
    (
        r"FINGERPRINT:'a\_b_doc'",
        "                  ^^^",
        "the overlap must be a number, got doc",
        r"FINGERPRINT:'a\_b\_doc'",
    ),
    (
        "FINGERPRINT:1234_20_abc",
        "                    ^^^",
        "the probability must be a number, got abc",
        r"FINGERPRINT:1234\_20\_abc",
    ),
    (
        "FINGERPRINT:1234__80",
        "                 ^",
        "the overlap after _ is missing",
        'FINGERPRINT:"1234_"_80',
    ),
    (
        "FINGERPRINT:1234_",
        "                 ^",
        "the overlap after _ is missing",
        r"FINGERPRINT:1234\_",
    ),
    (
        'FINGERPRINT:"a"_20_ b',
        "                   ^",
        "the probability after _ is missing",
        "",
    ),
    (
        "FINGERPRINT:a_b_20_80_5",
        "                   ^^^^",
        "more than two numbers follow the id",
        'FINGERPRINT:"a_b_20"_80_5',
    ),
    (
        'FINGERPRINT:"a"_20_80_5',
        "                      ^",
        "more than two numbers follow the id",
        "",
    ),
    (
        'FINGERPRINT:"a"b_20',
        "               ^^^^",
        "only _<overlap>_<probability> can follow the closing quote",
        'FINGERPRINT:"my_doc"_20_80',
    ),
    (
        'FINGERPRINT:("a"b_20)',
        "                ^^^^",
        "a space is missing before b_20",
        "",
    ),
    (
        'FINGERPRINT:("a"_140 b)',
        "                 ^^^",
        "the overlap must be above 0 and at most 100 percent, got 140",
        "",
    ),
    (
        'TEXT:("a"_20_80 b)',
        "         ^^^^^^",
        "a space is missing before _20_80",
        r"\'",
    ),
    (
        "FINGERPRINT:",
        "            ^",
        "the id of a document is missing",
        "FINGERPRINT:1234",
    ),
    (
        "FINGERPRINT:_50",
        "            ^",
        "the id of a document is missing",
        "",
    ),
    (
        'FINGERPRINT:""',
        "             ^",
        "the id of a document is missing",
        "",
    ),
    (
        "FINGERPRINT: AND a",
        "             ^",
        "the id of a document is missing",
        "",
    ),
    (
        "FINGERPRINT:report(1).pdf",
        "                  ^",
        "a space is missing before (",
        'FINGERPRINT:"report (1).pdf"',
    ),
    (
        "FINGERPRINT:(1..2)",
        "             ^^^^",
        "FINGERPRINT takes the id of a document, got 1..2",
        "FINGERPRINT:1234_20_80",
    ),
    (
        "@FINGERPRINT:a~0.5",
        "              ^^^^",
        "FINGERPRINT takes the id of a document, got ~0.5",
        "",
    ),
    (
        "FINGERPRINT:(a_140)",
        "               ^^^",
        f"the overlap {RANGE} 140",
        "",
    ),
    (
        'FINGERPRINT:"a',
        "            ^",
        "this quote is never closed",
        "",
    ),
    (
        "fingerprint:x",
        "^^^^^^^^^^^",
        "fingerprint is not a field",
        "FINGERPRINT is written in capitals: FINGERPRINT:x",
    ),
    (
        "FINGERPRINT:a_0.00000000000000000001",
        "              ^^^^^^^^^^^^^^^^^^^^^^",
        "the overlap has more than 20 characters",
        "",
    ),
]


@pytest.mark.parametrize(("query", "caret", "message", "hint"), MISTAKES)
def test_mistake(query: str, caret: str, message: str, hint: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(query)
    assert caught.value.message == message
    assert str(caught.value).splitlines()[2] == "  " + caret
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", QUALIFIED)
def test_the_writer_knows_the_fields_whose_values_are_qualified_names(name: str) -> None:
    """
    The grammar and the writer agree on the fields with qualified names as values.
    """
    assert parse(f"{name}:cm:x") == ast.Term("cm:x", name)
    assert parse(unparse(ast.Term("x", f"{name}:cm"))) == ast.Term("x", f"{name}:cm")


# Hints suggest valid queries.

SUGGESTED = re.compile(r"write (FINGERPRINT:.*) \(in an id")
ids = st.lists(
    st.one_of(st.sampled_from(["", "doc", "20", "140", "0", ".5", "-1", "1" * 21, r"a\_b", "a*", "%", "é"]), words()),
    min_size=2,
    max_size=5,
)


@given(ids.map("_".join).filter(lambda text: not re.search(r"""[\s()"'^\\]""", text.replace(r"\_", ""))))
def test_a_suggested_literal_is_one_of_the_same_document(typed: str) -> None:
    """
    A suggested FINGERPRINT can be read; its id is a prefix of the typed text, and the rest is numbers.
    """
    refused = answer(f"FINGERPRINT:{typed}")
    if isinstance(refused, QueryError) and (suggested := SUGGESTED.search(refused.hint)):
        node = parse(suggested[1])
        assert isinstance(node, Fingerprint)
        plain = typed.replace("\\", "")
        assert plain.startswith(node.reference)
        assert (node.overlap is None) == (plain == node.reference)


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("a_20_80", ["a", "20", "80"]),
        (r"a\_b_20", [r"a\_b", "20"]),
        (r"a\\_20", [r"a\\", "20"]),
        ("__", ["", "", ""]),
        ("", [""]),
    ],
)
def test_parts_between_underscores(typed: str, parts: list[str]) -> None:
    """
    Parts keep their spans; an escaped underscore does not separate, unless its backslash is itself escaped.
    """
    shortened = split_at_underscores(Typed(typed, 7))
    assert [part.text for part in shortened] == parts

    assert [("x" * 7 + typed)[part.span.start : part.span.end] for part in shortened] == parts


@given(words())
def test_written_literals_are_read_back(text: str) -> None:
    """
    Written words, quoted texts and field names are read back without the parser.
    """
    assert unescape(write_word(text), 0) == text
    assert unescape(write_quoted(text)[1:-1], 0) == text
    if text.lower() != "fingerprint":
        assert read_field(write_field(text) + ":", 0) == text


@pytest.mark.parametrize(
    ("number", "written"),
    [("0.50", "0.5"), ("1E+2", "100"), ("1E-7", "0.0000001"), ("99.9999999999999999999", None), ("0", None),
     ("-1", None), ("100.1", None), ("Infinity", None), ("NaN", None), ("1E-30", None)],
)  # fmt: skip
def test_numbers_are_written_plainly_or_refused(number: str, written: str | None) -> None:
    """
    Numbers are written exactly, without an exponent, and no longer than the reader accepts.
    """
    if written is None:
        with pytest.raises(ParameterError, match="a share must be above 0, at most 100 and of at most 20 characters"):
            write_number(Decimal(number), "a share", 100)
    else:
        assert write_number(Decimal(number), "a share", 100) == written
        assert read_number(written, 0, "a share") == Decimal(number)


@given(words(), st.sampled_from(["", "f:", "=f:"]))
def test_a_quoted_text_is_that_text_in_every_place(text: str, lead: str) -> None:
    """
    A quoted text is the same text as a value, as an id, and as an end of a range.
    """
    written = quote(text)
    form = Form.EXACT if lead.startswith("=") else Form.DEFAULT
    assert parse(lead + written) == Phrase(text, "f" if lead else None, form)
    assert parse(f"f:[{written} TO {written}]") == Range(Bound(text), Bound(text), "f")
    if text:
        assert parse(f"FINGERPRINT:{written}") == Fingerprint(text)
        assert parse(f"FINGERPRINT:{written}_50") == Fingerprint(text, Decimal("0.5"))
        assert parse(f"FINGERPRINT:({written})") == Fingerprint(text)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_half_of_a_character_cannot_be_quoted(text: str) -> None:
    with pytest.raises(ParameterError, match="lone surrogate"):
        quote(text)
