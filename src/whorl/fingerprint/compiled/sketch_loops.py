"""Compiled loops that decode sketches, and count the hashes that two sketches share."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import cached, get, int64, load8, loop, lowest_bit, uint64

#: Sizes of the header and of the checksum of an encoded sketch, in bytes; see `sketch.frac_minhash`.
_HEAD, _CHECK = 12, 4
_ONES = uint64(0xFFFF_FFFF_FFFF_FFFF)
#: Number of merge steps between two checks that a pair can still share as many hashes as `least` requires.
_STEPS = 16


@cached
def decode(raw: Any, starts: Any, low_bits: Any, counts: Any, firsts: Any, hashes: Any) -> Any:
    """Decode the concatenated sketches of `raw`; return the number of valid sketches before the first invalid one.

    A sketch is invalid if the lengths of its parts contradict its header.

    Args:
        raw: The sketches, and at least eight more bytes.
        starts: Start of each sketch, and the end of the last.
        low_bits: Number of bits of a hash's low part, for each sketch.
        counts: Number of hashes of each sketch, from its header.
        firsts: Index of each sketch's first hash in `hashes`, the output.
    """
    for sketch in range(counts.size):
        at, low, count, first = starts[sketch] + _HEAD, low_bits[sketch], counts[sketch], firsts[sketch]
        whole, width = low // 8, low % 8
        unary, end = at + whole * count + (width * count + 7) // 8, starts[sketch + 1] - _CHECK
        if not _unary(raw, unary, end, low, count, first, hashes):
            return sketch
        done = uint64(0)
        # Unsigned indices are faster: numba does not check whether they are negative.
        for size in (8, 4, 2, 1):
            if whole & size:
                mask = _ONES >> uint64(64 - 8 * size)
                for i in range(count):
                    hashes[uint64(first + i)] |= (load8(raw, at + size * i) & mask) << done
                at, done = at + size * count, done + uint64(8 * size)
        if width:
            mask = uint64((1 << width) - 1)
            for i in range(count):
                low_part = load8(raw, at + (width * i >> 3)) >> uint64(width * i & 7) & mask
                hashes[uint64(first + i)] |= low_part << done
    return counts.size


@loop
def _unary(raw: Any, at: int, end: int, low: int, count: int, first: int, hashes: Any) -> Any:
    """Decode the unary high parts in raw[at:end] to hashes[first:]; return whether there are exactly `count` of them.

    `low` is the number of low bits of a hash, which stay 0.
    """
    if at > end:
        return False
    decoded = 0
    for word in range(at, end, 8):
        bits = load8(raw, word)
        if end - word < 8:
            bits &= _ONES >> uint64(8 * (word + 8 - end))
        while bits:
            if decoded == count:
                return False
            high = uint64(8 * (word - at) + int64(lowest_bit(bits)) - decoded)
            hashes[uint64(first + decoded)] = high << uint64(low) if low < 64 else uint64(0)
            bits &= bits - uint64(1)
            decoded += 1
    return decoded == count


@cached
def count_shared(
    hashes: Any, starts_a: Any, counts_a: Any, starts_b: Any, counts_b: Any, least: Any, shared: Any
) -> None:
    """Count the hashes that the two documents of each pair share, by merging their ranges of `hashes`.

    The starts and counts give each document's range in `hashes`; its hashes ascend. If a pair can no longer reach its
    number in `least`, the loop stops early and writes a smaller count to `shared`.
    """
    for pair in range(shared.size):
        at_a, at_b = starts_a[pair], starts_b[pair]
        end_a, end_b = at_a + counts_a[pair], at_b + counts_b[pair]
        count = 0
        left = min(end_a - at_a, end_b - at_b)
        while left > 0 and count + left >= least[pair]:
            for _ in range(min(left, _STEPS)):
                one, other = get(hashes, at_a), get(hashes, at_b)
                # Add the results of the comparisons instead of branching: the processor would often mispredict the
                # branch.
                count += one == other
                at_a += one <= other
                at_b += other <= one
            left = min(end_a - at_a, end_b - at_b)
        shared[pair] = count
