"""What threads share that use one collection: its commits, and answers that are good for a while."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from whorl.errors import EngineError

_Answer = TypeVar("_Answer")


class Remembered(Generic[_Answer]):
    """An answer that is asked for again after a while; of threads that want it at once, one asks.

    Args:
        ask: Asks for it, given the answer before, None at first.
        seconds: How long it is good for.
    """

    def __init__(self, ask: Callable[[_Answer | None], _Answer], seconds: float) -> None:
        # Reentrant: an answer may need another part of the same collection.
        self._ask, self._seconds, self._lock = ask, seconds, threading.RLock()
        self._good_until = -math.inf
        self._answer: _Answer | None = None

    def __call__(self) -> _Answer:
        # A search asks a dozen times; the answer is there before it is said to be good.
        if time.monotonic() > self._good_until:
            with self._lock:
                if time.monotonic() > self._good_until:
                    self._answer = self._ask(self._answer)
                    self._good_until = time.monotonic() + self._seconds
        return cast(_Answer, self._answer)

    def forget(self) -> None:
        """Ask again the next time."""
        self._good_until = -math.inf


class SharedCommit:
    """Commits what was sent before; of those who wait for their turn together, one does it for all.

    A thread needs a commit that begins after it has asked: one that was under way already may not have seen its
    documents. Known from databases as group commit.

    Args:
        commit: Makes everything sent so far searchable.
    """

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = commit
        self._turn = threading.Lock()
        self._begun = self._ended = 0
        self._error: EngineError | None = None

    def __call__(self) -> None:
        """Return when a commit has ended that began after this call.

        Raises:
            EngineError: It failed; all who shared it are told, or each would wait for a silent Solr in turn.
        """
        # Reading it is enough: who counts it up at this moment has begun after us or before us, and we take the later.
        wanted = self._begun + 1
        with self._turn:
            if self._ended < wanted:
                self._begun += 1
                self._error = None
                try:
                    self._commit()
                except EngineError as error:
                    self._error = error
                # Whatever else is raised is this caller's own, as Ctrl-C is: the next one commits again.
                self._ended = self._begun
            if self._error is not None:
                raise self._error
