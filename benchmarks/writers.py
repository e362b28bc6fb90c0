"""Runs a process that stores documents until it is killed, and checks what is left."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence

from duplicates_processes import say
from whorl import Document, Indexed, Store, open_store
from whorl.errors import WhorlError
from whorl.ingest.store_documents import DEFAULT_BATCH


class Writer:
    """A Python process that calls `write`; `safe` is the number of documents that it reported as stored.

    Args:
        arguments: A program and its arguments.
    """

    def __init__(self, *arguments: str) -> None:
        self.safe, self.has_begun = 0, threading.Event()
        command = [sys.executable, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            # An incomplete line is not a report.
            if line.endswith("\n"):
                self.safe = int(line)
                self.has_begun.set()
        self.has_begun.set()

    def ended(self) -> int:
        """Wait for the end and return the exit status; `safe` then has its final value."""
        self._reading.join()
        return self.process.wait()


def write(store: str, documents: Iterable[Document], batch: int = DEFAULT_BATCH) -> None:
    """Index documents, and print the number of safe documents after each batch."""

    def tell(done: Indexed) -> None:
        print(done.stored + done.unchanged, flush=True)

    with open_store(store) as opened:
        opened.index(documents, batch=batch, progress=tell)


def lost(store: Store, sent: Sequence[Document]) -> int:
    """Return the number of documents that a store lacks or has changed."""
    store.engine.refresh()
    digests = store.engine.digests([document.id for document in sent])
    return sum(not document.has_digest(digests.get(document.id)) for document in sent)


def lost_by_now(store: Store, sent: Sequence[Document]) -> int:
    """Return the number of lost documents; all of them if a Solr that replays its log does not answer yet."""
    try:
        return lost(store, sent)
    except WhorlError as error:
        say(f"not yet: {error}")
        return len(sent)
