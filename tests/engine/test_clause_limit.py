"""Which fingerprints leave a query so that it stays within Lucene's limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.engine.clause_limit import MAX_CLAUSES, evaluated_apart
from whorl.errors import ParameterError
from whorl.query.plan.build import Bool, BoundLeaf, BoundNode, MatchAll, SharedTokens


def tokens(count: int) -> SharedTokens:
    return SharedTokens("a", tuple(range(count)), 1)


def count(node: BoundLeaf) -> int:
    return len(node.tokens) if isinstance(node, SharedTokens) else 1


def apart(*nodes: BoundLeaf) -> list[BoundLeaf]:
    root: BoundNode = Bool(should=nodes, min_should_match=1)
    moved = evaluated_apart(root, count, movable=(SharedTokens,), count_apart=3, server="Lucene")
    return [node for node in nodes if id(node) in moved]


def test_the_largest_leave_first() -> None:
    """
    And no more than have to.
    """
    small, large, largest = tokens(300), tokens(500), tokens(512)
    assert apart(small, large) == []
    assert apart(tokens(512), tokens(512)) == []
    assert apart(small, large, largest) == [largest]
    assert apart(small, large, largest, tokens(512), tokens(512)) == [largest, tokens(512), tokens(512)]


@given(st.lists(st.integers(1, 512), max_size=40), st.integers(0, 1_100))
def test_what_stays_is_within_the_limit(sizes: list[int], others: int) -> None:
    """
    Or the query is refused, which is only where nothing more could leave.
    """
    nodes: list[BoundLeaf] = [tokens(size) for size in sizes]
    everything = [*nodes, *(MatchAll() for _ in range(others))]
    least = others + sum(min(size, 3) for size in sizes)
    if least > MAX_CLAUSES:
        with pytest.raises(ParameterError, match=f"comes to {least:,} clauses, and Lucene takes 1,024 at once"):
            apart(*everything)
        return
    moved = {id(node) for node in apart(*everything)}
    assert others + sum(3 if id(node) in moved else count(node) for node in nodes) <= MAX_CLAUSES
    if moved:
        assert others + sum(sizes) > MAX_CLAUSES, "nothing leaves without need"


def test_what_cannot_leave() -> None:
    """
    Is told with both numbers.
    """
    with pytest.raises(ParameterError, match="comes to 1,025 clauses, and Lucene takes 1,024 at once"):
        apart(*(MatchAll() for _ in range(1_025)))
