"""Fixtures: a store on each engine, filled once with the same documents."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import opensearch_runtime, solr_runtime
from tests.conformance.collection import documents
from tests.conformance.engines import ENGINES
from tests.sampling import sample
from whorl import Document, Store, open_store


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run only a sample of the tests on SolrCloud, since it answers the same requests as a standalone Solr."""
    own = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    cloud = [item for item in own if (call := vars(item).get("callspec")) and call.params.get("store") == "cloud"]
    left_out = {*cloud} - {*sample(cloud, 4)}
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def collection() -> list[Document]:
    return documents()


@pytest.fixture(scope="session")
def embedded_store(collection: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    yield from _filled(tmp_path_factory.mktemp("conformance") / "store", collection)


@pytest.fixture(scope="session")
def standalone_store(collection: list[Document], solr_standalone_url: str) -> Iterator[Store]:
    yield from _of_its_own(solr_standalone_url, collection)


@pytest.fixture(scope="session")
def cloud_store(collection: list[Document], solr_cloud_url: str) -> Iterator[Store]:
    yield from _of_its_own(solr_cloud_url, collection)


@pytest.fixture(scope="session")
def opensearch_store(collection: list[Document], opensearch_url: str) -> Iterator[Store]:
    with opensearch_runtime.own_index(opensearch_url) as url:
        yield from _filled(url, collection)


def _of_its_own(url: str, collection: list[Document]) -> Iterator[Store]:
    """Fill a new collection on the server of a URL, since other tests fill the URL's own."""
    base_url, name = url.rpartition("/")[0], f"whorl_conformance_{uuid.uuid4().hex[:8]}"
    yield from _filled(solr_runtime.make_collection(base_url, name), collection)
    solr_runtime.drop(base_url, name)


def _filled(where: str | Path, collection: list[Document]) -> Iterator[Store]:
    with open_store(where) as store:
        store.index(collection)
        yield store


@pytest.fixture(params=ENGINES, scope="module")
def store(request: pytest.FixtureRequest) -> Store:
    """Run a test on every engine."""
    opened = request.getfixturevalue(f"{request.param}_store")
    assert isinstance(opened, Store)
    return opened
