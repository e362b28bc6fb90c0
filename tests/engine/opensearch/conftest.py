"""Fixtures: an index for one test on the shared cluster, whorl's own or a foreign one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests import opensearch_runtime
from tests.engine.opensearch.foreign import BESIDE, WORDS, filled
from whorl import Store, open_store
from whorl.engine.opensearch import foreign_minhash as min_hash
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.server_engine import ServerAccess


@pytest.fixture
def url(opensearch_url: str) -> Iterator[str]:
    """An empty index of whorl's, with two shards."""
    with opensearch_runtime.own_index(opensearch_url) as made:
        yield made


@pytest.fixture
def client(url: str) -> Iterator[IndexClient]:
    with contextlib.closing(IndexClient(url, ServerAccess(retries=0))) as opened:
        yield opened


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def foreign(other_url: str) -> Iterator[IndexClient]:
    """An index as the servers' documentation shows it."""
    with filled(other_url, BESIDE) as client:
        yield client


@pytest.fixture
def foreign_store(foreign: IndexClient) -> Iterator[Store]:
    with open_store(foreign.store_url) as opened:
        yield opened


@pytest.fixture
def visible_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe with plain words only, the only ones on which whorl and the test cluster without ICU agree."""
    monkeypatch.setattr(min_hash, "PROBE", " ".join(WORDS[:40]))
