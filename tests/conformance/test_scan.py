"""Tests of scans and duplicates on every engine: each document once, from any position, and the same pairs
everywhere.
"""

from __future__ import annotations

import pytest

from tests.conformance.test_similar import shares, windows
from whorl import Document, Store
from whorl.duplicates import duplicates_in, parse_pair_options


def test_a_scan_gives_each_document_once(
    store: Store, collection: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A scan returns documents in the order of ids, with name and sketch, and continues from the mark of any batch.
    """
    for module in ("whorl.engine.embedded.engine", "whorl.engine.solr.engine", "whorl.engine.opensearch.engine"):
        monkeypatch.setattr(f"{module}.SCAN_BATCH_SIZE", 50)
    portions = list(store.engine.scan())
    assert len(portions) > 2
    everything = [document for portion in portions for document in portion.documents]
    assert [document_id for document_id, _, _ in everything] == sorted(document.id for document in collection)
    names = {document.id: document.name for document in collection}
    sketches = store.engine.sketches([document_id for document_id, _, _ in everything[:40]])
    for document_id, name, sketch in everything[:40]:
        assert name == names[document_id]
        assert sketches[document_id] == sketch
    assert store.engine.sizes([*sketches, "not there"]) == {
        document_id: sketch.size for document_id, sketch in sketches.items()
    }
    assert list(store.engine.scan(portions[1].cursor)) == portions[2:]
    assert list(store.engine.scan(portions[-1].cursor)) == []


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["jaccard", "containment"])
def test_duplicates_equal_plain_sets_of_shingles(store: Store, collection: list[Document], metric: str) -> None:
    """
    The pairs at 50 % are those of plain sets of shingles, except pairs that sketches of large documents may miss.
    """
    sets = {document.id: windows(document.text) for document in collection}
    expected = set()
    for number, a in enumerate(collection):
        for b in collection[number + 1 :]:
            expected_shares = shares(sets[a.id], sets[b.id])
            most = (
                expected_shares["jaccard"]
                if metric == "jaccard"
                else max(expected_shares["a_in_b"], expected_shares["b_in_a"])
            )
            if most >= 0.5:
                expected.add(frozenset((a.id, b.id)))
    with duplicates_in(store.engine, parse_pair_options(metric, 50, 95)) as duplicates:
        there = {frozenset((pair.a.id, pair.b.id)) for pair in duplicates.pairs()}
    assert there <= expected
    assert len(there) >= 0.95 * len(expected)
