"""Work that takes longer than a request may: started, watched and cancelled; one job after the other.

A job that nobody asks about for a while is given up, so the next one does not wait for somebody who has gone.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException

from whorl.context import new_request, require_time
from whorl.errors import WhorlError
from whorl.service.logs import LOGGER

#: For how long nobody may ask about a job before it is given up, and before what it found is forgotten. Browsers let a
#: page that is out of sight ask once a minute.
WATCHED_SECONDS, KEPT_SECONDS = 90.0, 600.0
#: Jobs that run or wait, and those that are done and kept.
MOST_WAITING, MOST_KEPT = 4, 4
_log = logging.getLogger(LOGGER)

Result = TypeVar("Result")
#: Says what is being done, and how much of it is; raises `StoppedError` where nobody waits for more.
Report = Callable[[str, int], None]


class State(Enum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(slots=True)
class Job(Generic[Result]):
    """One job.

    Args:
        asked_at: When somebody last asked about it, on the clock of its `Jobs`.
        id: What it is called; nobody guesses it.
        state: How far it is.
        doing: What it does at the moment, in a word.
        count: How much of that is done.
        result: What it found, once it is done.
        error: Why it failed, if it did; an exception that is none of whorl's is a defect.
    """

    asked_at: float
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: State = State.WAITING
    doing: str = ""
    count: int = 0
    result: Result | None = None
    error: Exception | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in (State.DONE, State.FAILED)

    def cancel(self) -> None:
        """End it at its next report."""
        self._cancelled.set()

    def run(self, work: Callable[[Report], Result], report: Report) -> None:
        """Do the work of a job, in the thread that calls."""
        began = time.perf_counter()
        with new_request(self.id, self._cancelled) as request:
            try:
                require_time()
                self.state = State.RUNNING
                self.result = work(report)
                self.state = State.DONE
            except Exception as error:
                self.error, self.state = error, State.FAILED
                request.trace.error = type(error).__name__
                if not isinstance(error, WhorlError) and not self._cancelled.is_set():
                    _log.error("defect", exc_info=error, extra={"fields": {"id": self.id}})
        fields = {"id": self.id, "state": self.state.value, "seconds": round(time.perf_counter() - began, 4)}
        _log.info("job", extra={"fields": fields | ({"error": request.trace.error} if request.trace.error else {})})


class Jobs(Generic[Result]):
    """The jobs of one kind.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._jobs: dict[str, Job[Result]] = {}
        self._thread: ThreadPoolExecutor | None = None

    def start(self, work: Callable[[Report], Result]) -> Job[Result]:
        """Put a job behind those that wait.

        Args:
            work: Reports now and then; each report may end it.

        Raises:
            HTTPException: 429, too many wait.
        """
        with self._lock:
            self._give_up()
            if sum(not job.is_over for job in self._jobs.values()) >= MOST_WAITING:
                raise HTTPException(429, f"{MOST_WAITING} jobs run or wait already, one after the other; try again")
            job = Job[Result](self._clock())
            self._jobs[job.id] = job
            thread = self._thread = self._thread or ThreadPoolExecutor(1, "whorl-job")

        def report(doing: str, count: int) -> None:
            job.doing, job.count = doing, count
            with self._lock:
                self._give_up()
            require_time()

        thread.submit(job.run, work, report)
        return job

    def of(self, job_id: str) -> Job[Result]:
        """Return a job, and keep it going.

        Raises:
            HTTPException: 404, there is none, or nobody asked about it for too long.
        """
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                raise HTTPException(404, f"there is no job {job_id:.40}; it was cancelled or forgotten, start it anew")
            job.asked_at = self._clock()
            self._give_up()
            return job

    def cancel(self, job_id: str) -> None:
        """End a job and forget it.

        Raises:
            HTTPException: 404, there is none.
        """
        self.of(job_id).cancel()
        with self._lock:
            self._jobs.pop(job_id, None)

    def close(self) -> None:
        """End all jobs, and wait for the thread; a further job begins with another."""
        with self._lock:
            for job in self._jobs.values():
                job.cancel()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(cancel_futures=True)

    def _give_up(self) -> None:
        """Forget jobs that nobody asked about for long, and of those that are over all but the last few."""
        now = self._clock()
        over = sorted((job for job in self._jobs.values() if job.is_over), key=lambda job: -job.asked_at)
        for job in list(self._jobs.values()):
            limit = KEPT_SECONDS if job.is_over else WATCHED_SECONDS
            if now - job.asked_at > limit or job in over[MOST_KEPT:]:
                job.cancel()
                del self._jobs[job.id]
