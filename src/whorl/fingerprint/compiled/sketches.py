"""Compiled loops of sketches: decoding, and counting of shared hashes."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import int64, kept, loop, lowest_bit, uint64

#: Size of an encoded sketch's head and checksum; see `sketch.codec`.
_HEAD, _CHECK = 12, 4


@kept
def decode(raw: Any, starts: Any, low_bits: Any, counts: Any, firsts: Any, hashes: Any) -> Any:
    """Decode the hashes of sketches written by `sketch.codec`.

    Args:
        raw: Encoded sketches, concatenated; read-only uint8 array.
        starts: Start of each sketch, and end of the last; int64 array of shape (sketches + 1,).
        low_bits: Bits of the low part of each sketch; int64 array.
        counts: Number of hashes of each sketch, from its head.
        firsts: First output index of each sketch.
        hashes: Output; uint64 array.

    Returns:
        Number of valid sketches before the first invalid one, whose parts do not have the lengths of its head.
    """
    for sketch in range(counts.size):
        at, low, count, first = starts[sketch] + _HEAD, low_bits[sketch], counts[sketch], firsts[sketch]
        whole, width = low // 8, low % 8
        unary, end = at + whole * count + (width * count + 7) // 8, starts[sketch + 1] - _CHECK
        if not _unary(raw, unary, end, low, count, first, hashes):
            return sketch
        done = uint64(0)
        for size in (8, 4, 2, 1):
            if whole & size:
                for i in range(count):
                    for byte in range(size):
                        digit = uint64(raw[at + size * i + byte])
                        hashes[first + i] |= digit << (done + uint64(8 * byte))
                at, done = at + size * count, done + uint64(8 * size)
        if width:
            mask = uint64((1 << width) - 1)
            for i in range(count):
                byte = at + (width * i >> 3)
                # At least the checksum follows the last byte, so byte + 1 exists.
                two = uint64(raw[byte]) | uint64(raw[byte + 1]) << uint64(8)
                hashes[first + i] |= (two >> uint64(width * i & 7) & mask) << done
    return counts.size


@loop
def _unary(raw: Any, at: int, end: int, low: int, count: int, first: int, hashes: Any) -> Any:
    """Decode the high parts of hashes; return whether their number is right."""
    if at > end:
        return False
    found = 0
    for byte in range(at, end):
        bits = uint64(raw[byte])
        while bits:
            if found == count:
                return False
            high = uint64(8 * (byte - at) + int64(lowest_bit(bits)) - found)
            hashes[first + found] = high << uint64(low) if low < 64 else uint64(0)
            bits &= bits - uint64(1)
            found += 1
    return found == count


@kept
def count_shared(hashes: Any, starts_a: Any, counts_a: Any, starts_b: Any, counts_b: Any, shared: Any) -> None:
    """Count the shared hashes of pairs of documents.

    Args:
        hashes: uint64 array, ascending within each document.
        starts_a: Start of the first document's hashes of each pair; int64 array of shape (pairs,), like the next three.
        counts_a: Number of them to compare.
        starts_b: Start of the second document's hashes.
        counts_b: Number of them to compare.
        shared: int64 array of shape (pairs,); receives the counts.
    """
    for pair in range(shared.size):
        at_a, at_b = starts_a[pair], starts_b[pair]
        end_a, end_b = at_a + counts_a[pair], at_b + counts_b[pair]
        count = 0
        while at_a < end_a and at_b < end_b:
            one, other = hashes[at_a], hashes[at_b]
            # Branch-free, because the comparison is unpredictable.
            count += one == other
            at_a += one <= other
            at_b += other <= one
        shared[pair] = count
