"""Documents in the order of their ids: those behind one, and all that a query matches, a portion at a time.

Nothing is sorted for it: what filters choose has one score, and of one score the smaller id comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.model import Hit
from whorl.planning.build import Bool, BoundPlan
from whorl.prepared import QueryReader
from whorl.query import ast
from whorl.query.unparse import unparse

#: Documents of a portion.
_AT_ONCE = 1_000


def behind(document_id: str) -> str:
    """Return the query that matches the documents whose ids come after one, which need not be there.

    >>> behind("lease")
    'id:<lease TO *]'
    """
    return unparse(ast.Range(ast.Bound(document_id, is_inclusive=False), None, "id"))


def count_matching(engine: Engine, reader: QueryReader, query: str) -> int:
    """Return how many documents a query matches."""
    return engine.search(reader.bound_filter(query), start=0, rows=0).total


def delete_matching(engine: Engine, reader: QueryReader, query: str, *, everything: bool) -> int:
    """Delete what a query matches, and return how many documents these were.

    Raises:
        ParameterError: These are all there are, though not everything is meant.
    """
    matches = count_matching(engine, reader, query)
    if matches and not everything and matches >= engine.count():
        raise ParameterError(
            f"the query matches all {matches:,} documents; to delete them all, add 'everything' (--everything)"
        )
    return sum(engine.delete([hit.id for hit in hits]) for hits in matching(engine, reader, query))


def matching(engine: Engine, reader: QueryReader, query: str) -> Iterator[tuple[Hit, ...]]:
    """Yield the documents that a query matches in the order of their ids, each once whatever changes meanwhile.

    Args:
        engine: What has them.
        reader: Reads the query.
        query: In the query language; its FINGERPRINTs name documents of the store.
    """
    asked = reader.bound_filter(query)
    plan = asked
    while some := engine.search(plan, start=0, rows=_AT_ONCE).hits:
        yield some
        require_time()
        plan = BoundPlan(Bool(must=(asked.root, reader.bound_filter(behind(some[-1].id)).root)))
