"""Fixtures: a store of a text and its copies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.search.similar.copies import TEXTS, Watched
from whorl import Store, open_store
from whorl.model import Document


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("search") / "store"
    with open_store(made) as store:
        store.index(Document(name, text, "", {"kind": name[:4]}) for name, text in TEXTS.items())
    return made


@pytest.fixture
def engine(folder: Path) -> Iterator[Watched]:
    with Watched(folder) as opened:
        opened.requests = []
        yield opened


@pytest.fixture
def store(engine: Watched) -> Store:
    return Store(engine)
