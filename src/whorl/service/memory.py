"""What the C library keeps of the memory that threads have freed: glibc only, others are left to themselves."""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import suppress

#: glibc's number for how many arenas threads take memory from, at most; and how many are enough where Python lets one
#: thread run at a time.
_M_ARENA_MAX, _ARENAS = -8, 2
#: Between two times that free memory is given back. It takes some 50 ms, in which other threads wait for memory.
_SECONDS = 30.0


def limit_arenas() -> None:
    """Have all threads take memory from two arenas of glibc's; called before a store is open, which starts threads.

    By itself it makes up to eight for each processor, and each keeps what its threads have freed. Once there are more
    than eight it does not ask for the limit again.
    """
    # Other C libraries have no such thing.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Give the system the pages that are free.

    By itself glibc only gives back what is free at the end of an arena. Of what is freed in its midst, more and more is
    in pieces that are too small for what is wanted next.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_giving_back() -> None:
    """Give it back now and then, as long as the process runs."""

    def run() -> None:
        while True:
            time.sleep(_SECONDS)
            give_back()

    threading.Thread(target=run, name="gives memory back", daemon=True).start()
