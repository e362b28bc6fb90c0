"""Clauses on fields as queries of tantivy.

tantivy knows single terms, phrases, terms within some edits, and terms that match an expression of moderate size. Where
a clause means something else, its query finds more than it means, and the words of what is found are looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol, TypeAlias

from tantivy import Occur, Query

from whorl.engine.embedded.positions import distance, is_in_order, is_within
from whorl.engine.embedded.term_expressions import between, compiled, expression
from whorl.engine.embedded.word_index import SCHEMA, presence, sortable, term, value_term, values_begin
from whorl.fingerprint.hashing import well_formed
from whorl.fingerprint.words.tokenizer import tokens
from whorl.planning.clauses import Between, Equal, InOrder, Kind, Like, Near, Pattern, Present, Test, Words, spelled

#: Where words are looked for when no field is named.
DEFAULT_FIELDS = ("name", "content")
_OWN_FIELDS = {"text": "content", "TEXT": "content"}

#: The words of each value of a field, in order.
Values: TypeAlias = Sequence[Sequence[str]]


class Store(Protocol):
    """What clauses are looked up in where a query alone does not tell."""

    def names(self) -> Iterable[str]:
        """Return the names of all fields."""
        ...

    def terms(self, field: str, beginning: str) -> list[str]:
        """Return all terms of one of the index's fields that begin so."""
        ...

    def verified(self, query: Query, fields: Sequence[str], is_match: Callable[[Values], bool]) -> list[str]:
        """Return the ids of the documents that a query finds and of which one of some fields passes a test."""
        ...


class ClauseQueries:
    """Makes the queries of one plan.

    Args:
        profile: How texts are split into words.
        store: None where the queries will not be run.
    """

    def __init__(self, profile: str, store: Store | None) -> None:
        self._profile, self._store = profile, store

    def query(self, test: Test) -> Query | str:
        """Return the query of a clause, or why there is nothing that it could match."""
        match test:
            case Words(text=text, field="id"):
                return _value("id", Kind.KEYWORD, text) if text == well_formed(text) else Query.empty_query()
            case Words(text=text, slop=slop):
                words = tokens(well_formed(text), self._profile)
                if not words:
                    return f"there is no word in {text!r}, so it matches nothing"
                row: list[Pattern] = [(word,) for word in words]
                if slop and len(words) > 1:
                    return self._row(row, slop, _fields(test.field), lambda values: is_within(values, words, slop))
                return self._row(row, 0, _fields(test.field), None)
            case InOrder(words=patterns, slop=slop):
                if not slop and all(len(each) == 1 and isinstance(each[0], str) for each in patterns):
                    return self._row(patterns, 0, _fields(test.field), None)
                wanted = list(map(compiled, patterns))
                is_match = None if len(patterns) == 1 else lambda values: is_in_order(values, wanted, slop)
                return self._row(patterns, slop, _fields(test.field), is_match)
            case Near():
                return self._near(test)
            case Equal(field=field, kind=kind, value=value):
                return _value(field, kind, value)
            case Like(field=field, pattern=pattern):
                return self._like(_place(field, Kind.KEYWORD), pattern)
            case Between(field=field, kind=kind, low=low, high=high):
                ends = (None if end is None else sortable(kind, end) for end in (low, high))
                range_ = between(*ends, includes_low=test.includes_low, includes_high=test.includes_high)
                if range_ is None:
                    return Query.empty_query()
                return self._matching(_place(field, kind), range_, re.compile(range_))
            case Present(field="id"):
                return Query.exists_query("id")
            case Present(field=field, kind=kind):
                return Query.term_query(SCHEMA, "values", presence(field, kind), "basic")

    def description(self, test: Test) -> Mapping[str, object]:
        """Return a clause as JSON values."""
        match test:
            case Words(text=text, field="id", weight=weight):
                return {"id": text, "weight": weight}
            case Words(text=text, field=field, slop=slop, weight=weight):
                words = tokens(well_formed(text), self._profile)
                told = {"words": words, "fields": list(_fields(field)), "weight": weight}
                return {**told, "slop": slop} if slop else told
            case InOrder(words=patterns, slop=slop, field=field, weight=weight):
                row = [spelled(pattern) for pattern in patterns]
                return {"in_order": row, "slop": slop, "fields": list(_fields(field)), "weight": weight}
            case Near(word=word, edits=edits, field=field, weight=weight):
                return {"near": word, "edits": edits, "fields": list(_fields(field)), "weight": weight}
            case Equal(field=field, value=value, weight=weight):
                return {"value": value, "field": field, "weight": weight}
            case Like(field=field, pattern=pattern, weight=weight):
                return {"like": spelled(pattern), "field": field, "weight": weight}
            case Between(field=field, low=low, high=high, weight=weight):
                included = {"includes_low": test.includes_low, "includes_high": test.includes_high}
                return {"low": low, "high": high, **included, "field": field, "weight": weight}
            case Present(field=field, weight=weight):
                return {"present": field, "weight": weight}

    def _row(
        self,
        row: Sequence[Pattern],
        slop: int,
        fields: Sequence[str],
        is_match: Callable[[Values], bool] | None,
    ) -> Query:
        """Return the query of words in a row, looked at again where `is_match` has to say what a hit is."""
        if is_match is None and all(map(_is_plain, row)):
            return _any(_phrase(field, [str(pattern[0]) for pattern in row]) for field in fields)
        found = _any(self._superset(field, row, slop) for field in fields)
        return found if is_match is None else self._verified(found, fields, is_match)

    def _superset(self, field: str, row: Sequence[Pattern], slop: int) -> Query:
        """Match at least the documents that have all of the words, neighbours no further from each other than allowed.

        tantivy's phrases with a slop are exact for two words, and miss some of more.
        """
        parts = [
            _phrase(field, [str(first[0]), str(second[0])], slop)
            for first, second in pairwise(row)
            if _is_plain(first) and _is_plain(second)
        ]
        for pattern in dict.fromkeys(row):
            if _is_plain(pattern):
                parts.append(_phrase(field, [str(pattern[0])]))
            else:
                parts.append(self._like(("words", term(field, "")), pattern))
        return Query.boolean_query([(Occur.Must, part) for part in parts])

    def _near(self, test: Near) -> Query:
        fields = _fields(test.field)
        found = _any(
            Query.fuzzy_term_query(SCHEMA, "words", term(field, test.word), distance=test.edits) for field in fields
        )
        names = [] if self._store is None else self._store.names()
        # An edit in what a term begins with would lead to another field.
        if not any(_is_close(field, other) for field in fields for other in names if other not in fields):
            return found

        def is_match(values: Values) -> bool:
            words = {word for words in values for word in words if abs(len(word) - len(test.word)) <= test.edits}
            return any(distance(word, test.word) <= test.edits for word in words)

        return self._verified(found, fields, is_match)

    def _like(self, place: tuple[str, str], pattern: Pattern) -> Query:
        return self._matching(place, expression(pattern), compiled(pattern))

    def _matching(self, place: tuple[str, str], wanted: str, same: re.Pattern[str]) -> Query:
        """Match the terms of a place that an expression fits; the same one for Python stands beside it."""
        field, beginning = place
        try:
            return Query.regex_query(SCHEMA, field, expression((beginning,)) + wanted)
        except ValueError:
            # tantivy takes no expressions of over 1,000 states; then all terms are looked at.
            terms = [] if self._store is None else self._store.terms(field, beginning)
            fitting = [each for each in terms if same.fullmatch(each, len(beginning))]
            return Query.term_set_query(SCHEMA, field, fitting)

    def _verified(self, query: Query, fields: Sequence[str], is_match: Callable[[Values], bool]) -> Query:
        if self._store is None:
            return query
        return Query.term_set_query(SCHEMA, "id", self._store.verified(query, fields, is_match))


