"""Finds the part of a text that matches the most clauses of a query, and where the matching words are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.query.ast import Joker, Pattern
from whorl.query.plan.nodes import Bool, FuzzyWord, InOrder, ResolvedLeaf, ResolvedPlan, Words
from whorl.query.plan.resolve_fields import distance

#: Length of a snippet in words.
_SHOWN = 40
#: Words of context before the first matching word.
_BEFORE = 8

#: Clauses that search words of a text.
WordClause: TypeAlias = Words | InOrder | FuzzyWord
_IsMeant: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text that shows why a query finds it.

    Args:
        text: The part.
        places: Ranges of the matching words in the part: half-open, in characters, ascending.
        is_cut_before: Whether the text continues before the part.
        is_cut_behind: Whether the text continues after the part.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("text", "places", "cut_before=is_cut_before", "cut_behind=is_cut_behind")

    text: str
    places: tuple[tuple[int, int], ...]
    is_cut_before: bool
    is_cut_behind: bool


def word_clauses(plan: ResolvedPlan, fields: Collection[str] | None = None) -> tuple[WordClause, ...]:
    """Return the clauses of a plan that search words in the given fields (None: in any field) or the default ones."""
    return tuple(dict.fromkeys(_clauses(plan, fields)))


def _clauses(plan: ResolvedLeaf | Bool[ResolvedLeaf], fields: Collection[str] | None) -> Iterator[WordClause]:
    if isinstance(plan, Bool):
        for child in (*plan.must, *plan.should):
            yield from _clauses(child, fields)
    elif isinstance(plan, Words | InOrder | FuzzyWord) and _names_words(plan) and _is_in(plan.field, fields):
        yield plan


def _is_in(field: str | None, fields: Collection[str] | None) -> bool:
    return fields is None or field is None or field in fields


def _names_words(clause: WordClause) -> bool:
    # A lone * matches any word, so it highlights none.
    return not isinstance(clause, InOrder) or any(pattern != (Joker.ANY,) for pattern in clause.words)


def snippet(text: str, clauses: Sequence[WordClause], profile: str) -> Snippet | None:
    """Return the part of a text with words of most of the clauses; None without a match."""
    words, spans = tokens_and_spans(text, profile)
    matches = sorted((*run, at) for at, clause in enumerate(clauses) for run in runs(words, clause, profile))
    if not matches:
        return None
    best, most = 0, (0, 0)
    for place, (start, _, _) in enumerate(matches):
        near = [at for begin, end, at in matches[place : place + _SHOWN] if end - start <= _SHOWN - _BEFORE]
        if (count := (len(set(near)), len(near))) > most:
            best, most = place, count
    first = max(0, matches[best][0] - _BEFORE)
    # A phrase longer than the snippet is cut.
    last = min(len(words), first + _SHOWN)
    begin, stop = int(spans[first, 0]), int(spans[last - 1, 1])
    meant = {at for start, end, _ in matches for at in range(max(start, first), min(end, last))}
    places = tuple((int(spans[at, 0]) - begin, int(spans[at, 1]) - begin) for at in sorted(meant))
    return Snippet(text[begin:stop], places, first > 0, last < len(words))


def runs(words: Sequence[str], clause: WordClause, profile: str) -> Iterator[tuple[int, int]]:
    """Yield the matches of a clause as half-open ranges of words."""
    match clause:
        case Words(text=text, slop=slop):
            meant: list[_IsMeant] = [word.__eq__ for word in tokens(text, profile) if word]
        case InOrder(words=patterns, slop=slop):
            meant = [_expression(pattern) for pattern in patterns]
        case FuzzyWord(word=word, edits=edits):
            meant, slop = [lambda other: is_near(word, other, edits)], 0
    if slop:
        # With a slop, other words may be between the matching words, so each of these is a separate range.
        yield from ((at, at + 1) for at, word in enumerate(words) if any(is_meant(word) for is_meant in meant))
        return
    for at in range(len(words) - len(meant) + 1 if meant else 0):
        if all(is_meant(words[at + step]) for step, is_meant in enumerate(meant)):
            yield at, at + len(meant)


def _expression(pattern: Pattern) -> _IsMeant:
    jokers = {Joker.ANY: ".*", Joker.ONE: "."}
    pieces = (jokers[piece] if isinstance(piece, Joker) else re.escape(piece) for piece in pattern)
    expression = re.compile("".join(pieces), re.DOTALL)
    return lambda word: expression.fullmatch(word) is not None


def is_near(word: str, other: str, edits: int) -> bool:
    """Check whether two words are within `edits` insertions, deletions, substitutions or transpositions of neighbours.

    >>> is_near("lease", "laese", 1), is_near("lease", "leaks", 1)
    (True, False)
    """
    return abs(len(word) - len(other)) <= edits and distance(word, other) <= edits
