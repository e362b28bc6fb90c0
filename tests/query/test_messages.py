"""Refused queries: message, caret position and hint."""

from __future__ import annotations

import pytest

from whorl.errors import QueryError, QuerySyntaxError
from whorl.query.parser import parse

#: Query, caret line, part of the message, part of the hint.
SYNTAX: list[tuple[str, str, str, str]] = [
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
    ("a & b", "  ^", "a single & is not an operator", "&&"),
    ("a\0b", " ^", "U+0000 is a control character", r"\u0000"),
    ('"\x1b"', " ^", "U+001B is a control character", ""),
    ("\x85", "^", "U+0085 is a control character", ""),
    ("a\ud800", " ^", "U+D800 is half of a surrogate pair", "Remove it"),
    ("type:", "     ^", "a word or a quoted phrase must follow type:", "type:word"),
    ("type: AND a", "      ^^^", "a word or a quoted phrase must follow type:", ""),
    ("type:-a", "     ^", "a word or a quoted phrase must follow type:", ""),
    ("id:urn:nbn:de:101:1-2", "              ^^^", "must follow id:urn:nbn:de:", 'name:"a:b:1"'),
    ("type:b:FINGERPRINT:", "                   ^", "must follow type:b:FINGERPRINT:", ""),
    (":a", "^", "the name of a field is missing before the colon", r"\:"),
    ("at 12:30", "   ^^", "12 cannot be the name of a field", '"12:30"'),
    ("a^", " ^", "a number must follow ^", "^2.5"),
    ("a^ ", " ^", "a number must follow ^", ""),
    ("a^ (b)", " ^", "a number must follow ^", ""),
    ("AND a", "^^^", "AND needs something to search for before it", ""),
    ("OR OR a", "   ^^", "OR needs something to search for after it", ""),
    ("OR", "  ^", "OR needs something to search for after it", ""),
    ("-|a", " ^", "- needs something to search for after it", ""),
    ("a |", "   ^", "| needs something to search for after it", ""),
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

#: AFTS constructs with a mistake.
CONSTRUCTS: list[tuple[str, str, str, str]] = [
    ("roam~", "    ^", "a number must follow ~ directly", "word~0.8"),
    ("roam~fast", "    ^", "a number must follow ~ directly", ""),
    ("roam~0.5x", "     ^^^^", "a similarity must be a number, got 0.5x", ""),
    ("roam~-1", "     ^^", "a similarity is 0 to 1, or a number of edits up to 100, got -1", ""),
    ("roam~0,8", "     ^^^", "a similarity must be a number, got 0,8", "Use a point: 0.8"),
    ("roam~0.8~2", "     ^^^^^", "a similarity must be a number, got 0.8~2", ""),
    ("roam~0.8 ~2", "         ^^", "there is nothing before ~2 that it could belong to", ""),
    ("(a b)~2", "     ^^", "there is nothing before ~2 that it could belong to", '"some words"~2'),
    ("~0.5", "^^^^", "there is nothing before ~0.5 that it could belong to", ""),
    ("f:~0.5", "  ^^^^", "there is nothing before ~0.5 that it could belong to", ""),
    ('"a b"~2.5', "      ^^^", "a slop is a whole number up to 1,000,000, got 2.5", ""),
    ('"a b"~', "     ^", "a number must follow ~ directly", ""),
    ("~", " ^", "a word or a phrase must follow ~", "~field:word"),
    ("=", " ^", "a word or a phrase must follow =", "=field:word"),
    ("a =", "   ^", "a word or a phrase must follow =", ""),
    ("==a", " ^", "a word or a phrase must follow =", ""),
    ("=(a b)", " ^", "a word or a phrase must follow =", "field:(=word =other)"),
    ("=f:(a b)", "   ^", "a word or a quoted phrase must follow f:", ""),
    ("=[1 TO 2]", " ^^^^^^^^", "a word or a phrase must follow =", ""),
    ("=1..2", " ^^^^", "a word or a phrase must follow =", ""),
    ("=a * b", " ^^^^^", "a word or a phrase must follow =", ""),
    ("=*:*", " ^^^", "a word or a phrase must follow =", ""),
    ("cm:name:=run", "        ^", "= stands before the field", "=cm:name:word"),
    ("cm:name:~run", "        ^", "~ stands before the field", "~cm:name:word"),
    ("size:<5", "     ^", "this < is not part of a range", "MIN and MAX leave an end open"),
    ("[1 TO", "^", "this [ is not part of a range", "[1 TO 9]"),
    ("[1, 2]", "^", "this [ is not part of a range", ""),
    ("[1 TO 2 3]", "^", "this [ is not part of a range", ""),
    ("[TO 2]", "^", "this [ is not part of a range", ""),
    ("a]", " ^", "this ] is not part of a range", ""),
    ("a>b", " ^", "this > is not part of a range", ""),
    ("{a b}", "^", "this { is not part of a range", ""),
    ("1..", " ^^", "a range has a word or a phrase on each side of ..", "1..9"),
    ("..2", "^^", "a range has a word or a phrase on each side of ..", ""),
    ("f:..2", "  ^^", "a range has a word or a phrase on each side of ..", ""),
    ("1..2..3", "    ^^", "a range has a word or a phrase on each side of ..", ""),
    ("1..(2)", " ^^", "a range has a word or a phrase on each side of ..", ""),
    ("wh*t~0.8", "    ^^^^", "~0.8 after a word with wildcards is not supported", ""),
    ('"wh*t"~2', "      ^^", "~2 after a word with wildcards is not supported", ""),
    ("*~2", " ^^", "~2 after a word with wildcards is not supported", ""),
    ("*:a", "^", "* cannot be the name of a field", '"*:a"'),
    ("*:*:a", "^", "* cannot be the name of a field", ""),
    ("a*:b", "^^", "a* cannot be the name of a field", ""),
    ("big* * apple", "^^^^", "wildcards in a proximity search are not supported", ""),
    ('a * "b c"', "  ^", "a proximity search has one word on each side of *", "big *(3) apple"),
    ('"a" * b', "    ^", "a proximity search has one word on each side of *", ""),
    ("a * f:b", "  ^", "a proximity search has one word on each side of *", ""),
    ("a *(3)", "  ^^^^", "a proximity search has one word on each side of *", ""),
    ("a *(3) (b)", "  ^^^^", "a proximity search has one word on each side of *", ""),
    ("a *(2) b *(3) c", "         ^^^^", "different distances in one proximity search are not supported", "*(2)"),
    ("a *(9999999) b", "    ^^^^^^^", "a slop is a whole number up to 1,000,000, got 9999999", ""),
    ("f:(g:a)", "   ^^", "g: is in the group of another field", "Close the group"),
    ("f:(g:(a))", "   ^^", "g: is in the group of another field", ""),
    ("f:((g:1..2))", "    ^^", "g: is in the group of another field", ""),
    ("f:(FINGERPRINT:1)", "   ^^^^^^^^^^^^^", "FINGERPRINT:1 is in the group of another field", ""),
    ("f:()", "  ^^", "there is nothing between the parentheses", ""),
    ("f:(a", "  ^", "this parenthesis is never closed", ""),
    ("%(a, b)", "^^^^^^^", "%(a, b) has a meaning in templates only", r"\%"),
    ("%name", "^^^^^", "%name has a meaning in templates only", ""),
    ("%(a", "^", "a template is %field or %(field field)", ""),
    ("%()", "^^^", "a template needs a field", "%(cm:name cm:title)"),
    ("%(a +b)", "    ^^", "this is not the name of a field", ""),
]


@pytest.mark.parametrize(("query", "caret", "message", "hint"), SYNTAX)
def test_syntax_error(query: str, caret: str, message: str, hint: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse(query)
    assert message in caught.value.message
    assert str(caught.value).splitlines()[2] == "  " + caret
    assert hint in caught.value.hint


@pytest.mark.parametrize(("query", "caret", "message", "hint"), CONSTRUCTS)
def test_construct_that_is_not_quite_right(query: str, caret: str, message: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(query)
    assert message in caught.value.message
    assert str(caught.value).splitlines()[2] == "  " + caret
    assert hint in caught.value.hint


@pytest.mark.parametrize("query", ["a AND", "(a", "~", "a^x", "\\ud800", "a *(2) b *(3) c", "f:(g:a)", "1.."])
def test_nothing_of_lark_is_raised_or_shown(query: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(query)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
