"""Lucene's limit on the clauses of one query, and which fingerprints leave the query so that it stays within it."""

from __future__ import annotations

from collections.abc import Callable

from whorl.errors import ParameterError
from whorl.planning.build import BoundLeaf, BoundNode, leaves

#: Lucene's limit on the leaf clauses of one query (IndexSearcher.maxClauseCount); the default of Solr, OpenSearch and
#: Elasticsearch, kept by most.
MAX_CLAUSES = 1024


def evaluated_apart(
    root: BoundNode,
    count: Callable[[BoundLeaf], int],
    *,
    movable: tuple[type, ...],
    count_apart: int,
    server: str,
) -> frozenset[int]:
    """Choose the fingerprints that move into functions, the largest first, until the rest is within the limit.

    Args:
        root: The plan's root.
        count: How many leaf clauses a node without children becomes, at most.
        movable: The nodes that can move.
        count_apart: How many leaf clauses are left of one that moved.
        server: Whose limit it is, for the message: "Solr".

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
