"""Encodes sketches in few bytes, to be stored with each document.

    version  bits  level  low bits | size  count | low parts | high parts | CRC-32 of all before
       1       1     1       1     |   4     4   |           |            |          4

The hashes ascend. Each hash is split into a low part, stored verbatim, and a high part, stored in unary: bit (high part
+ index) of a bit string is set (the Elias-Fano code). With about log2(count) bits in the high part, a hash of 27 bits
takes about 29 - level - log2(count) bits: 2.5 bytes in a sketch of 400 hashes, 1.5 in one of 12,500 at level 3.

The low parts are stored in planes, so that a few array operations decode them. A plane has 8, 4, 2 or 1 bytes of each
hash, according to the binary digits of the number of whole bytes. The last plane has the remaining bits of all hashes.
All numbers are little-endian.

Source of the code: P. Elias, Efficient storage and retrieval by content and address of static files (1974).
"""

from __future__ import annotations

import struct
from binascii import a2b_base64
from collections.abc import Sequence
from itertools import accumulate
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError, SchemeMismatchError, StoreError
from whorl.fingerprint.compiled.kernel import loops_at_hand
from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme

_HEAD = struct.Struct("<BBBBII")
_CHECK = struct.Struct("<I")
_PLANES: Final = tuple((size, np.dtype(f"<u{size}")) for size in (8, 4, 2, 1))
#: Value of each bit of a number.
_WORTH = np.array([1 << at for at in range(8)], np.uint8)
_DEFAULT_SCHEME = SketchScheme()


def encode(sketch: Sketch) -> bytes:
    """Encode a sketch as bytes; raise ParameterError if the document has 2**32 shingles or more."""
    scheme, hashes = sketch.scheme, sketch.hashes
    if sketch.size >= 1 << 32:
        raise ParameterError(f"a sketch can say sizes below 2**32, got {sketch.size}; cut the document into parts")
    bits = max(0, scheme.bits - sketch.level)
    # The code is shortest with at least as many possible high parts as hashes, and fewer than twice as many.
    low_bits = max(0, bits - max(0, hashes.size - 1).bit_length())
    high_parts = _shifted(hashes, low_bits).astype(np.int64)
    positions = high_parts + np.arange(hashes.size)
    unary = np.zeros(positions[-1] + 1 if hashes.size else 0, dtype=np.uint8)
    unary[positions] = 1
    parts = []
    done = 0
    for size, kind in _PLANES:
        if low_bits // 8 & size:
            parts.append(_shifted(hashes, 8 * done).astype(kind).tobytes())
            done += size
    parts.append(_packed(_shifted(hashes, 8 * done), low_bits % 8))
    head = _HEAD.pack(scheme.version, scheme.bits, sketch.level, low_bits, sketch.size, hashes.size)
    body = b"".join([head, *parts, np.packbits(unary, bitorder="little").tobytes()])
    return body + _CHECK.pack(crc32(body))


def decode(raw: bytes, scheme: SketchScheme = _DEFAULT_SCHEME) -> Sketch:
    """Decode the sketch that `encode` wrote.

    Raises:
        StoreError: The bytes are damaged, or are not a sketch.
        SchemeMismatchError: The sketch has another scheme or version.
    """
    low_bits, size, count = _head(raw, scheme)
    try:
        return Sketch(scheme, size, _hashes(raw, low_bits, count))
    except ValueError:
        raise _contradiction(raw) from None


def decode_all(raws: Sequence[bytes], scheme: SketchScheme = _DEFAULT_SCHEME) -> list[Sketch]:
    """Decode several sketches, in order. The compiled loops take a third of the time of `decode`."""
    loops = loops_at_hand()
    if not loops or not raws:
        return [decode(raw, scheme) for raw in raws]
    heads = [_head(raw, scheme) for raw in raws]
    # Usually there are few sketches, and sums of arrays would take longer than these loops.
    low_bits, sizes, counts = zip(*heads, strict=True)
    starts, ends = [*accumulate(map(len, raws), initial=0)], [*accumulate(counts)]
    firsts = [0, *ends[:-1]]
    # A hash takes at least one bit, so larger counts are invalid.
    if all(count <= 8 * len(raw) for raw, count in zip(raws, counts, strict=True)):
        hashes = np.empty(ends[-1], np.uint64)
        together, columns = np.frombuffer(b"".join(raws), np.uint8), np.array([low_bits, counts, firsts], np.int64)
        if loops.sketch_comparison.decode(together, np.array(starts, np.int64), *columns, hashes) == len(raws):
            hashes.flags.writeable = False
            ranges = zip(sizes, firsts, ends, strict=True)
            return [Sketch(scheme, size, hashes[first:end]) for size, first, end in ranges]
    # Let `decode` raise the error for the invalid sketch.
    return [decode(raw, scheme) for raw in raws]


