"""Documents over HTTP, one JSON object a line, stored as they arrive: no more is read than can be stored.

Lines are pulled out of the connection by the thread that stores them, so a client that sends faster than that waits,
and a request of any length takes the memory of one batch.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, from_thread, to_thread

from whorl.errors import DocumentError, WhorlError
from whorl.ingest.files import json_document
from whorl.model import Document, Indexed
from whorl.settings.settings import Settings
from whorl.store import Store

#: Mistakes that are told one by one; all are counted.
MOST_TOLD = 1_000


@dataclass(slots=True)
class Report:
    """What came of a request so far.

    Args:
        done: Documents stored, and those that were there unchanged; all of them are safe.
        refused: Lines that gave no document or one that cannot be stored.
        errors: The first of these, by line.
        lines: Lines read.
    """

    done: Indexed = field(default_factory=Indexed)
    refused: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    lines: int = 0

    def refuse(self, line: int, reason: str) -> None:
        """Note a line that gave no document."""
        self.refused += 1
        if len(self.errors) < MOST_TOLD:
            self.errors.append({"line": line, "message": reason})

    def values(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "lines": self.lines,
            "stored": self.done.stored,
            "unchanged": self.done.unchanged,
            "refused": self.refused,
            "errors": sorted(self.errors, key=lambda each: int(each["line"])),
        }


class InterruptedUploadError(Exception):
    """The store failed on the way; what the report counts is safe all the same."""

    def __init__(self, report: Report, cause: WhorlError) -> None:
        super().__init__(str(cause))
        self.report, self.cause = report, cause


class Bulk:
    """Stores documents that arrive in requests.

    Args:
        store: Where to.
        settings: How long a line may be, and how many requests there are at the same time.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._limiter: CapacityLimiter | None = None

    async def take(self, chunks: AsyncIterator[bytes]) -> Report:
        """Store the documents of one request.

        Args:
            chunks: Its body, of which a part is read whenever there is room.

        Raises:
            InterruptedUploadError: The store failed.
        """
        # Threads of its own: others must not wait until a slow client has sent all.
        self._limiter = self._limiter or CapacityLimiter(self._settings.max_uploads)
        report = Report()
        await to_thread.run_sync(self._stored, chunks, report, limiter=self._limiter)
        return report

    def _stored(self, chunks: AsyncIterator[bytes], report: Report) -> None:
        numbers: dict[str, int] = {}

        def documents() -> Iterator[Document]:
            most = self._settings.max_line_bytes
            for number, line in lines(_pulled(chunks), most):
                report.lines = number
                try:
                    if line is None:
                        raise DocumentError(f"a line has at most {most:,} bytes")
                    if line.strip():
                        document = json_document(line)
                        numbers[document.id] = number
                        yield document
                except DocumentError as error:
                    report.refuse(number, str(error))

        def note(done: Indexed) -> None:
            report.done = done
            numbers.clear()

        def refused(document: Document, error: DocumentError) -> None:
            report.refuse(numbers[document.id], str(error))

        try:
            self._store.index(documents(), progress=note, on_refused=refused)
        except WhorlError as error:
            raise InterruptedUploadError(report, error) from error


def _pulled(chunks: AsyncIterator[bytes]) -> Iterator[bytes]:
    async def next_chunk() -> bytes | None:
        return await anext(chunks, None)

    while (chunk := from_thread.run(next_chunk)) is not None:
        yield chunk


def lines(chunks: Iterable[bytes], most: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield the lines of a body with their numbers, from 1; None for a line that is too long to be kept.

    Args:
        chunks: The body, in parts of any size.
        most: Bytes of a line, at most.
    """
    number, parts, size = 1, list[bytes](), 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield number, b"".join([*parts, piece]) if size + len(piece) <= most else None
            number, parts, size = number + 1, [], 0
        size += len(rest)
        parts = [*parts, rest] if size <= most else []
    if size:
        yield number, b"".join(parts) if size <= most else None
