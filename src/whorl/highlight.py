"""Where the words of a query stand in its hits: the fragments of a text with most of them, the words marked.

Texts are split into words here as they were when they were indexed, so that what is marked is what was found, whatever
engine found it and whatever it could mark itself.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.engine.terms import compiled
from whorl.errors import SchemaError
from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.model import Stored
from whorl.planning.build import Bool, ResolvedPlan
from whorl.planning.clauses import InOrder, Near, Words
from whorl.planning.fields import value_named
from whorl.planning.patterns import distance
from whorl.prepared import PreparedQuery

#: Whether a word of a text is one that is looked for.
_Test: TypeAlias = Callable[[str], bool]
#: Words that are marked where they stand in a row.
_Row: TypeAlias = Sequence[_Test]
_Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Marking:
    """How words are marked in a field.

    Args:
        prefix: Before a word.
        postfix: Behind it.
        snippets: Fragments of a text, at most.
        size: Characters of one, about; 0 for the whole text.
        joins: Whether fragments that lie next to each other become one.
        longest: Characters of a text that are looked at.
        has_phrases: Whether the words of a phrase are marked where they stand in a row, and not elsewhere.
    """

    prefix: str = "<em>"
    postfix: str = "</em>"
    snippets: int = 1
    size: int = 100
    joins: bool = False
    longest: int = 51_200
    has_phrases: bool = True


@dataclass(frozen=True, slots=True)
class Highlights:
    """What is marked in hits.

    Args:
        by_id: Of each hit, the fields with something marked, each with its fragments.
        warnings: What the user should know beside them.
    """

    by_id: Mapping[str, Sequence[tuple[str, Sequence[str]]]]
    warnings: tuple[str, ...]


def highlights(
    engine: Engine,
    prepared: PreparedQuery,
    documents: Mapping[str, Stored],
    fields: Mapping[str, Marking],
    names: Mapping[str, str],
) -> Highlights:
    """Return where the words of a query stand in some of its hits.

    Words are marked in every field that is named, whichever they were looked for in.

    Args:
        engine: What has the texts.
        prepared: The query; what its filters look for is not marked.
        documents: The hits, by their ids.
        fields: Those in which words are marked, by their names in a query, in the order of the answer.
        names: Maps field names used in queries to field names in the store.
    """
    warnings = list[str]()
    readers = {field: _reader(engine, prepared, field, documents, names, warnings) for field in fields}
    markers = {
        field: Marker(prepared.resolved, engine.scheme.profile, has_phrases=marking.has_phrases)
        for field, marking in fields.items()
    }
    found = dict[str, list[tuple[str, Sequence[str]]]]()
    for document_id in documents:
        for field, marking in fields.items():
            require_time()
            if snippets := markers[field].snippets(readers[field](document_id), marking):
                found.setdefault(document_id, []).append((field, snippets))
    return Highlights(found, tuple(warnings))


def _reader(
    engine: Engine,
    prepared: PreparedQuery,
    field: str,
    documents: Mapping[str, Stored],
    names: Mapping[str, str],
    warnings: list[str],
) -> Callable[[str], str]:
    """Return what gives the text of a field by the id of a document."""
    places = prepared.places(field)
    if places is None:
        warnings.append(f"the store has no field {field!r}, so nothing is marked in it")
        return lambda _: ""
    if places == prepared.places("content"):
        try:
            texts = engine.texts(list(documents))
        except SchemaError as error:
            warnings.append(f"nothing is marked in {field!r}: {error}")
            return lambda _: ""
        return lambda document_id: texts.get(document_id, "")
    if places == prepared.places("name"):
        return lambda document_id: documents[document_id].name
    return lambda document_id: "\n".join(map(str, value_named(field, names, documents[document_id].properties) or ()))


class Marker:
    """Marks the words that a query looks for, without those that it leaves out.

    Args:
        plan: What it looks for.
        profile: How texts are split into words.
        has_phrases: Whether the words of a phrase are marked in a row only.
    """

    def __init__(self, plan: ResolvedPlan, profile: str, *, has_phrases: bool = True) -> None:
        self._profile, self._rows = profile, list(_rows(plan, profile, has_phrases=has_phrases))

    def snippets(self, text: str, marking: Marking) -> list[str]:
        """Return the fragments of a text with most of the words, in the order of the text; none without any."""
        text = text[: marking.longest]
        if not self._rows or not text:
            return []
        words, spans = tokens_and_spans(text, self._profile)
        places: list[_Range] = [(start, end) for start, end in spans.tolist()]
        marks = [places[at] for at in sorted({*self._found(words)})]
        fragments = _fragments(len(text), places, marks, marking)
        best = sorted(fragments, key=lambda each: (-len(each[1]), each[0]))[: marking.snippets]
        return [_marked(text, *each, marking) for each in sorted(best)]

    def _found(self, words: Sequence[str]) -> Iterator[int]:
        known: dict[tuple[int, int, str], bool] = {}

        def fits(row: int, place: int, word: str) -> bool:
            key = (row, place, word)
            if key not in known:
                known[key] = self._rows[row][place](word)
            return known[key]

        for number, row in enumerate(self._rows):
            for at in range(len(words) - len(row) + 1):
                if all(fits(number, place, words[at + place]) for place in range(len(row))):
                    yield from range(at, at + len(row))


def _rows(plan: ResolvedPlan, profile: str, *, has_phrases: bool) -> Iterator[_Row]:
    match plan:
        case Bool(must=must, should=should):
            for child in (*must, *should):
                yield from _rows(child, profile, has_phrases=has_phrases)
        case Words(text=text, slop=slop):
            row = [_is(word) for word in tokens(text, profile)]
            yield from [row] if row and has_phrases and not slop else [[each] for each in row]
        case InOrder(words=patterns):
            yield from ([_fits(compiled(pattern))] for pattern in patterns)
        case Near(word=word, edits=edits):
            yield [_is_near(word, edits)]
        case _:
            return


def _is(wanted: str) -> _Test:
    return lambda word: word == wanted


def _fits(pattern: re.Pattern[str]) -> _Test:
    return lambda word: pattern.fullmatch(word) is not None


def _is_near(wanted: str, edits: int) -> _Test:
    return lambda word: abs(len(word) - len(wanted)) <= edits and distance(word, wanted) <= edits


def _fragments(
    length: int, words: Sequence[_Range], marks: Sequence[_Range], marking: Marking
) -> list[tuple[_Range, list[_Range]]]:
    """Return the fragments of a text in which marks are, each with its own; they begin and end with whole words."""
    if not marking.size:
        return [((0, length), list(marks))] if marks else []
    starts, ends = [start for start, _ in words], [end for _, end in words]
    fragments: list[tuple[_Range, list[_Range]]] = []
    for mark in marks:
        start, end = mark
        last_end = fragments[-1][0][1] if fragments else 0
        if fragments and end <= last_end:
            fragments[-1][1].append(mark)
            continue
        margin = max(marking.size - (end - start), 0) // 2
        earliest = max(start - margin, last_end)
        latest = max(earliest + marking.size, end)
        # The first word that begins there, and the last that ends before.
        first = bisect_left(starts, earliest)
        fragment = (min(starts[first], start), max(ends[bisect_right(ends, latest) - 1], end))
        if marking.joins and fragments and bisect_left(starts, last_end) == first:
            (begun, _), own = fragments.pop()
            fragments.append(((begun, fragment[1]), [*own, mark]))
        else:
            fragments.append((fragment, [mark]))
    return fragments


def _marked(text: str, fragment: _Range, marks: Sequence[_Range], marking: Marking) -> str:
    pieces, at = [], fragment[0]
    for start, end in marks:
        pieces += [text[at:start], marking.prefix, text[start:end], marking.postfix]
        at = end
    return "".join([*pieces, text[at : fragment[1]]])
