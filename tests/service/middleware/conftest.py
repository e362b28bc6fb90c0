"""Fixtures: a store with one document, and the same store with blocking searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx
import pytest

from tests.service.limited import Held
from whorl import Document, Store, open_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("limits") / "store") as opened:
        opened.index([Document("a", "seven silver spoons shine softly")])
        yield opened


@pytest.fixture
def held(store: Store) -> Iterator[Held]:
    made = Held(store)
    yield made
    made.released.set()


@pytest.fixture
def asking() -> Iterator[Callable[..., Future[httpx.Response]]]:
    """Return a function that sends requests to a service in the background."""
    with ThreadPoolExecutor(16) as pool:
        yield lambda service, **more: pool.submit(service.get, "/api/v1/search", params={"q": "*"}, **more)
