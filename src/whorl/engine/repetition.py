"""Requests to a search server that are sent again where they may succeed in a moment, in the time that there is."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import TypeVar

from whorl.context import seconds_left, trace
from whorl.errors import EngineUnavailableError

#: The pause before the first repetition is about this, before each further one twice as long, up to the other.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

_Answered = TypeVar("_Answered")


def repeated(send: Callable[[], _Answered], retries: int) -> _Answered:
    """Send a request, and again where that may succeed in a moment; each is noted in the request's trace.

    All of them can be sent again: questions change nothing, and documents and ids replace what an earlier attempt has
    left.

    Args:
        send: Sends it once; its passing errors say so (`EngineUnavailableError.is_passing`).
        retries: How often it is repeated, at most.

    Raises:
        EngineUnavailableError: That of the last attempt, which is made while there is time for one more.
    """
    noted = trace()
    for repetition in itertools.count(1):
        began = time.monotonic()
        noted.engine_requests += 1
        try:
            return send()
        except EngineUnavailableError as error:
            pause, left = pause_before(repetition), seconds_left()
            if not error.is_passing or repetition > retries or (left is not None and left <= pause):
                raise
        finally:
            noted.engine_seconds += time.monotonic() - began
        noted.engine_retries += 1
        time.sleep(pause)
    raise AssertionError("counting ends")


def pause_before(repetition: int) -> float:
    """Return how many seconds to wait before a repetition, counted from 1.

    Half of the pause is chance, so that those who failed together do not come back together. Source: Brooker,
    "Exponential Backoff and Jitter", AWS Architecture Blog, 2015 ("equal jitter").
    """
    longest = min(_FIRST_PAUSE_SECONDS * 2.0 ** (repetition - 1), _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)
