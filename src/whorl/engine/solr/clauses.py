"""Clauses on fields as Solr JSON queries; pure. Only this module and `request` build queries.

User input is the value of a parser's argument. Where only a parser with its own syntax can express a clause, every
character except letters and digits is escaped, so that no input is read as syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from whorl.engine.solr.fields import BESIDE
from whorl.query.ast import Joker, Pattern
from whorl.query.plan.nodes import Between, Equal, InOrder, Kind, Like, Near, Present, Test, Value, Words
from whorl.query.plan.values import whole, written

#: Lucene's limit on the words that a fuzzy query expands to (FuzzyQuery.defaultMaxExpansions).
MOST_NEAR = 50
#: Characters that the standard query parser reads as syntax.
_SYNTAX = re.compile(r'[\\+\-!():^\[\]"{}~*?|&;/\s]')
_NO_WORD = re.compile(r"[^0-9A-Za-z]", re.ASCII)

_Json = dict[str, Any]


def clause(test: Test, text_fields: Sequence[str]) -> _Json:
    """Return the query of a clause; the caller sets its score.

    Args:
        test: The clause.
        text_fields: The fields searched by a clause without a field.
    """
    match test:
        case Words(field=None) | InOrder(field=None) | Near(field=None):
            queries = [_in_field(test, name) for name in text_fields]
            return queries[0] if len(queries) == 1 else {"bool": {"should": queries}}
        case Words(field=str(field)) | InOrder(field=str(field)) | Near(field=str(field)):
            return _in_field(test, field)
        case Equal(field=field, kind=kind, value=value):
            return {"term": {"f": field, "query": _value(field, kind, value)}}
        case Like(field=field, pattern=pattern):
            return {"lucene": {"df": field, "query": _pattern(pattern)}}
        case Between(field=field, kind=kind, low=low, high=high):
            ends = ("*" if end is None else _bound(_value(field, kind, end), kind) for end in (low, high))
            opened, closed = "[" if test.includes_low else "{", "]" if test.includes_high else "}"
            return {"lucene": {"df": field, "query": f"{opened}{' TO '.join(ends)}{closed}"}}
        case Present(field=field):
            return exists(field)
        case _:
            raise TypeError(f"no clause: {test!r}")


def leaves(test: Test, text_fields: Sequence[str]) -> int:
    """Return the maximum number of leaf clauses that a clause becomes."""
    fields = len(text_fields) if test.field is None else 1
    match test:
        case InOrder(words=words):
            return fields * len(words) + 1
        case Near():
            return fields * MOST_NEAR + 1
        case Equal() | Between() | Present():
            # Lucene may search points as well as docValues, and counts both.
            return 3
        case _:
            return fields + 1


def exists(field: str) -> _Json:
    """Return the query for documents with any value in a field, whatever its type."""
    return {"lucene": {"query": f"{_escaped(field)}:[* TO *]"}}


def _in_field(test: Words | InOrder | Near, field: str) -> _Json:
    match test:
        case Words(text=text, slop=slop):
            # Not {!field}, which returns no query for a text without words; a clause without a query is an error.
            return {"lucene": {"df": field, "query": f'"{_coded(text)}"' + (f"~{slop}" if slop else "")}}
        case InOrder(words=(pattern,)):
            return {"lucene": {"df": field, "query": _pattern(pattern)}}
        case InOrder(words=words, slop=slop):
            # The argument is a phrase, whose words are parsed as separate queries.
            row = _coded(" ".join(map(_pattern, words)))
            return {"complexphrase": {"df": field, "inOrder": "true", "query": f'"{row}"~{slop}'}}
        case Near(word=word, edits=edits):
            return {"lucene": {"df": field, "query": f"{_coded(word, whole_word=True)}~{edits}"}}


def _value(field: str, kind: Kind, value: Value) -> str:
    match kind:
        case Kind.DATE:
            return written(int(value))
        case Kind.BOOLEAN:
            return "true" if value else "false"
        case Kind.KEYWORD:
            # whorl's own keyword fields shorten long values.
            return whole(str(value)) if field.startswith(BESIDE[kind]) else str(value)
        case _:
            return repr(value)


def _bound(value: str, kind: Kind) -> str:
    return f'"{_coded(value)}"' if kind is Kind.KEYWORD else value


def _pattern(pattern: Pattern) -> str:
    return "".join(piece.value if isinstance(piece, Joker) else _escaped(piece) for piece in pattern)


def _escaped(text: str) -> str:
    """Escape syntax characters with a backslash, including * and ?, which are then no wildcards."""
    return _SYNTAX.sub(r"\\\g<0>", text)


def _coded(text: str, *, whole_word: bool = False) -> str:
    r"""Replace characters other than letters and digits by \uXXXX, for parsers that resolve escapes first.

    Args:
        text: Any text.
        whole_word: Whether the text stands alone and its first letter is escaped too, so that AND is a word.
    """
    coded = _NO_WORD.sub(_units, text)
    return _units_of(coded[0]) + coded[1:] if whole_word and coded[:1].isalnum() else coded


def _units(found: re.Match[str]) -> str:
    return _units_of(found[0])


def _units_of(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{int.from_bytes(encoded[at : at + 2]):04x}" for at in range(0, len(encoded), 2))
