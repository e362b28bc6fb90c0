"""Settings of glibc's allocator that return freed memory to the system; no effect with other C libraries."""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import suppress

#: glibc's parameter for the maximum number of arenas, and the number that suffices while Python runs one thread at a
#: time.
_M_ARENA_MAX, _ARENAS = -8, 2
#: Interval between two calls of `malloc_trim`. One call takes some 50 ms and blocks allocations of other threads.
_SECONDS = 30.0


def limit_arenas() -> None:
    """Limit all threads to two arenas of glibc; call it before opening a store, which starts threads.

    By default glibc creates up to eight arenas per processor, and each keeps the memory its threads have freed. Once
    there are more than eight, glibc does not read the limit again.
    """
    # Other C libraries have no `mallopt`.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back() -> None:
    """Return free pages to the system.

    By default glibc only returns memory at the end of an arena. Freed memory inside an arena gets fragmented into
    pieces too small for later requests.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_giving_back() -> None:
    """Return free pages to the system at intervals, as long as the process runs."""

    def run() -> None:
        while True:
            time.sleep(_SECONDS)
            give_back()

    threading.Thread(target=run, name="gives memory back", daemon=True).start()
