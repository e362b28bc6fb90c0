"""What is too much of one request or of all together: which answer, and what stays possible meanwhile."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import httpx
import pytest
import requests
from starlette.testclient import TestClient

from tests.service.served import listening
from whorl import Document, Store, open_store
from whorl.context import seconds_left
from whorl.errors import ParameterError
from whorl.service.alfresco.routes import SEARCH
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.middleware.hosts import Hosts
from whorl.settings.settings import Settings

LINES = {"Content-Type": "application/x-ndjson"}
OPEN = Credentials()
_DEADLINE_SECONDS = 60.0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("limits") / "store") as opened:
        opened.index([Document("a", "seven silver spoons shine softly")])
        yield opened


@contextlib.contextmanager
def limited(
    store: Store, credentials: Credentials = OPEN, hosts: Hosts | None = None, **limits: Any
) -> Iterator[TestClient]:
    app = create_app(store, credentials, Settings(**limits), hosts)
    with TestClient(app, raise_server_exceptions=False) as made:
        yield made


def refused(answer: httpx.Response, status: int) -> str:
    """The message of an answer with this status, which whorl's own error has as well."""
    told = answer.json()["error"]
    assert answer.status_code == told["statusCode"] == status
    assert ("Retry-After" in answer.headers) == (status in (429, 503))
    return str(told["message"])


@pytest.mark.parametrize(
    ("limit", "query", "named"),
    [
        ({"max_query_length": 10}, "eleven char", "at most 10 characters, got 11"),
        ({"max_query_depth": 2}, "((a OR (b AND c)))", "at most 2 levels deep"),
        ({"max_query_depth": 2}, "a AND (b OR (c AND -d))", "at most 2 levels deep"),
        ({"max_query_clauses": 2}, "a b FINGERPRINT:c", "at most 2 words, phrases and fingerprints"),
    ],
)
def test_a_query_can_be_too_large(tmp_path: Any, limit: dict[str, int], query: str, named: str) -> None:
    """
    400 with the place, wherever the query stands; one that is just small enough is answered.
    """
    settings = Settings(store=str(tmp_path / "store"), **limit)
    with open_store(None, settings) as store, TestClient(create_app(store, Credentials(), settings)) as service:
        store.index([Document("a", "seven silver spoons")])
        answers = [
            service.get("/api/search", params={"q": query}),
            service.get("/api/explain", params={"q": query}),
            service.post("/api/similar", json={"id": "a", "filter": query}),
        ]
        for answer in answers:
            assert named in refused(answer, 400)
            assert answer.json()["error"]["span"]["end"] > answer.json()["error"]["span"]["start"]
        for body in ({"query": {"query": query}}, {"query": {"query": "a"}, "filterQueries": [{"query": query}]}):
            assert named in service.post(SEARCH, json=body).json()["error"]["briefSummary"]
        assert service.get("/api/search", params={"q": "(a OR b)"}).status_code == 200


def test_too_many_rows(tmp_path: Any) -> None:
    """
    400 on each route that takes a page.
    """
    settings = Settings(store=str(tmp_path / "store"), max_rows=5)
    with open_store(None, settings) as store, TestClient(create_app(store, Credentials(), settings)) as service:
        store.index([Document("a", "seven silver spoons")])
        assert service.get("/api/search?q=*&rows=5").status_code == 200
        assert refused(service.get("/api/search?q=*&rows=6"), 400) == "rows must be 0 to 5, got 6"
        assert "0 to 5" in refused(service.post("/api/similar", json={"id": "a", "rows": 6}), 400)
        assert service.post(SEARCH, json={"query": {"query": "*"}, "paging": {"maxItems": 6}}).status_code == 400


def test_bodies_that_are_too_long(store: Store) -> None:
    """
    413, and of a line among others that line alone.
    """
    with limited(store, max_search_bytes=40, max_text_bytes=50, max_line_bytes=60) as service:
        assert service.post(SEARCH, json={"query": {"query": "*"}}).status_code == 200
        assert service.post(SEARCH, json={"query": {"query": "seven spoons or more"}}).status_code == 413
        assert service.post("/api/similar", json={"text": "seven silver spoons"}).status_code == 200
        assert "at most 50 bytes" in refused(service.post("/api/similar", json={"text": "x" * 50}), 413)
        body = b'{"id": "long", "text": "%s"}\n{"id": "short", "text": "x"}\n' % (b"x" * 60)
        told = service.post("/api/documents", content=body, headers=LINES).json()
        assert (told["stored"], told["refused"]) == (1, 1)
        assert told["errors"] == [{"line": 1, "message": "a line has at most 60 bytes"}]
    store.delete(["short"])