def _fields(name: str | None) -> tuple[str, ...]:
    return DEFAULT_FIELDS if name is None else (_OWN_FIELDS.get(name, name),)


def _place(field: str, kind: Kind) -> tuple[str, str]:
    """Return tantivy's field of whole values, and what their terms begin with."""
    return ("id", "") if field == "id" else ("values", values_begin(field, kind))


def _value(field: str, kind: Kind, value: str | int | float | bool) -> Query:
    if field == "id":
        return Query.term_query(SCHEMA, "id", str(value), "basic")
    return Query.term_query(SCHEMA, "values", value_term(field, kind, value), "basic")


def _phrase(field: str, words: Sequence[str], slop: int = 0) -> Query:
    if len(words) == 1:
        # tantivy's phrases have two words or more.
        return Query.term_query(SCHEMA, "words", term(field, words[0]), "basic")
    return Query.phrase_query(SCHEMA, "words", [term(field, word) for word in words], slop)


def _any(queries: Iterable[Query]) -> Query:
    listed = list(queries)
    return listed[0] if len(listed) == 1 else Query.boolean_query([(Occur.Should, query) for query in listed])


def _is_plain(pattern: Pattern) -> bool:
    return len(pattern) == 1 and isinstance(pattern[0], str)


def _is_close(field: str, other: str) -> bool:
    """Say whether edits of a term could lead from one field into another: in its name, or where its name ends."""
    is_beginning = field.startswith(other) or other.startswith(field)
    return is_beginning or (abs(len(field) - len(other)) <= 2 and distance(field, other) <= 2)
