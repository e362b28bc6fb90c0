"""Lucene's limit on the clauses of one query, and the choice of fingerprints to move out of a query that exceeds it."""

from __future__ import annotations

from collections.abc import Callable

from whorl.errors import ParameterError
from whorl.query.plan.build import BoundLeaf, BoundNode, leaves

#: Lucene's limit on the leaf clauses of one query (IndexSearcher.maxClauseCount); the default of Solr, OpenSearch and
#: Elasticsearch, which most installations keep.
MAX_CLAUSES = 1024


def evaluated_apart(
    root: BoundNode,
    count: Callable[[BoundLeaf], int],
    *,
    movable: tuple[type, ...],
    count_apart: int,
    server: str,
) -> frozenset[int]:
    """Choose the fingerprints that move into functions, largest first, until the rest is within the limit.

    Args:
        root: The plan's root.
        count: Returns the maximum number of leaf clauses that a node without children becomes.
        movable: Types of nodes that can move.
        count_apart: Leaf clauses left of a node that moved.
        server: Name of the server in the message: "Solr".

    Returns:
        `id()` of the nodes that move.

    Raises:
        ParameterError: The query has too many clauses even so.
    """
    nodes = list(leaves(root))
    total, moved = sum(map(count, nodes)), set[int]()
    for node in sorted((node for node in nodes if isinstance(node, movable)), key=count, reverse=True):
        if total <= MAX_CLAUSES or count(node) <= count_apart:
            break
        total += count_apart - count(node)
        moved.add(id(node))
    if total > MAX_CLAUSES:
        raise ParameterError(
            f"the query comes to {total:,} clauses, and {server} takes {MAX_CLAUSES:,} at once; ask in several queries"
        )
    return frozenset(moved)
