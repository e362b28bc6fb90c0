"""Wildcard patterns whose automata have too many states for a search server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whorl.errors import EngineResponseError, Span, UnsupportedQueryError
from whorl.query.ast import Joker, Pattern, as_typed
from whorl.query.plan.build import BoundPlan, leaves
from whorl.query.plan.clauses import InOrder, Like


def doublings(pattern: Pattern) -> int:
    """Count the doublings of states in a pattern's automaton.

    A ? does so if it follows a letter that follows a *, since that letter may have been any of the previous ones.

    >>> doublings(("a", Joker.ONE, Joker.ANY, "b", Joker.ONE, Joker.ONE))
    2
    """
    count, is_anywhere, may_have_begun = 0, False, False
    for piece in pattern:
        if piece is Joker.ANY:
            is_anywhere, may_have_begun = True, False
        elif piece is Joker.ONE:
            count += may_have_begun
        else:
            may_have_begun = is_anywhere
    return count


@contextmanager
def refusals_explained(plan: BoundPlan) -> Iterator[None]:
    """Turn Lucene's refusal of a pattern in the plan into an error of the query.

    Raises:
        UnsupportedQueryError: Lucene refuses a pattern; the message names the pattern with the most states.
    """
    try:
        yield
    except EngineResponseError as error:
        patterns = list(_patterns(plan))
        if not patterns or "determiniz" not in error.detail.lower():
            raise
        typed = as_typed(max(patterns, key=doublings))
        hint = "Ask with fewer ? behind letters behind a *, or begin the pattern with letters."
        message = f"{typed:.80}: this pattern comes to more states than the search server takes"
        raise UnsupportedQueryError(message, query=typed, span=Span(0, len(typed)), hint=hint) from error


def _patterns(plan: BoundPlan) -> Iterator[Pattern]:
    for leaf in leaves(plan.root):
        match leaf:
            case Like(pattern=pattern):
                yield pattern
            case InOrder(words=patterns):
                yield from patterns
