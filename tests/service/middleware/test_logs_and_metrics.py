"""Tests of the request log, metrics and request ids, which contain nothing of queries and results."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from whorl import Document, Store, open_store
from whorl.errors import EngineUnavailableError
from whorl.request_context import Trace
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.middleware.logs_and_metrics import LOGGER, JsonLinesFormatter, Metrics


def values(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return all values, by name and labels."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_requests_are_counted_by_route_and_status() -> None:
    """
    Requests are counted by route and status; duration buckets are cumulative.
    """
    metrics = Metrics()
    for status, seconds in ((200, 0.004), (200, 0.3), (503, 61.0)):
        metrics.note("GET", "/api/v1/search", status, seconds, Trace())
    now = values(metrics)
    assert now["whorl_requests_total", "GET", "/api/v1/search", "200"] == 2
    assert now["whorl_requests_total", "GET", "/api/v1/search", "503"] == 1
    assert now["whorl_request_seconds_sum", "GET", "/api/v1/search"] == 61.304
    buckets = {name[1]: value for name, value in now.items() if name[0] == "whorl_request_seconds_bucket"}
    assert [buckets[end] for end in ("0.005", "0.25", "0.5", "60.0", "+Inf")] == [1, 1, 2, 2, 3]


def test_work_of_requests_is_added_up() -> None:
    """
    Work is added up: engine time counts only requests that reached the engine, and errors are counted by class.
    """
    metrics = Metrics()
    trace = Trace(verified=7, stored=3, engine_requests=4, engine_retries=1, engine_seconds=0.75, error="QueryError")
    for request_trace in (trace, trace, Trace(verified=1)):
        metrics.note("POST", "/api/v1/similar", 200, 1.0, request_trace)
    now = values(metrics)
    assert now["whorl_candidates_verified_total",] == 15
    assert now["whorl_documents_stored_total",] == 6
    assert (now["whorl_engine_requests_total",], now["whorl_engine_retries_total",]) == (8, 2)
    waited = [now[f"whorl_engine_seconds_{part}", "/api/v1/similar"] for part in ("count", "sum")]
    assert waited == [2, 1.5]
    assert now["whorl_errors_total", "QueryError"] == 2


def test_load_is_that_of_the_moment() -> None:
    """
    Gauges have the value at the time of the scrape; two services do not share counters.
    """
    metrics, other = Metrics(), Metrics()
    metrics.note("GET", "/", 200, 0.1, Trace())
    metrics.count_load(working=3, waiting=2)
    assert (values(metrics)["whorl_requests_working",], values(metrics)["whorl_requests_waiting",]) == (3, 2)
    metrics.count_load(working=-3)
    assert values(metrics)["whorl_requests_working",] == 0
    assert not any(name[0] == "whorl_requests_total" for name in values(other))


#: Words of queries and documents that no line of the log may contain.
TEXT, QUERY, ID, KEY = "secretive silver spoons", "quotation", "confidential-id", "opensesame"


class Broken(Store):
    """A store with an unexpected error whose message contains a text."""

    def prepare(self, query: str, *arguments: Any, **keywords: Any) -> Any:
        if query == "broken":
            raise KeyError(TEXT)
        if query == "away":
            raise EngineUnavailableError(f"no Solr answers, {TEXT}")
        return super().prepare(query, *arguments, **keywords)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("observation") / "store") as opened:
        opened.index([Document(ID, f"{TEXT} {QUERY} and more words than five", "name")])
        yield Broken(opened.engine)


class Log:
    """A log that records its entries."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        return self.lines[-1]


@pytest.fixture
def log() -> Iterator[Log]:
    written, logger = Log(), logging.getLogger(LOGGER)
    handler = logging.StreamHandler(written.stream)
    handler.setFormatter(JsonLinesFormatter())
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    yield written
    logger.removeHandler(handler)
    logger.setLevel(before)


@pytest.fixture
def service(store: Store) -> Iterator[TestClient]:
    app = create_app(store, Credentials(api_keys=(KEY,)))
    with TestClient(app, raise_server_exceptions=False, headers={"Authorization": f"Bearer {KEY}"}) as made:
        yield made


