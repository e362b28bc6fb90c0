"""The store facade: errors and results that do not depend on the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.schema import FieldNames
from whorl.errors import ParameterError, SchemaError, UnknownDocumentError
from whorl.model import Document
from whorl.opening import open_store
from whorl.store import Store

ONE, OTHER = "one two three four five six seven", "one two three four five six eight"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as opened:
        opened.index([Document("a", ONE), Document("b", OTHER), Document("empty", "")])
        yield opened


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.similar("gone"),
        lambda store: store.prepare_similar("gone"),
        lambda store: store.compare("a", "gone"),
        lambda store: store.texts(["a", "gone"]),
        lambda store: store.sources("gone"),
    ],
    ids=["similar", "prepare_similar", "compare", "texts", "sources"],
)
def test_an_unknown_document_is_one_error(store: Store, ask: Callable[[Store], object]) -> None:
    """
    Every method raises the same error for an unknown document; a document without a text is known.
    """
    with pytest.raises(UnknownDocumentError, match="the store has no document 'gone'"):
        ask(store)
    with pytest.raises(ValueError, match="document 'empty' has no stored text"):
        store.texts(["empty"])


@pytest.mark.parametrize("ask", ["index", "prepare", "search", "explain", "similar", "sources"])
def test_a_misspelt_argument_is_an_error(store: Store, ask: str) -> None:
    """
    A misspelt argument is a TypeError, never ignored.
    """
    first: Any = [] if ask == "index" else "a"
    with pytest.raises(TypeError, match="treshold"):
        getattr(store, ask)(first, treshold=5)


def test_common_text_that_is_not_ignored_is_not_looked_up(store: Store) -> None:
    """
    Scores do not depend on common text unless it is ignored, so a store without passages accepts `common_above`.
    """
    assert store.search("one", common_above="1%") == store.search("one")
    with pytest.raises(ParameterError, match="this store keeps none"):
        store.search("one", common_above="1%", ignore_common=True)


def test_two_documents_compared(store: Store) -> None:
    """
    References and given texts are compared under the store's scheme; an unknown one is named.
    """
    store.index([Document("node", OTHER, properties={"DBID": 4242})])
    found = store.compare("a", "4242")
    # Both texts have three shingles; the first two are equal.
    assert (found.shared_shingles, found.shares.jaccard, found.scheme) == (2, 2 / 4, store.engine.scheme)
    assert store.compare("a", "source", source=OTHER) == found
    assert store.compare("mine", "yours", source={"mine": ONE, "yours": OTHER}) == found
    assert (store.text("a"), store.text("nosuch"), store.text("empty")) == (ONE, None, None)
    with pytest.raises(UnknownDocumentError, match="no document 'nosuch'"):
        store.compare("a", "nosuch")


def test_sources_of_a_document_and_of_a_text(store: Store) -> None:
    """
    A document is not its own source, whatever reference names it; a query excludes others, and its warnings are
    reported.
    """
    store.index([Document("node", OTHER, properties={"DBID": 4242})])
    assert [each.id for each in store.sources("4242", min_words=5).sources] == ["b"]
    assert [each.id for each in store.sources(source=OTHER, except_for="ID:b", min_words=5).sources] == ["node"]
    left = store.sources(source=OTHER, except_for="FINGERPRINT:nosuch OR FINGERPRINT:b_100", min_words=5)
    assert [each.id for each in left.sources] == ["a"]
    assert left.warnings == ("the store has no document 'nosuch'",)
    with pytest.raises(ValueError, match="document 'empty' has no stored text"):
        store.sources("empty")


def test_a_collection_without_texts(solr_standalone_url: str) -> None:
    """
    The error names the missing field and how to configure another one.
    """
    engine = SolrEngine(SolrClient(solr_standalone_url, timeout_seconds=60), FieldNames(content="MINHASH"))
    with (
        Store(engine) as opened,
        pytest.raises(SchemaError, match=r"'MINHASH' is not a stored field.*whorl\.toml"),
    ):
        opened.text("1")
