"""Compiled loops that hash shingles, take the minimum of each MinHash bucket, and sort 64-bit hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from whorl.fingerprint.compiled.jit import cached, element, get, inlined, int64, loop, splat, uint64

#: Number of shingles to sort by length at a time.
SHINGLE_BATCH = 2048
#: Number of shingles of about equal length to hash at a time, in parallel lanes of the processor.
LANES = 8
#: Number of length classes. The shingles of a class have the same number of 16-byte blocks; the last class has all
#: longer shingles, which are hashed one by one.
LENGTH_CLASSES = 128
_HASHES = SHINGLE_BATCH + LANES * LENGTH_CLASSES
#: First of the LANES slots that are used to hash long shingles one by one. They are the extra slots of the last length
#: class, which needs none.
_SPARE = _HASHES - LANES
#: Average number of moves per number above which heap sort replaces insertion sort; only crafted input reaches it.
_MOST_MOVES = 64

#: Constants of murmur3 x64 128 (Austin Appleby, public domain).
_C1, _C2 = uint64(0x87C37B91114253D5), uint64(0x4CF5AD432745937F)
_N1, _N2 = uint64(0x52DCE729), uint64(0x38495AB5)
_M1, _M2 = uint64(0xFF51AFD7ED558CCD), uint64(0xC4CEB9FE1A85EC53)


@intrinsic
def _hash8(
    typing: Any, words: Any, places: Any, lengths: Any, lane: Any, blocks: Any, masks: Any, add: Any, hashes: Any
) -> Any:
    """Write Lucene's hashes of eight shingles to hashes[lane : lane + 8].

    The shingles have the same number of 16-byte blocks, and are hashed in parallel lanes: eight 64-bit numbers fill one
    register of AVX-512. LLVM does not vectorise a plain loop, because the arrays might overlap.
    """
    lanes, number, pair = ir.VectorType(ir.IntType(64), LANES), ir.IntType(64), ir.VectorType(ir.IntType(64), 2)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words, places, lengths, lane, blocks, masks, add, hashes = arguments

        def every(value: int) -> Any:
            return ir.Constant(lanes, [value] * LANES)

        def rotate(value: Any, by: int) -> Any:
            return builder.or_(builder.shl(value, every(by)), builder.lshr(value, every(64 - by)))

        def place(position: int, array: Any, index: Any) -> Any:
            return element(context, builder, signature.args[position], array, index)

        def vector_at(position: int, array: Any, index: Any) -> Any:
            value = builder.load(builder.bitcast(place(position, array, index), lanes.as_pointer()))
            value.align = 8
            return value

        def columns(pointers: list[Any]) -> tuple[Any, Any]:
            """Load 16 bytes from each position; return a vector of the first halves and one of the second halves."""
            rows = []
            for pointer in pointers:
                row = builder.load(builder.bitcast(pointer, pair.as_pointer()))
                row.align = 2
                rows.append(row)
            while len(rows) > 2:
                width = rows[0].type.count
                joined = ir.Constant(ir.VectorType(ir.IntType(32), 2 * width), list(range(2 * width)))
                rows = [builder.shuffle_vector(*two, joined) for two in zip(rows[::2], rows[1::2], strict=True)]
            picks = (
                ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(half, 2 * LANES, 2))) for half in (0, 1)
            )
            first, second = (builder.shuffle_vector(*rows, pick) for pick in picks)
            return first, second

        def mix(value: Any) -> Any:
            for factor in (_M1, _M2):
                value = builder.xor(value, builder.lshr(value, every(33)))
                value = builder.mul(value, every(int(factor)))
            return builder.xor(value, builder.lshr(value, every(33)))

        def scramble(value: Any, one: Any, by: int, other: Any) -> Any:
            return builder.mul(rotate(builder.mul(value, every(int(one))), by), every(int(other)))

        size = vector_at(2, lengths, lane)
        numbers = [builder.add(lane, ir.Constant(number, i)) for i in range(LANES)]
        starts = [place(0, words, builder.load(place(1, places, index))) for index in numbers]
        first_state, second_state = (cgutils.alloca_once(builder, lanes) for _ in range(2))
        builder.store(every(0), first_state)
        builder.store(every(0), second_state)
        with cgutils.for_range(builder, blocks) as loop:
            offset = builder.mul(loop.index, ir.Constant(number, 8))
            low, high = columns([builder.gep(start, [offset]) for start in starts])
            first, second = builder.load(first_state), builder.load(second_state)
            first = builder.xor(first, scramble(low, _C1, 31, _C2))
            first = builder.add(rotate(first, 27), second)
            first = builder.add(builder.mul(first, every(5)), every(int(_N1)))
            second = builder.xor(second, scramble(high, _C2, 33, _C1))
            second = builder.add(rotate(second, 31), first)
            second = builder.add(builder.mul(second, every(5)), every(int(_N2)))
            builder.store(first, first_state)
            builder.store(second, second_state)
        first, second = builder.load(first_state), builder.load(second_state)
        offset = builder.mul(blocks, ir.Constant(number, 8))
        low, high = columns([builder.gep(start, [offset]) for start in starts])
        rests = builder.shl(builder.and_(size, every(7)), every(1))
        low_mask, high_mask = columns(
            [place(5, masks, builder.extract_element(rests, ir.Constant(ir.IntType(32), i))) for i in range(LANES)]
        )
        second = builder.xor(second, scramble(builder.and_(high, high_mask), _C2, 33, _C1))
        first = builder.xor(first, scramble(builder.and_(low, low_mask), _C1, 31, _C2))
        size = builder.shl(size, every(1))
        first, second = builder.xor(first, size), builder.xor(second, size)
        first = builder.add(first, second)
        second = builder.add(second, first)
        first, second = mix(first), mix(second)
        first = builder.add(first, second)
        second = builder.add(second, first)
        for half, value in enumerate((second, first)):
            added = builder.load(place(6, add, ir.Constant(number, 1 - half)))
            value = builder.add(builder.mul(value, every(37)), splat(builder, added, lanes))
            index = builder.add(lane, ir.Constant(number, half * _HASHES))
            store = builder.store(value, builder.bitcast(place(7, hashes, index), lanes.as_pointer()))
            store.align = 8
        return context.get_dummy_value()

    return types.void(words, places, lengths, types.int64, types.int64, masks, add, hashes), generate


@loop
def _hash_some(
    words: Any, starts: Any, batch: int, batch_end: int, size: int, numbers: Any, masks: Any, scratch: Any
) -> Any:
    """Hash the shingles that begin at the words from `batch` to `batch_end`; return the number of filled slots.

    A slot is an index into the arrays of `scratch`. It gets the first word of a shingle, and both halves of its hash.
    Slots are grouped by length class, not in text order. Each class but the last has a multiple of LANES slots; the
    extra slots repeat a shingle. A batch has at most SHINGLE_BATCH words.
    """
    places, lengths, hashes, slots, begins = scratch
    slots[:] = 0
    for i in range(batch, batch_end):
        blocks = (int64(get(starts, i + size)) - 1 - int64(get(starts, i))) >> 3
        slots[uint64(min(blocks, LENGTH_CLASSES - 1) + 1)] += 1
    # Find the first slot of each class, with the sizes of the classes rounded up to multiples of LANES.
    for i in range(1, LENGTH_CLASSES + 1):
        slots[i] = slots[i - 1] + ((slots[i] + LANES - 1) & -LANES)
    for i in range(batch, batch_end):
        start = int64(get(starts, i))
        length = int64(get(starts, i + size)) - 1 - start
        kind = uint64(min(length >> 3, LENGTH_CLASSES - 1))
        slot = uint64(slots[kind])
        places[slot], lengths[slot], begins[slot] = start, length, i
        slots[kind] += 1
    slot = 0
    for blocks in range(LENGTH_CLASSES - 1):
        # Fill the class with copies of its first shingle, up to a multiple of LANES.
        while slots[blocks] & (LANES - 1):
            last = slots[blocks]
            places[last], lengths[last], begins[last] = places[slot], lengths[slot], begins[slot]
            slots[blocks] += 1
        while slot < slots[blocks]:
            _hash8(words, places, lengths, slot, blocks, masks, numbers, hashes)
            slot += LANES
    while slot < slots[LENGTH_CLASSES - 1]:
        # Hash a long shingle in all lanes at the end of the arrays, where no class has slots.
        places[_SPARE:] = places[slot]
        lengths[_SPARE:] = lengths[slot]
        _hash8(words, places, lengths, _SPARE, lengths[slot] >> 3, masks, numbers, hashes)
        hashes[slot], hashes[_HASHES + slot] = hashes[_SPARE], hashes[_HASHES + _SPARE]
        slot += 1
    return slot


@cached
def update_minima(
    words: Any, starts: Any, counts: Any, size: int, numbers: Any, masks: Any, minima: Any, filled: Any, shingles: Any,
    scratch: Any,
) -> None:  # fmt: skip
    """Update the bucket minima of texts with the hashes of their shingles.

    Args:
        words: Units of the words, each word followed by a space, and PADDING more units.
        starts: Start of each word, and the end of the last.
        counts: Number of words before each text, and at the end the number of all words.
        size: Words per shingle.
        numbers: Four numbers: two that Lucene adds to the halves of every hash; the size of a bucket, which is a range
            of values of a hash's top 32 bits; and the right shift that turns a hash into its bucket number, or 0 if
            this takes a division.
        masks: Bit masks for the last, incomplete block of a shingle; see `kernel._MASKS`.
        minima: Smallest hash of each text and bucket so far, as high half and low half; updated.
        filled: Whether each bucket of each text is filled; updated.
        shingles: Number of shingles of each text so far; updated.
        scratch: Result of `make_scratch`.
    """
    hashes = scratch[2]
    bucket_size, shift = numbers[2], numbers[3]
    for text in range(counts.size - 1):
        smallest, full = minima[text], filled[text]
        end = counts[text + 1] - size + 1
        shingles[text] += max(0, end - counts[text])
        for batch in range(counts[text], end, SHINGLE_BATCH):
            slot = _hash_some(words, starts, batch, min(end, batch + SHINGLE_BATCH), size, numbers, masks, scratch)
            for i in range(slot):
                high, low = get(hashes, i), get(hashes, _HASHES + i)
                bucket = high >> shift if shift else (high >> uint64(32)) // bucket_size
                old_high, old_low = smallest[bucket, 0], smallest[bucket, 1]
                # Select without a branch: the processor would often mispredict branches for short texts.
                is_lower = (high < old_high) | ((high == old_high) & (low < old_low))
                smallest[bucket, 0] = high if is_lower else old_high
                smallest[bucket, 1] = low if is_lower else old_low
                full[bucket] = True


@cached
def ordered_halves(
    words: Any, starts: Any, counts: Any, size: int, numbers: Any, masks: Any, half: int, out: Any, scratch: Any
) -> None:
    """Write one half of each shingle's hash to `out`, at the index of the shingle's first word.

    Shingles that cross the border between two texts are included. `half` is 0 for the high half, 1 for the low half.
    `out` is a uint64 array with an element for each word. The other arguments are the same as in `update_minima`.
    """
    hashes, begins = scratch[2], scratch[4]
    end = counts[counts.size - 1] - size + 1
    for batch in range(counts[0], end, SHINGLE_BATCH):
        slot = _hash_some(words, starts, batch, min(end, batch + SHINGLE_BATCH), size, numbers, masks, scratch)
        for i in range(slot):
            out[uint64(begins[i])] = get(hashes, half * _HASHES + i)


@loop
def put_in_order(numbers: Any, first: int, count: int, lead: int, out: Any, at: int, heads: Any) -> None:
    """Write numbers[first : first + count] to out[at:] in ascending order.

    The numbers have `lead` high bits in common; the other bits should be evenly distributed. A bucket sort puts each
    number near its position, and an insertion sort completes the order. `heads` is scratch space of about `count` + 1
    elements.
    """
    buckets = min(count, heads.size - 1)
    for i in range(buckets + 1):
        heads[uint64(i)] = 0
    for i in range(count):
        heads[uint64(_bucket(get(numbers, first + i), lead, buckets) + 1)] += 1
    for i in range(buckets):
        heads[uint64(i + 1)] += heads[uint64(i)]
    for i in range(count):
        number = get(numbers, first + i)
        bucket = uint64(_bucket(number, lead, buckets))
        out[uint64(at + heads[bucket])] = number
        heads[bucket] += 1
    sort(out, at, count)


@loop
def sort(numbers: Any, at: int, count: int) -> None:
    """Sort numbers[at : at + count] in place; fast for few or nearly sorted numbers."""
    moves = count * _MOST_MOVES
    for i in range(at + 1, at + count):
        number, place = get(numbers, i), i
        while place > at and get(numbers, place - 1) > number:
            numbers[uint64(place)] = get(numbers, place - 1)
            place -= 1
        numbers[uint64(place)] = number
        moves -= i - place
        if moves < 0:
            _heap_sort(numbers, at, count)
            break


@inlined
def _bucket(number: Any, lead: int, count: int) -> Any:
    return int64((((number << uint64(lead)) >> uint64(32)) * uint64(count)) >> uint64(32))


@loop
def _heap_sort(numbers: Any, at: int, count: int) -> None:
    for end in range(count + count // 2, 0, -1):
        # First build a heap with the largest number on top, then repeatedly move the largest number to the end.
        root, size = (end - count - 1, count) if end > count else (0, end - 1)
        if end <= count:
            numbers[at], numbers[at + end - 1] = numbers[at + end - 1], numbers[at]
        child = 2 * root + 1
        while child < size:
            if child + 1 < size and numbers[at + child + 1] > numbers[at + child]:
                child += 1
            if numbers[at + root] >= numbers[at + child]:
                break
            numbers[at + root], numbers[at + child] = numbers[at + child], numbers[at + root]
            root, child = child, 2 * child + 1


@cached
def distinct(
    words: Any, starts: Any, counts: Any, size: int, numbers: Any, masks: Any, highs: Any, aside: Any, heads: Any,
    sizes: Any, scratch: Any,
) -> Any:  # fmt: skip
    """Write the distinct hashes of each text's shingles in ascending order, text by text; return their number.

    `highs`, a uint64 array with an element for each word, receives the high halves of the hashes. `sizes`, an int64
    array of shape (texts,), receives the number of hashes of each text. `aside` is scratch space with the type and size
    of `out` in `ordered_halves`. `heads` is int64 scratch space, one element longer than `highs`. The other arguments
    are the same as in `update_minima`.
    """
    # This also hashes shingles that cross the border between two texts; the loop below skips them.
    ordered_halves(words, starts, counts, size, numbers, masks, 0, aside, scratch)
    total = 0
    for text in range(counts.size - 1):
        first = counts[text]
        shingles = max(0, counts[text + 1] - size + 1 - first)
        put_in_order(aside, first, shingles, 0, highs, total, heads)
        end = total + shingles
        begin = total
        for i in range(begin, end):
            number = get(highs, i)
            if total == begin or get(highs, total - 1) != number:
                highs[uint64(total)] = number
                total += 1
        sizes[text] = total - begin
    return total


@cached
def rotate(minima: Any, filled: Any) -> None:
    """Copy the hash of the next filled bucket to each empty bucket, wrapping around; skip texts without any hash."""
    for text in range(minima.shape[0]):
        buckets = minima.shape[1]
        following = 0
        while following < buckets and not filled[text, following]:
            following += 1
        if following == buckets:
            continue
        for bucket in range(buckets - 1, -1, -1):
            if filled[text, bucket]:
                following = bucket
            else:
                minima[text, bucket, 0] = minima[text, following, 0]
                minima[text, bucket, 1] = minima[text, following, 1]


def make_scratch() -> tuple[NDArray[Any], ...]:
    """Allocate the arrays `places`, `lengths`, `hashes`, `slots` and `begins` of `_hash_some`."""
    return (
        np.zeros(_HASHES, np.int64),
        np.zeros(_HASHES, np.int64),
        np.empty(2 * _HASHES, np.uint64),
        np.zeros(LENGTH_CLASSES + 1, np.int64),
        np.zeros(_HASHES, np.int64),
    )
