"""Compiled loops of sketches: their bytes read, and the hashes that two of them share counted."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import int64, kept, loop, lowest_bit, uint64

#: What surrounds the hashes of an encoded sketch: `sketch.codec` says what it is.
_HEAD, _CHECK = 12, 4


@kept
def decode(raw: Any, starts: Any, low_bits: Any, counts: Any, firsts: Any, hashes: Any) -> Any:
    """Read the hashes of sketches as `sketch.codec` writes them.

    Args:
        raw: Their bytes, one sketch after the other; uint8 array that may only be read.
        starts: Where each begins, and where the last ends; int64 array of shape (sketches + 1,).
        low_bits: Bits of the low part of each sketch; int64 array.
        counts: Hashes of each, as its head says.
        firsts: Where they are written to.
        hashes: uint64 array; gets them.

    Returns:
        How many sketches are sound, from the first on: one whose parts are not as long as its head says is not.
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
                # What stands behind the last byte is at least the check sum.
                two = uint64(raw[byte]) | uint64(raw[byte + 1]) << uint64(8)
                hashes[first + i] |= (two >> uint64(width * i & 7) & mask) << done
    return counts.size


@loop
def _unary(raw: Any, at: int, end: int, low: int, count: int, first: int, hashes: Any) -> Any:
    """Write the high parts of hashes; return whether there are as many as there should be."""
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
    """Count the hashes that pairs of documents share.

    Args:
        hashes: uint64 array, those of each document ascending.
        starts_a: int64 array of shape (pairs,): where those of the first documents begin; and so on.
        counts_a: How many of them to look at.
        starts_b: The same of the second documents.
        counts_b: And how many.
        shared: int64 array of shape (pairs,); gets the numbers.
    """
    for pair in range(shared.size):
        at_a, at_b = starts_a[pair], starts_b[pair]
        end_a, end_b = at_a + counts_a[pair], at_b + counts_b[pair]
        count = 0
        while at_a < end_a and at_b < end_b:
            one, other = hashes[at_a], hashes[at_b]
            # Without a branch: which of the two is smaller is a coin toss.
            count += one == other
            at_a += one <= other
            at_b += other <= one
        shared[pair] = count
