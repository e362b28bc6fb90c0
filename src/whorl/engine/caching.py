"""Group commit, and a cache with a time limit, for threads that share a collection."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from whorl.errors import EngineError

_Value = TypeVar("_Value")


class TtlCache(Generic[_Value]):
    """Value that one thread fetches again after a time to live; `fetch` takes the previous value, None at first."""

    def __init__(self, fetch: Callable[[_Value | None], _Value], seconds: float) -> None:
        # Reentrant, because fetching may need another cached value of the same collection.
        self._fetch, self._seconds, self._lock = fetch, seconds, threading.RLock()
        self._fresh_until = -math.inf
        self._value: _Value | None = None

    def __call__(self) -> _Value:
        # No lock for the usual case, since a search reads it a dozen times; the value is set before its expiry time.
        if time.monotonic() > self._fresh_until:
            with self._lock:
                if time.monotonic() > self._fresh_until:
                    self._value = self._fetch(self._value)
                    self._fresh_until = time.monotonic() + self._seconds
        return cast(_Value, self._value)

    def not_older_than(self, seconds: float) -> _Value:
        """Return a value that is at most `seconds` old."""
        if time.monotonic() > self._fresh_until - self._seconds + seconds:
            self.forget()
        return self()

    def forget(self) -> None:
        """Fetch the value again at the next call."""
        self._fresh_until = -math.inf


class SharedCommit:
    """Group commit: one commit serves all threads that wait for one.

    A thread needs a commit that begins after its call, because a running commit may have missed its documents.
    """

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = commit
        self._turn = threading.Lock()
        self._begun = self._ended = 0
        self._error: EngineError | None = None

    def __call__(self) -> None:
        """Wait for the end of a commit that began after this call; if it fails, all waiting threads get its error."""
        # Reading needs no lock: whether a commit that begins now counts as earlier or later, this thread waits for the
        # later one.
        wanted = self._begun + 1
        with self._turn:
            if self._ended < wanted:
                self._begun += 1
                self._error = None
                try:
                    self._commit()
                except EngineError as error:
                    self._error = error
                # Other exceptions, such as KeyboardInterrupt, concern this caller only; the next thread commits again.
                self._ended = self._begun
            if self._error is not None:
                raise self._error
