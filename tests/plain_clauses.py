"""Reference evaluation of field clauses, one document at a time: slow, by trying every position and every edit.

It reads only the syntax tree and the documents, nothing that the engines derive from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from whorl.fingerprint.words.tokenizer import tokens
from whorl.model import Document
from whorl.query import ast

PROFILE = "icu74"
NAMESPACES = re.compile(r"cm:|cm_|\{http://www\.alfresco\.org/model/content/1\.0\}")
ALIASES = {"text": "content", "TEXT": "content", "d:content": "content", "ID": "id"}
PRESENCE = {"EXISTS": True, "ISNOTNULL": True, "ISNULL": False, "ISUNSET": False}
#: Gap between the positions of two values of a field, as in Solr.
GAP = 100


class PlainStore:
    """The documents' field types, and the evaluation of clauses on single documents.

    Args:
        documents: All documents of the store.
        now: The value of NOW.
    """

    def __init__(self, documents: Iterable[Document], now: datetime) -> None:
        self.now = now
        self.types: dict[str, set[str]] = {"id": {"keyword"}, "content": {"words"}}
        for document in documents:
            for field in ("name", *document.properties):
                for value in values(document, field):
                    self.types.setdefault(field, set()).add(type_of(value))

    def matches(self, clause: Any, document: Document) -> bool:
        if clause.field is None:
            return any(self.has_words(clause, document, field) for field in ("name", "content"))
        if clause.field in PRESENCE:
            return PRESENCE[clause.field] == bool(values(document, self.called(clause.text)))
        return self.in_field(clause, document, self.called(clause.field))

    def called(self, name: str) -> str:
        if name in self.types:
            return name
        return ALIASES.get(name) or NAMESPACES.sub("", name)

    def in_field(self, clause: Any, document: Document, field: str) -> bool:
        types = self.types[field]
        texts = [value for value in values(document, field) if type_of(value) in ("text", "keyword")]
        match clause:
            case ast.Range(low=None, high=None) | ast.Wildcard(pattern=(ast.WildcardCharacter.ANY,)):
                return bool(values(document, field))
            case ast.Range(low=low, high=high):
                numbers = [value for value in values(document, field) if type_of(value) in ("integer", "float")]
                dates = [value for value in values(document, field) if type_of(value) == "date"]
                if types & {"integer", "float"} and all(is_number(end.text) for end in (low, high) if end):
                    return any(is_between(Decimal(repr(value)), low, high, Decimal) for value in numbers)
                if "date" in types:
                    return any(self.is_in_time(value, low, high) for value in dates)
                return any(is_between(value, low, high, str) for value in texts)
            case ast.Wildcard(pattern=pattern, form=form):
                looks = re.compile(
                    "".join({"*": ".*", "?": "."}.get(wildcard(part), re.escape(wildcard(part))) for part in pattern),
                    re.S,
                )
                is_whole = form is not ast.Form.TOKENISED or types == {"keyword"}
                has_words = types != {"keyword"} and (form is not ast.Form.EXACT or types == {"words"})
                typed = "".join(wildcard(part) for part in pattern)
                if "date" in types and (date := re.fullmatch(r"(\d{4}(-\d\d){0,2})-?\*", typed)):
                    dates = [value for value in values(document, field) if type_of(value) == "date"]
                    if any(self.is_same(value, date[1]) for value in dates):
                        return True
                if is_whole and any(looks.fullmatch(text) for text in texts if types != {"words"}):
                    return True
                return has_words and self.has_words(clause, document, field)
            case ast.Term(text=text, form=form) | ast.Phrase(text=text, form=form):
                if types == {"keyword"}:
                    return text in texts
                if form is ast.Form.EXACT and "text" in types:
                    wanted = {type_of(text)}
                    if isinstance(clause, ast.Term):
                        wanted |= {"integer", "float", "boolean"}
                    others = [value for value in values(document, field) if type_of(value) in wanted]
                    return text in texts or any(self.is_same(value, text) for value in others)
                has_words = bool(types & {"text", "words"}) and self.has_words(clause, document, field)
                return has_words or any(self.is_same(value, text) for value in values(document, field))
            case _:
                return self.has_words(clause, document, field)

    def is_same(self, value: Any, text: str) -> bool:
        match type_of(value):
            case "integer" | "float":
                return is_number(text) and Decimal(repr(value)) == Decimal(text)
            case "date":
                return is_date(text) and self.is_in_time(value, ast.Bound(text), ast.Bound(text))
            case "boolean":
                return text.lower() == str(value).lower()
        return False

    def is_in_time(self, value: str, low: ast.Bound | None, high: ast.Bound | None) -> bool:
        moment = first_and_last(value, self.now)[0]
        if low is not None:
            first, last = first_and_last(low.text, self.now)
            if moment < first or (not low.is_inclusive and moment <= last):
                return False
        if high is not None:
            first, last = first_and_last(high.text, self.now)
            if moment > last or (not high.is_inclusive and moment >= first):
                return False
        return True

    def has_words(self, clause: Any, document: Document, field: str) -> bool:
        if "text" in self.types[field] and not any(type_of(value) == "text" for value in values(document, field)):
            # The digits of numbers and dates are no words.
            return False
        separated = apart if field == "name" else str
        placed = places(tuple(split(separated(str(value))) for value in values(document, field)))
        if field == "name":
            clause = in_name(clause)
        match clause:
            case ast.Term(text=text):
                return stand(placed, tokens(text, PROFILE), 0)
            case ast.Phrase(text=text, slop=slop):
                wanted = tokens(text, PROFILE)
                return (stand_within if slop else stand)(placed, wanted, slop or 0)
            case ast.Proximity(words=wanted, slop=slop):
                return stand(placed, tokens(" ".join(wanted), PROFILE), slop)
            case ast.Fuzzy(text=text, similarity=similarity):
                (word,) = tokens(text, PROFILE)
                edits = lucenes_edits(similarity, len(word))
                return any(abs(len(there) - len(word)) <= edits and distance(there, word) <= edits for there in placed)
            case ast.Wildcard(pattern=pattern):
                # Wildcards are parts of words here; blanks and hyphens separate the words.
                typed = "".join(wildcard(part) for part in pattern).lower()
                return stand(placed, [glob(word) for word in re.split("[ -]+", typed)], 0)
        raise TypeError(clause)


def values(document: Document, field: str) -> list[Any]:
    """Return a document's values of a field; an empty name or text is not a value."""
    match field:
        case "id":
            return [document.id]
        case "name":
            return [document.name] if document.name else []
        case "content":
            return [document.text] if document.text else []
    return list(document.properties.get(field, ()))  # type: ignore[arg-type]


