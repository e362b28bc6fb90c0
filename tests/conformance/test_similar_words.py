"""Tests of similar words, among more of them than Solr's standard parser looks for, on every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.opensearch_versions import chosen
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.local.opensearch import ELASTICSEARCH
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.errors import UnsupportedQueryError
from whorl.query.plan.planner import edit_distance

CODES = [f"inv{number:04}" for number in range(300)]


@pytest.fixture(scope="module")
def codes(store: Store) -> Iterator[Store]:
    store.index(Document(code, "a text of its own", name=code, properties={"code": code}) for code in CODES)
    yield store
    store.delete(CODES)


@pytest.mark.parametrize("field", ["code", "id", "name", ""])
@pytest.mark.parametrize("edits", [1, 2])
def test_all_similar_words(codes: Store, field: str, edits: int) -> None:
    """
    All words within the edits are found; a Solr that looks for the nearest only says so.
    """
    expected = {code for code in CODES if edit_distance(code, "inv0001") <= edits}
    near = f"{field}:inv0001~{edits}" if field else f"inv0001~{edits}"
    for query, hits in ((near, expected), (f"id:inv* AND NOT {near}", {*CODES} - expected)):
        page = codes.search(query, rows=400)
        found = {hit.id for hit in page.hits}
        assert page.total == len(found)
        if page.warnings:
            assert "leaves out others" in page.warnings[0]
        else:
            assert found == hits


def test_similar_words_beside_a_fingerprint(codes: Store) -> None:
    """
    A fingerprint of a long text leaves room for all similar words.
    """
    page = codes.search("FINGERPRINT:f6-0 OR inv0001~2", rows=400)
    similar = {code for code in CODES if edit_distance(code, "inv0001") <= 2}
    assert page.warnings or similar < {hit.id for hit in page.hits}


def test_a_pattern_in_a_phrase_that_many_words_fit(store: Store) -> None:
    """
    A phrase with a pattern that more words fit than Lucene takes finds its documents, or is refused by name.
    """
    # Elasticsearch derives its limit from its memory, and takes more words than Lucene's default.
    is_elasticsearch = isinstance(store.engine, OpenSearchEngine) and chosen() in ELASTICSEARCH
    store.index([Document("many words", f"{' '.join(f'many{number}' for number in range(1100))} end")])
    try:
        if isinstance(store.engine, EmbeddedEngine) or is_elasticsearch:
            assert [hit.id for hit in store.search('"many* end"').hits] == ["many words"]
        else:
            with pytest.raises(UnsupportedQueryError, match=r"many\*: more than 1,024 words fit"):
                store.search('"many* end"')
        assert store.search("many*").total == 1
    finally:
        store.delete(["many words"])
