"""The adaptive scaled sketch of a document: its shingle hashes below a bound that falls as the document grows.

A document with n distinct shingles stands at a level that depends on n alone, and its sketch holds the hashes below
2**-level of the hash space: all of them up to k shingles, so that small documents are compared exactly; 2**-floor of
them for most larger ones, so that a short text is still met inside a long one; about `cap` of them at most beyond.

Two sketches are comparable at the larger of their levels: each has, of its document, just the hashes below the same
bound. Because hashes are uniform and the level does not depend on them, the hashes below the bound are, given their
number, a uniform choice of the document's shingles, and so are the m smallest of them; whence the hypergeometric
laws of `statistics.hypergeometric`.

A shingle is known by the top `sketch_bits` bits of its 64-bit hash, in the size n as in the sketch, so that all
counts are of the same things on both sides. Two sets of 12,500 hashes at level 3 that share nothing have on average
0.29 hashes of 32 bits in common, 0.0011 of 40, 0.0000044 of 48: x * y / 2**(bits - level).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from whorl.arrays import ascending_distinct
from whorl.errors import ParameterError, SchemeMismatchError

#: 64 letters in the order of their codes, none of which any query syntax of Solr reads.
_ALPHABET = b".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_LETTER_BITS = 6
_LETTERS = np.frombuffer(_ALPHABET, dtype=np.uint8)
#: Hits compared at once: their hashes stay in the processor's cache.
_PORTION = 64
_PARTS = {"k": "k", "floor_level": "f", "cap": "c", "sketch_bits": "s", "token_bits": "t"}


@dataclass(frozen=True, slots=True)
class SketchScheme:
    """What a sketch depends on beside the words and shingles; sketches of different schemes cannot be compared.

    Args:
        k: Shingles up to which a document keeps every hash, at least 1.
        floor_level: Level at which documents stay from k * 2**floor_level shingles on, 0 to 20.
        cap: Hashes that a document keeps about at most, at least k; it decides where the levels rise again.
        sketch_bits: Top bits of each hash that are kept and compared, 32 to 64.
        token_bits: Top bits of these that stand in the index, 32 to sketch_bits.
        version: Of the arithmetic.

    Raises:
        ParameterError: A parameter is outside its range.
    """

    k: int = 1024
    floor_level: int = 3
    cap: int = 16384
    sketch_bits: int = 40
    token_bits: int = 40
    version: int = 1

    def __post_init__(self) -> None:
        bounds = (
            ("k", 1, 1 << 20),
            ("floor_level", 0, 20),
            ("cap", self.k, 1 << 24),
            ("sketch_bits", 32, 64),
            ("token_bits", 32, self.sketch_bits),
            ("version", 1, 1),
        )
        for name, least, most in bounds:
            value = getattr(self, name)
            if not least <= value <= most:
                raise ParameterError(f"{name} of a sketch scheme must be {least} to {most}, got {value}")

    @property
    def name(self) -> str:
        """The scheme in one word, as stored and shown: `sketch1-k1024-f3-c16384-s40-t40`."""
        return "-".join([f"sketch{self.version}", *(f"{short}{getattr(self, part)}" for part, short in _PARTS.items())])

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the scheme of a name.

        Raises:
            ParameterError: There is no such scheme.
        """
        pattern = "-".join([r"sketch1", *(rf"{short}(\d{{1,8}})" for short in _PARTS.values())])
        match = re.fullmatch(pattern, name, re.ASCII)
        if not match:
            raise ParameterError(f"there is no sketch scheme {name!r}; name one as {cls().name}")
        return cls(*map(int, match.groups()))

    def require(self, other: SketchScheme) -> None:
        """Raise SchemeMismatchError, naming every differing part, unless both schemes are equal."""
        differing = [part for part in (*_PARTS, "version") if getattr(self, part) != getattr(other, part)]
        if differing:
            told = ", ".join(f"{part} ({getattr(self, part)} and {getattr(other, part)})" for part in differing)
            raise SchemeMismatchError(f"sketches differ in {told}; index both under one scheme")

    def level(self, size: int) -> int:
        """Return the level of a document with `size` distinct shingles: it keeps 2**-level of them.

        >>> [SketchScheme().level(size) for size in (1024, 1025, 2049, 131_072, 131_073)]
        [0, 1, 2, 3, 4]
        """
        # ceil(log2(size / k)), in whole numbers.
        needed = 0 if size <= self.k else ((size - 1) // self.k).bit_length()
        return needed if needed <= self.floor_level else max(self.floor_level, ((size - 1) // self.cap).bit_length())

    def sizes_of_level(self, level: int) -> range:
        """Return the sizes that stand at a level: `level(size) == level` for just these.

        Raises:
            ParameterError: The level is negative.

        >>> SketchScheme().sizes_of_level(1)
        range(1025, 2049)
        """
        if level < 0:
            raise ParameterError(f"a level is 0 or more, got {level}")
        # cap is at least k, so no level is left out.
        last = self.k << level if level < self.floor_level else max(self.k, self.cap) << level
        if level == 0:
            return range(self.k + 1 if self.floor_level else last + 1)
        return range(self.sizes_of_level(level - 1).stop, last + 1)

    def bound(self, level: int) -> int:
        """Return the number below which the hashes of a level are."""
        return 1 << max(0, self.sketch_bits - level)


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """A document's sketch.

    Args:
        scheme: What it depends on.
        size: Distinct shingles of the document, in the bits of the scheme.
        hashes: Sorted distinct uint64, each the top `sketch_bits` bits of a hash, below `scheme.bound(level)`.
    """

    scheme: SketchScheme
    size: int
    hashes: npt.NDArray[np.uint64]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        return self.scheme == other.scheme and self.size == other.size and np.array_equal(self.hashes, other.hashes)

    def __hash__(self) -> int:
        return hash((self.scheme, self.size, self.hashes.tobytes()))

    @property
    def level(self) -> int:
        """The level of the document."""
        return self.scheme.level(self.size)

    @property
    def is_complete(self) -> bool:
        """Whether the sketch holds every hash of the document."""
        return self.level == 0

    def count_at(self, level: int) -> int:
        """Return how many of the hashes are below the bound of a level."""
        if level <= self.level:
            return len(self.hashes)
        return int(np.searchsorted(self.hashes, np.uint64(self.scheme.bound(level))))


def sketch_of_distinct(hashes: npt.NDArray[np.uint64], scheme: SketchScheme) -> Sketch:
    """Return the sketch of a document.

    Args:
        hashes: The different 64-bit hashes of its shingles, ascending; uint64 array of shape (n,).
        scheme: How much is kept.
    """
    # Different hashes may have the same upper bits.
    distinct = ascending_distinct(hashes >> np.uint64(64 - scheme.sketch_bits))
    level = scheme.level(distinct.size)
    # At level 0 nothing is cut; 2**64 would not be a uint64 either.
    kept = distinct if level == 0 else distinct[: np.searchsorted(distinct, np.uint64(scheme.bound(level)))].copy()
    kept.flags.writeable = False
    return Sketch(scheme, distinct.size, kept)


def lookup_numbers(sketch: Sketch) -> npt.NDArray[np.uint64]:
    """Return the numbers by which an index knows the hashes, in their order: their top `token_bits` bits."""
    return sketch.hashes >> np.uint64(sketch.scheme.sketch_bits - sketch.scheme.token_bits)


def lookup_tokens(sketch: Sketch) -> tuple[str, ...]:
    """Return the tokens by which a text index knows the hashes, in their order, which is also that of the tokens."""
    return spelled(lookup_numbers(sketch), sketch.scheme)


def spelled(numbers: npt.NDArray[np.uint64], scheme: SketchScheme) -> tuple[str, ...]:
    """Return numbers as `lookup_numbers` gives them as the tokens of a text index, in their order.

    Each is ceil(token_bits / 6) letters, digits, `_` or `.`, the first letter from the top bits; 7 for 40 bits.
    """
    bits = scheme.token_bits
    length = -(-bits // _LETTER_BITS)
    letters = np.empty((numbers.size, length), dtype=np.uint8)
    for at in range(length):
        shift = bits - _LETTER_BITS * (at + 1)
        # The last letter may stand for fewer bits: zeros fill it up on the right.
        moved = numbers >> np.uint64(shift) if shift >= 0 else numbers << np.uint64(-shift)
        letters[:, at] = _LETTERS[(moved & np.uint64(63)).astype(np.intp)]
    text = letters.tobytes().decode("ascii")
    return tuple(text[at : at + length] for at in range(0, len(text), length))


@dataclass(frozen=True, slots=True)
class Overlaps:
    """What a source's sketch has in common with those of hits; int64 arrays of shape (hits,), in their order.

    Args:
        source_size: Distinct shingles of the source.
        sizes: Distinct shingles of each hit.
        levels: The level at which the two are compared, the larger one.
        source_counts: Hashes of the source below the bound of that level.
        counts: Hashes of the hit below it.
        shared: Hashes of both below it.
    """

    source_size: int
    sizes: npt.NDArray[np.int64]
    levels: npt.NDArray[np.int64]
    source_counts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    shared: npt.NDArray[np.int64]

    def of(self, which: npt.NDArray[np.intp]) -> Overlaps:
        """Return the overlaps of some of the hits, named by their places."""
        return Overlaps(
            self.source_size,
            self.sizes[which],
            self.levels[which],
            self.source_counts[which],
            self.counts[which],
            self.shared[which],
        )


def compare(source: Sketch, hits: Sequence[Sketch]) -> Overlaps:
    """Return what a source has in common with each of many hits.

    Raises:
        SchemeMismatchError: Some sketches were made under different schemes.
    """
    for hit in hits:
        if hit.scheme is not source.scheme:
            source.scheme.require(hit.scheme)
    own_level = source.level
    levels = np.array([max(own_level, hit.level) for hit in hits], dtype=np.int64)
    at_level = {level: source.count_at(level) for level in set(levels.tolist())}
    return Overlaps(
        source.size,
        np.array([hit.size for hit in hits], dtype=np.int64),
        levels,
        np.array([at_level[level] for level in levels.tolist()], dtype=np.int64),
        np.array([hit.count_at(level) for hit, level in zip(hits, levels.tolist(), strict=True)], dtype=np.int64),
        _shared(source, hits, levels),
    )


def _shared(source: Sketch, hits: Sequence[Sketch], levels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many hashes below the bound of its level each hit shares with the source."""
    shared = np.zeros(len(hits), dtype=np.int64)
    if not source.hashes.size:
        return shared
    # Hashes are uniform, so a table over their top bits, 16 places for each of the source, rejects all but a few.
    table_bits = min(20, max(10, source.hashes.size.bit_length() + 4))
    shift = np.uint64(max(0, source.scheme.sketch_bits - source.level - table_bits))
    is_taken = np.zeros(1 << table_bits, dtype=np.bool_)
    is_taken[source.hashes >> shift] = True
    bounds = np.array([source.scheme.bound(level) - 1 for level in levels.tolist()], dtype=np.uint64)
    for start in range(0, len(hits), _PORTION):
        portion = hits[start : start + _PORTION]
        everything = np.concatenate([hit.hashes for hit in portion])
        # What lies above the source's own bound falls into the last place, and is rejected below.
        places = np.minimum(everything >> shift, np.uint64(is_taken.size - 1))
        at = np.flatnonzero(is_taken[places])
        few = everything[at]
        found = np.minimum(np.searchsorted(source.hashes, few), source.hashes.size - 1)
        ends = np.cumsum([hit.hashes.size for hit in portion])
        owners = start + np.searchsorted(ends, at, side="right")
        counts = (source.hashes[found] == few) & (few <= bounds[owners])
        shared += np.bincount(owners[counts], minlength=len(hits))
    return shared
