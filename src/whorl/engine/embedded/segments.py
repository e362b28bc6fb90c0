"""Reads and writes the files of the token index (segments): inverted lists from tokens to documents.

    header | blocks | tables

Segments never change. The documents of a segment are sorted by number; a document's position is its ordinal. A posting
is a pair (token, ordinal); the postings of one kind of token are ascending.

The upper bits of a token determine its bucket, which has about six postings. The file stores the start of each bucket.
For each posting, it stores the lower bits of the token, and the ordinal, bit-packed. So the size of a posting is near
the minimum: `token bits - log2(tokens of a document) + 4` bits.

    blocks   for each kind: one byte for each bucket, with the number of postings before it in its skip block (a group
             of 16 buckets); then the postings
    tables   the columns that `_COLUMNS` and `_COLUMNS_OF_KIND` list, and a checksum of each block. A column has the
             smallest type that can hold its values.

If several documents have the same tokens, only the first document has postings: it is the original, and the other
documents are its copies.

Most look-up hashes (indexed hashes of the sketch) of a short document are also the upper bits of one of its MinHash
tokens. Such a hash has no separate posting, because a look-up of a hash also reads the postings of all MinHash tokens
that begin with it.

64 packed numbers of w bits fill w words of 64 bits, starting at the lowest bit of the first word. So every 64th number
begins at a word boundary, and any number can be read alone.

The header has checksums of itself and of the tables. Header and tables are read and verified when a segment is opened.
Each look-up verifies the blocks that it reads, so that damage causes an error, not a wrong answer.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import chunks, counts_in_groups, expand_ranges, find_sorted, indices_of_ranges, run_starts
from whorl.engine.embedded.store_files import IndexBrokenError
from whorl.request_context import timely

Packed = npt.NDArray[np.uint64]
#: Number of packed numbers in a group; with w bits per number, a group takes w words.
GROUP = 64
#: Number of bytes in a block; each block has a checksum.
BLOCK = 256
_WORD = np.dtype("<u8")
#: Random factors for the checksum of a block, one per word. They are odd, so that a product loses no bit of the word.
_FACTORS = np.frombuffer(
    bytes.fromhex(
        "2f0be877981fd83987142a68b432a50023194381314fa9c69553a70834d4837ee9fd4da89ad193a4b9e38bd9adc17b9f"
        "d1915679469c30bcdfdbb73f557e0049ab559015740f04afb51b3d30c04bf31e7b52f164fbb03058c1844619ce56ffc6"
        "fdaab3a7276e74f81dfa72a8be1cb276c5991c4ab3dab995d7b0d036c145a1254b328d7b08112ed8a75d0e1f9130b3e1"
        "4b960ad2140170eeff37c7c9c4092c31c7b07dfa2a5afb95a50fba9709e5b40a010e805ac8ca01ffb7d59effd1f39bb3"
        "7dd54ec147549c561baf54717ac20d32ad19a61b71cbba7007bc54e25042f4c907daff25401b82dd237dccbe5156b58d"
        "173b0544300596c0236a6fbb442cc35b"
    ),
    _WORD,
)


def pack(numbers: Packed, width: int) -> Packed:
    """Pack n numbers of `width` bits (1 to 64) into ceil(n / 64) * width words, padded with zeros to whole groups."""
    padded = np.pad(numbers, (0, -numbers.size % GROUP))
    lanes = np.ascontiguousarray(padded.reshape(-1, GROUP).T)
    words = np.zeros((width, lanes.shape[1]), np.uint64)
    for lane in range(GROUP):
        word, shift = divmod(lane * width, 64)
        words[word] |= lanes[lane] << np.uint64(shift)
        if shift + width > 64:
            words[word + 1] |= lanes[lane] >> np.uint64(64 - shift)
    return np.ascontiguousarray(words.T).ravel()


def unpack(words: Packed, width: int) -> Packed:
    """Unpack the words that `pack` wrote with the same `width`; the result includes the padding."""
    columns = np.ascontiguousarray(words.reshape(-1, width).T)
    numbers = np.empty((GROUP, columns.shape[1]), np.uint64)
    mask = np.uint64((1 << width) - 1)
    for lane in range(GROUP):
        word, shift = divmod(lane * width, 64)
        bits = columns[word] >> np.uint64(shift)
        if shift + width > 64:
            bits |= columns[word + 1] << np.uint64(64 - shift)
        np.bitwise_and(bits, mask, out=numbers[lane])
    return np.ascontiguousarray(numbers.T).ravel()


def unpack_at(raw: npt.NDArray[np.uint8], positions: npt.NDArray[np.int64], width: int) -> Packed:
    """Unpack the numbers at some positions.

    `raw` has the words that `pack` returned, in little-endian order, and then at least 9 more bytes.
    """
    bits = positions * width
    at, shifts = bits >> 3, (bits & 7).astype(np.uint64)
    # A view with a stride of one byte reads unaligned words.
    everywhere: Packed = np.ndarray((raw.size - 7,), _WORD, raw, 0, (1,))
    numbers: Packed = everywhere[at] >> shifts
    if width > 57:
        # A shift by 64 is undefined, so shift by one and then by the remainder.
        numbers |= (raw[at + 8].astype(np.uint64) << np.uint64(1)) << (np.uint64(63) - shifts)
    numbers &= np.uint64((1 << width) - 1)
    return numbers


def block_checksums(blocks: Packed) -> npt.NDArray[np.uint32]:
    """Return the uint32 checksum of each block; `blocks` has shape (n, BLOCK / 8).

    The checksum detects nearly all flipped bits. It misses other damage with a probability of 2**-32.

    Source: multilinear hashing, the upper half of a sum of products modulo 2**64.
    """
    sums: Packed = np.einsum("ij,j->i", blocks, _FACTORS)
    return (sums >> np.uint64(32)).astype(np.uint32)


Numbers = npt.NDArray[np.int64]
Tokens = npt.NDArray[np.uint64]

#: Kinds of tokens, in the order of a segment's postings: MinHash tokens, look-up hashes of sketches, and optional
#: passage hashes.
MINHASH, SKETCH, PASSAGES = 0, 1, 2
MINHASH_BITS = 64
_MAGIC = b"whorlseg"
_HEAD_BYTES = 1024
#: Minimum average number of postings per bucket. Smaller buckets would need more space for their counts; larger buckets
#: would need more space for their postings.
_LEAST_IN_BUCKET = 4
#: A skip block has 2**_SKIP_BITS buckets.
_SKIP_BITS = 4
#: Largest value of the byte that counts the postings before a bucket in its skip block.
_LARGEST_OFFSET = 255
_SKIP_BUCKETS = 1 << _SKIP_BITS
_POSTINGS_PER_MERGE = 1 << 19
#: Maximum number of postings to read at a time; each takes less than 100 bytes of memory. A single token may have a
#: posting for every document.
READ_AT_ONCE = 1 << 20
#: Number of tokens to look up between two checks of the deadline.
_TOKENS_AT_ONCE = 1 << 17
_BLOCKS_AT_ONCE = 1 << 12
_BLOCK_BITS = BLOCK.bit_length() - 1
#: Number of columns for the documents: document numbers (as differences), sizes and shared bits (see
#: `SegmentDocuments`), numbers of deleted documents, the original of each copy, and the copies.
_COLUMNS = 6
#: Number of columns for each kind of token:
#:
#: 1. the number of postings of each document;
#: 2. the position of the first posting of each skip block;
#: 3. the numbers of the overfull skip blocks, which have more postings than one byte can count;
#: 4. for each bucket of an overfull block, the number of postings before the bucket, counted from the block's start.
#:
#: After the columns of all kinds, one more column holds the checksums.
_COLUMNS_OF_KIND = 4
#: Odd factor that mixes the bits of a token.
_MIXER = np.uint64(0x9E3779B97F4A7C15)
#: `_BOUNDS[shared_bits]` is the limit below which look-up hashes may lack postings (see `SegmentDocuments`).
_BOUNDS = np.append(np.uint64(0), np.uint64(2) << np.arange(63, dtype=np.uint64))
_Narrow = npt.NDArray[np.unsignedinteger[Any]]


class Postings(NamedTuple):
    """Postings as two arrays: ascending tokens, and for each token the ordinal of a document that has it."""

    tokens: Tokens
    ordinals: Numbers


@dataclass(frozen=True, slots=True)
class SegmentDocuments:
    """Documents of a segment.

    Args:
        numbers: Numbers of the documents, ascending; int64 array of shape (documents,).
        sizes: Number of distinct shingles of each document; of the same shape.
        shared_bits: For each document, a bit length; of the same shape. A look-up hash has no posting if it has at most
            this number of bits and is the upper bits of a MinHash token of the document.
        tombstones: Numbers of deleted documents that older segments may still have; int64 array.
        originals: For each document, the ordinal of the first document with the same tokens; of shape (documents,).
        counts: For each kind of token, the number of postings of each document, 0 for copies; int64 arrays of shape
            (documents,).
    """

    numbers: Numbers
    sizes: Numbers
    shared_bits: Numbers
    tombstones: Numbers
    originals: Numbers
    counts: Sequence[Numbers]


class _BitLayout(NamedTuple):
    """Layout of the postings of one kind of token: sizes in bits, and the number of postings."""

    token_bits: int
    bucket_bits: int
    ordinal_bits: int
    postings: int

    @classmethod
    def choose_smallest(cls, token_bits: int, postings: int, documents: int) -> _BitLayout:
        ordinal_bits = max(1, (documents - 1).bit_length())
        # A segment needs at least one skip block of buckets. A posting has at most 64 bits for the ordinal and the bits
        # of the token that its bucket does not determine, so the bucket must determine the other bits.
        least = max(_SKIP_BITS, token_bits + ordinal_bits - 64)
        wanted = (postings // _LEAST_IN_BUCKET).bit_length() - 1
        return cls(token_bits, min(max(least, wanted), token_bits - 1), ordinal_bits, postings)

    @property
    def suffix_bits(self) -> int:
        """Number of lower bits of a token that its bucket does not determine."""
        return self.token_bits - self.bucket_bits

    @property
    def width(self) -> int:
        """Number of bits of a posting in the file."""
        return self.suffix_bits + self.ordinal_bits

    @property
    def buckets(self) -> int:
        return 1 << self.bucket_bits

    @property
    def bytes(self) -> tuple[int, int]:
        """Sizes in bytes of the buckets and of the postings: whole blocks, with room to read past the last posting."""
        return _round_up_to_block(self.buckets + 1), _round_up_to_block(-(-self.postings // GROUP) * self.width * 8 + 9)


def _round_up_to_block(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


class _Blocks:
    """The blocks of a segment with their checksums. Each look-up verifies the blocks that it reads.

    `PostingsReader` refers to this object, not to the segment: a reference cycle would keep unused files open.
    """

    def __init__(self, name: str, raw: npt.NDArray[np.uint8], checks: npt.NDArray[np.uint32]) -> None:
        self._name, self._checks = name, checks
        self._blocks = raw.view("<u8").reshape(-1, BLOCK // 8)

    def require_sound(self, first: Numbers, last: Numbers) -> None:
        """Verify the blocks of each range of bytes, from `first` to `last`; raise IndexBrokenError for damage."""
        begin, end = (first - _HEAD_BYTES) >> _BLOCK_BITS, (last - _HEAD_BYTES) >> _BLOCK_BITS
        spans = end - begin
        wanted = np.concatenate([begin, end[spans > 0]])
        if spans.max(initial=0) > 1:
            wanted = np.concatenate([wanted, indices_of_ranges(begin[spans > 1] + 1, spans[spans > 1] - 1)])
        for at in range(0, wanted.size, _BLOCKS_AT_ONCE):
            portion = wanted[at : at + _BLOCKS_AT_ONCE]
            if (block_checksums(self._blocks[portion]) != self._checks[portion]).any():
                raise IndexBrokenError(f"{self._name} is damaged")


class Segment:
    """Reader of a segment file, which may be deleted during use; raises IndexBrokenError for damage."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < _HEAD_BYTES:
                raise IndexBrokenError(f"{path} was cut short")
            raw = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        head = raw[:_HEAD_BYTES].tobytes()
        length, check = (int.from_bytes(head[at : at + 4], "little") for at in (8, 12))
        raw_header = head[16 : 16 + length]
        if head[:8] != _MAGIC or zlib.crc32(raw_header) != check:
            raise IndexBrokenError(f"{path} is damaged or something else")
        header = json.loads(raw_header)
        layouts = [_BitLayout(*layout) for layout in header["shapes"]]
        at = self._end = _HEAD_BYTES + sum(sum(layout.bytes) for layout in layouts)
        if raw.size < at or zlib.crc32(raw[at:].data) != header["check"]:
            raise IndexBrokenError(f"{path} is damaged")
        columns: list[_Narrow] = []
        for length, kind in header["columns"]:
            columns.append(np.frombuffer(raw, kind, length, at))
            at += -(-columns[-1].nbytes // 8) * 8
        self.numbers: Numbers = header["first"] + np.cumsum(columns[0], dtype=np.int64)
        self.sizes, self.shared_bits = columns[1], columns[2]
        self.tombstones: Numbers = columns[3].astype(np.int64)
        #: For each copy, the ordinal of its original and its own ordinal; both arrays are sorted by original.
        self.originals_of_copies, self.copies = columns[4].astype(np.int64), columns[5].astype(np.int64)
        self._is_copied = np.zeros(len(self), np.bool_)
        self._is_copied[self.originals_of_copies] = True
        self._blocks = blocks = _Blocks(self.name, raw[_HEAD_BYTES : self._end], columns[-1])
        self.postings: list[PostingsReader] = []
        begin = _HEAD_BYTES
        for number, layout in enumerate(layouts):
            first = _COLUMNS + _COLUMNS_OF_KIND * number
            tables = columns[first : first + _COLUMNS_OF_KIND]
            self.postings.append(PostingsReader(blocks, layout, begin, raw[begin:], tables))
            begin += sum(layout.bytes)

    def __len__(self) -> int:
        return self.numbers.size

    def verify(self) -> None:
        """Verify the checksums of all blocks; raise IndexBrokenError for damage. `__init__` has verified the tables."""
        self._blocks.require_sound(np.array([_HEAD_BYTES]), np.array([self._end - 1]))

    def look_up(self, kind: int, tokens: Tokens, *, with_copies: bool = True) -> Iterator[tuple[Numbers, Numbers]]:
        """Look up the documents that have the given tokens of one kind; yield pairs like `PostingsReader.look_up`.

        The tokens must be distinct. Without copies, omit documents with the same tokens as an earlier document.
        """
        portions = self._look_up_originals(kind, tokens)
        return _join_small(chain.from_iterable(starmap(self.with_copies, portions)) if with_copies else portions)

    def with_copies(self, values: Numbers, ordinals: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield the given pairs of a value and an ordinal, then the same values with the ordinals of the copies.

        A pair has a value, such as the index of a token, and the ordinal of a document.
        """
        yield values, ordinals
        is_copied = self._is_copied[ordinals]
        if is_copied.any():
            values, ordinals = values[is_copied], ordinals[is_copied]
            begins = np.searchsorted(self.originals_of_copies, ordinals)
            ends = np.searchsorted(self.originals_of_copies, ordinals, side="right")
            for indices, positions in expand_ranges(begins, ends, READ_AT_ONCE):
                yield values[indices], self.copies[positions]

    def _look_up_originals(self, kind: int, tokens: Tokens) -> Iterator[tuple[Numbers, Numbers]]:
        yield from self.postings[kind].look_up(tokens)
        minhash = self.postings[MINHASH]
        if kind == SKETCH and len(minhash):
            for token_indices, ordinals in minhash.look_up(
                tokens, minhash.token_bits - self.postings[SKETCH].token_bits
            ):
                is_shared = tokens[token_indices] < _BOUNDS[self.shared_bits[ordinals]]
                yield token_indices[is_shared], ordinals[is_shared]

    def token_keys(self) -> Tokens:
        """Return a 64-bit hash of each document's size and tokens; documents with equal hashes are copies.

        The hash is a sum over postings, so it takes one pass over the postings, in their order in the file.
        """
        keys = _first_keys(self.sizes, self.shared_bits)
        for reader in self.postings:
            keys *= _MIXER
            for low, high in _token_intervals([reader]):
                postings = reader.postings_between(low, high)
                np.add.at(keys, postings.ordinals, _mix_bits(postings.tokens))
        keys[self.copies] = keys[self.originals_of_copies]
        return keys


def _join_small(portions: Iterable[tuple[Numbers, Numbers]]) -> Iterator[tuple[Numbers, Numbers]]:
    """Join small successive batches of pairs into batches of at most `READ_AT_ONCE` pairs."""
    for joined in chunks(timely(portions, 1), lambda portion: portion[1].size, READ_AT_ONCE):
        values, ordinals = zip(*joined, strict=True)
        yield joined[0] if len(joined) == 1 else (np.concatenate(values), np.concatenate(ordinals))


class PostingsReader:
    """Reads the postings of one kind of token in a segment.

    Args:
        begin: Offset of the buckets in the file.
        raw: Bytes of the file from this offset.
        tables: The four columns of the kind, see `_COLUMNS_OF_KIND`.
    """

    def __init__(
        self, blocks: _Blocks, layout: _BitLayout, begin: int, raw: npt.NDArray[np.uint8], tables: Sequence[_Narrow]
    ) -> None:
        self._blocks, self._layout, self.token_bits = blocks, layout, layout.token_bits
        self.counts, self._starts, overfull, overfull_offsets = tables
        self._overfull = overfull.astype(np.int64)
        self._overfull_offsets = overfull_offsets.astype(np.int64).reshape(-1, _SKIP_BUCKETS)
        self._buckets_begin, self._postings_begin = begin, begin + layout.bytes[0]
        self._before, self._raw = raw[: layout.buckets + 1], raw[layout.bytes[0] : sum(layout.bytes)]

    def __len__(self) -> int:
        return self._layout.postings

    def look_up(self, tokens: Tokens, dropped_bits: int = 0) -> Iterator[tuple[Numbers, Numbers]]:
        """Look up the documents that have the tokens; yield batches of pairs (index of a token, ordinal of a document).

        Args:
            tokens: Tokens in any order, without their lowest bits; uint64 array of shape (n,), each below 2**(token
                bits - dropped_bits).
            dropped_bits: Number of missing lowest bits. A token matches every token with the same upper bits.
        """
        layout, unused = self._layout, min(dropped_bits, self._layout.suffix_bits)
        for at in range(0, tokens.size, _TOKENS_AT_ONCE):
            portion = tokens[at : at + _TOKENS_AT_ONCE] << np.uint64(dropped_bits)
            buckets = (portion >> np.uint64(layout.suffix_bits)).view(np.int64)
            end_buckets = buckets + (1 << (dropped_bits - unused))
            starts, ends = self._first_posting(np.concatenate([buckets, end_buckets])).reshape(2, -1)
            self._require_sound(buckets, end_buckets, starts, ends)
            suffixes = (portion & np.uint64((1 << layout.suffix_bits) - 1)) >> np.uint64(unused)
            for token_indices, positions in expand_ranges(starts, ends, READ_AT_ONCE):
                postings = unpack_at(self._raw, positions, layout.width)
                is_own = postings >> np.uint64(layout.ordinal_bits + unused) == suffixes[token_indices]
                ordinals = postings[is_own] & np.uint64((1 << layout.ordinal_bits) - 1)
                yield token_indices[is_own] + at, ordinals.view(np.int64)

    def _first_posting(self, buckets: Numbers) -> Numbers:
        """Return the position of each bucket's first posting in the list of all postings."""
        skip_blocks = buckets >> _SKIP_BITS
        positions: Numbers = self._starts[skip_blocks].astype(np.int64) + self._before[buckets]
        if self._overfull.size:
            blocks, is_overfull = find_sorted(self._overfull, skip_blocks)
            if is_overfull.any():
                before = self._overfull_offsets[blocks[is_overfull], buckets[is_overfull] % _SKIP_BUCKETS]
                positions[is_overfull] = self._starts[skip_blocks[is_overfull]].astype(np.int64) + before
        return positions

    def _require_sound(self, first_bucket: Numbers, last_bucket: Numbers, start: Numbers, end: Numbers) -> None:
        """Verify the blocks that contain the given ranges of buckets and of postings."""
        width, is_any = self._layout.width, end > start
        if not is_any.all():
            start, end = start[is_any], end[is_any]
        first, last = start * width >> 3, (end * width - 1) >> 3
        self._blocks.require_sound(
            np.concatenate([self._buckets_begin + first_bucket, self._postings_begin + first]),
            np.concatenate([self._buckets_begin + last_bucket, self._postings_begin + last]),
        )

    def postings_between(self, low: int, high: int) -> Postings:
        """Return all postings with tokens of at least `low` and less than `high`."""
        layout = self._layout
        buckets = np.arange(low >> layout.suffix_bits, ((high - 1) >> layout.suffix_bits) + 2)
        bounds = self._first_posting(buckets)
        self._require_sound(buckets[:1], buckets[-1:], bounds[:1], bounds[-1:])
        first, end = int(bounds[0]), int(bounds[-1])
        group, last_group = first // GROUP, -(-end // GROUP)
        words = self._raw[group * layout.width * 8 : last_group * layout.width * 8].view("<u8")
        postings = unpack(words, layout.width)[first - group * GROUP : end - group * GROUP]
        above = np.repeat(buckets[:-1].view(np.uint64) << np.uint64(layout.suffix_bits), np.diff(bounds))
        tokens = above | (postings >> np.uint64(layout.ordinal_bits))
        first_token = int(np.searchsorted(tokens, np.uint64(low)))
        wanted = slice(first_token, int(np.searchsorted(tokens, np.uint64(high - 1), side="right")))
        ordinals = postings[wanted] & np.uint64((1 << layout.ordinal_bits) - 1)
        return Postings(tokens[wanted], ordinals.view(np.int64))


def write_segment(
    path: Path, documents: SegmentDocuments, token_bits: Sequence[int], postings: Sequence[Iterable[Postings]]
) -> None:
    """Write a segment to a new file and sync it to the disk. After an error, the caller deletes the incomplete file.

    `token_bits` has the number of bits of each kind of token. `postings` has the postings of each kind in ascending
    order, in chunks of any size.
    """
    first = int(documents.numbers[0]) if documents.numbers.size else 0
    steps = np.diff(documents.numbers, prepend=first)
    copies = np.flatnonzero(documents.originals != np.arange(documents.originals.size))
    copies = copies[np.argsort(documents.originals[copies], kind="stable")]
    tables: list[npt.NDArray[Any]] = [steps, documents.sizes, documents.shared_bits, documents.tombstones]
    tables += [documents.originals[copies], copies]
    layouts = []
    with path.open("xb+") as file:
        at = _HEAD_BYTES
        for bits, counts, portions in zip(token_bits, documents.counts, postings, strict=True):
            layout = _BitLayout.choose_smallest(bits, int(counts.sum()), documents.numbers.size)
            tables += [counts, *_write_postings(file, at, layout, portions)]
            layouts.append(layout)
            at += sum(layout.bytes)
        file.truncate(at)
        tables.append(_file_checksums(file, at))
        narrowest = (np.min_scalar_type(int(column.max(initial=0))).newbyteorder("<") for column in tables)
        columns = [column.astype(kind) for column, kind in zip(tables, narrowest, strict=True)]
        # Pad each column to whole words.
        raw = b"".join(column.tobytes().ljust(-(-column.nbytes // 8) * 8, b"\0") for column in columns)
        file.seek(at)
        file.write(raw)
        types = [(column.size, column.dtype.str) for column in columns]
        header = {"check": zlib.crc32(raw), "first": first, "columns": types, "shapes": layouts}
        raw_header = json.dumps(header).encode()
        file.seek(0)
        file.write(
            _MAGIC + len(raw_header).to_bytes(4, "little") + zlib.crc32(raw_header).to_bytes(4, "little") + raw_header
        )
        file.flush()
        os.fsync(file.fileno())


def _write_postings(file: BinaryIO, at: int, layout: _BitLayout, postings: Iterable[Postings]) -> list[Numbers]:
    """Write the buckets and postings of one kind of token at offset `at`; return the columns 2 to 4 of this kind.

    `_COLUMNS_OF_KIND` describes the columns.
    """
    in_buckets = np.zeros(layout.buckets, np.uint32)
    file.seek(at + layout.bytes[0])
    pending = np.empty(0, np.uint64)
    for tokens, ordinals in postings:
        buckets = (tokens >> np.uint64(layout.suffix_bits)).astype(np.int64)
        begins = run_starts(buckets)
        in_buckets[buckets[begins]] += np.diff(begins, append=buckets.size).astype(np.uint32)
        suffixes = tokens & np.uint64((1 << layout.suffix_bits) - 1)
        pending = np.concatenate([pending, suffixes << np.uint64(layout.ordinal_bits) | ordinals.astype(np.uint64)])
        complete = pending.size // GROUP * GROUP
        file.write(pack(pending[:complete], layout.width).astype("<u8").tobytes())
        pending = pending[complete:]
    file.write(pack(pending, layout.width).astype("<u8").tobytes())
    file.seek(at)
    skip_blocks = in_buckets.reshape(-1, _SKIP_BUCKETS)
    # Begin with 0, so that the last element is the end of the last skip block.
    starts = np.concatenate([[0], np.cumsum(skip_blocks.sum(axis=1, dtype=np.int64))])
    # A large merge has millions of buckets, so compute in place, with 32-bit integers.
    before = np.cumsum(skip_blocks, axis=1, dtype=np.uint32)
    before -= skip_blocks
    overfull = np.flatnonzero(before[:, -1] > _LARGEST_OFFSET)
    overfull_offsets = before[overfull].astype(np.int64).ravel()
    np.minimum(before, _LARGEST_OFFSET, out=before)
    file.write(before.astype(np.uint8).tobytes() + b"\0")
    return [starts, overfull, overfull_offsets]


def _file_checksums(file: BinaryIO, end: int) -> npt.NDArray[np.uint32]:
    parts = [np.empty(0, np.uint32)]
    file.seek(_HEAD_BYTES)
    while (left := end - file.tell()) > 0:
        part = file.read(min(left, BLOCK * _BLOCKS_AT_ONCE))
        parts.append(block_checksums(np.frombuffer(part, "<u8").reshape(-1, BLOCK // 8)))
    return np.concatenate(parts)


def _first_keys(sizes: _Narrow | Numbers, shared_bits: _Narrow | Numbers) -> Tokens:
    """Return the initial hash of each document; callers add its tokens (see `Segment.token_keys`)."""
    return (sizes.astype(np.uint64) + (shared_bits.astype(np.uint64) << np.uint64(48))) * _MIXER


def _mix_bits(tokens: Tokens) -> Tokens:
    mixed = tokens * _MIXER
    return (mixed ^ (mixed >> np.uint64(32))) * _MIXER + _MIXER


def sort_postings(tokens: Tokens, ordinals: Numbers) -> Postings:
    """Sort postings by token; postings of the same token keep their order."""
    # Pack (upper bits of the token, position) into one integer: sorting is much faster than argsort. Leave out the
    # upper bits that all tokens share.
    differing = int(tokens.max(initial=0) ^ tokens.min(initial=np.iinfo(np.uint64).max)).bit_length()
    index_mask = np.uint64((1 << tokens.size.bit_length()) - 1)
    packed = tokens << np.uint64(min(63, 64 - differing))
    packed &= ~index_mask
    packed |= np.arange(tokens.size, dtype=np.uint64)
    packed.sort()
    order = (packed & index_mask).view(np.int64)
    tokens, ordinals = tokens[order], ordinals[order]
    if (tokens[1:] < tokens[:-1]).any():
        # The tokens are nearly sorted, so a stable sort is fast.
        order = np.argsort(tokens, kind="stable")
        tokens, ordinals = tokens[order], ordinals[order]
    return Postings(tokens, ordinals)


class _TokensOfDocuments(NamedTuple):
    """Tokens of one kind in several documents, concatenated; ascending and distinct within a document."""

    tokens: Tokens
    counts: Numbers

    @classmethod
    def concatenate(cls, kind: Sequence[Tokens]) -> _TokensOfDocuments:
        counts = np.array([own.size for own in kind], np.int64)
        return cls(np.concatenate([np.empty(0, np.uint64), *kind]), counts)

    def owners(self) -> Numbers:
        return np.arange(self.counts.size).repeat(self.counts)

    def select(self, is_retained: npt.NDArray[np.bool_]) -> _TokensOfDocuments:
        return _TokensOfDocuments(self.tokens[is_retained], counts_in_groups(is_retained, self.counts))


def _without_shared(
    minhash: _TokensOfDocuments, hashes: _TokensOfDocuments, token_bits: Sequence[int]
) -> tuple[_TokensOfDocuments, Numbers]:
    """Remove look-up hashes that are the upper bits of a MinHash token of the same document.

    Return the remaining hashes, and each document's `shared_bits` (see `SegmentDocuments`). For a look-up, the upper
    bits of a MinHash token then count as a look-up hash if they are below `_BOUNDS[shared_bits]`. This would be wrong
    for a document in two cases: if such upper bits are not one of its look-up hashes, or if two of its MinHash tokens
    have the same upper bits, because the hash would count twice. Such a document keeps all of its hashes.
    """
    bits, dropped_bits = token_bits[SKETCH], token_bits[MINHASH] - token_bits[SKETCH]
    counts, has_any = hashes.counts, hashes.counts > 0
    shared_bits = np.zeros(counts.size, np.int64)
    if dropped_bits < 0 or bits + counts.size.bit_length() > 64 or not has_any.any():
        return hashes, shared_bits
    # `frexp` returns the binary exponent of a float, which is the bit length of the hash.
    shared_bits[has_any] = np.frexp(hashes.tokens[np.cumsum(counts)[has_any] - 1])[1]
    owners, upper = minhash.owners(), minhash.tokens >> np.uint64(dropped_bits)
    is_low = upper < _BOUNDS[shared_bits[owners]]
    owners, upper = owners[is_low], upper[is_low]
    # Pack a document's ordinal and a hash into one integer, so that `known` ascends, as `find_sorted` requires.
    wanted = owners.view(np.uint64) << np.uint64(bits) | upper
    known = hashes.owners().view(np.uint64) << np.uint64(bits) | hashes.tokens
    positions, is_known = find_sorted(known, wanted)
    is_irregular = ~is_known
    is_irregular[1:] |= wanted[1:] == wanted[:-1]
    shared_bits[owners[is_irregular]] = 0
    is_retained = np.ones(known.size, np.bool_)
    is_retained[positions[shared_bits[owners] > 0]] = False
    return hashes.select(is_retained), shared_bits


def write_documents(
    path: Path,
    numbers: Numbers,
    sizes: Numbers,
    tombstones: Numbers,
    kinds: Sequence[Sequence[Tokens]],
    token_bits: Sequence[int],
) -> None:
    """Write a segment of new documents.

    `kinds` has a list for each kind of token, with the tokens of each document, ascending and distinct.
    `SegmentDocuments` and `write_segment` describe the other arguments.
    """
    joined = list(map(_TokensOfDocuments.concatenate, kinds))
    joined[SKETCH], shared_bits = _without_shared(joined[MINHASH], joined[SKETCH], token_bits)
    keys = _first_keys(sizes, shared_bits)
    for kind in joined:
        keys *= _MIXER
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mix_bits(kind.tokens))])
        ends = np.cumsum(kind.counts)
        keys += sums[ends] - sums[ends - kind.counts]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    is_original = first[inverse] == np.arange(keys.size)
    joined = [kind.select(is_original.repeat(kind.counts)) for kind in joined]
    counts = [kind.counts for kind in joined]
    documents = SegmentDocuments(numbers, sizes, shared_bits, tombstones, first[inverse], counts)
    postings = [[sort_postings(kind.tokens, kind.owners())] for kind in joined]
    write_segment(path, documents, token_bits, postings)


def merge_segments(
    path: Path, segments: Sequence[Segment], alive: Sequence[npt.NDArray[np.bool_]], tombstones: Numbers
) -> None:
    """Merge segments with the same kinds of tokens into a new segment.

    `alive` has for each segment a mask of the documents to keep. Two segments must not keep the same document number.
    `SegmentDocuments` describes `tombstones`.
    """

    def select_retained(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate([column[mask] for column, mask in zip(columns, alive, strict=True)])[order]

    numbers = np.concatenate([segment.numbers[mask] for segment, mask in zip(segments, alive, strict=True)])
    order = np.argsort(numbers)
    keys = [segment.token_keys() for segment in segments]
    distinct, first, inverse = np.unique(select_retained(keys), return_index=True, return_inverse=True)
    # Documents with the same key have the same tokens, so only the first document with a key gets postings.
    # `is_missing` is True for a key until the loop reaches a segment with this key.
    is_missing = np.ones(distinct.size, np.bool_)
    shared_bits = np.zeros(numbers.size, np.int64)
    counts = [np.zeros(numbers.size, np.int64) for _ in segments[0].postings]
    new_ordinals = []
    for segment, segment_keys in zip(segments, keys, strict=True):
        originals = np.delete(np.arange(len(segment)), segment.copies)
        _, matching, positions = np.intersect1d(segment_keys[originals], distinct, return_indices=True)
        sources, positions = originals[matching[is_missing[positions]]], positions[is_missing[positions]]
        is_missing[positions] = False
        targets = first[positions]
        shared_bits[targets] = segment.shared_bits[sources]
        for kind_counts, reader in zip(counts, segment.postings, strict=True):
            kind_counts[targets] = reader.counts[sources]
        mapping = np.full(len(segment), -1, np.int64)
        mapping[sources] = targets
        new_ordinals.append(mapping)
    kinds = list(zip(*(segment.postings for segment in segments), strict=True))
    sizes = select_retained([segment.sizes for segment in segments])
    documents = SegmentDocuments(numbers[order], sizes, shared_bits, tombstones, first[inverse], counts)
    bits = [kind[0].token_bits for kind in kinds]
    write_segment(path, documents, bits, [_merge_postings(kind, new_ordinals) for kind in kinds])


def _token_intervals(kind: Sequence[PostingsReader]) -> Iterator[tuple[int, int]]:
    """Yield half-open intervals of tokens, each with few enough postings to merge at once."""
    bits = kind[0].token_bits
    intervals = 1 << min(bits - 1, (sum(map(len, kind)) // _POSTINGS_PER_MERGE).bit_length())
    step = (1 << bits) // intervals
    return ((low, low + step) for low in range(0, 1 << bits, step))


def _merge_postings(kind: Sequence[PostingsReader], new_ordinals: Sequence[Numbers]) -> Iterator[Postings]:
    """Yield the postings of one kind of token in several segments, with the documents' ordinals in the merged segment.

    `new_ordinals` has, for each segment, the new ordinal of each document, or -1 if the document is left out.
    """
    for low, high in _token_intervals(kind):
        parts = [reader.postings_between(low, high) for reader in kind]
        tokens = np.concatenate([portion.tokens for portion in parts])
        pairs = zip(parts, new_ordinals, strict=True)
        ordinals = np.concatenate([mapping[portion.ordinals] for portion, mapping in pairs])
        is_retained = ordinals >= 0
        yield sort_postings(tokens[is_retained], ordinals[is_retained])
