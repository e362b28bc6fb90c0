"""Queries that whorl and Alfresco read differently: data for a test and for docs/afts.md.

whorl makes both readings, Alfresco's with strict=True. A reading is the canonical text of the tree, or REFUSED for an
error.
"""

from __future__ import annotations

from typing import NamedTuple

REFUSED = "refused"
#: Reading of a query that Alfresco's grammar accepts, although its later stages cannot use it.
NO_MEANING = "read, without a meaning"


class Difference(NamedTuple):
    """A query, Alfresco's reading and whorl's reading."""

    query: str
    alfresco: str
    whorl: str


SPLITS = [
    Difference("10.pdf", "10. OR pdf", "10.pdf"),
    Difference("a.b.c.d.e.f", "a.b.c.d.e OR .f", "a.b.c.d.e.f"),
    Difference("2012-01-01T00:00:00Z", r"2012-01-01T00\:00\:00 OR Z", r"2012-01-01T00\:00\:00Z"),
    Difference("[2012-01-01T00:00:00Z TO NOW]", REFUSED, "[2012-01-01T00:00:00Z TO NOW]"),
    Difference("1972-05-20T17:33:18.772Z+3DAYS/DAY", REFUSED, r"1972-05-20T17\:33\:18.772Z+3DAYS/DAY"),
    Difference("FINGERPRINT:1234_50.5", "FINGERPRINT:1234_50 OR .5", "FINGERPRINT:1234_50.5"),
    Difference('FINGERPRINT:"my doc"_50', 'FINGERPRINT:"my doc" OR _50', 'FINGERPRINT:"my doc"_50'),
    Difference("a, b", "a,b", "a, OR b"),
    Difference(". a", ".a", ". OR a"),
    Difference("_a-b", "_a OR NOT b", "_a-b"),
    Difference("@ f:a", "f:a", "@ OR f:a"),
]
CHARACTERS = [
    Difference("http://x/y", REFUSED, r"http\:/\/x/y"),
    Difference("/etc/hosts", REFUSED, "/etc/hosts"),
    Difference("#tag", REFUSED, "#tag"),
    Difference("@home", REFUSED, "@home"),
    Difference("😀", REFUSED, "😀"),
    Difference("%50", REFUSED, r"\%50"),
    Difference("so...", REFUSED, r"so.\.\."),
    Difference("1...2", REFUSED, r"1.\.\.2"),
    Difference(",", REFUSED, ","),
    Difference("a_x0020_b", r"a\ b", "a_x0020_b"),
]
GLUED = [
    Difference('a"b"', r"a\"b\"", REFUSED),
    Difference('5" disk', r"5\" OR disk", REFUSED),
    Difference("'don't'", '"don" OR t\'', REFUSED),
    Difference('"a"b', '"a" OR b', REFUSED),
    Difference('"a"-b', '"a" OR NOT b', REFUSED),
    Difference("a||b", r"a\|\|b", "a OR b"),
    Difference("a&&b", r"a\&\&b", "a AND b"),
]
TILDES = [
    Difference('"a b"~2.5', '"a b" OR 2.5', REFUSED),
    Difference("a~b", "a OR b", REFUSED),
    Difference("roam~0.8 ~2", "roam~0.8 OR 2", REFUSED),
    Difference("a~2020", "a OR 2020", REFUSED),
    Difference("~run", "run", "~run"),
    Difference('~name:"a b"', 'name:"a b"', '~name:"a b"'),
    Difference('f:(="a b")', REFUSED, '=f:"a b"'),
    Difference('f:(~"a b")', REFUSED, '~f:"a b"'),
]
PROXIMITIES = [
    Difference("a * b * c", "a * b", "a * b * c"),
    Difference("f:a * b", "f:a OR *:* OR b", "f:a * b"),
    Difference("a *(2) b *(3) c", "a *(2) b", REFUSED),
    Difference("big* * apple", r"big\* * apple", REFUSED),
    Difference('a * "b c"', 'a OR *:* OR "b c"', REFUSED),
    Difference('"a" * b', '"a" OR *:* OR b', REFUSED),
    Difference("f:a * g:b", "f:a OR *:* OR g:b", REFUSED),
    Difference("a *(3)", "a OR *:* OR 3", REFUSED),
    Difference("=a * b", "=a OR *:* OR b", REFUSED),
]
SIGNS = [
    Difference("+a -b c", "a OR NOT b OR c", "+a -b c"),
    Difference("+a |b -c", "a OR b OR NOT c", "+a b -c"),
    Difference("|a -b", "a OR NOT b", "+*:* a -b"),
    Difference("report -2020", r"report OR \-2020", "report -2020"),
    Difference("-10", r"\-10", "NOT 10"),
    Difference("f:(-10)", r"f:\-10", "NOT f:10"),
    Difference("not not a", r"NOT \not OR a", "NOT NOT a"),
    Difference("NOT not", r"NOT \not", REFUSED),
    Difference("+NOT a", r"\NOT OR a", "NOT a"),
    Difference("!!a", REFUSED, "NOT NOT a"),
    Difference("-!a", REFUSED, "NOT NOT a"),
]
FIELDS = [
    Difference("TYPE:cm:content", r"TYPE\:cm:content", r"TYPE:cm\:content"),
    Difference("ISNULL:cm:title", r"ISNULL\:cm:title", r"ISNULL:cm\:title"),
    Difference("NOT:x", REFUSED, "NOT:x"),
    Difference("state:or", REFUSED, r"state:\or"),
    Difference("state:and", REFUSED, r"state:\and"),
    Difference("größe:c", REFUSED, "größe:c"),
    Difference("a:b:c:d", REFUSED, "a:b:c:d"),
    Difference("*:*", REFUSED, "*:*"),
]
RANGES = [
    Difference("{1 TO 2}", REFUSED, "<1 TO 2>"),
    Difference("[1 TO 2}", REFUSED, "[1 TO 2>"),
    Difference('[1 TO "*"]', "[1 TO *]", '[1 TO "*"]'),
    Difference('["MAX" TO 9]', "[* TO 9]", '["MAX" TO 9]'),
    Difference("[a:b TO c]", REFUSED, "[a:b TO c]"),
    Difference("[TO TO c]", REFUSED, "[TO TO c]"),
]
NUMBERS = [
    Difference("a^-2", NO_MEANING, REFUSED),
    Difference("a^0", NO_MEANING, REFUSED),
    Difference("a~-1", NO_MEANING, REFUSED),
    Difference('"a b"~-1', NO_MEANING, REFUSED),
    Difference("a*~0.5", NO_MEANING, REFUSED),
    Difference("%(a b)", NO_MEANING, REFUSED),
]

DIFFERENCES = {
    "Words that Alfresco splits or joins": SPLITS,
    "Characters that cannot begin a word in Alfresco": CHARACTERS,
    "Quotes and operators without a space": GLUED,
    "Tildes": TILDES,
    "Proximity": PROXIMITIES,
    "Signs and NOT": SIGNS,
    "Fields": FIELDS,
    "Ranges": RANGES,
    "Numbers and templates": NUMBERS,
}
ALL = [difference for group in DIFFERENCES.values() for difference in group]
