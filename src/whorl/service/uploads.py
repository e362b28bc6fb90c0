"""Documents over HTTP, one JSON object a line, stored part by part: no more is read than can be stored.

A part is read while the client takes its time, and only then takes a place, for as long as storing it takes. So a
client that sends faster than that waits, a slow one keeps nobody waiting, and a request of any length takes the memory
of one part.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NotRequired, TypeAlias

from anyio import to_thread
from starlette.exceptions import HTTPException
from typing_extensions import TypedDict

from whorl.errors import DocumentError, WhorlError
from whorl.ingest.rows.lines import json_document
from whorl.model import Document, Indexed
from whorl.repeats import Repeats, RepeatSearch
from whorl.service.middleware.admission import Room
from whorl.service.middleware.bodies import BodyMemory
from whorl.settings.settings import Settings
from whorl.store import Store
from whorl.wire.repeats import RepeatsValues, repeats_values

#: The number of a line, from 1, and its bytes; None where there are too many of them.
Line: TypeAlias = tuple[int, bytes | None]
#: A part: so many bytes or lines, about. Each ends with a commit, so larger ones are faster.
PART_BYTES, PART_LINES = 8_000_000, 4_096
#: Mistakes that are told one by one; all are counted.
MOST_TOLD = 1_000


class LineError(TypedDict):
    """What is wrong with a line, by its number, from 1."""

    line: int
    message: str


class LineRepeats(RepeatsValues):
    """What the document of a line repeats."""

    line: int


class ReportValues(TypedDict):
    """What came of a request; the last three are there where it asked what its documents repeat."""

    lines: int
    stored: int
    unchanged: int
    refused: int
    errors: list[LineError]
    checked: NotRequired[int]
    repeating: NotRequired[int]
    repeats: NotRequired[list[LineRepeats]]


@dataclass(slots=True)
class Report:
    """What came of a request so far.

    Args:
        stored: Documents stored; all of them are safe.
        unchanged: Those that were there unchanged.
        refused: Lines that gave no document or one that cannot be stored.
        errors: The first of these, by line.
        lines: Lines read.
        checked: Documents that were looked at for what they repeat.
        repeating: Those of them that repeat others.
        repeats: What the first of these repeat; None where nobody asked.
    """

    stored: int = 0
    unchanged: int = 0
    refused: int = 0
    errors: list[LineError] = field(default_factory=list)
    lines: int = 0
    checked: int = 0
    repeating: int = 0
    repeats: list[LineRepeats] | None = None

    def repeat(self, line: int, found: Repeats) -> None:
        """Note a document that repeats others."""
        self.repeating += 1
        if self.repeats is not None and len(self.repeats) < MOST_TOLD:
            self.repeats.append({"line": line, **repeats_values(found)})

    def refuse(self, line: int, reason: str) -> None:
        """Note a line that gave no document."""
        self.refused += 1
        if len(self.errors) < MOST_TOLD:
            self.errors.append({"line": line, "message": reason})

    def values(self) -> ReportValues:
        """Return the report as JSON values."""
        values: ReportValues = {
            "lines": self.lines,
            "stored": self.stored,
            "unchanged": self.unchanged,
            "refused": self.refused,
            "errors": sorted(self.errors, key=lambda each: each["line"]),
        }
        if self.repeats is not None:
            values |= {"checked": self.checked, "repeating": self.repeating, "repeats": self.repeats}
        return values


class BrokenOffError(Exception):
    """A request ended on the way; what the report counts is safe all the same."""

    def __init__(self, report: Report, cause: WhorlError | HTTPException) -> None:
        super().__init__(str(cause))
        self.report, self.cause = report, cause


class Lines:
    """Cuts a body into lines as it comes.

    Args:
        most: Bytes of a line, at most; of a longer one nothing is kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._number, self._pieces, self._size = 1, list[bytes](), 0

    @property
    def kept(self) -> int:
        """Bytes of the line that has not ended yet."""
        return self._size if self._pieces else 0

    def of(self, chunk: bytes) -> Iterator[Line]:
        """Yield the lines that end in the next part of the body, in order."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield from self.rest(is_ended=True)
        self._add(rest)

    def rest(self, *, is_ended: bool = False) -> Iterator[Line]:
        """Yield what is left, at the end of the body; or at that of a line, which may be empty."""
        if self._size or is_ended:
            yield self._number, b"".join(self._pieces) if self._size <= self._most else None
        self._number, self._pieces, self._size = self._number + 1, [], 0

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._pieces = [*self._pieces, piece] if self._size <= self._most else []


class Uploads:
    """Stores documents that arrive in requests.

    Args:
        store: Where to.
        settings: How long a line may be, and how long a part may wait for its place.
        room: Where parts are stored.
        memory: Where the bytes of bodies are counted.
    """

    def __init__(self, store: Store, settings: Settings, room: Room, memory: BodyMemory) -> None:
        self._store, self._settings, self._room, self._memory = store, settings, room, memory

    async def take(
        self, chunks: AsyncIterator[bytes], repeats: RepeatSearch | None = None, *, is_stored: bool = True
    ) -> Report:
        """Store the documents of one request.

        Args:
            chunks: Its body, of which a part is read whenever there is room.
            repeats: Tells what they repeat, where that is asked.
            is_stored: Whether they are stored; else they are only looked at.

        Raises:
            BrokenOffError: The store failed, the client was too slow, or there was no room.
            ClientDisconnect: The client has gone.
        """
        report, lines = Report(repeats=None if repeats is None else []), Lines(self._settings.max_line_bytes)
        if repeats is None or is_stored:
            work = partial(self._store_part, report=report, repeats=repeats)
        else:
            work = partial(self._check_part, report=report, repeats=repeats)
        part, size, counted = list[Line](), 0, 0
        try:
            async for chunk in chunks:
                ended = list(lines.of(chunk))
                part += ended
                size += sum(len(line or b"") for _, line in ended)
                self._memory.take(size + lines.kept - counted)
                counted = size + lines.kept
                if size >= PART_BYTES or len(part) >= PART_LINES:
                    await self._in_place(part, work)
                    part, size = [], 0
            await self._in_place([*part, *lines.rest()], work)
        except (WhorlError, HTTPException) as error:
            raise BrokenOffError(report, error) from error
        finally:
            self._memory.give(counted)
        return report

    async def _in_place(self, part: list[Line], work: Callable[[list[Line]], None]) -> None:
        if part:
            async with self._room.place(self._settings.request_timeout_seconds):
                await to_thread.run_sync(work, part)

    def _documents(self, part: Iterable[Line], report: Report) -> Iterator[tuple[int, Document]]:
        """Yield the documents of some lines with the lines' numbers, and note the lines that give none."""
        most = self._settings.max_line_bytes
        for number, line in part:
            report.lines = number
            try:
                if line is None:
                    raise DocumentError(f"a line has at most {most:,} bytes")
                if line.strip():
                    yield number, _addressable(json_document(line))
            except DocumentError as error:
                report.refuse(number, str(error))

    def _check_part(self, part: Iterable[Line], report: Report, repeats: RepeatSearch) -> None:
        for number, document in self._documents(part, report):
            found = repeats.of_new(document)
            report.checked += 1
            if found is not None:
                report.repeat(number, found)

    def _store_part(self, part: Iterable[Line], report: Report, repeats: RepeatSearch | None) -> None:
        numbers: dict[str, int] = {}
        stored: dict[str, None] = {}
        before = Indexed(report.stored, report.unchanged)

        def documents() -> Iterator[Document]:
            for number, document in self._documents(part, report):
                numbers[document.id] = number
                yield document

        def note(done: Indexed) -> None:
            report.stored, report.unchanged = before.stored + done.stored, before.unchanged + done.unchanged

        def refused(document: Document, error: DocumentError) -> None:
            report.refuse(numbers[document.id], str(error))

        def keep(document: Document) -> None:
            stored[document.id] = None

        self._store.index(documents(), progress=note, on_refused=refused, on_stored=keep if repeats else None)
        if repeats is not None:
            for found in repeats.of_stored(stored):
                report.repeat(numbers[found.id], found)
            report.checked += len(stored)


def _addressable(document: Document) -> Document:
    """Return a document that an address can name, or raise DocumentError: clients resolve dots before they ask."""
    if document.id in (".", ".."):
        raise DocumentError(
            f"no address of this service ends in {document.id!r}, so a document of this id could not be read or "
            "deleted; choose another id"
        )
    return document
