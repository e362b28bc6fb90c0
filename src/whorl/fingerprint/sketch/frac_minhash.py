"""Computes, compares and encodes sketches (FracMinHash): the smallest shingle hashes of a text.

A sketch holds the hashes in the lowest fraction 2**-level of the hash space. The level depends only on the document's
number of distinct shingles:

    up to k shingles         All hashes (level 0), so small documents are compared exactly.
    most larger documents    The fraction 2**-floor, which is enough to find a short text inside a long text.
    largest documents        About `cap` hashes.

Two sketches are compared at the larger of their levels: below the bound of this level, both have all hashes of their
documents. The level does not depend on the hashes. So the hashes below the bound, or the m smallest hashes, are a
uniform sample of the document's shingles, and the counts have hypergeometric distributions
(`statistics.hypergeometric`).

Finding a document takes fewer hashes than estimating its overlap. So a store's index has fewer hashes of a document
than the document's sketch: only hashes below the bound of the look-up level. The look-up level is computed like the
level, but from a smaller k (`lookup_k`).

A sketch keeps only the top bits of each hash, as a number. Two shingles of a document may have the same number. A
comparison counts a number twice if the number occurs twice in both sketches, so it never misses a shared shingle.

A document with n shingles also shares, by chance, the fraction n / 2**bits of another document's hashes. With 27 bits,
this is 0.0008 % for 1,024 shingles, and 0.1 % for 131,072 shingles.

Stores keep encoded sketches with the documents, so the encoding takes few bytes:

    version  bits  level  low bits | size  count | low parts | high parts | CRC-32 of all before
       1       1     1       1     |   4     4   |           |            |          4

The hashes ascend, and are stored in an Elias-Fano code. Each hash has a low part, stored verbatim, and a high part of
about log2(count) bits, stored in unary: bit (high part + index) of a bit string is set.

A hash of 27 bits takes about 29 - level - log2(count) bits. This is 2.5 bytes in a sketch of 400 hashes at level 0, and
1.5 bytes in a sketch of 12,500 hashes at level 3.

The low parts are stored in planes, so that a few array operations decode them. A plane has 8, 4, 2 or 1 bytes of each
hash: for example, low parts of 26 bits have a plane of 2 bytes, a plane of 1 byte, and a last plane of the remaining 2
bits. All numbers are little-endian.

Source of the code: P. Elias, Efficient storage and retrieval by content and address of static files (1974).
"""

from __future__ import annotations

import re
import struct
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, Self
from zlib import crc32

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import ascending_distinct, batches, counts_in_groups, is_first_of_group
from whorl.errors import ParameterError, SchemeMismatchError, StoreError, require_int
from whorl.fingerprint.compiled.kernel import Loops, loops_if_loaded
from whorl.fingerprint.shingling import differing_fields
from whorl.request_context import require_time, timely

#: 64 characters that have no special meaning in Solr's query syntax, in the order of their codes.
_ALPHABET = b".0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_LETTER_BITS = 6
_LETTERS = np.frombuffer(_ALPHABET, dtype=np.uint8)
#: Number of sketches compared between two checks of the deadline.
_COMPARED_AT_ONCE = 256
#: Sketches of up to this number of hashes are compared with the source's sketch many at a time. Larger sketches are
#: compared one by one, by merging, which is faster for them.
_SMALL = 256
_PARTS = {"k": "k", "floor_level": "f", "cap": "c", "lookup_k": "l", "bits": "b"}
_COLUMNS = ("sizes", "levels", "source_counts", "counts", "shared")


