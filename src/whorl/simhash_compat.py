"""Replaces the package `simhash` of simhash-py: the same names, and the same results, with a few exceptions.

    from whorl import simhash_compat as simhash

The functions have the interface of simhash-py 0.4. `Corpus` has the interface of earlier releases, and searches with a
`HammingIndex`. simhash-py has a table for each choice of blocks of bits, and stores all codes in each table. Here, the
tables only determine the order of the results, and the number of times that a result is repeated. docs/hamming.md lists
all differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from whorl.arrays_and_batches import run_starts
from whorl.errors import ParameterError
from whorl.hamming.codes import BITS, LARGEST, Codes, CodesLike, Permutation, as_codes, as_distance, bits_of, blocks_of
from whorl.hamming.groups import Groups, without_garbage_collection
from whorl.hamming.index import HammingIndex
from whorl.hamming.other_simhash_libraries import shingle, unsigned_hash
from whorl.hamming.pairs import find_pairs
from whorl.hamming.simhash import combine
from whorl.hamming.simhash import distance as num_differing_bits

__all__ = ["Corpus", "compute", "find_all", "num_differing_bits", "shingle", "unsigned_hash"]

#: Maximum number of choices of blocks. For each choice, simhash-py has a table with all codes.
_MOST_TABLES = 1 << 16

_Places = NDArray[np.int64]


def compute(hashes: CodesLike) -> int:
    """Return the SimHash code of a text from the hashes of its features; a repeated hash counts several times.

    Raises:
        CodeRangeError: A hash is not in the range 0 to 2**64 - 1.
        CodeTypeError: A hash is not an integer.

    >>> compute([0b111, 0b110, 0b010])
    6
    """
    return combine(hashes)


def find_all(hashes: Iterable[int], number_of_blocks: int, different_bits: int) -> list[tuple[int, int]]:
    """Return all pairs of codes that differ in a few bits, the smaller code first, in ascending order.

    Args:
        hashes: The codes; repeated codes count once.
        number_of_blocks: More than `different_bits`, at most 64. It has no effect, because whorl chooses its own
            method.
        different_bits: Maximum number of bits that differ, 0 to 63; 0 gives no pairs.

    Raises:
        ParameterError: A number is outside its range.
        CodeRangeError: A code is not in the range 0 to 2**64 - 1.
        CodeTypeError: A code is not an integer.

    >>> find_all([7, 0, 1024, 6], number_of_blocks=4, different_bits=1)
    [(0, 1024), (6, 7)]
    """
    if not as_distance(different_bits) < number_of_blocks <= BITS:
        raise ParameterError(
            f"number_of_blocks is more than different_bits ({different_bits}) and at most {BITS}, got "
            f"{number_of_blocks!r}"
        )
    return [(a, b) for a, b in find_pairs(hashes, different_bits).tolist()]


class Corpus:
    """A set of 64-bit codes, to find the codes within a Hamming distance of a query.

    Args:
        num_blocks: Number of blocks of bits, 1 to 64.
        diff_bits: Maximum number of differing bits, 0 to `num_blocks`.
        repeats: Whether `find_all` returns a match once for each table that contains it, like simhash-py.
        zero_is_none: Whether `find_first` returns 0 instead of None if no code matches, like simhash-py. `find_first`
            then cannot find the code 0, and skips each table whose first match is 0.

    Raises:
        ParameterError: A number is out of range, here or in a method.
    """

    def __init__(self, num_blocks: int, diff_bits: int, *, repeats: bool = True, zero_is_none: bool = True) -> None:
        if not 1 <= num_blocks <= BITS:
            raise ParameterError(f"num_blocks must be 1 to {BITS}, got {num_blocks}")
        if not 0 <= diff_bits <= num_blocks:
            raise ParameterError(f"diff_bits must be 0 to num_blocks ({num_blocks}), got {diff_bits}")
        if comb(num_blocks, diff_bits) > _MOST_TABLES:
            raise ParameterError(
                f"{num_blocks} blocks with {diff_bits} bits that may differ are {comb(num_blocks, diff_bits):,} "
                f"tables, at most {_MOST_TABLES:,} can be; use fewer blocks, or whorl.hamming, which has none"
            )
        self.differing_bits = diff_bits
        self._num_blocks, self._repeats, self._zero_is_none = num_blocks, repeats, zero_is_none
        self._index = HammingIndex(diff_bits)

    @cached_property
    def tables(self) -> list[Table]:
        """The tables, in the order of simhash-py."""
        blocks = blocks_of(LARGEST, self._num_blocks)
        chosen = combinations(blocks, self._num_blocks - self.differing_bits)
        return [Table(self._index, leading, [block for block in blocks if block not in leading]) for leading in chosen]

    def insert(self, h: int) -> None:
        """Add a code unless it is present."""
        self._index.insert(h)

    def insert_bulk(self, hashes: CodesLike) -> None:
        self._index.insert_bulk(hashes)

    def remove(self, h: int) -> None:
        """Remove a code if it is present."""
        self._index.remove(h)

    def remove_bulk(self, hashes: CodesLike) -> None:
        self._index.remove_bulk(hashes)

    def find_first(self, query: int) -> int | None:
        """Return the first match in the first table with a match; otherwise None, or 0 if `zero_is_none`."""
        near = self._index.find_all(query)
        for table in self.tables if near else []:
            shown = table.select(query, near)
            if shown and (shown[0] or not self._zero_is_none):
                return shown[0]
        return 0 if self._zero_is_none else None

    def find_first_bulk(self, queries: CodesLike) -> list[int | None]:
        queries = as_codes(queries)
        hits = _Hits(queries, self._index.find_all_bulk(queries))
        first, is_answered = np.zeros(queries.size, np.uint64), np.zeros(queries.size, np.bool_)
        for table in self.tables if hits.codes.size else []:
            open_ = hits.find_in_table(table)
            open_ = open_[~is_answered[hits.owners[open_]]]
            starts = run_starts(hits.owners[open_])
            if starts.size:
                owners = hits.owners[open_[starts]]
                smallest = np.minimum.reduceat(table.permutation.apply(hits.codes[open_]), starts)
                if self._zero_is_none:
                    owners, smallest = owners[smallest > 0], smallest[smallest > 0]
                first[owners] = table.permutation.undo(smallest)
                is_answered[owners] = True
        answers: list[int | None] = [*first.tolist()]
        if not self._zero_is_none:
            for unanswered in np.flatnonzero(~is_answered).tolist():
                answers[unanswered] = None
        return answers

    def find_all(self, query: int) -> list[int]:
        """Return all matches in table order, each once, or with `repeats` once for each table that contains it."""
        near = self._index.find_all(query)
        shown = [code for table in self.tables for code in table.select(query, near)] if near else []
        return shown if self._repeats else list(dict.fromkeys(shown))

    def find_all_bulk(self, queries: CodesLike) -> list[list[int]]:
        queries = as_codes(queries)
        hits = _Hits(queries, self._index.find_all_bulk(queries))
        with without_garbage_collection():
            answers: list[list[int]] = [[] for _ in range(queries.size)]
            if hits.codes.size:
                hits.fill(answers, self.tables, repeats=self._repeats)
        return answers

    def hashes(self) -> list[int]:
        """Return all codes, in the order of the first table."""
        return self.tables[0].hashes()

    def distance(self, a: int, b: int) -> int:
        return num_differing_bits(a, b)


class Table:
    """View of a `Corpus` for one choice of leading blocks, equivalent to a table of simhash-py.

    A code matches a query in this table if it is within the Hamming distance and has the same bits in the leading
    blocks.
    """

    def __init__(self, index: HammingIndex, leading: Sequence[int], others: Sequence[int]) -> None:
        self._index = index
        #: Mask of the leading blocks' bits in a code.
        self.lead = sum(leading)
        #: Mask of the leading blocks' bits in a permuted code: there, they are the highest bits.
        self.search_mask = LARGEST >> BITS - self.lead.bit_count() << BITS - self.lead.bit_count()
        self.permutation = Permutation([bit for mask in (*leading, *others) for bit in bits_of(mask)])

    def permute(self, query: int) -> int:
        return self.permutation.apply(query)

    def unpermute(self, query: int) -> int:
        return self.permutation.undo(query)

    def select(self, query: int, near: list[int]) -> list[int]:
        """Return the codes in `near` that match the query in this table, in the order of the table."""
        shown = [code for code in near if not (code ^ query) & self.lead]
        return sorted(shown, key=self.permute) if len(shown) > 1 else shown

    def find_all(self, query: int) -> list[int]:
        """Return the codes that match the query in this table, sorted by their permuted values."""
        return self.select(query, self._index.find_all(query))

    def find_first(self, query: int) -> int:
        """Return the first match of this table; 0 if no code matches."""
        return next(iter(self.find_all(query)), 0)

    def hashes(self) -> list[int]:
        codes: list[int] = self.permutation.undo(np.sort(self.permutation.apply(self._index.codes()))).tolist()
        return codes


class _Hits:
    """Near codes for several queries. Each hit is a pair of a query and a code near it."""

    def __init__(self, queries: Codes, found: Groups) -> None:
        sizes = np.diff(found.ends)
        self.owners: _Places = np.repeat(np.arange(queries.size), sizes)
        self.codes = found.codes
        self._is_alone = sizes[self.owners] == 1
        self._differing = found.codes ^ queries[self.owners]

    def find_in_table(self, table: Table) -> _Places:
        return np.flatnonzero(self._differing & np.uint64(table.lead) == 0)

    def fill(self, answers: list[list[int]], tables: list[Table], *, repeats: bool) -> None:
        """Set each query's list in `answers` to its near codes, in table order, as `Corpus.find_all` does."""
        times = np.zeros(self.codes.size, np.int64)  # Number of times to report each hit.
        parts: list[_Places] = []
        for table in tables:
            indices = self.find_in_table(table)
            if not repeats:
                indices = indices[times[indices] == 0]
            times[indices] += 1
            indices = indices[~self._is_alone[indices]]
            order = np.lexsort((table.permutation.apply(self.codes[indices]), self.owners[indices]))
            parts.append(indices[order])
        alone = np.flatnonzero(self._is_alone)
        hits = zip(self.owners[alone].tolist(), self.codes[alone].tolist(), times[alone].tolist(), strict=True)
        for owner, code, number in hits:
            answers[owner] = [code] * number
        indices = np.concatenate(parts)
        indices = indices[np.argsort(self.owners[indices], kind="stable")]
        starts, codes = run_starts(self.owners[indices]), self.codes[indices].tolist()
        ends = [*starts[1:].tolist(), indices.size]
        for owner, start, end in zip(self.owners[indices[starts]].tolist(), starts.tolist(), ends, strict=False):
            answers[owner] = codes[start:end]
