"""Starts child processes that read files or rows under limits, and connects them to their parent.

A hostile file can neither hang nor crash the parent, which kills and replaces the child. `connect_to_parent` and
`limit_processor_time` run in the child, everything else in the parent.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from whorl.ingest.extraction import FileLimits
from whorl.request_context import seconds_left

try:
    import resource
except ImportError:  # Windows has no such module: only the parent's time limits and the size limits apply.
    resource = None  # type: ignore[assignment]

#: Processor time in seconds that a child may use beyond the limit for a file, before the system ends it.
_GRACE_SECONDS = 5
_POLL_SECONDS = 1.0


class ConfinedProcess:
    """A child process that runs `module` with the given arguments, and the connection to it."""

    def __init__(self, module: str, *arguments: float) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        handle, options = theirs.fileno(), dict[str, Any]()
        if sys.platform == "win32":
            os.set_handle_inheritable(handle, True)
            options["close_fds"] = False
        else:
            options["pass_fds"] = (handle,)
        # With -P, Python imports no modules in the folder of the files. In its own session, the child gets no Ctrl-C.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *map(str, (handle, *arguments))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **options,
        )
        theirs.close()

    def death(self, memory_bytes: int) -> str:
        """Wait until the process has ended, and return the reason in words."""
        status = self.process.wait()
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"by itself, with status {status}"
        return (
            f"the process that reads it was ended {how}: the file takes more than {memory_bytes:,} bytes of memory "
            "(setting file_memory_bytes), or is broken in a way that its library does not survive"
        )

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.connection.close()


def time_limit(limits: FileLimits) -> tuple[float, str]:
    """Return the maximum time for a file in seconds, and the name of the setting that limits it."""
    left = seconds_left()
    if left is not None and left < limits.seconds:
        return max(left, 0.0), "request_timeout"
    return limits.seconds, "file_timeout"


def connect_to_parent(memory_bytes: int | None = None) -> Connection:
    """Confine this process, and return its connection to the parent. The process ends when its parent ends.

    If the system supports it, the process can write neither files nor core dumps, and its memory is limited.
    """
    limits = {} if resource is None else {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    if limits and memory_bytes is not None:
        limits[resource.RLIMIT_AS] = memory_bytes
    for limit, most in limits.items():
        # This fails if the hard limit is lower, and on macOS, which allows no memory limits.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    # This thread ends the process together with its parent, even while the process reads a file.
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    handle = int(sys.argv[1])
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(handle)
    return Connection(handle)


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os._exit(1)


def limit_processor_time(seconds: float) -> None:
    """Limit the processor time of this process, so that it ends even if its parent has died."""
    if resource is None:
        return
    soft = math.ceil(time.process_time() + seconds) + _GRACE_SECONDS
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
