"""Routes that search the store for duplicates in background jobs, with progress and cancellation.

Jobs run one at a time. If no client asks about a job for a while, it is cancelled, so that the next job can start.
"""

from __future__ import annotations

import io
import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from fastapi import APIRouter, HTTPException, Path, Query, Response

from whorl.duplicates import DuplicatesOptions
from whorl.duplicates.results import Cluster
from whorl.duplicates.retention import require_property
from whorl.duplicates.run import require_few_documents
from whorl.errors import NoSketchesError, WhorlError
from whorl.operations import MAX_START, DuplicatesOperation
from whorl.output.duplicates import DescribedCluster, MatchedPair, StoreDuplicates, find_in_store, write_clusters
from whorl.output.json_conversion import values
from whorl.request_context import Reporter, new_request, reporting, require_time
from whorl.service.middleware.logs_and_metrics import LOGGER
from whorl.service.requests_and_responses import DEFECT, Example, Json, require_writable, response_type, status_of
from whorl.service.routes.api_router import api_router
from whorl.service.routes.request_models import RequestBody, body_of, options_in
from whorl.store import Store

#: Maximum size in documents of a cluster that is returned with its pairs.
PAIRS_UP_TO = 30
_PATH = "/duplicates"
#: Order of clusters: by size, or by the lowest similarity of a member to its principal, descending or ascending.
ClusterOrder: TypeAlias = Literal["size", "alike", "unlike"]
_JobId: TypeAlias = Annotated[str, Path(examples=["Yx2mQ0ZlT8aB4cDe"])]
_log = logging.getLogger(LOGGER)
#: Time limits of jobs in seconds. An unfinished job is cancelled if no client has asked about it for `WATCHED_SECONDS`:
#: more than a minute, because browsers limit a page in the background to one request a minute. A finished job is
#: forgotten after `KEPT_SECONDS` without a request.
WATCHED_SECONDS, KEPT_SECONDS = 90.0, 600.0
#: Maximum number of running and waiting jobs, and maximum number of finished jobs to keep.
MOST_WAITING, MOST_KEPT = 4, 4

Result = TypeVar("Result")
JobState: TypeAlias = Literal["waiting", "running", "done", "failed"]


@dataclass(slots=True)
class Job(Generic[Result]):
    """One background job.

    Args:
        asked_at: Time of the last request about the job, on the clock of the `Jobs` object.
        id: Random id, too long to guess.
        doing: Current step, as one word; `count` is its progress.
        error: Error of a failed job; any exception other than WhorlError is a defect.
    """

    asked_at: float
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: JobState = "waiting"
    doing: str = ""
    count: int = 0
    result: Result | None = None
    error: Exception | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed")

    def cancel(self) -> None:
        self._cancelled.set()

    def run(self, work: Callable[[], Result], report: Reporter) -> None:
        began = time.perf_counter()
        with new_request(self.id, self._cancelled) as request, reporting(report):
            try:
                require_time()
                self.state = "running"
                self.result = work()
                self.state = "done"
            except Exception as error:
                self.error, self.state = error, "failed"
                request.trace.error = type(error).__name__
                if not isinstance(error, WhorlError) and not self._cancelled.is_set():
                    _log.error("defect", exc_info=error, extra={"fields": {"id": self.id}})
        fields = {"id": self.id, "state": self.state, "seconds": round(time.perf_counter() - began, 4)}
        _log.info("job", extra={"fields": fields | ({"error": request.trace.error} if request.trace.error else {})})


