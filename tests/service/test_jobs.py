"""Tests of jobs: sequential, watched, cancelled, limited, and closed."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator

import pytest
from starlette.exceptions import HTTPException

from tests.service.limited import PATIENCE_SECONDS, until
from whorl.errors import ParameterError, StoppedError
from whorl.request_context import report_progress, require_time
from whorl.service.middleware.logs_and_metrics import LOGGER, JsonLinesFormatter
from whorl.service.routes.duplicates import KEPT_SECONDS, MOST_KEPT, MOST_WAITING, WATCHED_SECONDS, Job, Jobs


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jobs(clock: Clock) -> Iterator[Jobs[str]]:
    made = Jobs[str](clock)
    yield made
    made.close()


class Gate:
    """Work that signals its start, and ends when a test releases it."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()

    def work(self) -> str:
        self.begun.set()
        assert self.released.wait(PATIENCE_SECONDS)
        report_progress("comparing", 7)
        return "found"


def ended(job: Job[str]) -> Job[str]:
    until(lambda: job.is_over)
    return job


def test_one_after_the_other(jobs: Jobs[str]) -> None:
    """
    The second job starts when the first has ended; each reports its progress and its result.
    """
    one, other = Gate(), Gate()
    first, second = jobs.start(one.work), jobs.start(other.work)
    assert one.begun.wait(PATIENCE_SECONDS)
    assert (first.state, second.state) == ("running", "waiting")
    one.released.set()
    assert other.begun.wait(PATIENCE_SECONDS)
    assert (first.state, first.result, first.doing, first.count) == ("done", "found", "comparing", 7)
    other.released.set()
    assert ended(second).state == "done"
    assert jobs.find(second.id) is second
    assert first.id != second.id


def test_no_more_wait_than_are_allowed(jobs: Jobs[str]) -> None:
    """
    A job beyond the limit of the queue is a 429 with the limit; a cancelled job frees its place.
    """
    gate = Gate()
    started = [jobs.start(gate.work) for _ in range(MOST_WAITING)]
    with pytest.raises(HTTPException, match=f"{MOST_WAITING} jobs run or wait already") as refused:
        jobs.start(gate.work)
    assert refused.value.status_code == 429
    jobs.cancel(started[-1].id)
    jobs.start(gate.work)
    gate.released.set()


def test_an_unknown_job(jobs: Jobs[str]) -> None:
    """
    An unknown job is a 404, whose message shortens a long name.
    """
    for ask in (jobs.find, jobs.cancel):
        with pytest.raises(HTTPException) as refused:
            ask("x" * 1000)
        assert refused.value.status_code == 404
        assert len(str(refused.value.detail)) < 120


def test_a_cancelled_job_ends_at_its_next_report(jobs: Jobs[str]) -> None:
    """
    A cancelled job is forgotten at once, and ends at its next report; a queued one never starts.
    """
    one, other = Gate(), Gate()
    first, second = jobs.start(one.work), jobs.start(other.work)
    assert one.begun.wait(PATIENCE_SECONDS)
    jobs.cancel(first.id)
    jobs.cancel(second.id)
    with pytest.raises(HTTPException):
        jobs.find(first.id)
    one.released.set()
    for job in (first, second):
        assert isinstance(ended(job).error, StoppedError)
        assert (job.state, job.result) == ("failed", None)
    assert not other.begun.is_set()


def test_an_unwatched_job_is_cancelled(jobs: Jobs[str], clock: Clock) -> None:
    """
    Each status request extends the life of a job. A job without any ends at its next progress report.
    """
    gate = Gate()
    job = jobs.start(gate.work)
    for _ in range(3):
        clock.now += WATCHED_SECONDS
        assert jobs.find(job.id) is job
    assert gate.begun.wait(PATIENCE_SECONDS)
    clock.now += WATCHED_SECONDS + 1
    gate.released.set()
    assert isinstance(ended(job).error, StoppedError)
    with pytest.raises(HTTPException):
        jobs.find(job.id)


def test_results_are_kept_for_a_while(jobs: Jobs[str], clock: Clock) -> None:
    """
    Only the last few requested results are kept, each until it was not requested for a long time.
    """
    done = []
    for _ in range(MOST_KEPT + 2):
        clock.now += 1
        done.append(ended(jobs.start(lambda: "found")))
    clock.now += 1
    assert jobs.find(done[-1].id).result == "found"
    remaining = [job for job in done if job.id in jobs._jobs]
    assert remaining == done[-MOST_KEPT:]
    clock.now += KEPT_SECONDS + 1
    jobs.start(lambda: "other")
    for job in done:
        with pytest.raises(HTTPException):
            jobs.find(job.id)


@pytest.mark.parametrize(
    ("error", "events"), [(ParameterError("secret"), ["job"]), (KeyError("secret"), ["defect", "job"])]
)
def test_a_job_that_fails(
    jobs: Jobs[str], caplog: pytest.LogCaptureFixture, error: Exception, events: list[str]
) -> None:
    """
    The error of a failed job is kept; the log has only its class, and its place in the code if it is not whorl's own
    error.
    """

    def work() -> str:
        raise error

    with caplog.at_level(logging.INFO, LOGGER):
        job = ended(jobs.start(work))
        jobs.close()
    written = [JsonLinesFormatter().format(record) for record in caplog.records]
    assert (job.state, job.error, job.result) == ("failed", error, None)
    assert [json.loads(line)["event"] for line in written] == events
    assert json.loads(written[-1]).items() >= {"id": job.id, "state": "failed", "error": type(error).__name__}.items()
    assert not any("secret" in line for line in written)


def test_closing_ends_all_of_them(jobs: Jobs[str]) -> None:
    """
    Closing waits for the running job, which ends at its next check for cancellation; another job can start afterwards.
    """
    begun = threading.Event()

    def endless() -> str:
        begun.set()
        patience = threading.Event()
        for _turn in range(6_000):
            require_time()
            patience.wait(0.01)
        raise AssertionError("nobody ends it")

    running, waiting = jobs.start(endless), jobs.start(endless)
    assert begun.wait(PATIENCE_SECONDS)
    jobs.close()
    assert isinstance(running.error, StoppedError)
    assert waiting.result is None
    assert ended(jobs.start(lambda: "found")).result == "found"
