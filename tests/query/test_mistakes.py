"""What is refused: the message, the caret under its place, the hint; and the limits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from strategies import answer
from whorl.errors import QueryError, QuerySyntaxError, UnsupportedQueryError
from whorl.query import ast
from whorl.query.parser import MAX_CLAUSES, MAX_LENGTH, parse, unparse

#: Query, caret line, part of the message, part of the hint.
SYNTAX = [
    ("", "^", "the query is empty", "FINGERPRINT:<id>"),
    ("   ", "^^^", "the query is empty", ""),
    ("a AND", "     ^", "AND needs something to search for after it", 'quote it: "AND"'),
    ("a or ", "     ^", "OR needs something to search for after it", 'quote it: "or"'),
    ("a &&", "    ^", "&& needs something to search for after it", "put a \\ before it"),
    ("NOT", "   ^", "NOT needs something to search for after it", ""),
    ("a -", "   ^", "- needs something to search for after it", ""),
    ("(a AND) b", "      ^", "AND needs something to search for after it", ""),
    ("a AND OR b", "      ^^", "AND needs something to search for after it", ""),
    ("a OR AND b", "     ^^^", "OR needs something to search for after it", ""),
    ("NOT or", "    ^^", "NOT needs something to search for after it", ""),
    ("--a", " ^", "- needs something to search for after it", ""),
    ("NOT -a", "    ^", "NOT needs something to search for after it", ""),
    ("AND", "^^^", "AND needs something to search for before it", 'quote it: "AND"'),
    ("OR a", "^^", "OR needs something to search for before it", ""),
    ("(OR a)", " ^^", "OR needs something to search for before it", ""),
    ("|| a", "^^", "|| needs something to search for before it", ""),
    ("(a", "^", "this parenthesis is never closed", ""),
    ("(a (b)", "^", "this parenthesis is never closed", ""),
    ("a (", "  ^", "this parenthesis is never closed", ""),
    ("a)", " ^", "this parenthesis closes nothing", ""),
    ("(a))", "   ^", "this parenthesis closes nothing", ""),
    (")", "^", "this parenthesis closes nothing", ""),
    ("a ()", "  ^^", "there is nothing between the parentheses", ""),
    ("( )", "^^^", "there is nothing between the parentheses", ""),
    ('a "b', "  ^", "this quote is never closed", 'put a \\ before it to search for " itself'),
    ("'b", "^", "this quote is never closed", ""),
    ('5" disk', " ^", "this quote is never closed", ""),
    ('"a\\"', "^", "this quote is never closed", ""),
    ("'don't'", "     ^^", "a space is missing before t'", r"\'"),
    ('a"b"', " ^^^", 'a space is missing before "b"', ""),
    ('"a"-b', "   ^", "a space is missing before -", ""),
    ("a\\", " ^", "the backslash at the end escapes nothing", r"\\"),
    ("\\", "^", "the backslash at the end escapes nothing", ""),
    (r"a\u12", " ^^", r"\u needs four hexadecimal digits", r"\\"),
    (r'"a\user"', "  ^^", r"\u needs four hexadecimal digits", ""),
    (r"@a\u12:x", "  ^^", r"\u needs four hexadecimal digits", ""),
    (r"\ud83d", "^^^^^^", r"\ud83d is half of a surrogate pair", ""),
    ("a & b", "  ^", "a single & is no operator", "&&"),
    ("a\0b", " ^", "U+0000 is a control character", r"\u0000"),
    ('"\x1b"', " ^", "U+001B is a control character", ""),
    ("\x85", "^", "U+0085 is a control character", ""),
    ("a\ud800", " ^", "U+D800 is half of a surrogate pair", "Remove it"),
    ("type:", "     ^", "a word or a quoted phrase must follow type:", "type:word"),
    ("type: AND a", "      ^^^", "a word or a quoted phrase must follow type:", ""),
    ("type:-a", "     ^", "a word or a quoted phrase must follow type:", ""),
    ("type:b:FINGERPRINT:", "                   ^", "must follow type:b:FINGERPRINT:", ""),
    ("type :pdf", "     ^", "a space stands between a field and its colon", "type:word"),
    (":a", "^", "the name of a field is missing before the colon", r"\:"),
    ("at 12:30", "   ^^", "12 cannot be the name of a field", '"12:30"'),
    ("C#:x", "^^", "C# cannot be the name of a field", '"C#:x"'),
    ("a^", " ^", "a number must follow ^ directly", "^2.5"),
    ("a^ 2", " ^", "a number must follow ^ directly", ""),
    ("a^1e3", "  ^^^", "a boost must be a number, got 1e3", "without an exponent"),
    ("a^b", "  ^", "a boost must be a number, got b", ""),
    ("a^2,5", "  ^^^", "a boost must be a number, got 2,5", "2.5"),
    ("a^-2", "  ^^", "a boost must be above 0 and at most 1000, got -2", ""),
    ("a^0 b", "  ^", "a boost must be above 0 and at most 1000, got 0", ""),
    ("a^1000.1", "  ^^^^^^", "a boost must be above 0 and at most 1000, got 1000.1", ""),
    ("a^1.00000000000000000001", "  ^^^^^^^^^^^^^^^^^^^^^^", "a boost has more than 20 characters", ""),
    ("a^2^3", "   ^^", "this is already boosted", ""),
    ("^2", "^^", "there is nothing before ^ to boost", ""),
    ("a AND ^2", "      ^^", "AND needs something to search for after it", ""),
]

#: What AFTS has and this language has not.
UNSUPPORTED = [
    ("wh*t", "  ^", "wildcards", r"\ before it"),
    ("wh?t", "  ^", "wildcards", ""),
    ("what?", "    ^", "wildcards", ""),
    ("*ple", "^", "wildcards", ""),
    ("ple*", "   ^", "wildcards", ""),
    ("a or* b", "    ^", "wildcards", ""),
    ('"ap*le"', "   ^", "wildcards", ""),
    (r"'\*a ?'", "     ^", "wildcards", ""),
    ("http://x/*", "         ^", "wildcards", ""),
    ("*:a", "^", "wildcards", ""),
    ("type:*", "^^^^^^", "any value of a field", ""),
    ("type:p*", "      ^", "wildcards", ""),
    ("big * apple", "    ^", "proximity", "AND"),
    ("big *(3) apple", "    ^^", "proximity", ""),
    ("roam~", "    ^", "fuzzy", ""),
    ('"a b"~2', "     ^", "slop", ""),
    ("~running", "^", "analysed", ""),
    ("=cm:name:run", "^", "exact", ""),
    ("cm:name:=run", "        ^", "exact", ""),
    ("[1 TO 2]", "^", "ranges", ""),
    ("created:[NOW TO MAX>", "        ^", "ranges", ""),
    ("size:<5", "     ^", "ranges", ""),
    ("1..2", " ^^", "ranges", ""),
    ("a .. b", "  ^^", "ranges", ""),
    ("{!lucene}a", "^", "braces", ""),
    ("{http://x}name:a", "^", "braces", ""),
    ("type:(a b)", "^^^^^^", "groups behind a field", "(type:pdf OR type:txt)"),
    ("a |b", "  ^", "| marks", "a || b"),
    ("%(a, b)", "^", "templates", ""),
    ("%name", "^", "templates", ""),
]


@pytest.mark.parametrize(("query", "caret", "message", "hint"), SYNTAX)
def test_syntax_error(query: str, caret: str, message: str, hint: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(query)
    assert message in caught.value.message
    assert str(caught.value).splitlines()[2] == "  " + caret
    assert hint in caught.value.hint


@pytest.mark.parametrize(("query", "caret", "name", "hint"), UNSUPPORTED)
def test_unsupported_construct_is_named(query: str, caret: str, name: str, hint: str) -> None:
    with pytest.raises(UnsupportedQueryError) as caught:
        parse(query)
    assert name in caught.value.message
    assert str(caught.value).splitlines()[2] == "  " + caret
    assert hint in caught.value.hint


@pytest.mark.parametrize("query", ["a AND", "(a", "~", "a^x", "\\ud800"])
def test_nothing_of_lark_is_raised_or_shown(query: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(query)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("query", ["a" * 60_000, '"' + "a " * 30_000 + '"', "FINGERPRINT:" + "7" * 60_000])
def test_a_long_query_is_read(query: str) -> None:
    assert parse(unparse(parse(query))) == parse(query)


def test_length_is_limited() -> None:
    parse("a" * MAX_LENGTH)
    with pytest.raises(UnsupportedQueryError, match="at most 65,536 characters, got 65,537") as caught:
        parse("a" * (MAX_LENGTH + 1))
    assert (caught.value.span.start, caught.value.span.end) == (MAX_LENGTH, MAX_LENGTH + 1)


def test_number_of_clauses_is_limited() -> None:
    query = " ".join(["a"] * MAX_CLAUSES)
    assert len(ast.children(parse(query))) == MAX_CLAUSES
    with pytest.raises(UnsupportedQueryError, match="at most 1,000 words") as caught:
        parse(query + " b")
    assert caught.value.span.start == len(query) + 1


DEEP = [
    ("(", "a", ")"),
    ("NOT ", "a", ""),
    ("(a ", "b", ")"),
    ("-(a ", "b", ")"),
    ("(a -", "b", ")"),
    ("(a AND ", "b", ")"),
]


@pytest.mark.parametrize(("opening", "inside", "closing"), DEEP)
def test_depth_is_limited(opening: str, inside: str, closing: str) -> None:
    """
    Half the limit is always in reach, the limit itself with parentheses or NOT alone.
    """
    half = ast.MAX_DEPTH // 2
    tree = parse(opening * half + inside + closing * half)
    assert parse(unparse(tree)) == tree
    over = ast.MAX_DEPTH + 1
    with pytest.raises(UnsupportedQueryError, match="at most 100 levels deep"):
        parse(opening * over + inside + closing * over)


def test_a_hundred_levels_are_read() -> None:
    assert parse("(" * 100 + "a" + ")" * 100) == ast.Term("a")
    tree = parse("(a " * 99 + "(a b)" + ")" * 99)
    assert len(list(ast.walk(tree))) == 201
    assert parse(unparse(tree)) == tree


#: Each fills the whole length, so that anything quadratic or recursive would show.
FLOODS = [
    *"()!-+\"'\\:*?^.&|_1~[% \n",
    '"a"',
    "(a)",
    r"\u",
    "a:",
    r"a\:",
    "||",
    "http://",
    "FINGERPRINT:",
    "FINGERPRINT:_",
]
FLOODS += ["NOT ", "or ", "a ", "* ", "a^2 ", "&& ", "'a "]


@pytest.mark.parametrize("piece", FLOODS)
@pytest.mark.parametrize("lead", ["", "FINGERPRINT:a", "f:", '"', "a AND (", "a^"])
def test_a_flood_is_answered(lead: str, piece: str) -> None:
    query = (lead + piece * MAX_LENGTH)[:MAX_LENGTH]
    got = answer(query)
    assert not isinstance(got, QueryError) or len(str(got)) < 1000


def test_threads_share_the_parser() -> None:
    queries = [f"a{number} AND FINGERPRINT:{number}_20 -c" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(parse, queries)) == [parse(query) for query in queries]
