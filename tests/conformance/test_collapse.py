"""Tests of hits collapsed by cluster on every engine, against plain Python over the hits without collapsing."""

from __future__ import annotations

import pytest

from tests.conformance.test_labels import own_store, written  # noqa: F401 - a fixture
from whorl import Document, Store
from whorl.errors import ParameterError
from whorl.model import Hit, Order

FAMILIES = {name: " ".join(f"{name}{at}" for at in range(40)) for name in "uvwx"}
DOCUMENTS = [
    Document(f"{name}{copy}", f"{text}{' common' * (copy + 1)}", properties={"rank": (7 * copy + ord(name)) % 10})
    for name, text in FAMILIES.items()
    for copy in range({"u": 5, "v": 3, "w": 2, "x": 1}[name])
]


def plain(hits: list[Hit], marks: dict[str, str]) -> list[tuple[str, int]]:
    """
    Return the ids of each cluster's first hit and of each hit without a cluster, with the number of further hits
    in its cluster.
    """
    ids_by_mark: dict[str, list[str]] = {}
    for hit in hits:
        ids_by_mark.setdefault(marks.get(hit.id, f"\0{hit.id}"), []).append(hit.id)
    return [(ids[0], len(ids) - 1) for ids in ids_by_mark.values()]


def test_one_row_for_each_cluster(own_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """
    The best hit of each cluster is shown in any sort order, with the number of hits it represents; pages fit together,
    and totals count all rows.
    """
    store = own_store
    store.index(DOCUMENTS)
    with pytest.raises(ParameterError, match="'whorl duplicates --store STORE --write-ids' writes labels"):
        store.search("*", collapse=True)
    assert written(store).documents == 10
    everything = [item for portion in store.engine.labels.read_all() for item in portion.items()]
    marks = {document_id: mark.cluster for document_id, mark in everything}
    monkeypatch.setattr("whorl.search.prepared_search._MIN_FETCHED", 3)
    for query, order in (
        ("common", ()),
        ("*", (Order("rank"),)),
        ("*", (Order("rank", is_ascending=True),)),
        ("u1 OR v1 OR FINGERPRINT:x0", ()),
        ("NOT =whorl_is_principal:true", (Order("id"),)),
        ("nothing", ()),
    ):
        hit_page = store.search(query, rows=100, sort=order)
        rows = plain(list(hit_page.hits), marks)
        whole = store.search(query, rows=100, sort=order, collapse=True)
        assert [(hit.id, hit.copies) for hit in whole.hits] == rows
        assert (whole.total, whole.matches) == (len(rows), hit_page.total)
        assert {hit.id: hit.cluster for hit in whole.hits} == {
            document_id: marks.get(document_id) for document_id, _ in rows
        }
        for start in range(len(rows) + 1):
            page = store.search(query, start=start, rows=2, sort=order, collapse=True)
            assert [(hit.id, hit.copies) for hit in page.hits] == rows[start : start + 2]
            assert (page.total, page.matches) == (len(rows), hit_page.total)
        assert store.search(query, rows=0, sort=order, collapse=True).total == len(rows)
