"""Segments of the token index ("runs"): immutable files of sorted postings, to be looked up and merged.

    head | blocks | tables

A document's ordinal in a run ("place") is the index of its number among the sorted numbers. The postings of one kind of
token are entries (token, ordinal), ascending. The upper bits of a token are its bucket; a bucket has about six entries.
An entry keeps only the lower bits of the token and the ordinal, bit-packed; a bucket keeps its count of entries. So an
entry takes close to the minimum of space: `token bits - log2(tokens of a document) + 4` bits.

    blocks   for each kind: the count of entries before each bucket in its skip block ("stretch") of 16 buckets (one
             byte each), and the entries
    tables   numbers and sizes of the documents, numbers of deleted documents; for each kind: tokens of each document,
             first entry of each skip block, and skip blocks of more than 255 entries; a checksum of each block

64 packed numbers of w bits fill w words of 64 bits, the first one from the lowest bit on. So a range that begins at a
multiple of 64 numbers begins at a word, and each number can be read on its own.

The head has a checksum of itself and one of the tables, which are read when the run is opened. A look-up verifies the
blocks that it reads each time, so that damage raises an error and never gives a wrong answer.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays import run_starts, spread
from whorl.engine.embedded.folder import IndexBrokenError

Words = npt.NDArray[np.uint64]
#: Numbers in a group; a group of numbers of w bits takes w words.
GROUP = 64
#: Bytes in a block; each block has one checksum.
BLOCK = 256
_WORD = np.dtype("<u8")
#: One factor for each word of a block: random, and odd, so that no bit of a word is lost.
_FACTORS = np.random.default_rng(0x77686F726C).integers(0, 1 << 63, BLOCK // 8, np.uint64) * np.uint64(2) + np.uint64(1)


def packed(numbers: Words, width: int) -> Words:
    """Pack numbers into words, padded with zeros to whole groups.

    Args:
        numbers: uint64 array of shape (n,), each below 2**width.
        width: Bits of each number, 1 to 64.

    Returns:
        uint64 array of shape (ceil(n / 64) * width,).
    """
    groups = -(-numbers.size // GROUP)
    lanes = np.zeros((GROUP, groups), np.uint64)
    whole = numbers.size // GROUP
    lanes[:, :whole] = numbers[: whole * GROUP].reshape(whole, GROUP).T
    lanes[: numbers.size - whole * GROUP, whole:] = numbers[whole * GROUP :, None]
    words = np.zeros((width, groups), np.uint64)
    for lane in range(GROUP):
        word, shift = divmod(lane * width, 64)
        words[word] |= lanes[lane] << np.uint64(shift)
        if shift + width > 64:
            words[word + 1] |= lanes[lane] >> np.uint64(64 - shift)
    return np.ascontiguousarray(words.T).ravel()


def unpacked(words: Words, width: int) -> Words:
    """Unpack the words of whole groups that `packed` wrote."""
    columns = np.ascontiguousarray(words.reshape(-1, width).T)
    numbers = np.empty((GROUP, columns.shape[1]), np.uint64)
    mask = np.uint64((1 << width) - 1)
    for lane in range(GROUP):
        word, shift = divmod(lane * width, 64)
        own = columns[word] >> np.uint64(shift)
        if shift + width > 64:
            own |= columns[word + 1] << np.uint64(64 - shift)
        np.bitwise_and(own, mask, out=numbers[lane])
    return np.ascontiguousarray(numbers.T).ravel()


def picked(raw: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], width: int) -> Words:
    """Return packed numbers by index.

    Args:
        raw: The bytes of the words, little-endian, followed by at least 9 more bytes.
        places: Indices of the numbers; int64 array of shape (n,).
        width: Bits of each number.
    """
    bits = places * width
    at, shifts = bits >> 3, (bits & 7).astype(np.uint64)
    # A view with a stride of one byte reads unaligned words.
    everywhere: Words = np.ndarray((raw.size - 7,), _WORD, raw, 0, (1,))
    numbers: Words = everywhere[at] >> shifts
    if width > 57:
        # Two shifts, by one and by the remainder, because a shift by 64 is undefined.
        numbers |= (raw[at + 8].astype(np.uint64) << np.uint64(1)) << (np.uint64(63) - shifts)
    numbers &= np.uint64((1 << width) - 1)
    return numbers


def check_sums(blocks: Words) -> npt.NDArray[np.uint32]:
    """Return the checksum of each block.

    Args:
        blocks: uint64 array of shape (n, BLOCK / 8).

    Returns:
        uint32 array of shape (n,). A flipped bit nearly always changes it; other damage goes unnoticed once in 2**32.

    Source of the code: multilinear hashing, the upper half of a sum of products modulo 2**64.
    """
    sums: Words = np.einsum("ij,j->i", blocks, _FACTORS)
    return (sums >> np.uint64(32)).astype(np.uint32)


Numbers = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.uint64]

_MAGIC = b"whorlrun"
_HEAD_BYTES = 1024
#: A bucket has 4 to 8 entries on average: fewer cost more bytes for buckets, more cost more bytes for entries.
_LEAST_IN_BUCKET = 4
#: Log2 of the buckets in a skip block, and the largest offset in it that one byte can hold.
_STRETCH_BITS, _FARTHEST = 4, 255
_STRETCH = 1 << _STRETCH_BITS
#: Entries merged at a time.
_MERGED_AT_ONCE = 1 << 19
#: Entries read at a time, at less than 100 bytes each: a single token may have an entry for every document.
READ_AT_ONCE = 1 << 20
_BLOCKS_AT_ONCE = 1 << 12
_BLOCK_BITS = BLOCK.bit_length() - 1
#: The types of the tables' columns: numbers, sizes, deleted numbers; for each kind: counts, starts of the skip blocks,
#: overfull skip blocks and, for each of these, the count of entries before each bucket; last the blocks' checksums.
_COLUMNS = ("<i8", "<u4", "<i8")
_COLUMNS_OF_KIND = ("<u4", "<i8", "<i8", "<i8")


class Entries(NamedTuple):
    """Postings: tokens, ascending, each with the ordinal of a document that has it."""

    tokens: Tokens
    places: Numbers


@dataclass(frozen=True, slots=True)
class Contents:
    """The documents of a run.

    Args:
        numbers: Numbers of the documents, ascending; int64 array of shape (documents,).
        sizes: Distinct shingles of each document; of the same shape.
        gone: Tombstones: numbers of deleted documents, which older runs may still have; int64 array.
        counts: For each kind of token, the tokens of each document; int64 arrays of shape (documents,).
    """

    numbers: Numbers
    sizes: Numbers
    gone: Numbers
    counts: Sequence[Numbers]


class _Shape(NamedTuple):
    """Bit layout of the entries of one kind."""

    token_bits: int
    bucket_bits: int
    place_bits: int
    entries: int

    @classmethod
    def of(cls, token_bits: int, entries: int, documents: int) -> _Shape:
        place_bits = max(1, (documents - 1).bit_length())
        # At least one whole skip block of buckets, and at most 64 bits for an entry.
        least = max(_STRETCH_BITS, token_bits + place_bits - 64)
        wanted = (entries // _LEAST_IN_BUCKET).bit_length() - 1
        return cls(token_bits, min(max(least, wanted), token_bits - 1), place_bits, entries)

    @property
    def rest_bits(self) -> int:
        """Lower bits of a token, which its bucket does not determine."""
        return self.token_bits - self.bucket_bits

    @property
    def width(self) -> int:
        """Bits of an entry."""
        return self.rest_bits + self.place_bits

    @property
    def buckets(self) -> int:
        return 1 << self.bucket_bits

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes of the buckets and of the entries in whole blocks, including padding for reads past the last entry."""
        return _whole(self.buckets + 1), _whole(-(-self.entries // GROUP) * self.width * 8 + 9)


def _whole(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


class _Blocks:
    """The blocks of a run with their checksums; each look-up verifies the blocks that it reads.

    A run and its postings both refer to the blocks and not to each other. Without a reference cycle, the file of an
    unused run closes at once and not at the next garbage collection.
    """

    def __init__(self, name: str, raw: npt.NDArray[np.uint8], checks: npt.NDArray[np.uint32]) -> None:
        self._name, self._checks = name, checks
        self._blocks = raw.view("<u8").reshape(-1, BLOCK // 8)

    def require_all_sound(self) -> None:
        """Verify all blocks."""
        last = np.array([_HEAD_BYTES + self._blocks.size * 8 - 1])
        if self._blocks.size:
            self.require_sound(np.array([_HEAD_BYTES]), last)

    def require_sound(self, first: Numbers, last: Numbers) -> None:
        """Verify the blocks from each first to each last byte of the file.

        Raises:
            IndexBrokenError: A block is damaged.
        """
        begin, end = (first - _HEAD_BYTES) >> _BLOCK_BITS, (last - _HEAD_BYTES) >> _BLOCK_BITS
        spans = end - begin
        wanted = np.concatenate([begin, end[spans > 0]])
        if spans.max(initial=0) > 1:
            wanted = np.concatenate([wanted, spread(begin[spans > 1] + 1, spans[spans > 1] - 1)])
        for at in range(0, wanted.size, _BLOCKS_AT_ONCE):
            some = wanted[at : at + _BLOCKS_AT_ONCE]
            if (check_sums(self._blocks[some]) != self._checks[some]).any():
                raise IndexBrokenError(f"{self._name} is damaged")


class Run:
    """Reader of a run.

    Args:
        path: The file of the run; it may be deleted while the reader is in use.

    Raises:
        IndexBrokenError: The file is damaged.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < _HEAD_BYTES:
                raise IndexBrokenError(f"{path} was cut short")
            raw = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        head = raw[:_HEAD_BYTES].tobytes()
        length, check = (int.from_bytes(head[at : at + 4], "little") for at in (8, 12))
        told = head[16 : 16 + length]
        if head[:8] != _MAGIC or zlib.crc32(told) != check:
            raise IndexBrokenError(f"{path} is damaged or something else")
        layout = json.loads(told)
        shapes = [_Shape(*each) for each in layout["shapes"]]
        at = end = _HEAD_BYTES + sum(sum(shape.bytes) for shape in shapes)
        if raw.size < at or zlib.crc32(raw[at:].data) != layout["check"]:
            raise IndexBrokenError(f"{path} is damaged")
        columns = []
        for length, kind in zip(layout["lengths"], _types(len(shapes)), strict=True):
            columns.append(np.frombuffer(raw, kind, length, at))
            at += -(-columns[-1].nbytes // 8) * 8
        self.numbers: Numbers = columns[0]
        self.sizes: npt.NDArray[np.uint32] = columns[1]
        self.gone: Numbers = columns[2]
        self._blocks = blocks = _Blocks(self.name, raw[_HEAD_BYTES:end], columns[-1])
        self.kinds: list[Postings] = []
        begin = _HEAD_BYTES
        for number, shape in enumerate(shapes):
            tables = columns[3 + 4 * number : 7 + 4 * number]
            self.kinds.append(Postings(blocks, shape, begin, raw[begin:], *tables))
            begin += sum(shape.bytes)

    def __len__(self) -> int:
        return self.numbers.size

    def verify(self) -> None:
        """Verify all blocks; opening a run verifies the tables.

        Raises:
            IndexBrokenError: A block is damaged.
        """
        self._blocks.require_all_sound()

    def places_of(self, numbers: Numbers) -> Numbers:
        """Return the ordinals of the documents with the given numbers; numbers that the run lacks are left out."""
        if not len(self):
            return np.empty(0, np.int64)
        places = np.minimum(np.searchsorted(self.numbers, numbers), len(self) - 1)
        found: Numbers = places[self.numbers[places] == numbers]
        return found


def _portions(before: Numbers, counts: Numbers) -> Iterator[tuple[int, int]]:
    """Yield ranges of tokens with at most `READ_AT_ONCE` entries together; a token with more is a range by itself.

    Args:
        before: Entries of all tokens before each token; int64 array of shape (tokens,).
        counts: Entries of each token; of the same shape.
    """
    begin = 0
    while begin < counts.size:
        end = counts.size
        if before[-1] + counts[-1] - before[begin] > READ_AT_ONCE:
            # A first token with too many entries forms a range by itself.
            ends = before + counts
            end = max(begin + 1, int(np.searchsorted(ends, before[begin] + READ_AT_ONCE, side="right")))
        yield begin, end
        begin = end


class Postings:
    """The entries of one kind of token in a run."""

    def __init__(
        self,
        blocks: _Blocks,
        shape: _Shape,
        begin: int,
        raw: npt.NDArray[np.uint8],
        counts: npt.NDArray[np.uint32],
        starts: Numbers,
        crowded: Numbers,
        before: Numbers,
    ) -> None:
        self.counts, self.token_bits = counts, shape.token_bits
        self._blocks, self._shape, self._starts = blocks, shape, starts
        self._crowded, self._before_crowded = crowded, before.reshape(-1, _STRETCH)
        self._buckets_begin, self._entries_begin = begin, begin + shape.bytes[0]
        self._before, self._raw = raw[: shape.buckets + 1], raw[shape.bytes[0] : sum(shape.bytes)]

    def __len__(self) -> int:
        return self._shape.entries

    def look_up(self, tokens: Tokens) -> Iterator[tuple[Numbers, Numbers]]:
        """Look up the documents of tokens, in portions of the tokens.

        Args:
            tokens: Tokens in any order; uint64 array of shape (n,), each below 2**token bits.

        Yields:
            Two int64 arrays of pairs: indices of tokens, and ordinals of documents.
        """
        shape = self._shape
        buckets = (tokens >> np.uint64(shape.rest_bits)).view(np.int64)
        starts, ends = self._place_of(np.concatenate([buckets, buckets + 1])).reshape(2, -1)
        self._require_sound(buckets, buckets + 1, starts, ends)
        counts = ends - starts
        rests = tokens & np.uint64((1 << shape.rest_bits) - 1)
        before = counts.cumsum() - counts
        for begin, end in _portions(before, counts):
            owners = np.arange(begin, end).repeat(counts[begin:end])
            # Indices of all entries of the tokens, token by token.
            entries = (starts - before)[owners] + np.arange(before[begin], before[begin] + owners.size)
            found = picked(self._raw, entries, shape.width)
            is_own = found >> np.uint64(shape.place_bits) == rests[owners]
            places = found[is_own] & np.uint64((1 << shape.place_bits) - 1)
            yield owners[is_own], places.view(np.int64)

    def _place_of(self, buckets: Numbers) -> Numbers:
        """Return the first entry of each bucket."""
        stretches = buckets >> _STRETCH_BITS
        places: Numbers = self._starts[stretches] + self._before[buckets]
        if self._crowded.size:
            nearest = np.minimum(np.searchsorted(self._crowded, stretches), self._crowded.size - 1)
            if (is_crowded := self._crowded[nearest] == stretches).any():
                before = self._before_crowded[nearest[is_crowded], buckets[is_crowded] % _STRETCH]
                places[is_crowded] = self._starts[stretches[is_crowded]] + before
        return places

    def _require_sound(self, first_bucket: Numbers, last_bucket: Numbers, start: Numbers, end: Numbers) -> None:
        """Verify the blocks of ranges of buckets, and of the entries from each start to each end."""
        width, is_any = self._shape.width, end > start
        if not is_any.all():
            start, end = start[is_any], end[is_any]
        first, last = start * width >> 3, (end * width - 1) >> 3
        self._blocks.require_sound(
            np.concatenate([self._buckets_begin + first_bucket, self._entries_begin + first]),
            np.concatenate([self._buckets_begin + last_bucket, self._entries_begin + last]),
        )

    def between(self, low: int, high: int) -> Entries:
        """Return all entries with tokens in the half-open range from `low` to `high`."""
        shape = self._shape
        buckets = np.arange(low >> shape.rest_bits, ((high - 1) >> shape.rest_bits) + 2)
        bounds = self._place_of(buckets)
        self._require_sound(buckets[:1], buckets[-1:], bounds[:1], bounds[-1:])
        first, end = int(bounds[0]), int(bounds[-1])
        group, last_group = first // GROUP, -(-end // GROUP)
        words = self._raw[group * shape.width * 8 : last_group * shape.width * 8].view("<u8")
        found = unpacked(words, shape.width)[first - group * GROUP : end - group * GROUP]
        above = np.repeat(buckets[:-1].view(np.uint64) << np.uint64(shape.rest_bits), np.diff(bounds))
        tokens = above | (found >> np.uint64(shape.place_bits))
        begin = int(np.searchsorted(tokens, np.uint64(low)))
        own = slice(begin, int(np.searchsorted(tokens, np.uint64(high - 1), side="right")))
        places = found[own] & np.uint64((1 << shape.place_bits) - 1)
        return Entries(tokens[own], places.view(np.int64))


def write_run(path: Path, contents: Contents, token_bits: Sequence[int], entries: Sequence[Iterable[Entries]]) -> None:
    """Write a run and sync it to the disk; after an error the caller deletes the incomplete file.

    Args:
        path: The file of the run, which must not exist.
        contents: The documents of the run.
        token_bits: Bits of each kind of token.
        entries: For each kind all entries, ascending, in any portions.
    """
    tables: list[npt.NDArray[Any]] = [contents.numbers, contents.sizes, contents.gone]
    shapes = []
    with path.open("xb+") as file:
        at = _HEAD_BYTES
        for bits, counts, some in zip(token_bits, contents.counts, entries, strict=True):
            shape = _Shape.of(bits, int(counts.sum()), contents.numbers.size)
            tables += [counts, *_write_kind(file, at, shape, some)]
            shapes.append(shape)
            at += sum(shape.bytes)
        file.truncate(at)
        tables.append(_checks_of(file, at))
        raw = b"".join(
            _padded(column.astype(kind).tobytes()) for column, kind in zip(tables, _types(len(shapes)), strict=True)
        )
        file.seek(at)
        file.write(raw)
        layout = {"check": zlib.crc32(raw), "lengths": [column.size for column in tables], "shapes": shapes}
        told = json.dumps(layout).encode()
        file.seek(0)
        file.write(_MAGIC + len(told).to_bytes(4, "little") + zlib.crc32(told).to_bytes(4, "little") + told)
        file.flush()
        os.fsync(file.fileno())


def _write_kind(file: BinaryIO, at: int, shape: _Shape, entries: Iterable[Entries]) -> list[Numbers]:
    """Write the blocks of a kind from offset `at` of the file on, and return its tables."""
    in_buckets = np.zeros(shape.buckets, np.uint32)
    file.seek(at + shape.bytes[0])
    waiting = np.empty(0, np.uint64)
    for tokens, places in entries:
        buckets = (tokens >> np.uint64(shape.rest_bits)).astype(np.int64)
        begins = run_starts(buckets)
        in_buckets[buckets[begins]] += np.diff(begins, append=buckets.size).astype(np.uint32)
        rests = tokens & np.uint64((1 << shape.rest_bits) - 1)
        waiting = np.concatenate([waiting, rests << np.uint64(shape.place_bits) | places.astype(np.uint64)])
        whole = waiting.size // GROUP * GROUP
        file.write(packed(waiting[:whole], shape.width).astype("<u8").tobytes())
        waiting = waiting[whole:]
    file.write(packed(waiting, shape.width).astype("<u8").tobytes())
    file.seek(at)
    stretches = in_buckets.reshape(-1, _STRETCH)
    starts = np.cumsum(stretches.sum(axis=1, dtype=np.int64))
    # The end of the last bucket is the start of one more skip block.
    starts = np.concatenate([[0], starts])
    # A large merge has millions of buckets: work in place and with 32 bits.
    before = np.cumsum(stretches, axis=1, dtype=np.uint32)
    before -= stretches
    crowded = np.flatnonzero(before[:, -1] > _FARTHEST)
    crowds = before[crowded].astype(np.int64).ravel()
    np.minimum(before, _FARTHEST, out=before)
    file.write(before.astype(np.uint8).tobytes() + b"\0")
    return [starts, crowded, crowds]


def _checks_of(file: BinaryIO, end: int) -> npt.NDArray[np.uint32]:
    """Return the checksums of all blocks of a file; the blocks end at offset `end`."""
    parts = [np.empty(0, np.uint32)]
    file.seek(_HEAD_BYTES)
    while (left := end - file.tell()) > 0:
        part = file.read(min(left, BLOCK * _BLOCKS_AT_ONCE))
        parts.append(check_sums(np.frombuffer(part, "<u8").reshape(-1, BLOCK // 8)))
    return np.concatenate(parts)


def _types(kinds: int) -> list[str]:
    """Return the types of the tables' columns in order."""
    return [*_COLUMNS, *(_COLUMNS_OF_KIND * kinds), "<u4"]


def _padded(raw: bytes) -> bytes:
    return raw.ljust(-(-len(raw) // 8) * 8, b"\0")


def entries_of(tokens: Sequence[Tokens], bits: int) -> Entries:
    """Return the sorted entries of documents.

    Args:
        tokens: The tokens of each document, in the order of the ordinals.
        bits: Bits of a token.
    """
    together = np.concatenate([np.empty(0, np.uint64), *tokens])
    places = np.repeat(np.arange(len(tokens)), [own.size for own in tokens])
    # Pack (upper bits of the token, position) into one integer: sorting is many times as fast as argsort.
    index_bits = together.size.bit_length()
    index_mask = np.uint64((1 << index_bits) - 1)
    by_upper_bits = (together & ~index_mask) | np.arange(together.size, dtype=np.uint64)
    if bits + index_bits <= 64:
        by_upper_bits = together << np.uint64(index_bits) | np.arange(together.size, dtype=np.uint64)
    by_upper_bits.sort()
    order = (by_upper_bits & index_mask).view(np.int64)
    together, places = together[order], places[order]
    if (together[1:] < together[:-1]).any():
        # The tokens are nearly sorted, so a stable sort is fast.
        order = np.argsort(together, kind="stable")
        together, places = together[order], places[order]
    return Entries(together, places)


def merged(
    path: Path,
    runs: Sequence[Run],
    alive: Sequence[npt.NDArray[np.bool_]],
    gone: Numbers,
) -> None:
    """Merge several runs into a new one.

    Args:
        path: The file of the new run.
        runs: Runs with the same kinds of token.
        alive: Masks of the documents of each run to keep; no number is kept twice.
        gone: Tombstones of the new run.
    """
    numbers = np.concatenate([run.numbers[own] for run, own in zip(runs, alive, strict=True)])
    order = np.argsort(numbers)
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    ends = np.cumsum([np.count_nonzero(own) for own in alive])
    moved = []
    for own, new in zip(alive, np.split(places, ends[:-1]), strict=True):
        moves = np.full(own.size, -1, np.int64)
        moves[own] = new
        moved.append(moves)

    def kept(columns: Sequence[npt.NDArray[Any]]) -> Numbers:
        some = [column[own] for column, own in zip(columns, alive, strict=True)]
        return np.concatenate(some).astype(np.int64)[order]

    kinds = list(zip(*(run.kinds for run in runs), strict=True))
    counts = [kept([each.counts for each in kind]) for kind in kinds]
    contents = Contents(numbers[order], kept([run.sizes for run in runs]), gone, counts)
    bits = [kind[0].token_bits for kind in kinds]
    write_run(path, contents, bits, [_together(kind, moved) for kind in kinds])


def _together(kind: Sequence[Postings], moved: Sequence[Numbers]) -> Iterator[Entries]:
    """Yield the entries of several runs in portions with new ordinals, without dropped documents."""
    total, bits = sum(map(len, kind)), kind[0].token_bits
    portions = 1 << min(bits - 1, (total // _MERGED_AT_ONCE).bit_length())
    step = (1 << bits) // portions
    for low in range(0, 1 << bits, step):
        some = [postings.between(low, low + step) for postings in kind]
        tokens = np.concatenate([each.tokens for each in some])
        places = np.concatenate([moves[each.places] for each, moves in zip(some, moved, strict=True)])
        is_kept = places >= 0
        tokens, places = tokens[is_kept], places[is_kept]
        # A stable sort makes use of the sorted parts.
        order = np.argsort(tokens, kind="stable")
        yield Entries(tokens[order], places[order])
