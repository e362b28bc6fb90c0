"""Runs background jobs one at a time, with progress, result and cancellation.

If no client asks about a job for a while, it is cancelled, so that the next job can start.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

from starlette.exceptions import HTTPException

from whorl.errors import WhorlError
from whorl.request_context import Reporter, new_request, reporting, require_time
from whorl.service.middleware.logs_and_metrics import LOGGER

#: An unfinished job is cancelled if no client has asked about it for `WATCHED_SECONDS`. A finished job is forgotten
#: after `KEPT_SECONDS`. Browsers limit a page in the background to one request a minute.
WATCHED_SECONDS, KEPT_SECONDS = 90.0, 600.0
#: Maximum number of running and waiting jobs, and maximum number of finished jobs to keep.
MOST_WAITING, MOST_KEPT = 4, 4
_log = logging.getLogger(LOGGER)

Result = TypeVar("Result")
JobState: TypeAlias = Literal["waiting", "running", "done", "failed"]


@dataclass(slots=True)
class Job(Generic[Result]):
    """One background job.

    Args:
        asked_at: Time of the last request about the job, on the clock of its `Jobs`.
        id: Random id, too long to guess.
        doing: Current step, as one word.
        count: Progress of the current step.
        error: Error of a failed job. Any exception other than WhorlError is a defect.
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
        """Queue a job. If the job is cancelled, it ends at the latest when it next reports progress.

        Raises:
            HTTPException: 429, the queue is full.
        """
        with self._lock:
            self._give_up()
            if sum(not job.is_over for job in self._jobs.values()) >= MOST_WAITING:
                raise HTTPException(429, f"{MOST_WAITING} jobs run or wait already, one after the other; try again")
            job = Job[Result](self._clock())
            self._jobs[job.id] = job
            thread = self._thread = self._thread or ThreadPoolExecutor(1, "whorl-job")

        def report(step: str, done: int, _total: int | None) -> None:
            job.doing, job.count = step, done
            with self._lock:
                self._give_up()
            require_time()

        thread.submit(job.run, work, report)
        return job

    def find(self, job_id: str) -> Job[Result]:
        """Return a job, and postpone its cancellation; raise HTTPException 404 for an unknown or forgotten job."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                raise HTTPException(404, f"there is no job {job_id:.40}; it was cancelled or forgotten, start it anew")
            job.asked_at = self._clock()
            self._give_up()
            return job

    def cancel(self, job_id: str) -> None:
        """Cancel and forget a job; raise HTTPException 404 if it does not exist."""
        self.find(job_id).cancel()
        with self._lock:
            self._jobs.pop(job_id, None)

    def close(self) -> None:
        """Cancel all jobs and wait for the thread. A later job starts a new thread."""
        with self._lock:
            for job in self._jobs.values():
                job.cancel()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(cancel_futures=True)

    def _give_up(self) -> None:
        """Cancel jobs without a recent request, and forget old finished jobs."""
        now = self._clock()
        over = sorted((job for job in self._jobs.values() if job.is_over), key=lambda job: -job.asked_at)
        for job in list(self._jobs.values()):
            limit = KEPT_SECONDS if job.is_over else WATCHED_SECONDS
            if now - job.asked_at > limit or job in over[MOST_KEPT:]:
                job.cancel()
                del self._jobs[job.id]
