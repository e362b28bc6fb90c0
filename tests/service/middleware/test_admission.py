"""Limits of a request and of all requests together: the error of each limit, and the routes that still work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import requests
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from tests.service.limited import PATIENCE_SECONDS, Endless, Held, limited, refused, until, waiting, working
from tests.service.served import listening, sending
from tests.service.virtual_time import in_virtual_time
from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.middleware import limits
from whorl.service.middleware.limits import AdmissionControl, RequestSemaphore, Turns
from whorl.service.middleware.logs_and_metrics import Metrics
from whorl.service.requests_and_responses import SEARCH
from whorl.settings.settings import Settings


@pytest.mark.parametrize(
    ("limit", "query", "named"),
    [
        ({"max_query_length": 10}, "eleven char", "at most 10 characters, got 11"),
        ({"max_query_depth": 2}, "((a OR (b AND c)))", "at most 2 levels deep"),
        ({"max_query_depth": 2}, "a AND (b OR (c AND -d))", "at most 2 levels deep"),
        ({"max_query_clauses": 2}, "a b FINGERPRINT:c", "at most 2 words, phrases and fingerprints"),
    ],
)
def test_a_query_can_be_too_large(tmp_path: Any, limit: dict[str, Any], query: str, named: str) -> None:
    """
    A query over a limit is a 400 with the position of the error, in every parameter; a query at the limit is answered.
    """
    settings = Settings(store=str(tmp_path / "store"), **limit)
    with open_store(None, settings) as store, TestClient(create_app(store, Credentials(), settings)) as service:
        store.index([Document("a", "seven silver spoons")])
        answers = [
            service.get("/api/v1/search", params={"q": query}),
            service.get("/api/v1/explain", params={"q": query}),
            service.post("/api/v1/similar", json={"id": "a", "filter": query}),
        ]
        for answer in answers:
            assert named in refused(answer, 400)
            assert answer.json()["error"]["span"]["end"] > answer.json()["error"]["span"]["start"]
        for body in ({"query": {"query": query}}, {"query": {"query": "a"}, "filterQueries": [{"query": query}]}):
            assert named in service.post(SEARCH, json=body).json()["error"]["briefSummary"]
        assert service.get("/api/v1/search", params={"q": "(a OR b)"}).status_code == 200


def test_a_query_may_be_larger_where_that_is_set(tmp_path: Any) -> None:
    """
    Settings raise the limits of words and characters, and all words of a longer query count.
    """
    words = " ".join(f"long{at:060}" for at in range(1_100))
    settings = Settings(store=str(tmp_path / "store"), max_query_clauses=2_000, max_query_length=100_000)
    with open_store(None, settings) as store, TestClient(create_app(store, Credentials(), settings)) as service:
        store.index([Document("a", "seven silver spoons"), Document("b", "none")])
        body = service.post("/api/v1/search", json={"query": f"{words} spoons"}).json()
        assert [hit["id"] for hit in body["hits"]] == ["a"]
        assert "at most 100,000 characters" in refused(service.post("/api/v1/search", json={"query": words * 2}), 400)


def test_too_many_rows(tmp_path: Any) -> None:
    """
    Too many rows are a 400 on each route with pages.
    """
    settings = Settings(store=str(tmp_path / "store"), max_rows=5)
    with open_store(None, settings) as store, TestClient(create_app(store, Credentials(), settings)) as service:
        store.index([Document("a", "seven silver spoons")])
        assert service.get("/api/v1/search?q=*&rows=5").status_code == 200
        assert refused(service.get("/api/v1/search?q=*&rows=6"), 400) == "rows must be 0 to 5, got 6"
        assert "0 to 5" in refused(service.post("/api/v1/similar", json={"id": "a", "rows": 6}), 400)
        answer = service.post(SEARCH, json={"query": {"query": "*"}, "paging": {"maxItems": 6}})
        assert answer.status_code == 400
        assert "paging.maxItems must be 1 to 5, got 6" in answer.text


def test_requests_beyond_the_limits_are_refused(held: Held, asking: Any) -> None:
    """
    `max_concurrent` requests work, `max_waiting` wait, and the next is a 503 at once; health and metrics still answer,
    and then all requests finish.
    """
    with limited(held, max_concurrent=2, max_waiting=3) as service:
        answers = [asking(service) for _ in range(5)]
        held.arrived(2)
        until(lambda: waiting(service) == 3)
        assert "3 requests are waiting already" in refused(service.get("/api/v1/search?q=*"), 503)
        assert service.post(SEARCH, json={"query": {"query": "*"}}).headers["Retry-After"] == "5"
        assert service.get("/healthz").status_code == service.get("/readyz").status_code == 200
        assert len(held.given) == 2
        held.released.set()
        assert [answer.result(PATIENCE_SECONDS).status_code for answer in answers] == [200] * 5
        assert waiting(service) == 0


def test_one_client_leaves_room_for_others(held: Held, asking: Any) -> None:
    """
    Too many requests of one key are a 429, while another key is answered; a finished request frees its place.
    """
    keys = Credentials(api_keys=("one", "two"))
    one, two = ({"Authorization": f"Bearer {key}"} for key in keys.api_keys)
    with limited(held, keys, max_per_client=2) as service:
        answers = [asking(service, headers=one) for _ in range(2)]
        held.arrived(2)
        message = refused(service.get("/api/v1/search?q=*", headers=one), 429)
        assert message == "you already have 2 requests running here; wait for a response before you send more"
        refused(service.get("/api/v1/search?q=*", headers={"Authorization": "bearer   one"}), 429)
        answers.append(asking(service, headers=two))
        held.arrived(1)
        held.released.set()
        assert [answer.result(PATIENCE_SECONDS).status_code for answer in answers] == [200] * 3
        assert service.get("/api/v1/search?q=*", headers=one).status_code == 200


@pytest.mark.slow
def test_the_time_is_up(held: Held, asking: Any) -> None:
    """
    Requests that work or wait too long are a 503; a thread keeps its place until it ends, and then other requests work.
    """
    with limited(held, max_concurrent=1, request_timeout_seconds=0.3) as service:
        for answer in [asking(service), asking(service)]:
            refused(answer.result(PATIENCE_SECONDS), 503)
        held.arrived(1)
        assert len(held.given) == 1
        assert held.given[0] is not None
        assert held.given[0] <= 0.3
        refused(service.get("/api/v1/search?q=*"), 503)
        held.released.set()
        until(lambda: service.get("/api/v1/search?q=*").status_code == 200)


def test_turns() -> None:
    """
    A request begins when the one before it has ended, failed, or run for 50 ms; a cancelled one is skipped.
    """

    async def starts() -> list[float]:
        turns, loop, begun = Turns(), asyncio.get_running_loop(), list[float]()

        async def work(seconds: float) -> None:
            async with turns.turn():
                begun.append(loop.time())
                await asyncio.sleep(seconds)
                raise ValueError

        tasks = [asyncio.create_task(work(seconds)) for seconds in (0.004, 0.5, 0.3, 0.002, 0.001)]
        await asyncio.sleep(0.001)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return begun

    assert in_virtual_time(starts()) == pytest.approx([0, 0.004, 0.054, 0.056])


def test_searches_in_process_take_turns(held: Held, asking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The second of two requests waits for the first, unless they wait for a server.
    """
    monkeypatch.setattr(limits, "_TURN_SECONDS", PATIENCE_SECONDS)
    with limited(held) as service:
        answers = [asking(service), asking(service)]
        held.arrived(1)
        until(lambda: working(service) == 2)
        assert len(held.given) == 1
        held.released.set()
        assert [answer.result(PATIENCE_SECONDS).status_code for answer in answers] == [200, 200]
        held.arrived(1)
    held.released.clear()
    monkeypatch.setattr(EmbeddedEngine, "runs_in_process", property(lambda _: False))
    with limited(held) as service:
        answers = [asking(service), asking(service)]
        held.arrived(2)
        held.released.set()
        assert [answer.result(PATIENCE_SECONDS).status_code for answer in answers] == [200, 200]


