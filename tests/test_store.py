"""The facade: what a store says whatever its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from whorl.errors import UnknownDocumentError
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
    ],
    ids=["similar", "prepare_similar", "compare", "texts"],
)
def test_an_unknown_document_is_one_error(store: Store, ask: Callable[[Store], object]) -> None:
    """
    Whatever needs a document that is not there says so in the same way; one without a text is there.
    """
    with pytest.raises(UnknownDocumentError, match="the store has no document 'gone'"):
        ask(store)
    with pytest.raises(ValueError, match="document 'empty' has no stored text"):
        store.texts(["empty"])
