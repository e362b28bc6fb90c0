"""Marks a query's words in snippets and fragments of texts.

Texts are split into words as for the index, so with every engine, exactly the words that the query found are marked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from whorl.engine.index_terms import compile_pattern
from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.query.ast import WildcardCharacter
from whorl.query.plan.fields_and_values import split_name
from whorl.query.plan.nodes import Bool, FuzzyWord, InOrder, ResolvedPlan, WordClause, Words
from whorl.query.plan.planner import is_near
from whorl.request_context import timely

_Range: TypeAlias = tuple[int, int]
TEXTS_AT_ONCE = 20
#: Length of a snippet in words.
_SHOWN = 40
#: Number of words of context before the first matching word.
_BEFORE = 8
_IsMeant: TypeAlias = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Snippet:
    """Part of a text that shows why a query finds it; the text may continue before and after it.

    `places` are the matching words in the part: half-open ranges of characters, ascending.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("text", "places", "cut_before=is_cut_before", "cut_behind=is_cut_after")

    text: str
    places: tuple[tuple[int, int], ...]
    is_cut_before: bool
    is_cut_after: bool


def word_clauses(plan: ResolvedPlan, fields: Collection[str] | None = None) -> tuple[WordClause, ...]:
    """Return a plan's word clauses in `fields` (None: all fields) and the default fields; omit clauses under NOT."""
    if isinstance(plan, Bool):
        clauses = (clause for child in (*plan.must, *plan.should) for clause in word_clauses(child, fields))
        return tuple(dict.fromkeys(clauses))
    if not isinstance(plan, WordClause) or not (fields is None or plan.field is None or plan.field in fields):
        return ()
    # A clause of only `*` matches every word; mark nothing for it.
    is_any = isinstance(plan, InOrder) and set(plan.words) == {(WildcardCharacter.ANY,)}
    return () if is_any else (plan,)


def snippet(text: str, clauses: Sequence[WordClause], profile: str) -> Snippet | None:
    """Return the part of a text that matches the most clauses, or None if the text matches no clause."""
    words, spans = tokens_and_spans(text, profile)
    matches = sorted((*run, at) for at, clause in enumerate(clauses) for run in runs(words, clause, profile))
    if not matches:
        return None
    best, most = 0, (0, 0)
    for place, (start, _, _) in enumerate(timely(matches)):
        near = [at for begin, end, at in matches[place : place + _SHOWN] if end - start <= _SHOWN - _BEFORE]
        if (count := (len(set(near)), len(near))) > most:
            best, most = place, count
    first = max(0, matches[best][0] - _BEFORE)
    # Cut a phrase that is longer than the snippet.
    last = min(len(words), first + _SHOWN)
    begin, stop = int(spans[first, 0]), int(spans[last - 1, 1])
    meant = {at for start, end, _ in matches for at in range(max(start, first), min(end, last))}
    places = tuple((int(spans[at, 0]) - begin, int(spans[at, 1]) - begin) for at in sorted(meant))
    return Snippet(text[begin:stop], places, first > 0, last < len(words))


def runs(words: Sequence[str], clause: WordClause, profile: str) -> Iterator[tuple[int, int]]:
    """Yield the matches of a clause as half-open ranges of word indices."""
    match clause:
        case Words(text=text, slop=slop):
            meant: list[_IsMeant] = [word.__eq__ for word in tokens(text, profile) if word]
        case InOrder(words=patterns, slop=slop):
            meant = [compile_pattern(pattern).fullmatch for pattern in patterns]
        case FuzzyWord(word=word, edits=edits):
            meant, slop = [lambda other: is_near(word, other, edits)], 0
    if slop:
        # With a slop, the words of a match need not be adjacent, so yield a range for each word.
        yield from ((at, at + 1) for at, word in enumerate(timely(words)) if any(is_meant(word) for is_meant in meant))
        return
    for at in timely(range(len(words) - len(meant) + 1 if meant else 0)):
        if all(is_meant(words[at + step]) for step, is_meant in enumerate(meant)):
            yield at, at + len(meant)


