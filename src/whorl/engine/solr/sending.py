"""Parallel update requests: while Solr processes some, the next ones are prepared and sent on another connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain, islice
from typing import TypeVar

#: Requests that Solr processes at once; each uses one of its processors.
CONNECTIONS = 2
#: Maximum number of documents in a request, and of characters after which it gets no further document.
PORTION, PORTION_CHARACTERS = 64, 500_000

_Portion = TypeVar("_Portion")
_Told = TypeVar("_Told")


def side_by_side(portions: Iterable[_Portion], send: Callable[[_Portion], _Told]) -> list[_Told]:
    """Send portions in parallel and return their results in order.

    Args:
        portions: Portions, prepared in the caller's thread as they are taken; a single one is also sent from there.
        send: Sends one portion, from any thread. The first error, in the order of the portions, ends the transfer; it
            is raised after the requests already under way have ended.
    """
    remaining = iter(portions)
    first = list(islice(remaining, 2))
    if len(first) < 2:
        return list(map(send, first))
    told, pending = list[_Told](), deque[Future[_Told]]()
    with ThreadPoolExecutor(CONNECTIONS, "whorl-solr") as pool:
        for portion in chain(first, remaining):
            # Keep one request waiting, so that no connection is idle.
            if len(pending) > CONNECTIONS:
                told.append(pending.popleft().result())
            # The copied context carries the request's deadline and trace.
            pending.append(pool.submit(copy_context().run, send, portion))
        told += [each.result() for each in pending]
    return told