def apart(name: str) -> str:
    """Replace underscores and dots in a name by blanks, since they also separate its words."""
    return re.sub("[_.]", " ", name)


def in_name(clause: Any) -> Any:
    """Return the clause that is matched against a name; a clause of separators only stays unchanged."""
    match clause:
        case ast.Term(text=text) | ast.Phrase(text=text) | ast.Fuzzy(text=text) if apart(text).strip():
            return replace(clause, text=apart(text))
        case ast.Proximity(words=words):
            return replace(clause, words=tuple(map(apart, words)))
        case ast.Wildcard(pattern=pattern):
            return replace(clause, pattern=tuple(apart(part) if isinstance(part, str) else part for part in pattern))
    return clause


@cache
def split(text: str) -> tuple[str, ...]:
    return tuple(tokens(text, PROFILE))


def type_of(value: object) -> str:
    """Return a value's type; a string that is not a date is a text, matched by words or as a whole."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "float"
    return "date" if re.match(r"\d{4}-\d\d-\d\d(T|$)", str(value)) else "text"


def wildcard(piece: str | ast.WildcardCharacter) -> str:
    return piece.value if isinstance(piece, ast.WildcardCharacter) else piece


def glob(word: str) -> re.Pattern[str]:
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in word), re.S)


# Positions of words.


@cache
def places(values: tuple[tuple[str, ...], ...]) -> dict[str, list[int]]:
    """Return the positions of each word, counted through all values of a field."""
    placed: dict[str, list[int]] = {}
    at = 0
    for words in values:
        for word in words:
            placed.setdefault(word, []).append(at)
            at += 1
        at += GAP
    return placed


def candidates(placed: dict[str, list[int]], wanted: Sequence[str | re.Pattern[str]]) -> Iterable[tuple[int, ...]]:
    """Yield every assignment of distinct positions to the wanted words or word patterns."""
    if not wanted:
        return
    for chosen in product(*(standing(placed, part) for part in wanted)):
        if len(set(chosen)) == len(chosen):
            yield chosen


def standing(placed: dict[str, list[int]], wanted: str | re.Pattern[str]) -> list[int]:
    if isinstance(wanted, str):
        return placed.get(wanted, [])
    return [at for word, there in placed.items() if wanted.fullmatch(word) for at in there]


def stand(placed: dict[str, list[int]], wanted: Sequence[str | re.Pattern[str]], slop: int) -> bool:
    """Check that the words occur in their order, with at most `slop` other words in between."""
    return any(
        list(chosen) == sorted(chosen) and chosen[-1] - chosen[0] + 1 - len(chosen) <= slop
        for chosen in candidates(placed, wanted)
    )


def stand_within(placed: dict[str, list[int]], wanted: Sequence[str], slop: int) -> bool:
    """Check that the words occur at their positions in a phrase, displaced by at most `slop` positions."""
    return any(
        max(at - number for number, at in enumerate(chosen)) - min(at - number for number, at in enumerate(chosen))
        <= slop
        for chosen in candidates(placed, wanted)
    )


# Edit distances of words.


def lucenes_edits(similarity: Decimal, length: int) -> int:
    """Return Lucene's number of edits: FuzzyQuery.floatToEdits(float minimumSimilarity, int termLen)."""
    similarity_value = np.float32(str(similarity))
    if similarity_value >= 1:
        return min(int(similarity_value), 2)
    return 0 if similarity_value == 0 else min(int((1.0 - float(similarity_value)) * length), 2)


