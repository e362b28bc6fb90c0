"""The process that reads: `python -m whorl.ingest.extraction.worker SECONDS MEMORY_BYTES TEXT_CHARACTERS`.

Asked on standard input, answering on standard output, each time a line of JSON and then bytes: of a file with its
format's name, or of a text. It ends when its input does.
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
from whorl.ingest.extraction.formats import DOCX, HTML, MAIL, PDF, PPTX, XLSX
from whorl.ingest.extraction.pieces import Pieces

try:
    import resource
except ImportError:  # Windows: the parent's clock, and the limits of sizes, are there nevertheless.
    resource = None  # type: ignore[assignment]

#: What the parent's clock may be late by before the system ends a worker whose parent is gone.
_GRACE_SECONDS = 5
#: How often a worker looks whether its parent is there.
_LOOK_SECONDS = 1.0


def main() -> None:
    """Answer until there is nothing more to answer."""
    seconds, memory_bytes, characters = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a library prints must not stand among the answers.
    for standard in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), standard)
    _confine(memory_bytes)
    _end_with_parent()
    while line := asked.readline():
        question = json.loads(line)
        raw = asked.read(question["size"])
        _limit_processor_time(seconds)
        _answer(answers, *_read(raw, question["format"], memory_bytes, characters))


def _read(raw: bytes, name: str, memory_bytes: int, characters: int) -> tuple[str, str, bool]:
    """Return the text, or what is wrong, and whether it is the memory that is."""
    text = Pieces(characters)
    try:
        _append(raw, name, memory_bytes, text)
        return str(text), "", False
    except DocumentError as error:
        return "", str(error), False
    except MemoryError:
        told = f"reading it took more than {memory_bytes:,} bytes of memory (setting file_memory_bytes)"
        return "", told, True
    except ImportError as error:
        return "", f"the library that reads {name} does not load: {error}", False
    except RecursionError:
        return "", f"this {name} is nested too deep to be read", False
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        return "", f"this {name} is damaged, or it is none: {first_line or type(error).__name__:.200}", False


def _append(raw: bytes, name: str, memory_bytes: int, text: Pieces) -> None:
    # Imported here: the library of one format takes time that the others need not wait for.
    if name == PDF.name:
        from whorl.ingest.extraction import pdf

        pdf.read(raw, text)
    elif name in (DOCX.name, PPTX.name, XLSX.name):
        from whorl.ingest.extraction import office

        office.read(raw, name, memory_bytes, text)
    elif name == MAIL.name:
        from whorl.ingest.extraction import mail

        mail.read(raw, text)
    elif name == HTML.name:
        from whorl.ingest.extraction.decoding import decode
        from whorl.ingest.extraction.html import html_text

        text.add(html_text(decode(raw)))


def _answer(answers: BinaryIO, text: str, problem: str, is_out_of_memory: bool) -> None:
    encoded = text.encode("utf-8", errors="replace")
    told = {"size": len(encoded), "problem": problem, "is_out_of_memory": is_out_of_memory}
    answers.write(json.dumps(told).encode() + b"\n" + encoded)
    answers.flush()


def _confine(memory_bytes: int) -> None:
    """Let the process have so much memory, write no file, and leave no core; what the system lacks is left out."""
    if resource is None:
        return
    limits = ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0))
    for which, most in limits:
        # A hard limit from outside may be lower, and macOS refuses that of memory.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (most, most))


def _end_with_parent() -> None:
    """End in the middle of a file, too, if the parent is gone; between files the end of the input says so."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _limit_processor_time(seconds: float) -> None:
    """Let the process end by itself if its parent, whose clock counts otherwise, is not there to end it."""
    if resource is None:
        return
    soft = math.ceil(time.process_time() + seconds) + _GRACE_SECONDS
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
