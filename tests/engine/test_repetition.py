"""Requests that are sent again."""

from __future__ import annotations

import pytest

from whorl.context import new_request
from whorl.engine.repetition import pause_before, repeated
from whorl.errors import EngineUnavailableError


def test_pauses() -> None:
    """
    About twice as long each time up to two seconds, never the same.
    """
    longest = [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    drawn = [[pause_before(number) for number in range(1, 8)] for _ in range(50)]
    for pauses in drawn:
        assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    assert len({tuple(pauses) for pauses in drawn}) == 50


@pytest.mark.parametrize(("retries", "is_passing", "sent"), [(0, True, 1), (1, True, 2), (7, False, 1)])
def test_how_often(retries: int, is_passing: bool, sent: int) -> None:
    """
    What may pass is sent again, and not once more than was allowed; the last error is told.
    """
    calls: list[int] = []

    def send() -> None:
        calls.append(len(calls))
        raise EngineUnavailableError(f"away {len(calls)}", is_passing=is_passing)

    with pytest.raises(EngineUnavailableError, match=f"away {sent}"):
        repeated(send, retries)
    assert len(calls) == sent


def test_what_answers_in_the_end() -> None:
    """
    One error, then an answer: two requests of which one is a repetition.
    """
    errors = [EngineUnavailableError("away", is_passing=True)]

    def send() -> str:
        if errors:
            raise errors.pop()
        return "here"

    with new_request() as request:
        assert repeated(send, 3) == "here"
    assert (request.trace.engine_requests, request.trace.engine_retries) == (2, 1)