class Held(Store):
    """A store that answers when it is let; it counts those that wait in it, and how long they were given."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine)
        self.released = threading.Event()
        self.inside = threading.Semaphore(0)
        self.given: list[float | None] = []
        self.ends: list[float] = []

    def search(self, query: str, **arguments: Any) -> Any:
        left = seconds_left()
        self.given.append(left)
        self.ends.append(time.monotonic() + (left or 0.0))
        self.inside.release()
        assert self.released.wait(_DEADLINE_SECONDS)
        return super().search(query, **arguments)

    def arrived(self, count: int) -> None:
        """Wait until so many have come."""
        for _ in range(count):
            assert self.inside.acquire(timeout=_DEADLINE_SECONDS)


@pytest.fixture
def held(store: Store) -> Iterator[Held]:
    made = Held(store)
    yield made
    made.released.set()


@pytest.fixture
def asking() -> Iterator[Callable[..., Future[httpx.Response]]]:
    """Asks a service in the background."""
    with ThreadPoolExecutor(16) as pool:
        yield lambda service, **more: pool.submit(service.get, "/api/search", params={"q": "*"}, **more)


def measured(service: TestClient, name: str) -> float:
    lines = service.get("/metrics").text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


def waiting(service: TestClient) -> float:
    return measured(service, "whorl_requests_waiting")


def working(service: TestClient) -> float:
    return measured(service, "whorl_requests_working")


def until(reached: Callable[[], bool]) -> None:
    patience = threading.Event()
    for _ in range(6_000):
        if reached():
            return
        patience.wait(0.01)
    raise AssertionError("nothing happens")


def test_no_more_than_there_is_room_for(held: Held, asking: Any) -> None:
    """
    So many work, so many wait, and the next is 503 at once; health and metrics go on; then all are answered.
    """
    with limited(held, max_concurrent=2, max_waiting=3) as service:
        answers = [asking(service) for _ in range(5)]
        held.arrived(2)
        until(lambda: waiting(service) == 3)
        assert "3 requests are waiting already" in refused(service.get("/api/search?q=*"), 503)
        assert service.post(SEARCH, json={"query": {"query": "*"}}).headers["Retry-After"] == "5"
        assert service.get("/healthz").status_code == service.get("/readyz").status_code == 200
        assert len(held.given) == 2
        held.released.set()
        assert [answer.result(_DEADLINE_SECONDS).status_code for answer in answers] == [200] * 5
        assert waiting(service) == 0


def test_one_client_leaves_room_for_others(held: Held, asking: Any) -> None:
    """
    429 for a key with too many requests at once, while another key is answered; one that ended makes room.
    """
    keys = Credentials(api_keys=("one", "two"))
    one, two = ({"Authorization": f"Bearer {key}"} for key in keys.api_keys)
    with limited(held, keys, max_per_client=2) as service:
        answers = [asking(service, headers=one) for _ in range(2)]
        held.arrived(2)
        message = refused(service.get("/api/search?q=*", headers=one), 429)
        assert message == "you have 2 requests here already; wait for an answer before you ask more"
        refused(service.get("/api/search?q=*", headers={"Authorization": "bearer   one"}), 429)
        answers.append(asking(service, headers=two))
        held.arrived(1)
        held.released.set()
        assert [answer.result(_DEADLINE_SECONDS).status_code for answer in answers] == [200] * 3
        assert service.get("/api/search?q=*", headers=one).status_code == 200


def test_the_time_is_up(held: Held, asking: Any) -> None:
    """
    503 for who works too long and for who waits too long; a thread keeps its place until it ends, and then others work.
    """
    with limited(held, max_concurrent=1, request_timeout_seconds=0.3) as service:
        late = [asking(service), asking(service)]
        messages = sorted(refused(answer.result(_DEADLINE_SECONDS), 503) for answer in late)
        assert messages[0].startswith("there was no room for this request within 0.3 s")
        assert messages[1].startswith("this took longer than 0.3 s")
        assert len(held.given) == 1
        assert held.given[0] is not None
        assert held.given[0] <= 0.3
        assert refused(service.get("/api/search?q=*"), 503).startswith("there was no room")
        held.released.set()
        until(lambda: service.get("/api/search?q=*").status_code == 200)


def test_a_deadline_is_one_requests(store: Store) -> None:
    """
    On one connection, each request has the whole time: a body that comes in parts does not hand its end to the next.
    """
    held = Held(store)
    held.released.set()
    with listening(create_app(held)) as url, requests.Session() as connection:
        for _ in range(2):
            assert connection.get(f"{url}/api/search?q=*").status_code == 200
            assert connection.post(f"{url}/api/compare", json={"a": {"text": "x" * 500_000}, "b": {"text": ""}}).ok
        assert connection.get(f"{url}/readyz").status_code == 200
        assert connection.get(f"{url}/api/search?q=*").status_code == 200
    # What is the same moment differs in its last digits; a comparison lies between two of them.
    assert all(later - earlier > 1e-4 for earlier, later in pairwise(held.ends))


def test_facets_end_with_the_time(held: Held) -> None:
    """
    Of many facets, those for which there is no time any more are not counted.
    """
    facets = [{"query": "a", "label": str(number)} for number in range(100)]
    with limited(held, request_timeout_seconds=0.1) as service:
        answer = service.post(SEARCH, json={"query": {"query": "*"}, "facetQueries": facets})
        assert answer.status_code == 503
        held.released.set()
        until(lambda: working(service) == 0)
        assert len(held.given) == 1


def test_the_time_is_up_for_alfrescos_clients(held: Held) -> None:
    """
    In their shape.
    """
    with limited(held, request_timeout_seconds=0.1) as service:
        answer = service.post(SEARCH, json={"query": {"query": "*"}})
        assert answer.status_code == 503
        assert "this took longer than 0.1 s" in answer.json()["error"]["briefSummary"]


@pytest.mark.parametrize(
    ("listening", "allowed", "host", "is_admitted"),
    [
        ("127.0.0.1", (), "localhost:8000", True),
        ("127.0.0.1", (), "LOCALHOST.", True),
        ("127.0.0.1", (), "127.0.0.1", True),
        ("127.0.0.1", (), "[::1]:8000", True),
        ("127.0.0.1", (), "attacker.example", False),
        ("127.0.0.1", (), "attacker.example:8000", False),
        ("127.0.0.1", (), "localhost.attacker.example", False),
        ("127.0.0.1", (), "127.0.0.1.attacker.example:80", False),
        ("127.0.0.1", (), "attacker.example#localhost", False),
        ("127.0.0.1", (), "", False),
        ("127.0.0.1", (), "192.168.1.5", False),
        ("192.168.1.5", (), "192.168.1.5:8000", True),
        ("search.example", (), "search.example", True),
        ("127.0.0.1", ("search.example",), "Search.Example:443", True),
        ("127.0.0.1", ("search.example",), "www.search.example", False),
        ("127.0.0.1", ("*",), "attacker.example", True),
        ("0.0.0.0", (), "192.168.1.5:8000", True),
        ("::", (), "[fe80::1]:8000", True),
        ("0.0.0.0", (), "attacker.example:8000", False),
    ],
)
def test_names_that_an_open_service_is_called_by(
    store: Store, listening: str, allowed: tuple[str, ...], host: str, is_admitted: bool
) -> None:
    """
    Another site's name that points here gets 403 on every route, and is told the setting that would let it in.
    """
    hosts = Hosts(listening, allowed)
    assert hosts.admit(host) == is_admitted
    if host:
        with limited(store, hosts=hosts) as service:
            for path in ("/api/search?q=*", "/healthz", "/", "/metrics", "/openapi.json"):
                answer = service.get(path, headers={"Host": host})
                assert answer.status_code == (200 if is_admitted else 403)
                assert is_admitted or "WHORL_ALLOWED_HOSTS" in answer.json()["error"]["message"]


def test_several_keys(store: Store) -> None:
    """
    Each is good, so that one can be replaced while clients still use the other.
    """
    with limited(store, Credentials(api_keys=("old", "new"))) as service:
        for given, status in (("old", 200), ("new", 200), ("old,new", 401), ("ol", 401), ("", 401)):
            headers = {"Authorization": f"Bearer {given}"}
            assert service.get("/api/search?q=*", headers=headers).status_code == status


@pytest.mark.parametrize("name", ["docs.example.org:8000", "*.example.org", "http://docs.example.org", "a b", ""])
def test_allowed_hosts_are_names(name: str) -> None:
    """
    What no browser could say as a host's name would let nobody in, so it is refused at once.
    """
    with pytest.raises(ParameterError, match="allowed_hosts"):
        Hosts("127.0.0.1", [name])
    assert Hosts("127.0.0.1", ["docs.example.org", "fe80::1"]).admit("docs.example.org:8000")
