"""Patterns whose automata have more states than a search server makes, or than a query may have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whorl.errors import EngineResponseError, Span, UnsupportedQueryError
from whorl.planning.build import BoundPlan, leaves
from whorl.planning.clauses import InOrder, Like
from whorl.query.ast import Joker, Pattern, as_typed


def doublings(pattern: Pattern) -> int:
    """Return how often a pattern doubles the states of its automaton.

    Each ? does that stands behind a letter behind a *: that letter may have been any of those before.

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
    """Tell that Lucene refuses a pattern of the plan that is run as an error of the query.

    Raises:
        UnsupportedQueryError: It does; the message names the pattern that comes to the most states.
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
