"""Files of many documents: JSON lines, plain or compressed, and JSON arrays; and those that are refused by name.

What a file is, its first bytes tell, and its name where they do not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, TypeAlias

from whorl.errors import DocumentError
from whorl.ingest.json_lines import document_of, documents_of_lines, json_document

if TYPE_CHECKING:
    from whorl.model import Document

#: Where in its file each document stands, and the document, or why it is none.
Records: TypeAlias = Iterator[tuple[str, "Document | DocumentError"]]

_JSON_LINES = frozenset({".jsonl", ".ndjson"})
_TABLES = {".csv": "CSV", ".tsv": "TSV"}
_COMPRESSED = {rb"\x1f\x8b\x08": "gzip", rb"BZh[1-9]1AY&": "bz2", rb"\xfd7zXZ\0": "lzma"}
_WAY_OUT = 'make JSON lines of it, {"id": …, "text": …} for each document'
#: How formats begin that are known and not read, what they are called, and what to do.
_NOT_READ = (
    (b"PAR1\x15", "Parquet", _WAY_OUT),
    (b"ARROW1\0", "Arrow", _WAY_OUT),
    (b"WARC/1.", "WARC", _WAY_OUT),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "unpack it with 'zstd -d'"),
)
#: Bytes of the longest first line that is looked at to tell whether the file is JSON lines.
_FIRST_LINE = 1_000_000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class UnreadRecordsError(DocumentError):
    """A file of many documents cannot be read, or not to its end; nobody knows how many are lost."""


def records_in(opened: IO[bytes], file: PurePath, whole: Callable[[], bytes], *, as_text: bool) -> Records | None:
    """Return the documents of a file that has many; None for one that is a document itself.

    Args:
        opened: The file, at its beginning, where it is again if None is returned.
        file: Its name.
        whole: Returns all of its bytes.
        as_text: Whether tables, and arrays of other things than documents, are documents themselves.

    Raises:
        UnreadRecordsError: The file is of a format that is known and not read.
    """
    head = opened.read(8)
    opened.seek(0)
    suffix = file.suffix.lower()
    for mark, name, way_out in _NOT_READ:
        if head.startswith(mark):
            raise UnreadRecordsError(f"this is {name}, which is not read; {way_out}")
    for mark, module in _COMPRESSED.items():
        if re.match(mark, head):
            return _unpacked(opened, module, PurePath(file.stem))
    if suffix in _JSON_LINES or _begins_with_a_document(opened, head):
        return _of_lines(opened)
    if suffix in _TABLES and not as_text:
        raise UnreadRecordsError(f"this is a table ({_TABLES[suffix]}), which is not read; {_WAY_OUT}")
    if suffix == ".json" and head.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"["):
        return _of_array(whole(), as_text=as_text)
    return None


def _begins_with_a_document(opened: IO[bytes], head: bytes) -> bool:
    if not head.removeprefix(_BYTE_ORDER_MARK).startswith(b"{"):
        return False
    line = opened.readline(_FIRST_LINE)
    opened.seek(0)
    try:
        json_document(line)
    except DocumentError:
        return False
    return True


def _of_lines(opened: IO[bytes]) -> Records:
    try:
        for number, found in documents_of_lines(opened):
            yield f"line {number}", found
    except DocumentError as error:
        raise UnreadRecordsError(str(error)) from error


def _unpacked(opened: IO[bytes], module: str, unpacked_name: PurePath) -> Records:
    """Yield the documents of compressed JSON lines, unpacked with the module of this name."""
    import importlib
    import lzma
    import zlib

    try:
        with importlib.import_module(module).open(opened) as lines:
            head = lines.read(8)
            lines.seek(0)
            if unpacked_name.suffix.lower() not in _JSON_LINES and not _begins_with_a_document(lines, head):
                raise UnreadRecordsError("this is compressed, and of such files JSON lines are read; unpack it first")
            yield from _of_lines(lines)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise UnreadRecordsError(f"this cannot be unpacked to its end: {error}") from error


def _of_array(raw: bytes, *, as_text: bool) -> Records | None:
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError) as error:
        if as_text:
            return None
        raise UnreadRecordsError(f"this is not JSON: {error}") from None
    if not told or not isinstance(told[0], dict):
        if as_text:
            return None
        raise UnreadRecordsError('a JSON array has documents in it, objects with at least "id" and "text"')
    return _of_values(told)


def _of_values(values: list[object]) -> Records:
    for number, value in enumerate(values, start=1):
        try:
            yield f"document {number}", document_of(value)
        except DocumentError as error:
            yield f"document {number}", error
