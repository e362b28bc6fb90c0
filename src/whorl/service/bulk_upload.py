"""Stores uploaded JSON lines part by part, no faster than the store can write them.

A part has at most a few thousand lines, and occupies one of a limited number of slots while it is stored. So a fast
client must wait, a slow client blocks no slot, and an upload of any length needs memory for only one part.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar, NamedTuple, TypeAlias

from anyio import to_thread

from whorl.engine.protocol import read_changed_texts, replacement_error
from whorl.errors import DocumentError, ParameterError, StoppedError
from whorl.ingest.rows.text_rows import json_document
from whorl.ingest.store_documents import SeenIds
from whorl.model import Document, Indexed
from whorl.request_context import cancellation, require_time, uninterrupted
from whorl.search.repeats_of_new_documents import NewDocumentRepeats, RepeatSearch
from whorl.service.middleware.limits import BodyMemory, JsonMeter, RequestSemaphore
from whorl.settings.settings import Settings
from whorl.store import Store

#: A line of an upload: its number, from 1, and its bytes; None if the line is too long.
Line: TypeAlias = tuple[int, bytes | None]
#: Approximate maximum size of a part, in bytes and in lines. Each part ends with a commit.
PART_BYTES, PART_LINES = 8_000_000, 4_096
#: Maximum number of keys and values of a document.
MOST_VALUES = 100_000
#: Maximum size in bytes of a line that cannot have too many values. A longer line is checked in pieces of this size.
_METERED_BYTES = 100_000
#: Maximum number of errors to list, and of documents that repeat stored documents; further ones are only counted.
MOST_LISTED = 1_000


class LineError(NamedTuple):
    """Error in a line of an upload; lines are counted from 1."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class LineRepeats:
    """A line of an upload, and the documents that the document in this line repeats."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("line", "*repeats")

    line: int
    repeats: NewDocumentRepeats


@dataclass(slots=True)
class Report:
    """Result of an upload so far.

    Args:
        stored: Number of stored documents, all on disk.
        unchanged: Number of documents that were already stored with the same content.
        repeated: Number of documents whose id is also in an earlier line; the last document with an id is stored.
        refused: Number of lines without a valid document, or with a document that cannot be stored.
        errors: Errors of the first refused lines, in the order of the lines.
        checked: Number of documents that were compared with stored documents.
        repeats: The first documents that repeat stored documents, with these documents; None if the client did not
            request them.
    """

    JSON_FIELDS = (
        *("lines", "stored", "unchanged", "repeated", "refused", "errors", "checked?repeats", "repeating?repeats"),
        *("repeats?", "warnings?"),
    )

    stored: int = 0
    unchanged: int = 0
    repeated: int = 0
    refused: int = 0
    errors: list[LineError] = field(default_factory=list)
    lines: int = 0
    checked: int = 0
    repeating: int = 0
    repeats: list[LineRepeats] | None = None
    warnings: tuple[str, ...] | None = None
    seen: SeenIds = field(default_factory=SeenIds)

    def repeat(self, line: int, repeats: NewDocumentRepeats) -> None:
        self.repeating += 1
        if self.repeats is not None and len(self.repeats) < MOST_LISTED:
            self.repeats.append(LineRepeats(line, repeats))

    def refuse(self, line: int, reason: str) -> None:
        self.refused += 1
        if len(self.errors) < MOST_LISTED:
            insort(self.errors, LineError(line, reason), key=attrgetter("line"))


class LineSplitter:
    """Splits a body into lines while it arrives; drops lines of more than `most` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._number, self._pieces, self._size = 1, list[bytes](), 0

    @property
    def unfinished_bytes(self) -> int:
        """Number of bytes of the unfinished line in memory; 0 if the line is too long and was dropped."""
        return self._size if self._pieces else 0

    def split(self, chunk: bytes) -> Iterator[Line]:
        """Yield the lines that end in a chunk of the body."""
        *ended, remainder = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield from self.finish_line(is_ended=True)
        self._add(remainder)

    def finish_line(self, *, is_ended: bool = False) -> Iterator[Line]:
        """Yield the unfinished line and start a new one. Skip an empty line unless a line feed ends it (`is_ended`)."""
        if self._size or is_ended:
            yield self._number, b"".join(self._pieces) if self._size <= self._most else None
        self._number, self._pieces, self._size = self._number + 1, [], 0

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._pieces = [*self._pieces, piece] if self._size <= self._most else []