def test_why_the_time_is_up() -> None:
    """
    The message names the reason of a timeout: the wait for a place, or the work.
    """

    async def statuses() -> list[str]:
        released = asyncio.Event()

        async def work(scope: Scope, receive: Receive, send: Send) -> None:
            await released.wait()
            await send({"type": "http.response.start", "status": 200})

        limits = AdmissionControl(work, RequestSemaphore(1, Metrics(), most_waiting=5), seconds=30.0)

        async def ask() -> str:
            body: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]
            sent: list[Message] = []

            async def receive() -> Message:
                if not body:
                    await asyncio.Event().wait()
                return body.pop()

            async def send(message: Message) -> None:
                sent.append(message)

            try:
                await limits({"type": "http", "method": "GET", "path": "/api/v1/search"}, receive, send)
            except HTTPException as error:
                return f"{error.status_code} {error.detail.partition(';')[0]}"
            return str(sent[0]["status"])

        first = list(await asyncio.gather(ask(), ask()))
        then = await ask()
        released.set()
        return [*first, then, await ask()]

    no_room = "503 no slot became free for this request within 30 s"
    assert in_virtual_time(statuses()) == ["503 this took longer than 30 s", no_room, no_room, "200"]


@pytest.mark.process
def test_a_deadline_is_one_requests(store: Store) -> None:
    """
    Each request on a connection has the full time; a body that arrives in parts does not pass its deadline to the next
    request.
    """
    held = Held(store)
    held.released.set()
    with listening(create_app(held)) as url, requests.Session() as connection:
        for _ in range(2):
            assert connection.get(f"{url}/api/v1/search?q=*").status_code == 200
            assert connection.post(f"{url}/api/v1/compare", json={"a": {"text": "x" * 500_000}, "b": {"text": ""}}).ok
        assert connection.get(f"{url}/readyz").status_code == 200
        assert connection.get(f"{url}/api/v1/search?q=*").status_code == 200
    assert len(held.ends) == 3
    assert len(set(held.ends) - {None}) == 3


