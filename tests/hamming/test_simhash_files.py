"""Codes as lines of decimal numbers: reading and writing."""

from __future__ import annotations

import io
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hamming.hamming_routes_fixture import route  # noqa: F401  # a fixture
from whorl.errors import ParameterError
from whorl.hamming import find_clusters, find_pairs
from whorl.hamming.groups import Groups
from whorl.hamming.simhash_files import (
    ids_of_clusters,
    ids_of_pairs,
    is_labelled,
    lines_of,
    prepend_lines,
    read_codes,
    read_labelled,
)

MOST = 2**64 - 1


def test_numbers_with_blanks_and_zeros_are_read(route: str) -> None:  # noqa: F811
    """
    Blanks, carriage returns and leading zeros are ignored.
    """
    text = f" 1\t\n2\r\n{MOST}\n{'0' * 5000}7\n0\n"
    assert read_codes(io.BytesIO(text.encode()), "F").tolist() == [1, 2, MOST, 7, 0]


def test_input_is_read_in_pieces(route: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """
    Numbers and line numbers are the same for any size of the pieces.
    """
    codes = [10**power for power in range(20)] * 3
    text = "\n".join(map(str, codes)).encode()
    for size in (1, 7, 20, 64):
        monkeypatch.setattr("whorl.hamming.simhash_files._CHUNK", size)
        assert read_codes(io.BytesIO(text), "F").tolist() == codes
        with pytest.raises(ParameterError, match=r"^F:61: "):
            read_codes(io.BytesIO(text + b"\nx\n1"), "F")


def test_lines(route: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """
    Groups are written as Python writes lists, for any numbers and any portion size.
    """
    lists = [[0], [10**power for power in range(20)], [], [MOST, 9, 10, 99], [1, 2]]
    ends = np.cumsum([0, *map(len, lists)])
    groups = Groups(np.array([code for codes in lists for code in codes], np.uint64), ends)
    monkeypatch.setattr("whorl.hamming.simhash_files._GROUPS", 2)
    assert b"".join(lines_of(groups)).decode() == "".join(f"{codes}\n" for codes in lists)


def test_lines_with_ids() -> None:
    """
    Both line formats are read; blanks in ids are kept, and a repeated code has several ids.
    """
    lines = [b"7\ta b\n", b'{"id": "\\u00e9", "scheme": "s", "simhash": 18446744073709551615}\r\n', " 7 \tü".encode()]
    codes, ids = read_labelled(lines, "F")
    assert codes.tolist() == [7, 2**64 - 1]
    assert ids == {7: ["a b", "ü"], 2**64 - 1: ["é"]}
    assert [is_labelled(line) for line in (*lines, b"7\n", b"7\t\n", b"", b"7 a")] == [True] * 3 + [False] * 4


@pytest.mark.parametrize(
    "line",
    [b'{"id": "b", "simhash": 1, "scheme": ["s"]}', b'{"id": ' + b"[" * 200_000,
     b"7\t", b"7 a", b"-1\ta", b"18446744073709551616\ta", b"1_0\ta", b'{"id": "a"}', b'{"id": 1, "simhash": 1}',
     b'{"id": "a", "simhash": true}', b"{", b"7\t\xff", "\u0667\ta".encode()],
)  # fmt: skip
def test_invalid_lines_are_refused(line: bytes) -> None:
    """
    The message begins with the file and the line.
    """
    with pytest.raises(ParameterError, match=r"^F:2: expected a code, a tab and an id"):
        read_labelled([b"7\ta", line], "F")


def test_codes_of_two_schemes() -> None:
    """
    Codes of two schemes in one file are an error.
    """
    lines = [b'{"id": "a", "scheme": "s", "simhash": 1}', b'{"id": "b", "scheme": "t", "simhash": 1}']
    with pytest.raises(ParameterError, match="F:2: codes of s and t cannot be compared"):
        read_labelled(lines, "F")


@given(st.lists(st.integers(0, 63), max_size=12), st.integers(0, 2))
def test_documents_by_their_codes(codes: list[int], distance: int) -> None:
    """
    The result is all pairs of documents with near codes, and their clusters.
    """
    named = {str(at): code for at, code in enumerate(codes)}
    distinct, ids = read_labelled([f"{code}\t{document_id}\n".encode() for document_id, code in named.items()], "F")
    pairs = {frozenset((a, b)) for a, b in combinations(named, 2) if (named[a] ^ named[b]).bit_count() <= distance}
    actual = find_pairs(distinct, distance)
    several = Groups(actual.ravel(), np.arange(0, actual.size + 1, 2))
    result = [frozenset(pair) for pair in ids_of_pairs([several], ids)]
    assert (set(result), len(result)) == (pairs, len(pairs))
    roots = {document_id: document_id for document_id in named}
    for _ in named:
        for a, b in map(sorted, pairs):
            roots[a] = roots[b] = min(roots[a], roots[b])
    wanted = {frozenset(a for a in named if roots[a] == root) for root in roots.values()}
    clusters = list(ids_of_clusters([find_clusters(distinct, distance)], ids))
    assert {frozenset(cluster) for cluster in clusters} == {cluster for cluster in wanted if len(cluster) > 1}
    assert len(clusters) == len({frozenset(cluster) for cluster in clusters})


def test_a_long_first_line() -> None:
    """
    The first line, read beforehand, is joined with its rest.
    """
    assert list(prepend_lines(b"1\ta", io.BytesIO(b"bc\n2\td\n"))) == [b"1\tabc\n", b"2\td\n"]
    assert list(prepend_lines(b"1\ta\n", io.BytesIO(b""))) == [b"1\ta\n"]
    assert list(prepend_lines(b"", io.BytesIO(b""))) == []
