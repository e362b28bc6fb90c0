"""Clauses on fields as OpenSearch queries; pure. User text is never read as query syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whorl.engine.lucene import sortable, value_term, values_begin
from whorl.engine.opensearch.fields import (
    BETWEEN_WORDS,
    FIELDS,
    ID,
    VALUES,
    WORDS,
    Json,
    field_term,
    in_word,
    word_term,
)
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.words.tokenizer import tokens
from whorl.query.ast import Joker, Pattern
from whorl.query.plan.nodes import Between, Equal, InOrder, Kind, Like, Near, Present, Test, Words

#: Fields searched by a clause without a field.
DEFAULT_FIELDS = ("name", "content")
_OWN_FIELDS = {"text": "content", "TEXT": "content"}
_WILD = re.compile(r"[\\*?]")


def clause(test: Test, profile: str) -> Json | str:
    """Return the query of a clause, whose score the caller sets, or the reason why it cannot match.

    Args:
        test: The clause.
        profile: The word-break profile.
    """
    match test:
        case Words(text=text, field="id"):
            return _term(ID, text)
        case Words(text=text, slop=slop):
            words = tokens(well_formed(text), profile)
            if not words:
                return f"there is no word in {text!r:.80}, so it matches nothing"
            return _any([_phrase(field, words, slop) for field in _fields(test.field)])
        case InOrder(words=(pattern,)):
            return _any([_word(field, pattern) for field in _fields(test.field)])
        case InOrder(words=patterns, slop=slop):
            return _any([_ordered(field, patterns, slop) for field in _fields(test.field)])
        case Near(word=word, edits=edits):
            return _any([_near(field, word, edits) for field in _fields(test.field)])
        case Equal(field="id", value=value):
            return _term(ID, str(value))
        case Equal(field=field, kind=kind, value=value):
            return _term(VALUES, value_term(field, kind, value))
        case Like(field="id", pattern=pattern):
            return _wild(ID, "", pattern)
        case Like(field=field, pattern=pattern):
            return _wild(VALUES, values_begin(field, Kind.KEYWORD), pattern)
        case Between():
            return _between(test)
        case Present(field="id"):
            return {"exists": {"field": ID}}
        case Present(field=field, kind=kind):
            return _term(FIELDS, field_term(field, kind.name))


def leaves(test: Test) -> int:
    """Return the maximum number of leaf clauses that a clause becomes."""
    fields = len(_fields(test.field)) if isinstance(test, Words | InOrder | Near) else 1
    return fields * (len(test.words) + 1) if isinstance(test, InOrder) else fields


def _fields(name: str | None) -> Sequence[str]:
    return DEFAULT_FIELDS if name is None else (_OWN_FIELDS.get(name, name),)


def _any(queries: Sequence[Json]) -> Json:
    return queries[0] if len(queries) == 1 else {"bool": {"should": list(queries), "minimum_should_match": 1}}


def _term(field: str, value: str) -> Json:
    return {"term": {field: {"value": value}}}


def _phrase(field: str, words: Sequence[str], slop: int) -> Json:
    row = [word_term(field, word) for word in words]
    if len(row) == 1:
        return _term(WORDS, row[0])
    return {"match_phrase": {WORDS: {"query": BETWEEN_WORDS.join(row), "slop": slop}}}


def _word(field: str, pattern: Pattern) -> Json:
    if len(pattern) == 1 and isinstance(pattern[0], str):
        return _term(WORDS, word_term(field, pattern[0]))
    spelled = tuple(in_word(piece) if isinstance(piece, str) else piece for piece in pattern)
    return _wild(WORDS, word_term(field, ""), spelled)


def _wild(field: str, beginning: str, pattern: Pattern) -> Json:
    if len(pattern) == 1 and isinstance(pattern[0], str):
        return _term(field, beginning + pattern[0])
    return {"wildcard": {field: {"value": _escaped(beginning) + _spelled(pattern)}}}


def _ordered(field: str, patterns: Sequence[Pattern], slop: int) -> Json:
    """Match words in order, with at most `slop` other words between them (Lucene's NearSpansOrdered)."""
    spans: list[Json] = []
    for pattern in patterns:
        if len(pattern) == 1 and isinstance(pattern[0], str):
            spans.append({"span_term": {WORDS: {"value": word_term(field, pattern[0])}}})
        else:
            spans.append({"span_multi": {"match": _word(field, pattern)}})
    return {"span_near": {"clauses": spans, "slop": slop, "in_order": True}}


def _near(field: str, word: str, edits: int) -> Json:
    beginning = word_term(field, "")
    asked = {"value": word_term(field, word), "fuzziness": edits, "prefix_length": len(beginning)}
    # `prefix_length` keeps edits out of the field prefix, where they would lead to another field.
    # `rewrite` turns all matching terms into one clause on a set of documents, instead of one clause per term.
    return {"fuzzy": {WORDS: {**asked, "rewrite": "constant_score", "transpositions": True}}}


def _between(test: Between) -> Json:
    place, beginning = (ID, "") if test.field == "id" else (VALUES, values_begin(test.field, test.kind))
    ends: Json = {}
    if test.low is not None:
        ends["gte" if test.includes_low else "gt"] = beginning + sortable(test.kind, test.low)
    elif beginning:
        ends["gte"] = beginning
    if test.high is not None:
        ends["lte" if test.includes_high else "lt"] = beginning + sortable(test.kind, test.high)
    elif beginning:
        # The upper limit is the prefix of the next type.
        ends["lt"] = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    return {"range": {place: ends}} if ends else {"exists": {"field": place}}


def _spelled(pattern: Pattern) -> str:
    return "".join(piece.value if isinstance(piece, Joker) else _escaped(piece) for piece in pattern)


def _escaped(text: str) -> str:
    return _WILD.sub(r"\\\g<0>", text)
