"""Services with limits, and stores whose searches block until a test releases them."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, Protocol

from starlette.testclient import TestClient

from whorl import Store
from whorl.errors import StoppedError
from whorl.request_context import _current, require_time, seconds_left
from whorl.service.app import create_app
from whorl.service.credentials import Credentials
from whorl.service.middleware.request_checks import AllowedHosts
from whorl.settings.settings import Settings

LINES = {"Content-Type": "application/x-ndjson"}
OPEN = Credentials()
PATIENCE_SECONDS = 240.0


@contextlib.contextmanager
def limited(
    store: Store, credentials: Credentials = OPEN, hosts: AllowedHosts | None = None, **limits: Any
) -> Iterator[TestClient]:
    app = create_app(store, credentials, Settings(**limits), hosts)
    with TestClient(app, raise_server_exceptions=False) as made:
        yield made


def sent(documents: Iterable[dict[str, Any]]) -> bytes:
    """Return documents as lines of JSON."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


class Answer(Protocol):
    """The used part of a response: the test client returns those of httpx, or of httpx2 if that is installed."""

    @property
    def status_code(self) -> int: ...

    @property
    def headers(self) -> Container[str]: ...

    def json(self) -> Any: ...


def refused(answer: Answer, status: int) -> str:
    """Check the status of an error in whorl's shape, and return its message."""
    error = answer.json()["error"]
    assert answer.status_code == error["statusCode"] == status
    assert ("Retry-After" in answer.headers) == (status in (429, 503))
    return str(error["message"])


class Held(Store):
    """A store whose searches wait for `released`; it counts the waiting searches, and records the time that each has
    left.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine)
        self.released = threading.Event()
        self.inside = threading.Semaphore(0)
        self.given: list[float | None] = []
        self.ends: list[float | None] = []

    def prepare(self, query: str, *arguments: Any, **keywords: Any) -> Any:
        self.given.append(seconds_left())
        request = _current.get()
        assert request is not None
        self.ends.append(request.end)
        self.inside.release()
        assert self.released.wait(PATIENCE_SECONDS)
        return super().prepare(query, *arguments, **keywords)

    def arrived(self, count: int) -> None:
        """Wait until this many searches have begun."""
        for _ in range(count):
            assert self.inside.acquire(timeout=PATIENCE_SECONDS)


class Endless(Store):
    """A store whose search for `endless` runs until it is stopped."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.engine)
        self.inside, self.stopped = threading.Event(), threading.Event()

    def prepare(self, query: str, *arguments: Any, **keywords: Any) -> Any:
        if query != "endless":
            return super().prepare(query, *arguments, **keywords)
        self.inside.set()
        patience = threading.Event()
        for _ in range(6_000):
            try:
                require_time()
            except StoppedError:
                self.stopped.set()
                raise
            patience.wait(0.01)
        raise AssertionError("nobody stops it")


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
