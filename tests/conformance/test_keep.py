"""Which document of a cluster is kept, by properties, on every engine: as plain Python chooses from the documents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whorl import Document, Store
from whorl.duplicates import Keep, ask_pairs, duplicates_in, superfluous


def worth(document: Document, field: str) -> float | None:
    """The number or the moment of a property."""
    values: Any = document.properties.get(field)
    if not values:
        return None
    if isinstance(values[0], str):
        moment = datetime.fromisoformat(values[0])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float(values[0])


@pytest.mark.parametrize(
    ("keep", "field", "best"),
    [
        ("newest:created", "created", max),
        ("oldest:cm:created", "created", min),
        ("largest:price", "price", max),
        ("smallest:pages", "pages", min),
    ],
)
def test_kept_by_a_property(store: Store, collection: list[Document], keep: str, field: str, best: Any) -> None:
    """
    Of each complete cluster one of those of the best value stays; a document without one stays only where none has one.
    """
    worths = {each.id: worth(each, field) for each in collection}
    chosen = 0
    with duplicates_in(store.engine, ask_pairs("jaccard", 50, 95), names=store.names, keep=Keep.named(keep)) as found:
        for cluster in found.clusters(complete=True, keep=Keep("first")):
            known = [value for each in cluster.members if (value := worths[each.id]) is not None]
            if not known:
                continue
            gone = {each.id for each in superfluous([cluster], keep)}
            (kept,) = {each.id for each in cluster.members} - gone
            assert worths[kept] == best(known)
            chosen += 1
    assert chosen > 5
