"""Tests of the metrics, parsed by Prometheus' own client."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from whorl.context import Trace
from whorl.service.metrics import Metrics
from whorl.service.middleware.admission import Load


def values(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return all values, by name and labels."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


def test_requests_are_counted_by_route_and_status() -> None:
    """
    Requests are counted by route and status; duration buckets are cumulative.
    """
    metrics = Metrics(Load())
    for status, seconds in ((200, 0.004), (200, 0.3), (503, 61.0)):
        metrics.note("GET", "/api/v1/search", status, seconds, Trace())
    now = values(metrics)
    assert now["whorl_requests_total", "GET", "/api/v1/search", "200"] == 2
    assert now["whorl_requests_total", "GET", "/api/v1/search", "503"] == 1
    assert now["whorl_request_seconds_sum", "GET", "/api/v1/search"] == 61.304
    buckets = {name[1]: value for name, value in now.items() if name[0] == "whorl_request_seconds_bucket"}
    assert [buckets[end] for end in ("0.005", "0.25", "0.5", "60.0", "+Inf")] == [1, 1, 2, 2, 3]


def test_what_was_done_for_them_is_added_up() -> None:
    """
    Work is added up: engine time counts only requests that reached the engine, and errors are counted by class.
    """
    metrics = Metrics(Load())
    trace = Trace(verified=7, stored=3, engine_requests=4, engine_retries=1, engine_seconds=0.75, error="QueryError")
    for each in (trace, trace, Trace(verified=1)):
        metrics.note("POST", "/api/v1/similar", 200, 1.0, each)
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
    load = Load()
    metrics, other = Metrics(load), Metrics(Load())
    metrics.note("GET", "/", 200, 0.1, Trace())
    load.working, load.waiting = 3, 2
    assert (values(metrics)["whorl_requests_working",], values(metrics)["whorl_requests_waiting",]) == (3, 2)
    load.working = 0
    assert values(metrics)["whorl_requests_working",] == 0
    assert not any(name[0] == "whorl_requests_total" for name in values(other))