class Jobs(Generic[Result]):
    """Queue of background jobs, which run one at a time; all results have the same type."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._jobs: dict[str, Job[Result]] = {}
        self._thread: ThreadPoolExecutor | None = None

    def start(self, work: Callable[[], Result]) -> Job[Result]:
        """Queue a job; raise HTTPException 429 if the queue is full. A cancelled job ends when it reports progress."""
        with self._lock:
            self._expire_jobs()
            if sum(not job.is_over for job in self._jobs.values()) >= MOST_WAITING:
                raise HTTPException(429, f"{MOST_WAITING} jobs run or wait already, one after the other; try again")
            job = Job[Result](self._clock())
            self._jobs[job.id] = job
            thread = self._thread = self._thread or ThreadPoolExecutor(1, "whorl-job")

        def report(step: str, done: int, _total: int | None) -> None:
            job.doing, job.count = step, done
            with self._lock:
                self._expire_jobs()
            require_time()

        thread.submit(job.run, work, report)
        return job

    def find(self, job_id: str) -> Job[Result]:
        """Return a job, and postpone its cancellation; raise HTTPException 404 for an unknown or forgotten job."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                raise HTTPException(
                    404, f"there is no job {job_id:.40}; it was cancelled or has expired; start it again"
                )
            job.asked_at = self._clock()
            self._expire_jobs()
            return job

    def cancel(self, job_id: str) -> None:
        """Cancel and forget a job; raise HTTPException 404 if it does not exist."""
        self.find(job_id).cancel()
        with self._lock:
            self._jobs.pop(job_id, None)

    def close(self) -> None:
        """Cancel all jobs and wait for the thread to end; a later job starts a new one."""
        with self._lock:
            for job in self._jobs.values():
                job.cancel()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(cancel_futures=True)

    def _expire_jobs(self) -> None:
        """Cancel jobs that no client has asked about recently, and forget old finished jobs."""
        now = self._clock()
        over = sorted((job for job in self._jobs.values() if job.is_over), key=lambda job: -job.asked_at)
        for job in list(self._jobs.values()):
            limit = KEPT_SECONDS if job.is_over else WATCHED_SECONDS
            if now - job.asked_at > limit or job in over[MOST_KEPT:]:
                job.cancel()
                del self._jobs[job.id]


@body_of(DuplicatesOperation)
class DuplicatesRequest(RequestBody):
    """Body of `POST /api/v1/duplicates`: criteria for near-duplicates."""

    example: ClassVar[Example] = {"metric": "jaccard", "threshold": 60}


@dataclass(frozen=True, slots=True)
class ClusterAndPairs(DescribedCluster):
    """A cluster. Small clusters include their pairs."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = (*DescribedCluster.JSON_FIELDS, "pairs")

    @property
    def pairs(self) -> list[MatchedPair]:
        return [MatchedPair(pair) for pair in self.source.pairs]


@dataclass(frozen=True, slots=True)
class DuplicatesPage:
    """Result of a job: its options, totals, and one page of the clusters."""

    JSON_FIELDS = (
        *("documents=result.documents", "metric", "threshold", "recall", "complete=result.options.is_complete"),
        *("keep=result.options.keep", "versions=result.options.versions", "date=result.options.date"),
        *("write_ids=result.options.write_ids", "common_above=result.options.common_above"),
        *("ignore_common=result.options.ignore_common", "total", "pairs=result.pairs", "warnings=result.warnings"),
        *("written=result.label_counts", "clusters"),
    )

    result: StoreDuplicates
    total: int
    clusters: tuple[ClusterAndPairs, ...]

    @property
    def metric(self) -> str:
        return self.result.options.metric or "jaccard"

    @property
    def threshold(self) -> float:
        return float(self.result.options.threshold)

    @property
    def recall(self) -> float:
        return float(self.result.options.recall)


@dataclass(frozen=True, slots=True)
class Progress:
    """Current step of a job, and its progress."""

    doing: str
    count: int


@dataclass(frozen=True, slots=True)
class JobError:
    """Error of a failed job."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("statusCode=status", "message")

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """A job, with its result once it is done."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id", "state", "progress", "result", "error?")

    id: str
    state: JobState
    progress: Progress
    result: DuplicatesPage | None
    error: JobError | None


#: For each value of `format`, the name and the media type of the download with all clusters.
_FILES = {
    "json": ("duplicates.jsonl", "application/x-ndjson"),
    "csv": ("duplicates.csv", "text/csv; charset=utf-8"),
}
_FILE = {"schema": {"type": "string"}}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": response_type(JobAnswer), "content": {"application/x-ndjson": _FILE, "text/csv": _FILE}}
}


class DuplicateSearches(Jobs[StoreDuplicates]):
    """Background searches for near-duplicates of a store, shared by all worker processes."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._last: StoreDuplicates | None = None

    def start_search(self, options: DuplicatesOperation) -> dict[str, Any]:
        # Report mistakes in the request now, not as a failed job.
        search = DuplicatesOptions.from_options(options)
        if self._store.count() and search.common is None and self._store.engine.sketch_scheme is None:
            raise NoSketchesError(keeps_texts=self._store.engine.keeps_texts)
        require_few_documents(self._store.engine, "over HTTP")
        require_property(search.keep)
        return _describe_job(self.start(partial(self._find, options, search)))

    def page(self, job_id: str, start: int, rows: int, order: ClusterOrder, named: str) -> dict[str, Any]:
        return _describe_job(self.find(job_id), start, rows, order, named)

    def file(self, job_id: str, form: Literal["json", "csv"]) -> bytes:
        """Return all clusters of a job as a file; raise HTTPException 409 if the job is not done."""
        job = self.find(job_id)
        if job.result is None:
            raise HTTPException(409, f"the job is not done but {job.state}; ask again without format")
        out, options = io.StringIO(), job.result.options
        has_residual = DuplicatesOptions.from_options(options).common is not None
        write_clusters(job.result.clusters, form, out, versions=options.versions, with_residual=has_residual)
        # Stored texts and names have no lone surrogates, so this cannot fail.
        return out.getvalue().encode()

    def _find(self, options: DuplicatesOperation, search: DuplicatesOptions) -> StoreDuplicates:
        # Jobs run one at a time, so `_last` needs no lock.
        self._last = find_in_store(self._store, options, search, self._last, with_pairs_up_to=PAIRS_UP_TO)
        return self._last


