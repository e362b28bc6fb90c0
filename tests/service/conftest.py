"""Fixtures: stores of the example contracts, with properties of Alfresco nodes, and services over them."""

from __future__ import annotations

import socket
import uuid
import warnings
from collections.abc import Iterator

import pytest

from tests import opensearch_runtime, solr_runtime
from tests.service.contracts import documents
from whorl import Store, open_store

pytest.importorskip("fastapi")

with warnings.catch_warnings():
    # The newest releases of the test client prefer httpx2.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from whorl.service.app import create_app


@pytest.fixture(scope="session")
def embedded_contracts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("contracts") / "store") as store:
        store.index(documents())
        yield store


@pytest.fixture(scope="session")
def solr_contracts_url(solr_standalone_url: str) -> Iterator[str]:
    """URL of a core with the documents, separate from the cores of other tests."""
    base_url, name = solr_standalone_url.rpartition("/")[0], f"whorl_service_{uuid.uuid4().hex[:8]}"
    url = solr_runtime.make_collection(base_url, name)
    with open_store(url) as store:
        store.index(documents())
    yield url
    solr_runtime.drop(base_url, name)


@pytest.fixture(scope="session")
def solr_contracts(solr_contracts_url: str) -> Iterator[Store]:
    with open_store(solr_contracts_url) as store:
        yield store


@pytest.fixture(scope="session")
def opensearch_contracts_url(opensearch_url: str) -> Iterator[str]:
    """URL of an index with the documents."""
    with opensearch_runtime.own_index(opensearch_url) as url:
        with open_store(url) as store:
            store.index(documents())
        yield url


@pytest.fixture(scope="session")
def opensearch_contracts(opensearch_contracts_url: str) -> Iterator[Store]:
    with open_store(opensearch_contracts_url) as store:
        yield store


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("solr", marks=pytest.mark.solr),
        pytest.param("opensearch", marks=pytest.mark.opensearch),
    ],
)
def contracts(request: pytest.FixtureRequest) -> Store:
    """Run a test on every engine."""
    store = request.getfixturevalue(f"{request.param}_contracts")
    assert isinstance(store, Store)
    return store


@pytest.fixture(scope="module")
def service(contracts: Store) -> Iterator[TestClient]:
    """Client of a service over the documents, without credentials."""
    with TestClient(create_app(contracts), raise_server_exceptions=False) as made:
        yield made


@pytest.fixture(scope="module")
def embedded_service(embedded_contracts: Store) -> Iterator[TestClient]:
    """Client of a service over the documents on the embedded engine, for tests that do not depend on the engine."""
    with TestClient(create_app(embedded_contracts), raise_server_exceptions=False) as made:
        yield made


@pytest.fixture
def away() -> Iterator[TestClient]:
    """Client of a service whose Solr is unreachable."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://admin:s3cret@127.0.0.1:{closed.getsockname()[1]}/solr/whorl"
        with open_store(url) as opened, TestClient(create_app(opened), raise_server_exceptions=False) as made:
            yield made