@pytest.mark.slow
def test_facets_end_with_the_time(held: Held) -> None:
    """
    Once the time is up, the remaining facets are not counted.
    """
    facets = [{"query": "a", "label": str(number)} for number in range(100)]
    with limited(held, request_timeout_seconds=0.1) as service:
        answer = service.post(SEARCH, json={"query": {"query": "*"}, "facetQueries": facets})
        assert answer.status_code == 503
        held.released.set()
        until(lambda: working(service) == 0)
        assert len(held.given) == 1


@pytest.mark.slow
def test_the_time_is_up_for_alfrescos_clients(held: Held) -> None:
    """
    A timeout on Alfresco's routes has Alfresco's shape.
    """
    with limited(held, request_timeout_seconds=0.1) as service:
        answer = service.post(SEARCH, json={"query": {"query": "*"}})
        assert answer.status_code == 503
        assert "this took longer than 0.1 s" in answer.json()["error"]["briefSummary"]


ENDLESS = b"GET /api/v1/search?q=endless HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.process
def test_work_ends_with_its_client(store: Store) -> None:
    """
    The work of a client that hangs up ends, and its place is free for the next request.
    """
    endless = Endless(store)
    app = create_app(endless, settings=Settings(max_concurrent=1, request_timeout_seconds=PATIENCE_SECONDS))
    with listening(app) as url:
        with sending(url, ENDLESS):
            assert endless.inside.wait(PATIENCE_SECONDS)
        assert endless.stopped.wait(PATIENCE_SECONDS)
        assert requests.get(f"{url}/api/v1/search?q=*", timeout=PATIENCE_SECONDS).json()["total"] == 1
        metrics = requests.get(f"{url}/metrics", timeout=PATIENCE_SECONDS).text
        assert 'whorl_requests_total{method="GET",route="/api/v1/search",status="499"} 1.0' in metrics


def test_work_ends_with_its_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The thread itself ends the work at the deadline, with a 503 and a reason, if it does so within the grace period.
    """
    monkeypatch.setattr(limits, "_GRACE_SECONDS", PATIENCE_SECONDS)
    endless = Endless(store)
    with limited(endless, request_timeout_seconds=0.1) as service:
        message = refused(service.get("/api/v1/search?q=endless"), 503)
        assert message == "the time limit is reached; request less, or allow more time (timeout, request_timeout)"
        assert endless.stopped.is_set()


@pytest.mark.process
def test_a_disconnected_client_frees_its_place(held: Held) -> None:
    """
    Clients that hang up free their places for waiting requests, also in the queue.
    """
    ask = ENDLESS.replace(b"endless", b"*")
    with listening(create_app(held, settings=Settings(max_concurrent=1, max_waiting=1))) as url:

        def count_waiting() -> int:
            lines = requests.get(f"{url}/metrics", timeout=PATIENCE_SECONDS).text.splitlines()
            return int(float(next(line.split()[1] for line in lines if line.startswith("whorl_requests_waiting "))))

        with sending(url, ask):
            held.arrived(1)
            with sending(url, ask):
                until(lambda: count_waiting() == 1)
            until(lambda: count_waiting() == 0)
            with sending(url, ask) as patient:
                until(lambda: count_waiting() == 1)
                held.released.set()
                assert patient.recv(12) == b"HTTP/1.1 200"
        assert len(held.given) == 2
