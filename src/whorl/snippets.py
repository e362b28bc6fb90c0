"""Where in a text the words of a query stand: the part of it that has most of them, and their places in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans
from whorl.planning.build import Bool, ResolvedLeaf, ResolvedPlan
from whorl.planning.clauses import InOrder, Near, Words
from whorl.planning.patterns import distance
from whorl.query.ast import Joker, Pattern

#: Words of a snippet.
_SHOWN = 40
#: Words of it that stand before the first one that is meant.
_BEFORE = 8

#: What asks for words of a text.
WordClause: TypeAlias = Words | InOrder | Near
_IsMeant: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text that shows why a query finds it.

    Args:
        text: The part.
        places: Of the words in it that are meant: half-open ranges of its characters, ascending.
        is_cut_before: Whether the text has more before it.
        is_cut_behind: Whether it has more behind it.
    """

    text: str
    places: tuple[tuple[int, int], ...]
    is_cut_before: bool
    is_cut_behind: bool


def word_clauses(plan: ResolvedPlan, fields: Collection[str] | None = None) -> tuple[WordClause, ...]:
    """Return the clauses of a plan that ask for words of some fields (None: of any), or of the default ones."""
    return tuple(dict.fromkeys(_clauses(plan, fields)))


def _clauses(plan: ResolvedLeaf | Bool[ResolvedLeaf], fields: Collection[str] | None) -> Iterator[WordClause]:
    if isinstance(plan, Bool):
        for child in (*plan.must, *plan.should):
            yield from _clauses(child, fields)
    elif isinstance(plan, Words | InOrder | Near) and _names_words(plan) and _is_in(plan.field, fields):
        yield plan


def _is_in(field: str | None, fields: Collection[str] | None) -> bool:
    return fields is None or field is None or field in fields


def _names_words(clause: WordClause) -> bool:
    # A * alone asks for any word, and so shows none.
    return not isinstance(clause, InOrder) or any(pattern != (Joker.ANY,) for pattern in clause.words)


def snippet(text: str, clauses: Sequence[WordClause], profile: str) -> Snippet | None:
    """Return the part of a text that has words of most of the clauses, of equal ones the first.

    Args:
        text: The text.
        clauses: What is looked for.
        profile: How texts are split into words.

    Returns:
        None where it has none of them.
    """
    words, spans = tokens_and_spans(text, profile)
    found = sorted((*run, at) for at, clause in enumerate(clauses) for run in runs(words, clause, profile))
    if not found:
        return None
    best, most = 0, (0, 0)
    for place, (start, _, _) in enumerate(found):
        near = [at for begin, end, at in found[place : place + _SHOWN] if end - start <= _SHOWN - _BEFORE]
        if (told := (len(set(near)), len(near))) > most:
            best, most = place, told
    first = max(0, found[best][0] - _BEFORE)
    # A phrase of more words than are shown is shown as far as it goes.
    last = min(len(words), first + _SHOWN)
    begin, stop = int(spans[first, 0]), int(spans[last - 1, 1])
    meant = {at for start, end, _ in found for at in range(max(start, first), min(end, last))}
    places = tuple((int(spans[at, 0]) - begin, int(spans[at, 1]) - begin) for at in sorted(meant))
    return Snippet(text[begin:stop], places, first > 0, last < len(words))


def runs(words: Sequence[str], clause: WordClause, profile: str) -> Iterator[tuple[int, int]]:
    """Yield where the words of a clause stand: half-open ranges of words."""
    match clause:
        case Words(text=text, slop=slop):
            meant: list[_IsMeant] = [word.__eq__ for word in tokens(text, profile) if word]
        case InOrder(words=patterns, slop=slop):
            meant = [_expression(pattern) for pattern in patterns]
        case Near(word=word, edits=edits):
            meant, slop = [lambda other: is_near(word, other, edits)], 0
    if slop:
        # Where others may stand among them, each is shown by itself.
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
    """Return whether at most so many insertions, deletions, changes or swaps of neighbours make one word of another.

    >>> is_near("lease", "laese", 1), is_near("lease", "leaks", 1)
    (True, False)
    """
    return abs(len(word) - len(other)) <= edits and distance(word, other) <= edits
