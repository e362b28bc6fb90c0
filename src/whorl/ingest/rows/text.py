"""JSON lines and JSON arrays: one object per row."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

import orjson

from whorl.errors import DocumentError
from whorl.ingest.extraction.decoding import announced
from whorl.ingest.limits import file_limits
from whorl.ingest.rows.columns import Columns, UnreadRowsError
from whorl.ingest.rows.rows import MOST_BYTES, Added, Decide, Row, Span, portions

if TYPE_CHECKING:
    from whorl.model import Document

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: Integers from this value on have more than 63 bits.
_LARGE = 2.0**63
#: Number of bytes that one process reads at a time.
_SPAN = 1 << 22
#: Number of bytes of the longest byte order mark.
_MARK = 4
#: JSON up to this size needs little memory, whatever its content. For larger JSON, maximum memory per character, in all
#: forms that exist while it is read, and per value.
_MODEST, _BYTES_A_CHARACTER, _BYTES_A_VALUE = 1 << 20, 8, 80


class JsonLines:
    """One object per line, in UTF-8."""

    takes_columns = True

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        begin = before = 0
        if announced(opened.read(_MARK)) not in (None, "utf-8-sig"):
            yield None
            return
        opened.seek(0)
        while block := opened.read(_SPAN):
            end, lines = begin + len(block), block.count(b"\n")
            while not block.endswith(b"\n") and (block := opened.readline(MOST_BYTES)):
                end, lines = end + len(block), lines + block.count(b"\n")
            yield Span(begin, end, before)
            begin, before = end, before + lines

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        for number, line in _lines(opened, span):
            yield _row(number, line)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        for some in portions(_lines(opened), _weight):
            rows = [_row(*each) for each in some]
            for row, (_, line), more in zip(rows, some, decide(rows), strict=True):
                if more is None or isinstance(row.values, DocumentError) or isinstance(line, DocumentError):
                    continue
                # Lines without additions are copied unchanged.
                kept = _line({**row.values, **more}) if more else line.removeprefix(_BYTE_ORDER_MARK).rstrip(b"\r\n")
                out.write(kept + b"\n")


class JsonArray:
    """An array of objects, read as a whole."""

    takes_columns = True

    def spans(self, opened: IO[bytes]) -> Iterator[Span | None]:
        yield None

    def rows(self, opened: IO[bytes], columns: Columns, span: Span | None = None) -> Iterator[Row]:
        for number, value in enumerate(_array(opened), start=1):
            yield _value_row(number, value)

    def rewrite(self, opened: IO[bytes], out: IO[bytes], columns: Columns, decide: Decide, added: Added) -> None:
        rows = [_value_row(number, value) for number, value in enumerate(_array(opened), start=1)]
        kept = [
            {**row.values, **more}
            for row, more in zip(rows, decide(rows), strict=True)
            if more is not None and not isinstance(row.values, DocumentError)
        ]
        out.write(b"[\n" + b",\n".join(map(_line, kept)) + b"\n]\n")


def json_document(line: bytes) -> Document:
    """Return the document of one JSON line; keys other than id, text and name become properties.

    Raises:
        DocumentError: The line is not JSON, not an object, or lacks an id or a text.
    """
    told = _object(_json(line))
    if "id" not in told or "text" not in told:
        raise DocumentError('a line is an object with at least "id" and "text"')
    if told["id"] is None:
        raise DocumentError("id must be text, got None")
    return Columns(id="id").document(told, "", 0)


def is_row(line: bytes, columns: Columns) -> bool:
    """Check whether a line is a JSON object with a text."""
    try:
        columns.require(_object(_json(line)))
    except DocumentError:
        return False
    return True


def _array(opened: IO[bytes]) -> list[object]:
    raw = opened.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise UnreadRowsError(f"a JSON array is read up to {MOST_BYTES:,} bytes; make JSON lines of it")
    try:
        _require_modest(raw)
        told = json.loads(raw)
    except DocumentError as error:
        raise UnreadRowsError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise UnreadRowsError(f"this is not JSON: {error}") from None
    if not isinstance(told, list) or not told or not isinstance(told[0], dict):
        raise UnreadRowsError('a JSON array has documents in it, objects with at least "id" and "text"')
    return told


def _lines(opened: IO[bytes], span: Span | None = None) -> Iterator[tuple[int, bytes | DocumentError]]:
    """Yield the non-empty lines with their numbers; a line over the length limit gives an error in its place."""
    number, left = (span.before, span.end - span.begin) if span else (0, sys.maxsize)
    if span:
        opened.seek(span.begin)
    while left > 0 and (line := opened.readline(MOST_BYTES)):
        number += 1
        left -= len(line)
        if number == 1 and (encoding := announced(line)) not in (None, "utf-8-sig"):
            raise UnreadRowsError(f"JSON lines are UTF-8, and this is {encoding}")
        if len(line) == MOST_BYTES and not line.endswith(b"\n"):
            while (rest := opened.readline(MOST_BYTES)) and not rest.endswith(b"\n"):
                left -= len(rest)
            left -= len(rest)
            yield number, DocumentError(f"a line has at most {MOST_BYTES:,} bytes")
        elif line.strip():
            yield number, line


def _weight(line: tuple[int, bytes | DocumentError]) -> int:
    return len(line[1]) if isinstance(line[1], bytes) else 0


def _require_modest(raw: bytes) -> None:
    """Check that JSON cannot take much more memory than its size: values of two characters become objects.

    Raises:
        DocumentError: It could exceed the memory limit.
    """
    if len(raw) <= _MODEST:
        return
    values = sum(raw.count(mark) for mark in (b",", b":", b"[", b"{"))
    most = file_limits().memory_bytes
    if _BYTES_A_CHARACTER * len(raw) + _BYTES_A_VALUE * values > most:
        raise DocumentError(
            f"this JSON of {len(raw):,} bytes and {values:,} values may take more than {most:,} bytes of memory "
            "(setting file_memory_bytes)"
        )


def _row(number: int, line: bytes | DocumentError) -> Row:
    try:
        if isinstance(line, DocumentError):
            raise line
        _require_modest(line)
        return Row(number, "line", _object(_json(line)), len(line))
    except DocumentError as error:
        return Row(number, "line", error)


def _value_row(number: int, value: object) -> Row:
    try:
        return Row(number, "document", _object(value))
    except DocumentError as error:
        return Row(number, "document", error)


def _json(line: bytes) -> object:
    try:
        value = orjson.loads(line)
        # orjson converts integers of more than 64 bits to floats.
        if not _has_large_number(value):
            return value
    except (orjson.JSONDecodeError, RecursionError):
        pass
    return _json_as_python_has_it(line)


def _has_large_number(value: object) -> bool:
    if type(value) is dict:
        for each in value.values():  # noqa: SIM110 - a generator would take as long as all the rest
            if type(each) is not str and _has_large_number(each):
                return True
        return False
    if type(value) is float:
        return abs(value) >= _LARGE
    return type(value) is list and any(map(_has_large_number, value))


def _json_as_python_has_it(line: bytes) -> object:
    """Parse a line with Python's slower parser, which accepts lone surrogates, NaN and large integers."""
    try:
        # Decode first, because json.loads would detect the encoding of bytes each time.
        return json.loads(line.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "surrogatepass"))
    except json.JSONDecodeError as error:
        raise DocumentError(f"this is not JSON: {error.msg}, at character {error.colno}") from None
    except RecursionError:
        raise DocumentError("this is nested too deep to be read") from None
    except ValueError as error:
        # Invalid UTF-8, or a number of thousands of digits.
        raise DocumentError(str(error)) from None


def _object(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    if isinstance(value, DocumentError):
        raise value
    raise DocumentError('a line is an object with at least "id" and "text"')


def _line(values: object) -> bytes:
    # Lone surrogates cannot be encoded in UTF-8, so they are escaped as in the input.
    told = json.dumps(values, ensure_ascii=False)
    try:
        return told.encode()
    except UnicodeEncodeError:
        return json.dumps(values).encode()