@cache
def distance(one: str, other: str) -> int:
    """Return the edit distance, with transpositions, by trying each edit at the end of the two words."""
    if not one or not other:
        return len(one) + len(other)
    if one[-1] == other[-1]:
        return distance(one[:-1], other[:-1])
    ways = [distance(one[:-1], other), distance(one, other[:-1]), distance(one[:-1], other[:-1])]
    if len(one) > 1 and one[-2:] == other[-2:][::-1]:
        ways.append(distance(one[:-2], other[:-2]))
    return 1 + min(ways)


# Numbers and times.


def is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", text) is not None


def is_date(text: str) -> bool:
    return re.match(r"NOW|TODAY|\d{4}(-|$)", text) is not None


def is_between(value: Any, low: ast.Bound | None, high: ast.Bound | None, read: Any) -> bool:
    if low is not None and not (value > read(low.text) or (low.is_inclusive and value == read(low.text))):
        return False
    return high is None or value < read(high.text) or (high.is_inclusive and value == read(high.text))


def first_and_last(text: str, now: datetime) -> tuple[datetime, datetime]:
    """Return the first and the last moment of the period that a date denotes."""
    if years := re.fullmatch(r"NOW-(\d+)YEARS?", text):
        moment = now.replace(year=now.year - int(years[1]))
        return moment, moment
    if text == "NOW":
        return now, now
    text = text.removesuffix("Z")
    forms = ["%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f"]
    for form in forms:
        try:
            first = datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        match form[-2:]:
            case "%Y":
                after = first.replace(year=first.year + 1)
            case "%m":
                after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
            case "%d":
                after = first + timedelta(days=1)
            case "%M":
                after = first + timedelta(minutes=1)
            case "%S":
                after = first + timedelta(seconds=1)
            case _:
                after = first + timedelta(milliseconds=1)
        return first, after - timedelta(milliseconds=1)
    raise ValueError(text)