def counted(service: TestClient) -> dict[tuple[str, ...], float]:
    """Return the samples of /metrics, by name and label values."""
    families = text_string_to_metric_families(service.get("/metrics").text)
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_a_line_for_each_request(service: TestClient, log: Log) -> None:
    """
    A line of the log has the request's route, status, plan, duration and number of hits.
    """
    service.get("/api/v1/search", params={"q": f"FINGERPRINT:{ID}_20 AND {QUERY}"})
    line = log.last
    assert {"event", "time", "level", "id", "seconds"} <= line.keys()
    assert (line["method"], line["route"], line["status"]) == ("GET", "/api/v1/search", 200)
    assert (line["plan"], line["hits"]) == ("clauses+tokens", 1)
    assert line["query_length"] == len(f"FINGERPRINT:{ID}_20 AND {QUERY}")
    service.get("/api/v1/search", params={"q": f"FINGERPRINT:{ID}_20_90"})
    assert log.last["plan"] == "bands"
    service.post("/api/v1/similar", json={"text": f"{TEXT} {QUERY} and more words than five here", "metric": "a_in_b"})
    assert (log.last["plan"], log.last["hits"], log.last["verified"]) == ("similar by a_in_b", 1, 1)
    service.post(
        "/api/v1/documents", content=b'{"id": "n", "text": "x"}\n', headers={"Content-Type": "application/x-ndjson"}
    )
    assert (log.last["route"], log.last["stored"]) == ("/api/v1/documents", 1)
    service.delete("/api/v1/documents/n")
    assert log.last["route"] == "/api/v1/documents/{document_id:path}"


def test_log_and_metrics_reveal_no_request(service: TestClient, log: Log) -> None:
    """
    Neither the log nor the metrics contain a query, text, id or key, whatever error it causes.
    """
    service.get("/api/v1/search", params={"q": f'"{QUERY}" AND {ID}'})
    service.get("/api/v1/search", params={"q": f'({QUERY} "{TEXT}'})
    service.get("/api/v1/search", params={"q": f"FINGERPRINT:{ID}_140"})
    service.get(f"/api/v1/documents/{ID}", params={"text": "true"})
    service.get(f"/{QUERY}", headers={"User-Agent": TEXT, "Referer": TEXT, "Authorization": f"Bearer {KEY}x"})
    service.post("/api/v1/similar", json={"text": TEXT, "filter": f"({QUERY}"})
    service.post("/api/v1/similar", content=TEXT, headers={"Content-Type": "application/json"})
    service.post("/api/v1/documents", content=TEXT, headers={"Content-Type": "application/x-ndjson"})
    for query in ("broken", "away"):
        service.get("/api/v1/search", params={"q": query})
    logged = log.stream.getvalue() + service.get("/metrics").text
    assert len(log.lines) >= 11
    for secret in (*TEXT.split(), QUERY, ID, KEY):
        assert secret not in logged


def test_a_defect_is_reported_by_its_place(service: TestClient, log: Log) -> None:
    """
    A defect is a 500 with an id for the client; the log has the same id, the error's class and its place in the code.
    """
    answer = service.get("/api/v1/search", params={"q": "broken"})
    assert answer.status_code == answer.json()["error"]["statusCode"] == 500
    defect, request = log.lines[-2:]
    assert (defect["event"], defect["level"], defect["error"]) == ("defect", "error", "KeyError")
    assert defect["at"][-1].endswith("prepare")
    assert Path(__file__).name in defect["at"][-1]
    assert defect["id"] == request["id"] == answer.headers["X-Request-Id"]
    assert (request["status"], request["error"]) == (500, "KeyError")


def test_errors_have_their_class(service: TestClient, log: Log) -> None:
    """
    Errors appear by class in the log and in the metrics.
    """
    before = counted(service).get(("whorl_errors_total", "QuerySyntaxError"), 0.0)
    service.get("/api/v1/search", params={"q": "("})
    assert (log.last["status"], log.last["error"]) == (400, "QuerySyntaxError")
    service.get("/api/v1/search", params={"q": "away"})
    assert (log.last["status"], log.last["error"]) == (503, "EngineUnavailableError")
    assert counted(service)["whorl_errors_total", "QuerySyntaxError"] == before + 1


