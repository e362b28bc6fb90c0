"""Tests of clients that hang up: on every route, the work ends and its place is free."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
import requests

from tests.service.contracts import MINUTES, documents
from tests.service.limited import PATIENCE_SECONDS, until
from tests.service.served import listening, sending
from whorl import Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.winnowing import PassageScheme
from whorl.request_context import new_request
from whorl.service.app import create_app
from whorl.service.middleware import logs_and_metrics
from whorl.service.middleware.request_checks import AllowedMethods
from whorl.service.requests_and_responses import DISCOVERY, DOCUMENTS, NODES, PEOPLE, SEARCH, TICKETS

pytestmark = pytest.mark.process
LINE = {"id": "new", "text": MINUTES}
FINGERPRINT = "FINGERPRINT:lease_20"

#: Routes that use the store, by method and pattern: an address, and a body.
ASKING: dict[tuple[str, str], tuple[str, Any]] = {
    ("GET", "/api/v1/search"): ("/api/v1/search?q=rent", None),
    ("POST", "/api/v1/search"): ("/api/v1/search", {"query": "FINGERPRINT:source_20", "source": MINUTES}),
    ("GET", "/api/v1/explain"): (f"/api/v1/explain?q={FINGERPRINT}&plan=calibrated", None),
    ("POST", "/api/v1/explain"): ("/api/v1/explain", {"query": "FINGERPRINT:source_20", "source": MINUTES}),
    ("POST", "/api/v1/similar"): ("/api/v1/similar", {"text": MINUTES}),
    ("POST", "/api/v1/sources"): ("/api/v1/sources", {"text": MINUTES}),
    ("POST", "/api/v1/verify"): ("/api/v1/verify", {"text": MINUTES, "all": True}),
    ("POST", "/api/v1/compare"): ("/api/v1/compare", {"a": {"text": MINUTES}, "b": {"text": MINUTES}}),
    ("POST", "/api/v1/passages"): ("/api/v1/passages", {"text": MINUTES, "documents": ["lease"]}),
    ("POST", "/api/v1/snippets"): ("/api/v1/snippets", {"query": "rent", "documents": ["lease"]}),
    ("GET", DOCUMENTS): (f"{DOCUMENTS}?named=lease", None),
    ("POST", DOCUMENTS): (DOCUMENTS, LINE),
    ("GET", f"{DOCUMENTS}/{{document_id:path}}"): (f"{DOCUMENTS}/lease?text=true", None),
    ("DELETE", f"{DOCUMENTS}/{{document_id:path}}"): (f"{DOCUMENTS}/lease", None),
    ("POST", "/api/v1/delete"): ("/api/v1/delete", {"query": "name:lease"}),
    ("GET", "/api/v1/duplicates/{job_id}"): ("/api/v1/duplicates/JOB?rows=10", None),
    ("POST", SEARCH): (SEARCH, {"query": {"query": "rent"}, "facetFields": {"facets": [{"field": "creator"}]}}),
    ("GET", f"{NODES}/{{node_id:path}}"): (f"{NODES}/lease", None),
}
#: Routes whose work does not depend on the length of a request or of the store's texts.
SHORT = {
    *(("GET", path) for path in ("/", "/page/{name}", "/openapi.json", "/healthz", "/readyz", "/metrics")),
    *(("GET", path) for path in ("/api/v1/store", f"{TICKETS}/-me-", f"{PEOPLE}/-me-", DISCOVERY)),
    ("POST", TICKETS),
    ("DELETE", f"{TICKETS}/-me-"),
    # Jobs have their own thread, and end without status requests: tests/service/test_jobs.py.
    ("POST", "/api/v1/duplicates"),
    ("DELETE", "/api/v1/duplicates/{job_id}"),
    # Files are read in another process: tests/ingest/extraction/test_reader_pool.py.
    ("POST", "/api/v1/text"),
}


class Watched(threading.Event):
    """The cancellation flag of one request: reading it blocks until the client has hung up."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = threading.Event()
        self.count = 0

    def is_set(self) -> bool:
        self.count += 1
        self.is_asked.set()
        return self.wait(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(EmbeddedEngine(tmp_path_factory.mktemp("left") / "store", passages=PassageScheme())) as made:
        made.index(documents())
        yield made


@pytest.fixture(scope="module")
def url(store: Store) -> Iterator[str]:
    with listening(create_app(store)) as made:
        yield made


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The cancellation flag of the request with the id `watched`."""
    made = Watched()
    monkeypatch.setattr(
        logs_and_metrics, "new_request", lambda name: new_request(name, made if name == "watched" else None)
    )
    return made


def test_every_route_is_known(store: Store) -> None:
    """
    Every route is tested here, or listed as one without long work.
    """
    (checks,) = (layer.kwargs["checks"] for layer in create_app(store).user_middleware if "checks" in layer.kwargs)
    (methods,) = (check for check in cast("list[object]", checks) if isinstance(check, AllowedMethods))
    routes = {(method, route.path) for route in methods.routes for method in (route.methods or set()) - {"HEAD"}}
    assert routes == ASKING.keys() | SHORT


def working(url: str) -> float:
    lines = requests.get(f"{url}/metrics", timeout=PATIENCE_SECONDS).text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("whorl_requests_working ")))


def finished_job(url: str) -> str:
    """Return the id of a finished job whose clusters have versions."""
    options = {"threshold": 50, "versions": True}
    job = requests.post(f"{url}/api/v1/duplicates", json=options, timeout=PATIENCE_SECONDS).json()["id"]
    address = f"{url}/api/v1/duplicates/{job}"
    until(lambda: requests.get(address, timeout=PATIENCE_SECONDS).json()["state"] == "done")
    return str(job)


def hang_up(url: str, watched: Watched, method: str, path: str, body: Any) -> None:
    """Send a request, hang up when the work first checks for cancellation, and wait until it has ended."""
    sent = b"" if body is None else json.dumps(body).encode()
    kind = "application/x-ndjson" if path.startswith(DOCUMENTS) else "application/json"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: watched\r\nContent-Length: {len(sent)}\r\n"
    with sending(url, f"{head}Content-Type: {kind}\r\n\r\n".encode() + sent):
        assert watched.is_asked.wait(PATIENCE_SECONDS), "it never looks whether anybody waits"
        assert working(url) == 1
    until(lambda: working(url) == 0)
    assert watched.count == 1, "it went on"


@pytest.mark.parametrize("route", ASKING, ids=" ".join)
def test_work_ends_with_its_client(url: str, store: Store, watched: Watched, route: tuple[str, str]) -> None:
    """
    The first check after the client hung up ends the work, which changes nothing.
    """
    path, body = ASKING[route]
    if "JOB" in path:
        path = path.replace("JOB", finished_job(url))
    hang_up(url, watched, route[0], path, body)
    assert sorted(hit.id for hit in store.search("*").hits) == sorted(document.id for document in documents())


def test_checks_of_new_documents_end_too(url: str, watched: Watched) -> None:
    """
    Checking new documents without storing them, which needs one search each, ends as well.
    """
    hang_up(url, watched, "POST", f"{DOCUMENTS}?check=20", LINE)
