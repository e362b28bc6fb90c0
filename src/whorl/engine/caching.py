"""Helpers for threads that share a collection: a TTL cache, and group commit (one commit for all waiting threads)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from whorl.errors import EngineError

_Value = TypeVar("_Value")


class TtlCache(Generic[_Value]):
    """A value that is fetched again when its time to live is over.

    One thread fetches the value while the others wait. `fetch` gets the previous value, or None the first time.
    """

    def __init__(self, fetch: Callable[[_Value | None], _Value], seconds: float) -> None:
        # Reentrant, because fetching may need another cached value of the same collection.
        self._fetch, self._seconds, self._lock = fetch, seconds, threading.RLock()
        self._fresh_until = -math.inf
        self._value: _Value | None = None

    def __call__(self) -> _Value:
        # A search reads the value a dozen times, so read a fresh value without the lock. The expiry time is set after
        # the value, so that no thread sees an old value as fresh.
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
        """Make the next call fetch the value again."""
        self._fresh_until = -math.inf


class SharedCommit:
    """Group commit: one commit serves all threads that wait for a commit.

    A thread needs a commit that begins after its call, because a running commit may lack its documents.
    """

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = commit
        self._turn = threading.Lock()
        self._begun = self._ended = 0
        self._error: EngineError | None = None

    def __call__(self) -> None:
        """Wait until a commit that began after this call has ended.

        If the commit fails, all threads that wait for it raise its error.
        """
        # Reading needs no lock. If another thread begins a commit at this moment, either the commit is counted and this
        # thread waits for the next one, or the commit is not counted yet and begins after this call.
        wanted = self._begun + 1
        with self._turn:
            if self._ended < wanted:
                self._begun += 1
                self._error = None
                try:
                    self._commit()
                except EngineError as error:
                    self._error = error
                # Other exceptions, such as KeyboardInterrupt, concern this thread only; the next thread commits again.
                self._ended = self._begun
            if self._error is not None:
                raise self._error