@dataclass(slots=True)
class Upload:
    """Stores the documents of one request in parts; if `is_stored` is false, only checks them for repeats.

    Args:
        semaphore: Gives each part a slot while it is stored.
        memory: Counts and limits the bytes of all request bodies in memory.
        replaces: Whether a document may replace another text with its id, in the store or in an earlier line.

    Attributes:
        report: The result so far, also after an error.
    """

    store: Store
    settings: Settings
    semaphore: RequestSemaphore
    memory: BodyMemory
    repeats: RepeatSearch | None = None
    is_stored: bool = True
    replaces: bool = True
    report: Report = field(init=False)

    def __post_init__(self) -> None:
        self.report = Report(repeats=None if self.repeats is None else [])

    async def process(self, chunks: AsyncIterator[bytes]) -> None:
        """Process the body; raise HTTPException if the client is too slow, or no slot becomes free."""
        lines, part, size, counted = LineSplitter(self.settings.max_line_bytes), list[Line](), 0, 0
        try:
            async for chunk in chunks:
                ended = list(lines.split(chunk))
                part += ended
                size += sum(len(line or b"") for _, line in ended)
                self.memory.reserve(size + lines.unfinished_bytes - counted)
                counted = size + lines.unfinished_bytes
                if size >= PART_BYTES or len(part) >= PART_LINES:
                    await self._run_in_slot(part)
                    part, size = [], 0
            await self._run_in_slot([*part, *lines.finish_line()])
        finally:
            self.memory.release(counted)

    async def _run_in_slot(self, part: list[Line]) -> None:
        if part:
            async with self.semaphore.slot(self.settings.request_timeout_seconds):
                await to_thread.run_sync(self._store_part if self.is_stored else self._check_part, part)

    def _documents(self, part: Iterable[Line]) -> Iterator[tuple[int, Document]]:
        """Yield the number and the document of each valid line; record invalid lines in the report."""
        for number, line in part:
            self.report.lines = number
            try:
                if line is None:
                    raise DocumentError(f"a line has at most {self.settings.max_line_bytes:,} bytes")
                if line.strip():
                    _require_few_values(line)
                    yield number, _require_addressable(json_document(line))
            except DocumentError as error:
                self.report.refuse(number, str(error))

    def _check_part(self, part: Iterable[Line]) -> None:
        assert self.repeats is not None
        for number, document in self._documents(part):
            require_time()
            repeated = self.repeats.find_for_new(document)
            self.report.checked += 1
            if repeated is not None:
                self.report.repeat(number, repeated)

    def _without_replacements(self, documents: Iterable[tuple[int, Document]]) -> Iterator[tuple[int, Document]]:
        """Yield the documents that would not replace a different text; record the others as refused.

        The engine checks this, too, but after one refusal it stores a batch document by document, which is slower.
        """
        documents = list(documents)
        stored = read_changed_texts(self.store.engine, [document for _, document in documents])
        for number, document in documents:
            if stored.setdefault(document.id, document.text) == document.text:
                yield number, document
            else:
                self.report.refuse(number, str(replacement_error(document.id)))

    def _store_part(self, part: Iterable[Line]) -> None:
        report, repeats = self.report, self.repeats
        numbers: dict[str, int] = {}
        stored: dict[str, None] = {}
        before = Indexed(report.stored, report.unchanged, report.repeated)
        disconnected = cancellation()

        def documents() -> Iterator[Document]:
            valid = self._documents(part)
            for number, document in valid if self.replaces else self._without_replacements(valid):
                # A write must not be interrupted, so check for a disconnect between documents.
                if disconnected.is_set():
                    raise StoppedError("the client of this upload has gone")
                numbers[document.id] = number
                yield document

        def note(done: Indexed) -> None:
            report.stored, report.unchanged = before.stored + done.stored, before.unchanged + done.unchanged
            report.repeated = before.repeated + done.repeated

        with uninterrupted():
            self.store.index(
                documents(),
                replace=self.replaces,
                progress=note,
                on_refused=lambda document, error: report.refuse(numbers[document.id], str(error)),
                on_stored=(lambda document: stored.setdefault(document.id)) if repeats else None,
                seen=report.seen,
            )
        if repeats is not None:
            for repeated in repeats.find_for_stored(stored):
                report.repeat(numbers[repeated.id], repeated)
            report.checked += len(stored)


def _require_few_values(line: bytes) -> None:
    """Raise DocumentError if a line has too many keys and values, because parsing it would block all threads."""
    if len(line) <= _METERED_BYTES:
        return
    meter = JsonMeter("a document here", MOST_VALUES)
    try:
        for begin in range(0, len(line), _METERED_BYTES):
            meter.feed(line[begin : begin + _METERED_BYTES])
    except ParameterError as error:
        raise DocumentError(str(error)) from None


def _require_addressable(document: Document) -> Document:
    """Return the document; raise DocumentError if its id is "." or "..", because clients remove these from URLs."""
    if document.id in (".", ".."):
        raise DocumentError(
            f"no address of this service ends in {document.id!r}, so a document of this id could not be read or "
            "deleted; choose another id"
        )
    return document