@pytest.mark.parametrize("given", ["abc-123", "0af7651916cd43dd8448eb211c80319c", "a" * 128, "Root=1-67:x_y.z+"])
def test_a_request_keeps_its_id(service: TestClient, log: Log, given: str) -> None:
    """
    A request keeps the id that it brings, so that it can be found in the logs of all services on its way.
    """
    answer = service.get("/api/v1/search?q=*", headers={"X-Request-Id": given})
    assert answer.headers["X-Request-Id"] == log.last["id"] == given


@pytest.mark.parametrize("given", ["", "a" * 129, "a b", 'a"b', "a\tb", "<script>", "{}"])
def test_an_id_that_is_none(service: TestClient, log: Log, given: str) -> None:
    """
    An invalid id is replaced by a new one each time.
    """
    first, second = (service.get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"] for _ in "ab")
    assert given != first != second
    assert [line["id"] for line in log.lines] == [first, second]


def test_every_answer_has_an_id(service: TestClient, log: Log) -> None:
    """
    Every answer has an id, also without a route; Alfresco's errors have it in `logId`.
    """
    for path, status in (("/none", 404), ("/api/v1/search", 400), ("/healthz", 200), ("/", 200)):
        answer = service.get(path)
        assert answer.status_code == status
        assert log.last["id"] == answer.headers["X-Request-Id"]
    answer = service.get("/alfresco/none", headers={"Authorization": ""})
    assert answer.status_code == 401
    assert answer.json()["error"]["logId"] == answer.headers["X-Request-Id"] == log.last["id"]


def test_metrics(service: TestClient) -> None:
    """
    Metrics count requests by route and status, durations, candidates and documents; paths create no series.
    """
    for path in (
        "/api/v1/search?q=*",
        "/api/v1/search?q=*",
        "/api/v1/search?q=(",
        "/nowhere/1",
        "/nowhere/2",
        "/api/v1/documents/x",
    ):
        service.get(path)
    service.request("BREW", "/api/v1/search")
    service.post("/api/v1/search", content="text", headers={"Content-Type": "text/plain"})
    service.post("/api/v1/similar", json={"text": f"{TEXT} {QUERY} and more words than five here"})
    now = counted(service)
    assert now["whorl_requests_total", "GET", "/api/v1/search", "200"] == 2
    assert now["whorl_requests_total", "GET", "/api/v1/search", "400"] == 1
    assert now["whorl_requests_total", "POST", "/api/v1/search", "415"] == 1
    assert now["whorl_requests_total", "GET", "none", "404"] == 2
    assert now["whorl_requests_total", "GET", "/api/v1/documents/{document_id:path}", "404"] == 1
    assert sum(value for name, value in now.items() if name[:2] == ("whorl_requests_total", "other")) == 1
    assert now["whorl_request_seconds_count", "GET", "/api/v1/search"] == 3
    assert now["whorl_candidates_verified_total",] == 1
    assert now["whorl_requests_working",] == now["whorl_requests_waiting",] == 0
    # No request of this test reaches Solr.
    assert now["whorl_engine_requests_total",] == 0
    assert now["process_resident_memory_bytes",] > 0


def test_solr_is_timed(solr_contracts: Store, log: Log) -> None:
    """
    The log has the number of Solr requests of one of our requests, and the time spent waiting for them.
    """
    with TestClient(create_app(solr_contracts)) as service:
        assert service.get("/api/v1/search?q=FINGERPRINT:lease_20").status_code == 200
        line = log.last
        assert line["engine_requests"] >= 2
        assert 0 < line["engine_seconds"] <= line["seconds"]
        now = counted(service)
        assert now["whorl_engine_requests_total",] == line["engine_requests"]
        assert now["whorl_engine_seconds_count", "/api/v1/search"] == 1
        assert now["whorl_engine_retries_total",] == 0
