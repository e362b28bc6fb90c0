"""Worker process that extracts text: `python -m whorl.ingest.extraction.worker SECONDS MEMORY_BYTES TEXT_CHARACTERS`.

A request on standard input is a line of JSON that names the format, followed by the bytes of the file. A response on
standard output is a line of JSON, followed by the text in UTF-8. The process ends when its input ends.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
import time
from typing import BinaryIO

from whorl.errors import DocumentError
from whorl.ingest.extraction.extract_text import TextBuffer, append_text

try:
    import resource
except ImportError:  # Windows has no resource limits: only the parent's watchdog and the limits on sizes apply.
    resource = None  # type: ignore[assignment]

#: Processor time in seconds that a worker may use beyond the limit for a file, before the system ends it.
_GRACE_SECONDS = 5
#: Interval between two checks for the parent process, in seconds.
_POLL_SECONDS = 1.0


def main() -> None:
    seconds, memory_bytes, characters = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Redirect standard input and output, so that libraries do not print into the responses.
    for standard in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), standard)
    confine(memory_bytes)
    end_with_parent()
    while line := requests.readline():
        request = json.loads(line)
        raw = requests.read(request["size"])
        limit_processor_time(seconds)
        _answer(responses, *_read(raw, request["format"], memory_bytes, characters))


def _read(raw: bytes, name: str, memory_bytes: int, characters: int) -> tuple[str, str, bool]:
    """Return the text of a file, an error message, and whether the memory limit was exceeded."""
    text = TextBuffer(characters)
    try:
        append_text(raw, name, memory_bytes, text)
        return str(text), "", False
    except DocumentError as error:
        problem = str(error)
    except MemoryError:
        return "", f"reading it took more than {memory_bytes:,} bytes of memory (setting file_memory_bytes)", True
    except ImportError as error:
        problem = f"the library that reads {name} does not load: {error}"
    except RecursionError:
        problem = f"this {name} is nested too deep to be read"
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        problem = f"this {name} is damaged, or it is none: {first_line or type(error).__name__:.200}"
    return "", problem, False


def _answer(responses: BinaryIO, text: str, problem: str, is_out_of_memory: bool) -> None:
    encoded = text.encode("utf-8", errors="replace")
    head = {"size": len(encoded), "problem": problem, "is_out_of_memory": is_out_of_memory}
    responses.write(json.dumps(head).encode() + b"\n" + encoded)
    responses.flush()


def confine(memory_bytes: int | None = None) -> None:
    """Limit the memory, and forbid writing files and core dumps, if the system supports such limits."""
    if resource is None:
        return
    limits = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    if memory_bytes is not None:
        limits[resource.RLIMIT_AS] = memory_bytes
    for limit, most in limits.items():
        # `setrlimit` fails if the hard limit is lower, and on macOS, which allows no memory limits.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def end_with_parent() -> None:
    """Start a thread that ends the process when its parent has ended, even while the process reads."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def limit_processor_time(seconds: float) -> None:
    """Limit the processor time, so that the process ends even without its parent."""
    if resource is None:
        return
    soft = math.ceil(time.process_time() + seconds) + _GRACE_SECONDS
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
