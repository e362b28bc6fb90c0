"""Reads and writes files of codes: decimal numbers, or codes with document ids (from `whorl simhash`)."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations, product
from typing import BinaryIO

import numpy as np

from whorl.errors import ParameterError
from whorl.hamming.codes import LARGEST, Codes
from whorl.hamming.groups import Groups, without_garbage_collection
from whorl.hamming.load_loops import loops_if_worth_loading

_CHUNK = 1 << 22
#: Number of groups written at a time.
_GROUPS = 1 << 16
#: Times in seconds without numba: to read a byte, and to write a number.
READING_SECONDS, _WRITING_SECONDS = 6e-9, 200e-9

_BLANKS = b" \t\v\f\r"
#: Maximum length of an invalid line in an error message, in bytes.
_SHOWN = 60


def read_codes(stream: BinaryIO, name: str, ahead: bytes = b"") -> Codes:
    """Read one decimal number per line; ignore blanks around it.

    Args:
        name: Name of the file in error messages.
        ahead: Bytes that were already read from the stream.

    Raises:
        ParameterError: A line has other content, or a number above 2**64 - 1.
    """
    read, pending, line = [np.empty(0, np.uint64)], ahead, 1
    while chunk := stream.read(_CHUNK):
        whole, newline, after = chunk.rpartition(b"\n")
        if not newline:
            pending += chunk
            continue
        read.append(_parse_codes(pending + whole + newline, name, line))
        line += read[-1].size
        pending = after
    if pending:
        read.append(_parse_codes(pending if pending.endswith(b"\n") else pending + b"\n", name, line))
    return np.concatenate(read)


def _parse_codes(text: bytes, name: str, line: int) -> Codes:
    compiled = loops_if_worth_loading(len(text) * READING_SECONDS)
    if compiled:
        codes = np.empty(len(text) // 2 + 1, np.uint64)
        count, end = compiled.read_numbers(np.frombuffer(text, np.uint8), codes)
        if end == len(text):
            return codes[:count].copy()
    # Check the characters first, because int() would also accept signs, underscores and digits of other alphabets.
    elif not text.translate(None, b"0123456789\n" + _BLANKS):
        try:
            return np.frombuffer(array("Q", map(int, text[:-1].split(b"\n"))), np.uint64)
        except (ValueError, OverflowError):
            pass  # The code below finds the invalid line.
    return np.array([_number(number, name, line + i) for i, number in enumerate(text[:-1].split(b"\n"))], np.uint64)


def _number(text: bytes, name: str, line: int) -> int:
    digits = text.strip(_BLANKS)
    significant = digits.lstrip(b"0")
    if digits.isdigit() and len(significant) <= len(str(LARGEST)) and int(significant or b"0") <= LARGEST:
        return int(significant or b"0")
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + b"..."
    what = repr(shown.decode("utf-8", "replace")) if digits else "an empty line"
    raise ParameterError(f"{name}:{line}: expected a number from 0 to {LARGEST}, got {what}")


def lines_of(groups: Groups) -> Iterator[bytes]:
    compiled = loops_if_worth_loading(groups.codes.size * _WRITING_SECONDS)
    for first in range(0, len(groups), _GROUPS):
        ends = groups.ends[first : first + _GROUPS + 1]
        if compiled:
            text = np.empty(22 * int(ends[-1] - ends[0]) + 3 * ends.size, np.uint8)
            yield text[: compiled.write_groups(groups.codes, ends, text)].tobytes()
        else:
            with without_garbage_collection():
                lists = Groups(groups.codes[ends[0] : ends[-1]], ends - ends[0]).to_lists()
                # A line looks like a list of ints printed by Python.
                yield "".join([f"{group}\n" for group in lists]).encode()


def is_labelled(line: bytes) -> bool:
    """Check whether a line has an id, after a tab or in a JSON object."""
    return bool(line.partition(b"\t")[2].strip()) or line.lstrip().startswith(b"{")


def read_labelled(lines: Iterable[bytes], name: str) -> tuple[Codes, dict[int, list[str]]]:
    """Read lines of a code, a tab and a document id, or of JSON with the keys `id` and `simhash`.

    Return the distinct codes, and the ids of each code.

    Raises:
        ParameterError: A line has other content, or the codes have different schemes.
    """
    ids: dict[int, list[str]] = {}
    schemes = set[object]()
    for number, line in enumerate(lines, start=1):
        try:
            if line.lstrip().startswith(b"{"):
                record = json.loads(line)
                code, document_id = record["simhash"], record["id"]
                schemes.add(record.get("scheme"))
            else:
                digits, _, document_id = line.decode().rstrip("\r\n").partition("\t")
                code = int(digits) if digits.strip().isascii() and digits.strip().isdigit() else -1
        except (ValueError, KeyError, TypeError, RecursionError):
            code, document_id = -1, ""
        if type(code) is not int or not 0 <= code <= LARGEST or not (document_id and isinstance(document_id, str)):
            shown = line[:_SHOWN].decode("utf-8", "replace").rstrip("\r\n")
            raise ParameterError(
                f'{name}:{number}: expected a code, a tab and an id, or {{"id": …, "simhash": …}}, got {shown!r}'
            )
        if len(schemes) > 1:
            told_schemes = " and ".join(sorted(map(str, schemes)))
            raise ParameterError(f"{name}:{number}: codes of {told_schemes} cannot be compared")
        ids.setdefault(code, []).append(document_id)
    return np.fromiter(ids, np.uint64, len(ids)), ids


def prepend_lines(first: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Yield all lines of a stream, whose beginning `first` has already been read."""
    return chain([first + (b"" if first.endswith(b"\n") else stream.readline())] if first else [], stream)


def ids_of_pairs(pairs: Iterable[Groups], ids: Mapping[int, list[str]]) -> Iterator[list[str]]:
    for equal_ids in ids.values():
        yield from map(list, combinations(equal_ids, 2))
    for groups in pairs:
        for a, b in groups.to_lists():
            yield from map(list, product(ids[a], ids[b]))


def ids_of_clusters(clusters: Iterable[Groups], ids: Mapping[int, list[str]]) -> Iterator[list[str]]:
    together = set[int]()
    for groups in clusters:
        for group in groups.to_lists():
            together.update(group)
            yield [document_id for code in group for document_id in ids[code]]
    yield from (equal_ids for code, equal_ids in ids.items() if len(equal_ids) > 1 and code not in together)
