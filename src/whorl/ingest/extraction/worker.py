"""Worker process that extracts text, started by `reader_pool`. Its arguments are the limits for a file.

A request is two messages: the name of the format, and the bytes of the file. A response is two messages: JSON with the
problem, and the text in UTF-8. The messages are not pickled: a hostile file might take over this process, and its
pickles could then run code in the parent.
"""

from __future__ import annotations

import contextlib
import json
import sys

from whorl.errors import DocumentError
from whorl.ingest.extraction.confined_process import connect_to_parent, limit_processor_time
from whorl.ingest.extraction.extract_text import TextBuffer, append_text

#: Maximum number of characters of the messages about parts of a file.
_MOST_PROBLEM = 1_000


def main() -> None:
    seconds, memory_bytes, characters = float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    connection = connect_to_parent(memory_bytes)
    with contextlib.suppress(EOFError, OSError):
        while True:
            name, raw = connection.recv_bytes().decode(), connection.recv_bytes()
            limit_processor_time(seconds)
            text, problem, is_out_of_memory = _read(raw, name, memory_bytes, characters)
            connection.send_bytes(json.dumps({"problem": problem, "is_out_of_memory": is_out_of_memory}).encode())
            connection.send_bytes(text.encode("utf-8", errors="replace"))


def _read(raw: bytes, name: str, memory_bytes: int, characters: int) -> tuple[str, str, bool]:
    """Return the text of a file (or its readable parts), an error message, and whether memory was too small."""
    text = TextBuffer(characters)
    try:
        append_text(raw, name, memory_bytes, text)
        return str(text), "; ".join(text.problems)[:_MOST_PROBLEM], False
    except DocumentError as error:
        problem = str(error)
    except MemoryError:
        return "", f"reading it took more than {memory_bytes:,} bytes of memory (setting file_memory_bytes)", True
    except ImportError as error:
        problem = f"the library that reads {name} does not load: {error}"
    except RecursionError:
        problem = f"this {name} is nested too deep to be read"
    except Exception as error:
        # Leave out the messages of these errors, which are about a library's code.
        first_line = "" if isinstance(error, AttributeError | TypeError) else str(error).partition("\n")[0]
        problem = f"this {name} is damaged, or it is none: {first_line or type(error).__name__:.200}"
    return "", problem, False


if __name__ == "__main__":
    main()