def decode_texts(texts: Sequence[str | None], scheme: SketchScheme = _DEFAULT_SCHEME) -> list[Sketch | None]:
    """Decode sketches from base64. The result is None for a missing or invalid sketch."""
    distinct = [text for text in dict.fromkeys(texts) if text is not None]
    try:
        raws = [a2b_base64(text, strict_mode=True) for text in distinct]
        sketches = dict(zip(distinct, decode_all(raws, scheme), strict=True))
    except (ValueError, StoreError, SchemeMismatchError):
        if len(distinct) == 1:
            return [None] * len(texts)
        return [decode_texts([text], scheme)[0] for text in texts]
    return [None if text is None else sketches[text] for text in texts]


def _head(raw: bytes, scheme: SketchScheme) -> tuple[int, int, int]:
    """Return the number of bits of a low part, of distinct shingles, and of hashes; raise if the head is invalid."""
    if len(raw) < _HEAD.size + _CHECK.size or _CHECK.unpack_from(raw, len(raw) - 4)[0] != crc32(raw[:-4]):
        raise StoreError(f"a sketch of {len(raw)} bytes is damaged; index its document again")
    version, bits, level, low_bits, size, count = _HEAD.unpack_from(raw)
    if (version, bits, level) != (scheme.version, scheme.bits, scheme.level(size)):
        raise SchemeMismatchError(
            f"a sketch of version {version}, {bits} bits, level {level} for {size} shingles is not of scheme "
            f"{scheme.name}; index its document again"
        )
    if low_bits > max(0, bits - level):
        raise _contradiction(raw)
    return low_bits, size, count


def _contradiction(raw: bytes) -> StoreError:
    # The checksum is right, so the bytes are not damaged.
    return StoreError(f"a sketch of {len(raw)} bytes contradicts itself; index its document again")


def _hashes(raw: bytes, low_bits: int, count: int) -> npt.NDArray[np.uint64]:
    """Decode the hashes of one sketch; raise ValueError if the lengths do not match."""
    low_length = low_bits // 8 * count + -(-(low_bits % 8) * count // 8)
    ends = np.frombuffer(raw, np.uint8, len(raw) - 4 - _HEAD.size - low_length, _HEAD.size + low_length)
    # numpy finds non-zero elements much faster in arrays of booleans than of numbers.
    ones = np.unpackbits(ends, bitorder="little").view(np.bool_).nonzero()[0]
    if ones.size != count:
        raise ValueError("a sketch has another number of hashes than it says")
    hashes = ones.astype(np.uint64)
    hashes -= np.arange(count, dtype=np.uint64)
    hashes = _shifted(hashes, -low_bits)
    at, done = _HEAD.size, 0
    for size, kind in _PLANES:
        if low_bits // 8 & size:
            plane = np.frombuffer(raw, kind, count, at)
            hashes |= plane if not done else plane.astype(np.uint64) << np.uint64(8 * done)
            at, done = at + size * count, done + size
    if low_bits % 8:
        hashes |= _unpacked(raw, at, low_bits % 8, count).astype(np.uint64) << np.uint64(8 * done)
    hashes.flags.writeable = False
    return hashes


def _packed(numbers: npt.NDArray[np.uint64], width: int) -> bytes:
    """Concatenate the lowest `width` bits (0 to 7) of each number."""
    bits = np.unpackbits(numbers.astype(np.uint8)[:, None], axis=1, count=width, bitorder="little")
    return np.packbits(bits, bitorder="little").tobytes()


def _unpacked(raw: bytes, at: int, width: int, count: int) -> npt.NDArray[np.uint8]:
    packed = np.frombuffer(raw, np.uint8, -(-width * count // 8), at)
    bits = np.unpackbits(packed, count=width * count, bitorder="little").reshape(count, width)
    return bits @ _WORTH[:width]


def _shifted(hashes: npt.NDArray[np.uint64], right: int) -> npt.NDArray[np.uint64]:
    """Shift hashes to the right, or to the left if `right` is negative; a shift by 64 bits gives 0."""
    if abs(right) >= 64:
        return np.zeros_like(hashes)
    return hashes >> np.uint64(right) if right >= 0 else hashes << np.uint64(-right)
