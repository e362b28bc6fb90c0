"""Codes with document ids, as `whorl simhash` writes them, and conversion of groups of codes to groups of ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations, product
from typing import BinaryIO

import numpy as np

from whorl.errors import ParameterError
from whorl.fingerprint.simhash.codes import LARGEST, Codes
from whorl.hamming.codes import Groups

#: Number of characters of an invalid line that an error message shows.
_SHOWN = 60


def is_labelled(line: bytes) -> bool:
    """Check whether a line has an id: after a tab, or in a JSON object."""
    return bool(line.partition(b"\t")[2].strip()) or line.lstrip().startswith(b"{")


def read_labelled(lines: Iterable[bytes], name: str) -> tuple[Codes, dict[int, list[str]]]:
    """Read a code and an id from each line: separated by a tab, or as `{"id", "simhash"}` in JSON.

    Returns:
        The distinct codes, and the ids of each code.

    Raises:
        ParameterError: A line has other content, or the codes have different schemes; the message begins with name and
            line number.
    """
    ids: dict[int, list[str]] = {}
    schemes = set[object]()
    for number, line in enumerate(lines, start=1):
        try:
            told = json.loads(line) if line.lstrip().startswith(b"{") else None
            if told is None:
                digits, _, document_id = line.decode().rstrip("\r\n").partition("\t")
                code = int(digits) if digits.strip().isascii() and digits.strip().isdigit() else -1
            else:
                code, document_id = told["simhash"], told["id"]
                schemes.add(told.get("scheme"))
        except (ValueError, KeyError):
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


def chained(first: bytes, rest: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream whose beginning has been read."""
    return chain([first + (b"" if first.endswith(b"\n") else rest.readline())] if first else [], rest)


def ids_of_pairs(pairs: Iterable[Groups], ids: Mapping[int, list[str]]) -> Iterator[list[str]]:
    """Yield pairs of ids of documents whose codes form a pair or are equal."""
    for several in ids.values():
        for one, other in combinations(several, 2):
            yield [one, other]
    for groups in pairs:
        for a, b in groups.to_lists():
            for one, other in product(ids[a], ids[b]):
                yield [one, other]


def ids_of_clusters(clusters: Iterable[Groups], ids: Mapping[int, list[str]]) -> Iterator[list[str]]:
    """Yield clusters of ids of documents whose codes are in one cluster or equal."""
    together = set[int]()
    for groups in clusters:
        for group in groups.to_lists():
            together.update(group)
            yield [document_id for code in group for document_id in ids[code]]
    yield from (several for code, several in ids.items() if len(several) > 1 and code not in together)
