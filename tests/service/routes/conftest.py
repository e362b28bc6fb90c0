"""Fixtures: a service over two nearly equal texts, and one with an id in other scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from whorl import Document, Store, open_store
from whorl.service.app import create_app

FIRST = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the warm sun."
SECOND = "The quick brown fox jumps over the lazy dog and then it sleeps all day in the cold rain."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("service") / "store") as opened:
        opened.index([Document("a", FIRST, "A"), Document("b", SECOND, "B"), Document("日本 ü", "other", "C")])
        yield opened


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store), raise_server_exceptions=False) as made:
        yield made