@dataclass(frozen=True, slots=True)
class Marking:
    """Highlighting options of a field, with Alfresco's names.

    Args:
        prefix, postfix: Text before and after a marked word.
        snippet_count: Maximum number of fragments per text.
        fragment_size: Approximate length of a fragment in characters; 0 for the whole text.
        merge_contiguous: Whether adjacent fragments are joined.
        max_analyzed_chars: Maximum number of characters read per text.
        use_phrase_highlighter: Whether the words of a phrase are marked only where they are adjacent.
    """

    prefix: str = "<em>"
    postfix: str = "</em>"
    snippet_count: int = 1
    fragment_size: int = 100
    merge_contiguous: bool = False
    max_analyzed_chars: int = 51_200
    use_phrase_highlighter: bool = True


@dataclass(frozen=True, slots=True)
class Highlights:
    """Fragments with marked words, for each id of a hit and each field, and warnings for the user."""

    by_id: Mapping[str, Sequence[tuple[str, Sequence[str]]]]
    warnings: tuple[str, ...]


class Marker:
    """Marks the words of a query in texts, except its excluded words (NOT).

    Args:
        has_phrases: Whether the words of a phrase are marked only where they are adjacent.
        splits: Whether words are also split at `_` and `.`.
    """

    def __init__(self, plan: ResolvedPlan, profile: str, *, has_phrases: bool = True, splits: bool = False) -> None:
        self._profile, self._splits = profile, splits
        # To mark the words of phrases separately, give phrases a slop: `runs` then yields each word.
        self._clauses = word_clauses(plan)
        if not has_phrases:
            self._clauses = tuple(replace(own, slop=1) if isinstance(own, Words) else own for own in self._clauses)

    def snippets(self, text: str, marking: Marking) -> list[str]:
        text = text[: marking.max_analyzed_chars]
        if not self._clauses or not text:
            return []
        words, spans = tokens_and_spans(split_name(text) if self._splits else text, self._profile)
        places: list[_Range] = [(start, end) for start, end in timely(spans.tolist())]
        matches = (run for clause in self._clauses for run in runs(words, clause, self._profile))
        marks = [places[at] for at in sorted({at for run in matches for at in range(*run)})]
        fragments = _fragments(len(text), places, marks, marking)
        best = sorted(fragments, key=lambda fragment: (-len(fragment[1]), fragment[0]))[: marking.snippet_count]
        return [_mark_fragment(text, *fragment, marking) for fragment in sorted(best)]


def _fragments(
    length: int, words: Sequence[_Range], marks: Sequence[_Range], marking: Marking
) -> list[tuple[_Range, list[_Range]]]:
    """Return the fragments of a text: ranges of whole words, each with the ranges of the marked words in it."""
    if not marking.fragment_size:
        return [((0, length), list(marks))] if marks else []
    starts, ends = [start for start, _ in words], [end for _, end in words]
    fragments: list[tuple[_Range, list[_Range]]] = []
    for mark in timely(marks):
        start, end = mark
        last_end = fragments[-1][0][1] if fragments else 0
        if fragments and end <= last_end:
            fragments[-1][1].append(mark)
            continue
        margin = max(marking.fragment_size - (end - start), 0) // 2
        earliest = max(start - margin, last_end)
        latest = max(earliest + marking.fragment_size, end)
        # A fragment has whole words: from the first word that starts in its range to the last word that ends there.
        first = bisect_left(starts, earliest)
        fragment = (min(starts[first], start), max(ends[bisect_right(ends, latest) - 1], end))
        if marking.merge_contiguous and fragments and bisect_left(starts, last_end) == first:
            (begun, _), own = fragments.pop()
            fragments.append(((begun, fragment[1]), [*own, mark]))
        else:
            fragments.append((fragment, [mark]))
    return fragments


def _mark_fragment(text: str, fragment: _Range, marks: Sequence[_Range], marking: Marking) -> str:
    pieces, at = [], fragment[0]
    for start, end in marks:
        pieces += [text[at:start], marking.prefix, text[start:end], marking.postfix]
        at = end
    return "".join([*pieces, text[at : fragment[1]]])
