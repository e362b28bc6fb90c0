"""Replaces the package `simhash` of simhash-py 0.4, with the same names and results.

    from whorl import simhash_compat as simhash

`Corpus` has the interface of simhash-py's earlier releases. docs/hamming.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Iterable

from whorl.errors import ParameterError
from whorl.hamming.codes import BITS, CodesLike, as_distance
from whorl.hamming.other_simhash_libraries import shingle, unsigned_hash
from whorl.hamming.pairs import find_pairs
from whorl.hamming.simhash import combine, distance
from whorl.hamming.simhash_py_corpus import Corpus

__all__ = ["Corpus", "compute", "find_all", "num_differing_bits", "shingle", "unsigned_hash"]


def num_differing_bits(a: int, b: int) -> int:
    """Return the number of bits that differ between two codes, 0 to 64.

    Raises:
        CodeRangeError: A code is not in the range 0 to 2**64 - 1.
        CodeTypeError: A code is not an integer.

    >>> num_differing_bits(0b1011, 0b0010)
    2
    """
    return distance(a, b)


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
        number_of_blocks: More than `different_bits`, at most 64; without effect, because whorl chooses its own method.
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
