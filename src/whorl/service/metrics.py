"""Prometheus metrics of the service: counts and times of requests."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from whorl.context import Trace
from whorl.service.middleware.admission import Load

#: Seconds; from the time of a cached answer to more than a client waits.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of one service.

    Args:
        load: Gauge of the requests in progress.
    """

    def __init__(self, load: Load) -> None:
        self._registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        kinds = ("method", "route")
        self._requests = Counter(
            "whorl_requests", "Requests that were answered.", (*kinds, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "whorl_request_seconds", "From a request to the end of its answer.", kinds, buckets=_BUCKETS,
            registry=self._registry,
        )  # fmt: skip
        self._engine_seconds = Histogram(
            "whorl_engine_seconds", "Time that one request waited for Solr or a cluster, of those that asked.",
            ("route",), buckets=_BUCKETS, registry=self._registry,
        )  # fmt: skip
        self._engine_requests = self._counter(
            "whorl_engine_requests", "Requests to Solr or a cluster, repeated ones included."
        )
        self._engine_retries = self._counter(
            "whorl_engine_retries", "Requests to Solr or a cluster that repeated one that failed."
        )
        self._verified = self._counter("whorl_candidates_verified", "Candidates compared by sketch or tokens.")
        self._stored = self._counter("whorl_documents_stored", "Documents stored.")
        self._errors = Counter(
            "whorl_errors", "Requests that ended with an error, by its class.", ("error",), registry=self._registry
        )
        working = Gauge("whorl_requests_working", "Requests that are being worked on.", registry=self._registry)
        working.set_function(lambda: load.working)
        waiting = Gauge("whorl_requests_waiting", "Requests that wait for room.", registry=self._registry)
        waiting.set_function(lambda: load.waiting)

    def note(self, method: str, route: str, status: int, seconds: float, trace: Trace) -> None:
        """Count one request.

        Args:
            method: HTTP method.
            route: The route's pattern; the address itself would create a series per document.
            status: Status of the response.
            seconds: Time until the end of the response.
            trace: Counts of the work done for the request.
        """
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(method, route).observe(seconds)
        if trace.engine_requests:
            self._engine_seconds.labels(route).observe(trace.engine_seconds)
        self._engine_requests.inc(trace.engine_requests)
        self._engine_retries.inc(trace.engine_retries)
        self._verified.inc(trace.verified)
        self._stored.inc(trace.stored)
        if trace.error:
            self._errors.labels(trace.error).inc()

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _counter(self, name: str, meaning: str) -> Counter:
        return Counter(name, meaning, registry=self._registry)
