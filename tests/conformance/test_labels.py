"""Tests of cluster labels in the documents of every engine: written, updated by a second run, and preserved."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import opensearch_runtime, solr_runtime
from tests.conformance.engines import ENGINES
from whorl import Document, Store, open_store
from whorl.duplicates import Keep, duplicates_in, parse_pair_options
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.write_cluster_labels import LabelCounts, write_ids
from whorl.engine.protocol import ClusterLabel
from whorl.model import Indexed

PAGE, OTHER, THIRD = (" ".join(f"{letter}{at}" for at in range(60)) for letter in "wxy")
DOCUMENTS = [
    Document("a 1", PAGE, "First", {"n": 1, "made": "2020-05-01"}),
    Document("a 2", f"{PAGE} more", properties={"n": 3}),
    Document('a "3"', f"{PAGE} and more", properties={"n": 2}),
    Document("b1", OTHER, properties={"n": 1}),
    Document("b2", OTHER, properties={"n": 0}),
    Document("c", THIRD),
    Document("short", "a few words"),
]


@pytest.fixture(params=ENGINES)
def own_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each engine that the test may change."""
    match request.param:
        case "embedded":
            with open_store(tmp_path / "store") as store:
                yield store
        case "opensearch":
            with (
                opensearch_runtime.own_index(request.getfixturevalue("opensearch_url")) as url,
                open_store(url) as store,
            ):
                yield store
        case kind:
            base_url = request.getfixturevalue(f"solr_{kind}_url").rpartition("/")[0]
            name = f"whorl_labels_{uuid.uuid4().hex[:8]}"
            with open_store(solr_runtime.make_collection(base_url, name)) as store:
                yield store
            solr_runtime.drop(base_url, name)


def written(store: Store, keep: str = "first") -> LabelCounts:
    with duplicates_in(
        store.engine, DuplicatesOptions(parse_pair_options("jaccard", 80, 100), keep=Keep.parse(keep))
    ) as duplicates:
        return write_ids(store.engine, duplicates.clusters(complete=True, keep=Keep.parse(keep)))


def labels(store: Store) -> dict[str, tuple[str, bool]]:
    everything: dict[str, ClusterLabel] = {}
    for portion in store.engine.labels.read_all():
        everything |= portion
    assert store.engine.labels.labels_of([*(document.id for document in DOCUMENTS), "d"]) == everything
    return {document_id: (label.cluster, label.is_principal) for document_id, label in everything.items()}


def test_clusters_are_written(own_store: Store) -> None:
    """
    Documents of a cluster have its label, and no others do; labels can be queried, and nothing else of the documents
    changes.
    """
    store = own_store
    store.index(DOCUMENTS)
    ids = [document.id for document in DOCUMENTS]
    before = store.engine.digests(ids), store.engine.sketches(ids), store.engine.texts(ids), store.documents(ids)
    assert written(store) == LabelCounts(2, 5, 5, 0)
    expected = {
        'a "3"': ('a "3"', True), "a 1": ('a "3"', False), "a 2": ('a "3"', False),
        "b1": ("b1", True), "b2": ("b1", False),
    }  # fmt: skip
    assert labels(store) == expected
    assert {hit.id for hit in store.search("whorl_is_principal:true").hits} == {'a "3"', "b1"}
    assert {hit.id for hit in store.search("=whorl_cluster:b1").hits} == {"b1", "b2"}
    assert store.engine.digests(ids) == before[0]
    assert store.engine.sketches(ids) == before[1]
    assert store.engine.texts(ids) == before[2]
    others = {
        document_id: {name: own for name, own in stored.properties.items() if not name.startswith("whorl_")}
        for document_id, stored in store.documents(ids).items()
    }
    assert others == {document_id: dict(stored.properties) for document_id, stored in before[3].items()}
    assert {similar.hit.id for similar in store.similar("a 1", metric="jaccard", threshold=80).found} == {
        "a 2",
        'a "3"',
    }
    assert store.search("FINGERPRINT:b1").total == 2
    # A second run changes nothing, and an unchanged document that is indexed again keeps its label.
    assert written(store) == LabelCounts(2, 5, 0, 0)
    assert store.index(DOCUMENTS) == Indexed(0, len(DOCUMENTS))
    assert labels(store) == expected


def test_a_second_run_updates_changed_labels(own_store: Store) -> None:
    """
    A second run updates a changed principal, a new member and a former member; an empty run removes all labels.
    """
    store = own_store
    store.index(DOCUMENTS)
    written(store)
    assert written(store, "largest:n") == LabelCounts(2, 5, 2, 0)
    store.delete(["b1"])
    store.index([Document("d", THIRD)])
    assert written(store, "longest") == LabelCounts(2, 5, 4, 1)
    assert labels(store) == {
        'a "3"': ('a "3"', True), "a 1": ('a "3"', False), "a 2": ('a "3"', False),
        "c": ("c", True), "d": ("c", False),
    }  # fmt: skip
    store.index([Document("a 2", "quite another text by now"), Document("d", "and so is this one, of a few words")])
    assert written(store) == LabelCounts(1, 2, 0, 1)
    assert labels(store).keys() == {"a 1", 'a "3"'}
    store.delete(["a 1"])
    assert written(store) == LabelCounts(0, 0, 0, 1)
    assert labels(store) == {}
    assert list(store.engine.labels.read_all()) in ([], [{}])