def duplicates_routes(searches: DuplicateSearches, *, is_read_only: bool = False) -> APIRouter:
    router = api_router()

    @router.post(
        _PATH,
        status_code=202,
        response_model=response_type(JobAnswer),
        summary="Look for the near-duplicates of the store",
    )
    def find_duplicates(request: DuplicatesRequest) -> Json:
        """Start a job that looks for near-duplicates; it waits until earlier jobs are done.

        Request its state at `/api/v1/duplicates/{id}`, with the `id` of this answer, at least once a minute. If the
        result of the same request is at most a minute old, it is used again, unless one of its documents was deleted
        or replaced.
        """
        options = options_in(request, DuplicatesOperation)
        if options.write_ids:
            require_writable(is_read_only=is_read_only)
        job = searches.start_search(options)
        # A proxy may put a prefix before all paths, so the address is relative.
        return Json(job, 202, {"Location": f"{_PATH.removeprefix('/')}/{job['id']}"})

    @router.get(
        f"{_PATH}/{{job_id}}", response_model=None, responses=_ANSWERS, summary="How far a job is, and what it found"
    )
    def watch_duplicates(
        job_id: _JobId,
        start: int = Query(0, ge=0, le=MAX_START),
        rows: int = Query(100, ge=0, le=1_000),
        order: ClusterOrder = "size",
        named: str = Query("", max_length=1_000),
        format: Literal["page", "json", "csv"] = "page",  # noqa: A002 - the parameter has this name
    ) -> Response:
        """The state of a job: waiting, running, done, or failed with an `error`.

        If the job is done, `result` has a page of the clusters, the largest first unless `order` says otherwise. Small
        clusters include their pairs; if versions were requested, pairs have the words and passages added and lost.
        `named` chooses clusters with a document whose name or id contains this text. `json` (one cluster a line) and
        `csv` return all clusters as a file.
        """
        if format == "page":
            return Json(searches.page(job_id, start, rows, order, named))
        name, media_type = _FILES[format]
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(searches.file(job_id, format), media_type=media_type, headers=headers)

    @router.delete(f"{_PATH}/{{job_id}}", status_code=204, summary="Cancel a job")
    def cancel_duplicates(job_id: _JobId) -> Response:
        """Cancel a job that waits or runs, and delete its result."""
        searches.cancel(job_id)
        return Response(status_code=204)

    return router


def _page(result: StoreDuplicates, start: int, rows: int, order: ClusterOrder, named: str) -> DuplicatesPage:
    """Return one page of the clusters; `named` selects clusters with this text in a document's name or id."""
    clusters: Sequence[Cluster] = result.clusters
    if part := named.casefold():
        clusters = [cluster for cluster in clusters if _has_name(cluster, part)]
    if order != "size":
        clusters = sorted(clusters, key=_smallest_similarity, reverse=order == "alike")
    page = (
        result.add_words(cluster) if 0 < len(cluster.versions) <= PAIRS_UP_TO else cluster
        for cluster in clusters[start : start + rows]
    )
    return DuplicatesPage(result, len(clusters), tuple(ClusterAndPairs(cluster) for cluster in page))


def _has_name(cluster: Cluster, part: str) -> bool:
    return any(part in match.b.name.casefold() or part in match.b.id.casefold() for match in cluster.matches)


def _smallest_similarity(cluster: Cluster) -> float:
    return min(match.shares.jaccard for match in cluster.matches)


def _describe_job(
    job: Job[StoreDuplicates], start: int = 0, rows: int = 0, order: ClusterOrder = "size", named: str = ""
) -> dict[str, Any]:
    error = None
    if isinstance(job.error, WhorlError):
        error = JobError(status_of(job.error), str(job.error))
    elif job.error is not None:
        error = JobError(500, DEFECT)
    result = None if job.result is None else _page(job.result, start, rows, order, named)
    return values(JobAnswer(job.id, job.state, Progress(job.doing, job.count), result, error))
