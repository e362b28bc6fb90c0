"""Requests side by side: while Solr works on some, the next are made ready and sent over another connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain, islice
from typing import TypeVar

#: Requests that Solr works on at once: each takes one of its processors.
CONNECTIONS = 2
#: Documents of one request, at most, and characters after which there are no more.
PORTION, PORTION_CHARACTERS = 64, 500_000

_Portion = TypeVar("_Portion")
_Told = TypeVar("_Told")


def side_by_side(portions: Iterable[_Portion], send: Callable[[_Portion], _Told]) -> list[_Told]:
    """Send portions, some at once, and return what each is told, in their order.

    Args:
        portions: Each made ready when it is taken, here; one of them alone is sent by the caller's own thread.
        send: Sends one, in any thread. Its first error, in the order of the portions, ends the rest; those that are on
            their way then have ended when this raises it.
    """
    remaining = iter(portions)
    first = list(islice(remaining, 2))
    if len(first) < 2:
        return list(map(send, first))
    told, pending = list[_Told](), deque[Future[_Told]]()
    with ThreadPoolExecutor(CONNECTIONS, "whorl-solr") as pool:
        for portion in chain(first, remaining):
            # One waits, so that no connection does.
            if len(pending) > CONNECTIONS:
                told.append(pending.popleft().result())
            # Whose deadline and trace the request has.
            pending.append(pool.submit(copy_context().run, send, portion))
        told += [each.result() for each in pending]
    return told
