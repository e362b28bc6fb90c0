"""Lists, counts, deletes or iterates all documents that a query matches, in the order of their ids.

Listing needs no sorting: hits of a filter have equal scores, and the smaller id comes first among equal scores.
"""

from __future__ import annotations

from collections.abc import Iterator

from whorl.engine.protocol import Engine, require_current_index
from whorl.errors import ParameterError
from whorl.model import Hit
from whorl.query import ast
from whorl.query.plan.nodes import Bool, BoundPlan
from whorl.query.unparse import unparse
from whorl.request_context import require_time
from whorl.search.prepared import QueryReader

#: Documents fetched at a time.
_AT_ONCE = 1_000


def behind(document_id: str) -> str:
    """Return the query for documents with ids after a given one; no document needs to have the given id.

    >>> behind("lease")
    'id:<lease TO *]'
    """
    return unparse(ast.Range(ast.Bound(document_id, is_inclusive=False), None, "id"))


def count_matching(engine: Engine, reader: QueryReader, query: str) -> int:
    require_current_index(engine, "the number of documents")
    return engine.search(reader.bound_filter(query), start=0, rows=0).total


def delete_matching(engine: Engine, reader: QueryReader, query: str, *, everything: bool) -> int:
    """Delete the documents that a query matches, and return their number.

    Raises:
        ParameterError: The query matches all documents, and `everything` is not set.
    """
    matches = count_matching(engine, reader, query)
    if matches and not everything and matches >= engine.count():
        raise ParameterError(
            f"the query matches all {matches:,} documents; to delete them all, add 'everything' (--everything)"
        )
    return sum(engine.delete([hit.id for hit in hits]) for hits in matching(engine, reader, query))


def matching(engine: Engine, reader: QueryReader, query: str) -> Iterator[tuple[Hit, ...]]:
    """Yield the documents that a query matches in the order of their ids, each once even if the store changes."""
    matches = reader.bound_filter(query)
    plan = matches
    while hits := engine.search(plan, start=0, rows=_AT_ONCE).hits:
        yield hits
        require_time()
        plan = BoundPlan(Bool(must=(matches.root, reader.bound_filter(behind(hits[-1].id)).root)))
