"""Picks the fragments of a field that contain the most query words, and marks these words.

Texts are tokenised here as for indexing. So the marked words are the words that were found, whatever the engine, and
the engine's own highlighting is not needed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from whorl.arrays import batches
from whorl.engine.protocol import Engine
from whorl.errors import SchemaError
from whorl.fingerprint.words.tokenizer import tokens_and_spans
from whorl.model import Stored
from whorl.query.plan.fields import split_name, value_named
from whorl.query.plan.nodes import ResolvedPlan, Words
from whorl.request_context import require_time
from whorl.search.prepared import PreparedQuery
from whorl.search.snippets import runs, word_clauses

_Range: TypeAlias = tuple[int, int]
#: Number of hits whose texts are fetched at a time.
_TEXTS_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Marking:
    """Highlighting options of a field.

    Args:
        prefix: Text before a marked word.
        postfix: Text after a marked word.
        snippets: Maximum number of fragments per text.
        size: Approximate length of a fragment in characters; 0 for the whole text.
        joins: Whether to join adjacent fragments.
        longest: Maximum number of characters read per text.
        has_phrases: Whether to mark the words of a phrase only where they are adjacent.
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
    """Fragments with marked words: by hit, the fields that have some; and warnings for the user."""

    by_id: Mapping[str, Sequence[tuple[str, Sequence[str]]]]
    warnings: tuple[str, ...]


def highlights(
    engine: Engine,
    prepared: PreparedQuery,
    documents: Mapping[str, Stored],
    fields: Mapping[str, Marking],
    names: Mapping[str, str],
) -> Highlights:
    """Return the highlighted fragments of hits.

    Words are marked in every named field, even if the query searches them in another field; words of filters are not
    marked. `names` maps field names used in queries to field names in the store.
    """
    warnings = list[str]()
    markers = {
        field: Marker(
            prepared.resolved,
            engine.scheme.profile,
            has_phrases=marking.has_phrases,
            splits=not set(engine.fields().split).isdisjoint((prepared.reader.places(field) or {}).values()),
        )
        for field, marking in fields.items()
    }
    found = dict[str, list[tuple[str, Sequence[str]]]]()
    for ids in batches(documents, _TEXTS_AT_ONCE):
        some = {document_id: documents[document_id] for document_id in ids}
        readers = {field: _reader(engine, prepared, field, some, names, warnings) for field in fields}
        for document_id in some:
            for field, marking in fields.items():
                require_time()
                if snippets := markers[field].snippets(readers[field](document_id), marking):
                    found.setdefault(document_id, []).append((field, snippets))
    return Highlights(found, tuple(dict.fromkeys(warnings)))


def _reader(
    engine: Engine,
    prepared: PreparedQuery,
    field: str,
    documents: Mapping[str, Stored],
    names: Mapping[str, str],
    warnings: list[str],
) -> Callable[[str], str]:
    """Return a function from a document's id to the text of a field."""
    places = prepared.reader.places(field)
    if places is None:
        warnings.append(f"the store has no field {field!r:.80}, so nothing is marked in it")
        return lambda _: ""
    if places == prepared.reader.places("content"):
        try:
            texts = engine.texts(list(documents))
        except SchemaError as error:
            warnings.append(f"nothing is marked in {field!r:.80}: {error}")
            return lambda _: ""
        return lambda document_id: texts.get(document_id, "")
    if places == prepared.reader.places("name"):
        return lambda document_id: documents[document_id].name
    return lambda document_id: "\n".join(map(str, value_named(field, names, documents[document_id].properties) or ()))


class Marker:
    """Marks the words that a query searches, except excluded ones.

    Without `has_phrases`, words of a phrase are marked even where they are not adjacent. `splits` says that `_` and `.`
    separate words of the texts too.
    """

    def __init__(self, plan: ResolvedPlan, profile: str, *, has_phrases: bool = True, splits: bool = False) -> None:
        self._profile, self._splits = profile, splits
        self._clauses = word_clauses(plan)
        if not has_phrases:
            # With a slop, each word of a phrase is found separately.
            apart = (replace(each, slop=1) if isinstance(each, Words) else each for each in self._clauses)
            self._clauses = tuple(apart)

    def snippets(self, text: str, marking: Marking) -> list[str]:
        """Return the fragments of a text with the most marked words, in the order of the text."""
        text = text[: marking.longest]
        if not self._clauses or not text:
            return []
        words, spans = tokens_and_spans(split_name(text) if self._splits else text, self._profile)
        places: list[_Range] = [(start, end) for start, end in spans.tolist()]
        found = (run for clause in self._clauses for run in runs(words, clause, self._profile))
        marks = [places[at] for at in sorted({at for run in found for at in range(*run)})]
        fragments = _fragments(len(text), places, marks, marking)
        best = sorted(fragments, key=lambda each: (-len(each[1]), each[0]))[: marking.snippets]
        return [_marked(text, *each, marking) for each in sorted(best)]


def _fragments(
    length: int, words: Sequence[_Range], marks: Sequence[_Range], marking: Marking
) -> list[tuple[_Range, list[_Range]]]:
    """Return the fragments of a text around marked words, each with its marks; fragments consist of whole words."""
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
        # The first word that starts in the fragment, and the last word that ends in it.
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
