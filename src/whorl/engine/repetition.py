"""Retries of requests to a search server after temporary failures, within the request's deadline."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import TypeVar

from whorl.context import seconds_left, trace
from whorl.errors import EngineUnavailableError

#: Approximate pause before the first retry, doubled before each further one, and the longest pause.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

_Answered = TypeVar("_Answered")


def repeated(send: Callable[[], _Answered], retries: int) -> _Answered:
    """Send a request, with retries after temporary failures; each attempt is recorded in the request's trace.

    All requests may be repeated: queries change nothing, and documents and ids replace the result of an earlier
    attempt.

    Args:
        send: Sends the request once; raises temporary failures with `EngineUnavailableError.is_passing`.
        retries: Maximum number of retries.

    Raises:
        EngineUnavailableError: The failure of the last attempt; there are no retries after the deadline.
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
    """Return the pause before a retry in seconds; retries count from 1.

    Half of the pause is random, so that clients that failed together do not return together. Source: Brooker,
    "Exponential Backoff and Jitter", AWS Architecture Blog, 2015 ("equal jitter").
    """
    longest = min(_FIRST_PAUSE_SECONDS * 2.0 ** (repetition - 1), _LONGEST_PAUSE_SECONDS)
    return longest * random.uniform(0.5, 1.0)
