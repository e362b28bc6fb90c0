"""Codes as lines of decimal numbers: the input and output format of simhash-find-all."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from whorl.errors import ParameterError
from whorl.fingerprint.simhash.codes import LARGEST, Codes
from whorl.hamming.codes import Groups, uncollected
from whorl.hamming.routes import loops

#: Bytes read at a time.
_CHUNK = 1 << 22
#: Number of groups written at a time.
_GROUPS = 1 << 16
#: Seconds without numba per byte read, and per number written.
READING_SECONDS, _WRITING_SECONDS = 6e-9, 200e-9

_BLANKS = b" \t\v\f\r"
_SHOWN = 60


def read_codes(stream: BinaryIO, name: str, ahead: bytes = b"") -> Codes:
    """Read one decimal number from each line, ignoring blanks around it.

    Args:
        stream: The lines.
        name: Name of the stream for error messages.
        ahead: Bytes already read from the stream.

    Raises:
        ParameterError: A line has other content, or a number above 2**64 - 1; the message begins with name and line
            number.
    """
    read, rest, line = [np.empty(0, np.uint64)], ahead, 1
    while chunk := stream.read(_CHUNK):
        whole, newline, rest_of_chunk = chunk.rpartition(b"\n")
        if not newline:
            rest += chunk
            continue
        read.append(_numbers(rest + whole + newline, name, line))
        line += read[-1].size
        rest = rest_of_chunk
    if rest:
        read.append(_numbers(rest if rest.endswith(b"\n") else rest + b"\n", name, line))
    return np.concatenate(read)


def _numbers(text: bytes, name: str, line: int) -> Codes:
    """Return the numbers of complete lines; `line` is the number of the first line."""
    compiled = loops(len(text) * READING_SECONDS)
    if compiled:
        codes = np.empty(len(text) // 2 + 1, np.uint64)
        count, end = compiled.read_numbers(np.frombuffer(text, np.uint8), codes)
        if end == len(text):
            return codes[:count].copy()
    # int() would accept signs, underscores and digits of other alphabets, too.
    elif not text.translate(None, b"0123456789\n" + _BLANKS):
        try:
            return np.frombuffer(array("Q", map(int, text[:-1].split(b"\n"))), np.uint64)
        except (ValueError, OverflowError):
            pass  # the invalid line is identified below
    return np.array([_number(each, name, line + i) for i, each in enumerate(text[:-1].split(b"\n"))], np.uint64)


def _number(text: bytes, name: str, line: int) -> int:
    digits = text.strip(_BLANKS)
    significant = digits.lstrip(b"0")
    if digits.isdigit() and len(significant) <= len(str(LARGEST)) and int(significant or b"0") <= LARGEST:
        return int(significant or b"0")
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + b"..."
    what = repr(shown.decode("utf-8", "replace")) if digits else "an empty line"
    raise ParameterError(f"{name}:{line}: expected a number from 0 to {LARGEST}, got {what}")


def lines_of(groups: Groups) -> Iterator[bytes]:
    """Yield the text of groups, one line each, such as ``[1, 2, 3]``."""
    compiled = loops(groups.codes.size * _WRITING_SECONDS)
    for first in range(0, len(groups), _GROUPS):
        ends = groups.ends[first : first + _GROUPS + 1]
        if compiled:
            text = np.empty(22 * int(ends[-1] - ends[0]) + 3 * ends.size, np.uint8)
            yield text[: compiled.write_groups(groups.codes, ends, text)].tobytes()
        else:
            with uncollected():
                several = Groups(groups.codes[ends[0] : ends[-1]], ends - ends[0]).to_lists()
                # The string form of a list of ints is the line format.
                yield "".join([f"{each}\n" for each in several]).encode()
