"""Tests of the kept document of a cluster and of the order of versions, by stored values, on every engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from whorl import Document, Store
from whorl.duplicates import (
    Keep,
    documents_to_remove,
    duplicates_among,
    duplicates_in,
    parse_boilerplate_options,
    parse_pair_options,
)
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.results import with_words


def worth(document: Document, field: str) -> float | None:
    """Return a property as a number or as a timestamp."""
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
    The kept document of a complete cluster has the best value. A document without a value is kept only if no member has
    one.
    """
    worths = {document.id: worth(document, field) for document in collection}
    chosen = 0
    with duplicates_in(
        store.engine, DuplicatesOptions(parse_pair_options("jaccard", 50, 95), keep=Keep.parse(keep)), names=store.names
    ) as duplicates:
        for cluster in duplicates.clusters(complete=True, keep=Keep("first")):
            known = [value for member in cluster.members if (value := worths[member.id]) is not None]
            if not known:
                continue
            gone = {document.id for document in documents_to_remove([cluster], keep)}
            (retained,) = {member.id for member in cluster.members} - gone
            assert worths[retained] == best(known)
            chosen += 1
    assert chosen > 5


def test_versions_by_dates(store: Store, collection: list[Document]) -> None:
    """
    Versions are ordered by their dates, and the words that each adds and loses are those of the texts.
    """
    dates = {document.id: worth(document, "created") for document in collection}
    texts = {document.id: document.text.split() for document in collection}
    several = 0
    with duplicates_in(
        store.engine, DuplicatesOptions(parse_pair_options("jaccard", 50, 95), date="created")
    ) as duplicates:
        for cluster in duplicates.clusters(versions=True):
            cluster_with_words = with_words(cluster, duplicates.read_texts, duplicates.scheme)
            ids = [version.member.id for version in cluster_with_words.versions]
            assert sorted(ids) == sorted(member.id for member in cluster.members)
            dated = [date for document_id in ids if (date := dates[document_id]) is not None]
            assert dated == sorted(dated)
            several += len(dated) > 2
            for before, version in zip(ids, cluster_with_words.versions[1:], strict=False):
                assert version.match is not None
                assert (version.match.a.id, version.match.is_exact) == (before, True)
                assert version.added is not None
                assert version.lost is not None
                count = len(texts[version.member.id]) - version.added.words
                assert count > 0 or version.match.shares.jaccard == 0
    assert several > 2


def test_common_text_is_left_out(store: Store, collection: list[Document]) -> None:
    """
    Without common text, a store gives the same pairs and shares as its documents, because it reads their texts.
    """
    common, question = parse_boilerplate_options("2", ignore_common=True), parse_pair_options("jaccard", 30, 95)
    with duplicates_among(
        collection, DuplicatesOptions(question, scheme=store.engine.scheme, common=common)
    ) as duplicates:
        expected = {
            frozenset((pair.a.id, pair.b.id)): (pair.shares.jaccard, pair.residual) for pair in duplicates.pairs()
        }
    with duplicates_in(store.engine, DuplicatesOptions(question, common=common)) as duplicates:
        residuals = {
            frozenset((pair.a.id, pair.b.id)): (pair.shares.jaccard, pair.residual) for pair in duplicates.pairs()
        }
        assert duplicates.residual is not None
        assert duplicates.residual.shingles > 10
    assert residuals.keys() == expected.keys()
    assert len(residuals) > 5
    for pair, (jaccard, residual) in residuals.items():
        assert (jaccard, residual and residual.jaccard) == (expected[pair][0], expected[pair][1].jaccard)  # type: ignore[union-attr]
