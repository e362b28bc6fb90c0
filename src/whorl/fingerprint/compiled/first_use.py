"""Background compilation of the loops on first use; the numpy code does the work until they are ready.

Compiling takes 10 to 15 seconds once per machine. The result is stored on disk for all later processes, so no process
has to wait.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import cache
from itertools import count
from threading import RLock, Thread

from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.scheme import Scheme

_log = logging.getLogger("whorl.fingerprint")

#: Maximum number of idle kernels; each takes some megabytes.
MOST_IDLE = 4
#: Number of searches after which the time saved by the loops equals the time to load them.
WORTH_LOADING = 1000
_searches = count(1)
#: The compiling process, once it was started.
_started: list[subprocess.Popen[bytes]] = []
#: Idle kernels by scheme. Creating a kernel, and checking whether its loops are on disk, takes longer than reading most
#: texts.
_idle: dict[Scheme, list[kernel.Kernel]] = {}
#: Lock held while loops are loaded. A fork waits for it at most this long: a child forked with the lock held would
#: block forever on first use of the loops.
_loading, _FORK_WAITS_SECONDS = RLock(), 10.0


def kernel_if_ready(scheme: Scheme, *, is_worth_compiling: bool = True) -> kernel.Kernel | None:
    """Return an idle kernel, or None if the numpy code has to do the work.

    The result is None if numba is missing or does not work here (for example with this numpy), if the loops do not
    support the scheme, and while another process compiles the loops for this machine; that process is started here on
    first use. If compiled code cannot be stored, this process compiles, and the caller waits.

    Args:
        scheme: Token scheme.
        is_worth_compiling: Whether this process may compile for that; otherwise the result is None.
    """
    if not (scheme.fills_every_bucket and scheme.unit == "words" and kernel.is_available()):
        return None
    with suppress(KeyError, IndexError):
        return _idle[scheme].pop()
    try:
        with _loading:
            if not kernel.is_kept():
                if not _started and kernel.can_be_kept():
                    _start_compiler()
                if is_compiling() or not is_worth_compiling:
                    return None
            return kernel.Kernel(scheme)
    except ImportError as problem:
        _warn(str(problem))
        return None


def give_back(one: kernel.Kernel) -> None:
    """Return a kernel from `kernel_if_ready` to the pool; not after an error interrupted it."""
    if sum(map(len, list(_idle.values()))) < MOST_IDLE:
        _idle.setdefault(one.scheme, []).append(one)


def count_search(scheme: Scheme) -> None:
    """Count a search; every `WORTH_LOADING` searches, load the loops in a thread if they are not loaded.

    A process that reads much text has loaded them anyway. Importing numba takes as long as a thousand searches save;
    compiling takes longer, so if the loops cannot be stored on disk, searches do without them.
    """
    if next(_searches) % WORTH_LOADING == 0 and not kernel.loops_at_hand():
        Thread(target=_load, args=(scheme,), name="whorl-loops", daemon=True).start()


def _load(scheme: Scheme) -> None:
    if loaded := kernel_if_ready(scheme, is_worth_compiling=False):
        give_back(loaded)


def is_compiling() -> bool:
    """Check whether a process started by this one is compiling the loops."""
    return any(process.poll() is None for process in _started)


def _start_compiler() -> None:
    """Start the compiling process, if possible."""
    # A warning, because Python shows it even without logging configuration.
    _log.warning("compiling whorl's loops for this machine, once, in the background; until then it works without them")
    code = f"import sys; sys.path[:] = {sys.path!r}; from whorl.fingerprint.compiled.kernel import Kernel; Kernel()"
    nothing = subprocess.DEVNULL
    with suppress(OSError):
        # A new session, so that the process survives the end of this one, and Ctrl-C, and finishes for the next.
        command = [sys.executable, "-c", code]
        _started.append(
            subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
        )


def _before_fork() -> None:
    # No longer, to avoid a deadlock between this thread and the loading one through other fork handlers.
    _loading.acquire(timeout=_FORK_WAITS_SECONDS)


def _after_fork() -> None:
    # Another thread holds the lock if the wait timed out.
    with suppress(RuntimeError):
        _loading.release()


if hasattr(os, "register_at_fork"):
    # Handlers run in reverse order of registration, so logging, which also has a lock, must be imported first.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@cache
def _warn(problem: str) -> None:
    warnings.warn(f"numba does not work here, so texts take longer: {problem}", RuntimeWarning, stacklevel=4)
