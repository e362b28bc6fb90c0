"""Documents in the order of their ids: those behind one, and all that a query matches, a portion at a time."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.context import require_time
from whorl.engine.protocol import Engine
from whorl.model import Hit, Order
from whorl.planning.build import Bool, BoundPlan
from whorl.prepared import QueryReader
from whorl.query import ast
from whorl.query.unparse import unparse

#: What a list of documents is sorted by.
BY_ID = Order("id", is_ascending=True)
#: Documents of a portion.
_AT_ONCE = 1_000


def behind(document_id: str) -> str:
    """Return the query that matches the documents whose ids come after one, which need not be there.

    >>> behind("lease")
    'id:<lease TO *]'
    """
    return unparse(ast.Range(ast.Bound(document_id, is_inclusive=False), None, "id"))


def matching(engine: Engine, reader: QueryReader, query: str) -> Iterator[tuple[Hit, ...]]:
    """Yield the documents that a query matches in the order of their ids, each once whatever changes meanwhile.

    Args:
        engine: What has them.
        reader: Reads the query.
        query: In the query language; its FINGERPRINTs name documents of the store.
    """
    asked, order = reader.bound_filter(query), [reader.sortable(BY_ID)]
    plan = asked
    while some := engine.search(plan, start=0, rows=_AT_ONCE, order=order).hits:
        yield some
        require_time()
        plan = BoundPlan(Bool(must=(asked.root, reader.bound_filter(behind(some[-1].id)).root)))
