"""The first use of the loops on a machine: another process compiles them, and the plain route goes on meanwhile.

Compiling takes 10 to 15 seconds once. What is compiled is kept on disk, so the process that compiles serves all that
come after; nobody waits for it.
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

#: Kernels that wait for more texts, at most; of each some megabytes are in use.
MOST_IDLE = 4
#: Searches that the loops gain as much time for as it takes to load them.
WORTH_LOADING = 1000
_searches = count(1)
#: The process that compiles, once it was started.
_started: list[subprocess.Popen[bytes]] = []
#: By scheme. To make a kernel, and to see whether its loops are on disk, takes longer than to read most texts.
_idle: dict[Scheme, list[kernel.Kernel]] = {}
#: Held while loops are loaded, for which a fork waits so long: in the child nobody would end it, and whoever wants the
#: loops there would wait for ever.
_loading, _FORK_WAITS_SECONDS = RLock(), 10.0


def kernel_if_ready(scheme: Scheme, *, is_worth_compiling: bool = True) -> kernel.Kernel | None:
    """Return a kernel that nobody else uses, or None where the plain route has to do.

    It has to where numba is missing or does not work here (with this numpy, say), where the scheme is not one that the
    loops know, and while another process compiles the loops for this machine; that process is started here when they
    are wanted for the first time. Where what is compiled cannot be kept, this process compiles, and the caller waits.

    Args:
        scheme: What the texts are read under.
        is_worth_compiling: Whether there is enough to do for that; otherwise the plain route does it there.
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
    """Let others have a kernel that `kernel_if_ready` has returned and that nothing has stopped in the middle."""
    if sum(map(len, list(_idle.values()))) < MOST_IDLE:
        _idle.setdefault(one.scheme, []).append(one)


def count_search(scheme: Scheme) -> None:
    """Count a search; of so many that the loops would have been worth loading, load them in a thread of its own.

    A process that reads much text has them anyway. To import numba takes as long as a thousand searches gain by them;
    to compile takes longer, so where the loops cannot be kept on disk searches do without.
    """
    if next(_searches) % WORTH_LOADING == 0 and not kernel.loops_at_hand():
        Thread(target=_load, args=(scheme,), name="whorl-loops", daemon=True).start()


def _load(scheme: Scheme) -> None:
    if loaded := kernel_if_ready(scheme, is_worth_compiling=False):
        give_back(loaded)


def is_compiling() -> bool:
    """Return whether the loops of this machine are being compiled by a process that this one has started."""
    return any(process.poll() is None for process in _started)


def _start_compiler() -> None:
    """Start the process that compiles, where one can be started."""
    # A warning, which Python shows where nobody has set up any logging.
    _log.warning("compiling whorl's loops for this machine, once, in the background; until then it works without them")
    code = f"import sys; sys.path[:] = {sys.path!r}; from whorl.fingerprint.compiled.kernel import Kernel; Kernel()"
    nothing = subprocess.DEVNULL
    with suppress(OSError):
        # In a session of its own: when this process ends, or gets Ctrl-C, it goes on for the next one's sake.
        command = [sys.executable, "-c", code]
        _started.append(
            subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
        )


def _before_fork() -> None:
    # No longer, or this thread and the one that loads could wait for each other, by way of what others do at forks.
    _loading.acquire(timeout=_FORK_WAITS_SECONDS)


def _after_fork() -> None:
    # Held by somebody else where the wait was given up.
    with suppress(RuntimeError):
        _loading.release()


if hasattr(os, "register_at_fork"):
    # Of what is registered the last comes first, so logging, which has a lock of its own, has to be imported before.
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@cache
def _warn(problem: str) -> None:
    warnings.warn(f"numba does not work here, so texts take longer: {problem}", RuntimeWarning, stacklevel=4)
