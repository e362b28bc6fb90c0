"""Caches values that are read from a server, and lets waiting threads share one commit."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from whorl.errors import EngineError

_Value = TypeVar("_Value")


class TtlCache(Generic[_Value]):
    """Caches a value, and fetches it again after its time to live.

    One thread fetches the value while the others wait. The argument of `fetch` is the previous value, or None at first.
    """

    def __init__(self, fetch: Callable[[_Value | None], _Value], seconds: float) -> None:
        # The lock is reentrant: fetching may need another cached value of the same collection.
        self._fetch, self._seconds, self._lock = fetch, seconds, threading.RLock()
        self._fresh_until = -math.inf
        self._value: _Value | None = None

    def __call__(self) -> _Value:
        # A search reads the value a dozen times, so reading a fresh value takes no lock. Set the expiry time after the
        # value: otherwise another thread could return an old value.
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


_Key = TypeVar("_Key")


class LimitedCache(Generic[_Key, _Value]):
    """Keeps the most recently stored values, up to a limit; threads can share it."""

    def __init__(self, most: int) -> None:
        self._most, self._lock, self._values = most, threading.Lock(), dict[_Key, _Value]()

    def get(self, key: _Key) -> _Value | None:
        return self._values.get(key)

    def put(self, key: _Key, value: _Value) -> None:
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            if len(self._values) > self._most:
                del self._values[next(iter(self._values))]


class SharedCommit:
    """Group commit: one commit serves all threads that wait for a commit.

    A running commit may miss the documents of a thread, so the thread waits for a commit that begins after its call.
    """

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = commit
        self._turn = threading.Lock()
        self._begun = self._ended = 0
        self._error: EngineError | None = None

    def __call__(self) -> None:
        """Wait until a commit that began after this call has ended; raise the commit's error if it failed."""
        # Reading `_begun` needs no lock: a commit that another thread begins now is either counted already, or begins
        # after this call.
        wanted = self._begun + 1
        with self._turn:
            if self._ended < wanted:
                self._begun += 1
                self._error = None
                try:
                    self._commit()
                except EngineError as error:
                    self._error = error
                # Other exceptions, such as KeyboardInterrupt, concern only this thread. The next thread commits again.
                self._ended = self._begun
            if self._error is not None:
                raise self._error
