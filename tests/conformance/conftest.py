"""The engines, each filled with the same documents once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collection import documents
from whorl import Document, Store, open_store

ENGINES = ["embedded", "standalone", "cloud"]


@pytest.fixture(scope="session")
def collection() -> list[Document]:
    return documents()


@pytest.fixture(scope="session")
def embedded_store(collection: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from _filled(tmp_path_factory.mktemp("conformance") / "store", collection)


@pytest.fixture(scope="session")
def standalone_store(collection: list[Document], solr_standalone_url: str) -> Iterator[Store]:
    yield from _filled(solr_standalone_url, collection)


@pytest.fixture(scope="session")
def cloud_store(collection: list[Document], solr_cloud_url: str) -> Iterator[Store]:
    yield from _filled(solr_cloud_url, collection)


def _filled(where: str | Path, collection: list[Document]) -> Iterator[Store]:
    with open_store(where) as store:
        store.index(collection)
        yield store
        store.delete([document.id for document in collection])


@pytest.fixture(params=["embedded", *(pytest.param(name, marks=pytest.mark.solr) for name in ENGINES[1:])])
def store(request: pytest.FixtureRequest) -> Store:
    """Every test that takes this runs on every engine."""
    opened = request.getfixturevalue(f"{request.param}_store")
    assert isinstance(opened, Store)
    return opened