@dataclass(frozen=True, slots=True)
class SketchScheme:
    """Sketch parameters, in addition to the token scheme; sketches of different schemes cannot be compared.

    Args:
        k: Largest number of shingles for which a document keeps every hash, at least 1.
        floor_level: Largest level of most documents, 0 to 20. Only a document that would have more than `cap` hashes at
            this level gets a higher level.
        cap: Approximate maximum number of hashes of a document, at least k.
        lookup_k: Largest number of shingles for which the index holds every hash of a document, 1 to k.
        bits: Number of top bits of each hash that are kept, looked up and compared, 24 to 64.
        version: Revision of the sketch format and computation; must be 3.

    Raises:
        ParameterError: A parameter is out of range or not a whole number.
    """

    k: int = 1024
    floor_level: int = 3
    cap: int = 16384
    lookup_k: int = 128
    bits: int = 27
    version: int = 3

    def __post_init__(self) -> None:
        for part in fields(self):
            value = require_int(f"{part.name} of a sketch scheme", getattr(self, part.name))
            object.__setattr__(self, part.name, value)
        bounds = (
            *(("k", 1, 1 << 20), ("floor_level", 0, 20), ("cap", self.k, 1 << 24)),
            *(("lookup_k", 1, self.k), ("bits", 24, 64), ("version", 3, 3)),
        )
        for name, least, most in bounds:
            value = getattr(self, name)
            if not least <= value <= most:
                raise ParameterError(f"{name} of a sketch scheme must be {least} to {most}, got {value}")

    @property
    def name(self) -> str:
        """Name of the scheme in stores and output: `sketch3-k1024-f3-c16384-l128-b27`."""
        return "-".join([f"sketch{self.version}", *(f"{short}{getattr(self, part)}" for part, short in _PARTS.items())])

    @classmethod
    def parse(cls, name: str) -> Self:
        pattern = "-".join([r"sketch3", *(rf"{short}(\d{{1,8}})" for short in _PARTS.values())])
        match = re.fullmatch(pattern, name, re.ASCII)
        if not match:
            raise ParameterError(f"there is no sketch scheme {name!r:.80}; name one as {cls().name}")
        return cls(*map(int, match.groups()))

    def require(self, other: SketchScheme) -> None:
        if differences := differing_fields(self, other):
            raise SchemeMismatchError(f"sketches differ in {differences}; index both under one scheme")

    def level(self, size: int) -> int:
        """Return the level of a document with `size` distinct shingles; its sketch has 2**-level of its hashes.

        >>> [SketchScheme().level(size) for size in (1024, 1025, 2049, 131_072, 131_073)]
        [0, 1, 2, 3, 4]
        """
        return self._level(size, self.k)

    def levels(self, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return `level` for each size in an array.

        >>> SketchScheme().levels(np.array([0, 1024, 1025, 131_073])).tolist()
        [0, 0, 1, 4]
        """
        needed, capped, floor = level_for_count(sizes, self.k), level_for_count(sizes, self.cap), self.floor_level
        return np.where(needed <= floor, needed, np.maximum(floor, capped))

    def lookup_level(self, size: int) -> int:
        """Return the look-up level of a document with `size` distinct shingles, at least `level(size)`.

        If the look-up level is n, the index holds the fraction 2**-n of the document's hashes.

        >>> [SketchScheme().lookup_level(size) for size in (128, 129, 513, 131_072, 131_073)]
        [0, 1, 3, 3, 4]
        """
        return self._level(size, self.lookup_k)

    def _level(self, size: int, k: int) -> int:
        # ceil(log2(size / k)), in integers.
        needed = 0 if size <= k else ((size - 1) // k).bit_length()
        return needed if needed <= self.floor_level else max(self.floor_level, ((size - 1) // self.cap).bit_length())

    def largest_at(self, lookup_level: int) -> int:
        """Return the number of distinct shingles of the largest document at a look-up level.

        >>> [SketchScheme().largest_at(level) for level in (0, 2, 3)]
        [128, 512, 131072]
        """
        return (self.lookup_k if lookup_level < self.floor_level else self.cap) << lookup_level

    def bound(self, level: int) -> int:
        """Return the bound of a level: a sketch of this level has the hashes below the bound."""
        return 1 << max(0, self.bits - level)


def level_for_count(sizes: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """Return the level at which documents of these sizes have at most about `most` hashes: ceil(log2(sizes / most))."""
    # The exponent that `frexp` returns is the bit length of a whole number; it is exact up to 2**53.
    return np.asarray(np.frexp(np.maximum(sizes - 1, 0) // most)[1], np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Sketch of a document: its smallest shingle hashes, and its size.

    Args:
        size: Number of distinct shingles of the document.
        hashes: The top `bits` bits of each hash below the bound of the level; ascending uint64 array, rarely with equal
            elements.
    """

    scheme: SketchScheme
    size: int
    hashes: npt.NDArray[np.uint64] = field(repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sketch):
            return NotImplemented
        return self.scheme == other.scheme and self.size == other.size and np.array_equal(self.hashes, other.hashes)

    def __hash__(self) -> int:
        return hash((self.scheme, self.size, self.hashes.tobytes()))

    @property
    def level(self) -> int:
        return self.scheme.level(self.size)

    @property
    def is_complete(self) -> bool:
        """Whether the sketch holds all hashes of the document."""
        return self.level == 0

    def count_at(self, level: int) -> int:
        """Return the number of hashes below the bound of a level."""
        if level <= self.level:
            return len(self.hashes)
        return int(np.searchsorted(self.hashes, np.uint64(self.scheme.bound(level))))


def sketch_of_distinct(hashes: npt.NDArray[np.uint64], scheme: SketchScheme) -> Sketch:
    """Return the sketch of a document from its ascending distinct 64-bit hashes."""
    level = scheme.level(hashes.size)
    # Level 0 keeps all hashes. Its bound of 2**64 does not fit into a uint64, so do not search for the bound.
    count = hashes.size if level == 0 else np.searchsorted(hashes, np.uint64(1 << (64 - level)))
    prefixes = hashes[:count] >> np.uint64(64 - scheme.bits)
    prefixes.flags.writeable = False
    return Sketch(scheme, hashes.size, prefixes)


def lookup_numbers(sketch: Sketch) -> npt.NDArray[np.uint64]:
    """Return the look-up hashes of a sketch, which a store's index holds; ascending and distinct."""
    count = sketch.count_at(sketch.scheme.lookup_level(sketch.size))
    return ascending_distinct(sketch.hashes[:count])


def lookup_numbers_of_batch(
    hashes: npt.NDArray[np.uint64], sizes: npt.NDArray[np.int64], scheme: SketchScheme
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the `lookup_numbers` of many documents, concatenated, and their number for each document.

    `hashes` has the ascending distinct 64-bit hashes of the documents, one after the other; `sizes` has the number of
    hashes of each document.
    """
    largest = np.array([scheme.bound(scheme.lookup_level(size)) - 1 for size in sizes.tolist()], np.uint64)
    numbers = hashes >> np.uint64(64 - scheme.bits)
    is_wanted = numbers <= largest.repeat(sizes)
    is_wanted[1:] &= (numbers[1:] != numbers[:-1]) | is_first_of_group(sizes)[1:]
    return numbers[is_wanted], counts_in_groups(is_wanted, sizes)


def lookup_tokens(sketch: Sketch) -> tuple[str, ...]:
    return encode_tokens(lookup_numbers(sketch), sketch.scheme.bits)


def lookup_tokens_of_batch(sketches: Sequence[Sketch]) -> Iterator[tuple[str, ...]]:
    """Yield the look-up tokens of each sketch. The sketches have one scheme; all tokens are encoded together."""
    rows = [lookup_numbers(sketch) for sketch in sketches]
    tokens, begin = encode_tokens(np.concatenate(rows), sketches[0].scheme.bits), 0
    for row in rows:
        yield tokens[begin : begin + row.size]
        begin += row.size


def encode_tokens(numbers: npt.NDArray[np.uint64], bits: int) -> tuple[str, ...]:
    """Encode numbers of `bits` bits as tokens of a text index. Numbers and tokens sort in the same order.

    A token has ceil(bits / 6) characters, so 5 for 27 bits. The first character encodes the top bits.
    """
    # Add a blank to each token, because splitting the text at blanks is faster than cutting it in a Python loop.
    tokens = token_letters(numbers, bits)
    letters = np.full((numbers.size, tokens.shape[1] + 1), ord(" "), dtype=np.uint8)
    letters[:, :-1] = tokens
    return tuple(letters.tobytes().decode("ascii").split())


def token_letters(numbers: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.uint8]:
    """Return the ASCII codes of the tokens of `encode_tokens`, an array of shape (tokens, characters)."""
    length = -(-bits // _LETTER_BITS)
    # If fewer bits are left for the last character, zeros on the right fill it.
    padding = np.uint64(length * _LETTER_BITS - bits)
    shifts = np.arange(length - 1, -1, -1, dtype=np.uint64) * np.uint64(_LETTER_BITS)
    shifts[:-1] -= padding
    shifted = numbers[:, np.newaxis] >> shifts
    shifted[:, -1] <<= padding
    return _LETTERS[(shifted & np.uint64(63)).astype(np.intp)]


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Comparison of a source's sketch with the sketch of each hit, in int64 arrays of shape (hits,).

    Args:
        source_size: Number of distinct shingles of the source.
        sizes: Number of distinct shingles of each hit.
        levels: Level of each comparison: the larger level of the two sketches.
        source_counts: Number of hashes of the source below the bound of that level.
        counts: Number of hashes of the hit below the bound.
        shared: Number of shared hashes below the bound.
    """

    source_size: int
    sizes: npt.NDArray[np.int64]
    levels: npt.NDArray[np.int64]
    source_counts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    shared: npt.NDArray[np.int64]

    @classmethod
    def of_complete(cls, source_size: int, sizes: npt.NDArray[np.int64], shared: npt.NDArray[np.int64]) -> Overlaps:
        """Return the overlaps of a source and hits whose sketches hold all hashes, so that the counts are exact."""
        return cls(source_size, sizes, np.zeros_like(sizes), np.full_like(sizes, source_size), sizes.copy(), shared)

    def select(self, which: npt.NDArray[np.intp]) -> Overlaps:
        return Overlaps(self.source_size, *(getattr(self, name)[which] for name in _COLUMNS))

    def put(self, which: Sequence[int], others: Overlaps) -> None:
        for name in _COLUMNS:
            getattr(self, name)[which] = getattr(others, name)


def compare(source: Sketch, hits: Sequence[Sketch]) -> Overlaps:
    """Compare the sketch of a source with the sketches of many hits; `hits` may repeat a sketch."""
    if not hits:
        return Overlaps(source.size, *[np.empty(0, np.int64) for _ in range(5)])
    distinct = {id(hit): hit for hit in hits}
    if len(distinct) < len(hits):
        positions = {key: at for at, key in enumerate(distinct)}
        return compare(source, list(distinct.values())).select(np.array([positions[id(hit)] for hit in hits], np.intp))
    for hit in hits:
        if hit.scheme is not source.scheme:
            source.scheme.require(hit.scheme)
    sizes = np.array([hit.size for hit in hits], dtype=np.int64)
    own_levels = source.scheme.levels(sizes)
    levels = np.maximum(own_levels, source.level)
    counts = np.array([len(hit.hashes) for hit in hits], dtype=np.int64)
    # If a hit's level is the lower one, ignore its hashes above the bound of the source's level.
    for at in np.flatnonzero(own_levels < levels).tolist():
        counts[at] = hits[at].count_at(source.level)
    at_level = {level: source.count_at(level) for level in set(levels.tolist())}
    source_counts = np.array([at_level[level] for level in levels.tolist()], dtype=np.int64)
    if loops := loops_if_loaded():
        shared = _count_shared_in_loops(source.hashes, hits, source_counts, counts, loops)
        return Overlaps(source.size, sizes, levels, source_counts, counts, shared)
    shared = np.zeros(len(hits), np.int64)
    is_small = (counts > 0) & (counts <= _SMALL)
    for places in batches(np.flatnonzero(is_small).tolist(), _COMPARED_AT_ONCE):
        require_time()
        shared[places] = _count_shared_with_each(source.hashes, [hits[at].hashes[: counts[at]] for at in places])
    for at in timely(np.flatnonzero(~is_small).tolist(), _COMPARED_AT_ONCE):
        shared[at] = _count_shared(source.hashes[: source_counts[at]], hits[at].hashes[: counts[at]])
    return Overlaps(source.size, sizes, levels, source_counts, counts, shared)


def _count_shared_in_loops(
    source: npt.NDArray[np.uint64],
    hits: Sequence[Sketch],
    source_counts: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    loops: Loops,
) -> npt.NDArray[np.int64]:
    shared = np.zeros(len(hits), np.int64)
    for at in range(0, len(hits), _COMPARED_AT_ONCE):
        require_time()
        part = slice(at, at + _COMPARED_AT_ONCE)
        arrays = [source, *(hit.hashes for hit in hits[part])]
        starts = np.cumsum([len(own) for own in arrays])[:-1]
        pairs = np.zeros_like(starts), source_counts[part], starts, counts[part]
        loops.sketches.count_shared(np.concatenate(arrays), *pairs, np.zeros_like(starts), shared[part])
    return shared


def _count_shared_with_each(
    source: npt.NDArray[np.uint64], hits: Sequence[npt.NDArray[np.uint64]]
) -> npt.NDArray[np.int64]:
    """Count the hashes that a source shares with each hit. All arrays ascend, and no hit is empty."""
    hashes = np.concatenate(hits)
    starts = np.cumsum([0, *map(len, hits[:-1])])
    is_shared = source.take(np.searchsorted(source, hashes), mode="clip") == hashes if source.size else hashes < 0
    repeats = hashes[1:] == hashes[:-1]
    repeats[starts[1:] - 1] = False
    if repeats.any() or (source[1:] == source[:-1]).any():
        return np.array([_count_shared(source, hit) for hit in hits], np.int64)
    return np.add.reduceat(is_shared, starts, dtype=np.int64)


def _count_shared(a: npt.NDArray[np.uint64], b: npt.NDArray[np.uint64]) -> int:
    """Count the shared hashes of two ascending arrays; a hash that occurs twice in both counts twice."""
    # Both arrays are ascending, so a stable sort merges them in linear time.
    together = np.concatenate((a, b))
    together.sort(kind="stable")
    shared = int(np.count_nonzero(together[1:] == together[:-1]))
    if not shared or not ((a[1:] == a[:-1]).any() or (b[1:] == b[:-1]).any()):
        return shared
    distinct = ascending_distinct(a)
    counts = [np.searchsorted(own, distinct, "right") - np.searchsorted(own, distinct) for own in (a, b)]
    return int(np.minimum(*counts).sum())


_HEAD = struct.Struct("<BBBBII")
_HEADS = np.dtype(
    [("version", "u1"), ("bits", "u1"), ("level", "u1"), ("low_bits", "u1"), ("size", "<u4"), ("count", "<u4")]
)
_CHECK = struct.Struct("<I")
_PLANES: Final = tuple((size, np.dtype(f"<u{size}")) for size in (8, 4, 2, 1))
_BIT_VALUES = np.array([1 << at for at in range(8)], np.uint8)
_DEFAULT_SCHEME = SketchScheme()


def encode(sketch: Sketch) -> bytes:
    """Encode a sketch as bytes; raise ParameterError if the document has 2**32 shingles or more."""
    scheme, hashes = sketch.scheme, sketch.hashes
    if sketch.size >= 1 << 32:
        raise ParameterError(f"a sketch can say sizes below 2**32, got {sketch.size}; cut the document into parts")
    bits = max(0, scheme.bits - sketch.level)
    # Elias-Fano coding is shortest if the number of possible high parts is one to two times the number of hashes. So a
    # high part has as many bits as the number `hashes.size - 1`.
    low_bits = max(0, bits - max(0, hashes.size - 1).bit_length())
    high_parts = _shift(hashes, low_bits).astype(np.int64)
    positions = high_parts + np.arange(hashes.size)
    unary = np.zeros(positions[-1] + 1 if hashes.size else 0, dtype=np.uint8)
    unary[positions] = 1
    parts = []
    done = 0
    for size, kind in _PLANES:
        if low_bits // 8 & size:
            parts.append(_shift(hashes, 8 * done).astype(kind).tobytes())
            done += size
    parts.append(_pack_bits(_shift(hashes, 8 * done), low_bits % 8))
    head = _HEAD.pack(scheme.version, scheme.bits, sketch.level, low_bits, sketch.size, hashes.size)
    body = b"".join([head, *parts, np.packbits(unary, bitorder="little").tobytes()])
    return body + _CHECK.pack(crc32(body))


def decode(raw: bytes, scheme: SketchScheme = _DEFAULT_SCHEME) -> Sketch:
    """Decode the sketch that `encode` wrote.

    Raises:
        StoreError: The bytes are damaged, or are not a sketch.
        SchemeMismatchError: The sketch has another scheme or version.
    """
    if len(raw) < _HEAD.size + _CHECK.size or _CHECK.unpack_from(raw, len(raw) - 4)[0] != crc32(raw[:-4]):
        raise StoreError(f"a sketch of {len(raw)} bytes is damaged; index its document again")
    version, bits, level, low_bits, size, count = _HEAD.unpack_from(raw)
    if (version, bits, level) != (scheme.version, scheme.bits, scheme.level(size)):
        raise SchemeMismatchError(
            f"a sketch of version {version}, {bits} bits, level {level} for {size} shingles is not of scheme "
            f"{scheme.name}; index its document again"
        )
    hashes = None if low_bits > max(0, bits - level) else _hashes(raw, low_bits, count)
    if hashes is None:
        # The checksum is right, so the sketch was invalid when it was written, and only indexing can replace it.
        raise StoreError(f"a sketch of {len(raw)} bytes contradicts itself; index its document again")
    return Sketch(scheme, size, hashes)


def decode_all(raws: Sequence[bytes], scheme: SketchScheme = _DEFAULT_SCHEME) -> list[Sketch]:
    loops = loops_if_loaded()
    sketches = _decode_in_loops(raws, scheme, loops) if loops and len(raws) > 1 else None
    # Leave invalid sketches to `decode`, which raises the error.
    return [decode(raw, scheme) for raw in raws] if sketches is None else sketches


def _decode_in_loops(raws: Sequence[bytes], scheme: SketchScheme, loops: Loops) -> list[Sketch] | None:
    """Decode several sketches at once; return None if one is invalid."""
    lengths = np.array([*map(len, raws)], np.int64)
    if lengths.min() < _HEAD.size + _CHECK.size:
        return None
    starts = np.concatenate([[0], lengths.cumsum()])
    # The loops read eight bytes at a time, also at the end, so add eight zero bytes.
    joined = np.frombuffer(b"".join([*raws, bytes(8)]), np.uint8)
    heads = joined[starts[:-1, None] + np.arange(_HEAD.size)].view(_HEADS)[:, 0]
    checks = joined[starts[1:, None] - np.arange(_CHECK.size, 0, -1)].view("<u4")[:, 0]
    low_bits, sizes, counts = (heads[name].astype(np.int64) for name in ("low_bits", "size", "count"))
    levels = scheme.levels(sizes)
    is_sound = checks == [crc32(memoryview(raw)[: -_CHECK.size]) for raw in raws]
    is_sound &= (heads["version"] == scheme.version) & (heads["bits"] == scheme.bits) & (heads["level"] == levels)
    # Each hash takes at least one bit, so a sketch with more hashes than bits is invalid.
    is_sound &= (low_bits <= np.maximum(0, scheme.bits - levels)) & (counts <= 8 * lengths)
    if not is_sound.all():
        return None
    ends = counts.cumsum()
    hashes = np.empty(ends[-1], np.uint64)
    if loops.sketches.decode(joined, starts, low_bits, counts, ends - counts, hashes) < len(raws):
        return None
    hashes.flags.writeable = False
    ranges = zip(sizes.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True)
    return [Sketch(scheme, size, hashes[first:end]) for size, first, end in ranges]


def decode_texts(texts: Sequence[str | None], scheme: SketchScheme = _DEFAULT_SCHEME) -> list[Sketch | None]:
    """Decode sketches from base64 texts. The result for a missing or invalid text is None."""
    distinct = [text for text in dict.fromkeys(texts) if text is not None]
    try:
        raws = [a2b_base64(text, strict_mode=True) for text in distinct]
        sketches = dict(zip(distinct, decode_all(raws, scheme), strict=True))
    except (ValueError, StoreError, SchemeMismatchError):
        if len(distinct) == 1:
            return [None] * len(texts)
        return [decode_texts([text], scheme)[0] for text in texts]
    return [None if text is None else sketches[text] for text in texts]


def _hashes(raw: bytes, low_bits: int, count: int) -> npt.NDArray[np.uint64] | None:
    """Decode the hashes of one sketch; return None if the lengths of its parts contradict its header."""
    low_length = low_bits // 8 * count + -(-(low_bits % 8) * count // 8)
    high_length = len(raw) - _HEAD.size - low_length - _CHECK.size
    if high_length < 0:
        return None
    ends = np.frombuffer(raw, np.uint8, high_length, _HEAD.size + low_length)
    # numpy finds non-zero elements much faster in arrays of booleans, so view the bits as booleans.
    ones = np.unpackbits(ends, bitorder="little").view(np.bool_).nonzero()[0]
    if ones.size != count:
        return None
    hashes = ones.astype(np.uint64)
    hashes -= np.arange(count, dtype=np.uint64)
    hashes = _shift(hashes, -low_bits)
    at, done = _HEAD.size, 0
    for size, kind in _PLANES:
        if low_bits // 8 & size:
            plane = np.frombuffer(raw, kind, count, at)
            hashes |= plane if not done else plane.astype(np.uint64) << np.uint64(8 * done)
            at, done = at + size * count, done + size
    if low_bits % 8:
        hashes |= _unpack_bits(raw, at, low_bits % 8, count).astype(np.uint64) << np.uint64(8 * done)
    hashes.flags.writeable = False
    return hashes


def _pack_bits(numbers: npt.NDArray[np.uint64], width: int) -> bytes:
    """Concatenate the lowest `width` bits (0 to 7) of each number."""
    bits = np.unpackbits(numbers.astype(np.uint8)[:, None], axis=1, count=width, bitorder="little")
    return np.packbits(bits, bitorder="little").tobytes()


def _unpack_bits(raw: bytes, at: int, width: int, count: int) -> npt.NDArray[np.uint8]:
    packed = np.frombuffer(raw, np.uint8, -(-width * count // 8), at)
    bits = np.unpackbits(packed, count=width * count, bitorder="little").reshape(count, width)
    return bits @ _BIT_VALUES[:width]


def _shift(hashes: npt.NDArray[np.uint64], right: int) -> npt.NDArray[np.uint64]:
    """Shift hashes to the right, or to the left if `right` is negative; a shift by 64 bits gives 0."""
    if abs(right) >= 64:
        return np.zeros_like(hashes)
    return hashes >> np.uint64(right) if right >= 0 else hashes << np.uint64(-right)
