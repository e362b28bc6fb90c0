"""All documents of a collection that a query matches, a page at a time, by Solr's cursor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whorl.engine.solr.answer import Json

if TYPE_CHECKING:
    from whorl.engine.solr.client import SolrClient

#: The mark to begin with.
BEGINNING = "*"


def pages(
    client: SolrClient,
    query: Mapping[str, Any],
    key: str,
    fields: Sequence[str],
    rows: int,
    mark: str = BEGINNING,
) -> Iterator[tuple[list[Json], str]]:
    """Yield documents in the order of their ids, and with each page the mark to go on behind it.

    Args:
        client: Where the collection is.
        query: What they match.
        key: The field of the ids.
        fields: What to return of each document.
        rows: Documents in a page.
        mark: Of the page that was taken last.
    """
    following, mark = mark, ""
    while following != mark:
        mark = following
        body = {
            "query": query,
            "limit": rows,
            "fields": list(fields),
            "sort": f"{key} asc",
            "params": {"cursorMark": mark},
        }
        answer = client.post("select", body)
        following = str(answer["nextCursorMark"])
        if documents := answer["response"]["docs"]:
            yield documents, following
