"""Loops over 64-bit codes, compiled by numba: sort codes, find near codes and pairs, read and write decimal text.

Some loops read eight codes at a time, so their arrays need PADDING additional codes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from whorl.fingerprint.compiled.jit import cached, call_safely, element, get, int64, lowest_bit, splat, uint64
from whorl.hamming.lookup_tables import PADDING

_LANES = ir.VectorType(ir.IntType(64), 8)


@intrinsic
def _near(typing: Any, array: Any, index: Any, code: Any, distance: Any) -> Any:
    """Return a mask of eight bits: bit i is set if array[index + i] is within `distance` of `code`.

    Each step is one instruction on processors with a population count for vectors.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, code, distance = arguments
        place = element(context, builder, signature.args[0], array, index)
        codes = builder.load(builder.bitcast(place, _LANES.as_pointer()))
        codes.align = 8
        count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_LANES, [_LANES]), "llvm.ctpop.v8i64")
        differing = builder.call(count, [builder.xor(codes, splat(builder, code, _LANES))])
        near = builder.icmp_unsigned("<=", differing, splat(builder, distance, _LANES))
        return builder.zext(builder.bitcast(near, ir.IntType(8)), ir.IntType(64))

    return types.uint64(array, types.int64, types.uint64, types.uint64), generate


@intrinsic
def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(element(context, builder, signature.args[0], *arguments), pointer)
        fetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer, number, number, number]), "llvm.prefetch.p0"
        )
        builder.call(fetch, [place, ir.Constant(number, 0), ir.Constant(number, 3), ir.Constant(number, 1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def _popcount(typing: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@cached
def radix_sort(codes: Any, scratch: Any, low: int, width: int, counts: Any) -> None:
    """Sort codes in place and stably by `width` bits, starting at bit `low`.

    `scratch` is as long as `codes`, and `counts` has room for 2**11 numbers.
    """
    # An even number of passes leaves the result in `codes`: two passes of up to 11 bits, or more of at most 8 bits
    # each.
    passes = 2 if width <= 22 else 2 * ((width + 15) // 16)
    digit = (width + passes - 1) // passes
    done = 0
    source, target = codes, scratch
    for _ in range(passes):
        bits = max(0, min(digit, width - done))
        shift, mask = uint64(min(low + done, 63)), (uint64(1) << uint64(bits)) - uint64(1)
        counts[: (1 << bits)] = 0
        for i in range(source.size):
            counts[int64((source[i] >> shift) & mask)] += 1
        before = 0
        for value in range(1 << bits):
            before, counts[value] = before + counts[value], before
        for i in range(source.size):
            code = source[i]
            value = int64((code >> shift) & mask)
            target[counts[value]] = code
            counts[value] += 1
        source, target = target, source
        done += bits


@cached
def bucket_bounds(codes: Any, low: int, width: int, bounds: Any) -> None:
    """Write to `bounds` the index of each bucket's first code, and the end of the last bucket.

    The codes of a bucket have equal values of `width` bits from bit `low` on. The codes are sorted by these bits.
    `bounds` has room for 2**width + 1 numbers.
    """
    shift, mask = uint64(low), (uint64(1) << uint64(width)) - uint64(1)
    filled = 0
    for i in range(codes.size):
        bucket = int64((codes[i] >> shift) & mask)
        while filled <= bucket:
            bounds[filled] = i
            filled += 1
    while filled < bounds.size:
        bounds[filled] = codes.size
        filled += 1


#: Number of queries to look ahead: their buckets are prefetched into the processor's cache.
_AHEAD = 4


@cached
def find(
    queries: Any, begin: int, tables: Any, bounds: Any, lows: Any, masks: Any, flips: Any, numbers: Any, output: Any,
    counts: Any,
) -> Any:  # fmt: skip
    """Find all codes near each query in lookup tables (see `lookup_tables`), in ascending order.

    Args:
        begin: Index of the first query to answer.
        tables: All tables concatenated, and PADDING additional codes.
        bounds: For each table, the results of `bucket_bounds`, concatenated.
        lows: For each table, the position of the lowest bit of the bucket number.
        masks: For each table, a mask of the bits of a code that form the bucket number.
        flips: XOR masks that turn a query's bucket number into the numbers of the buckets to search.
        numbers: Four numbers: the distance, the radius (maximum number of differing bits between bucket numbers), the
            number of codes per table, and the highest bucket number.
        output: Receives the codes.
        counts: Receives the start of each query's codes in `output`, and then the end of the last query's codes.

    Returns:
        Index of the first unanswered query if `output` is full; otherwise the number of queries.
    """
    distance, radius, size, last_bucket = uint64(numbers[0]), numbers[1], numbers[2], uint64(numbers[3])
    buckets = int64(last_bucket) + 2
    total = counts[begin]
    for number in range(begin, queries.size):
        if number + _AHEAD < queries.size:
            query = get(queries, number + _AHEAD)
            for table in range(lows.size):
                bucket = int64((query >> uint64(lows[table])) & last_bucket)
                start = table * size + int64(get(bounds, table * buckets + bucket))
                _prefetch(tables, start)
                _prefetch(tables, start + 8)
                _prefetch(tables, start + 16)
        query = get(queries, number)
        first = total
        for table in range(lows.size):
            own = int64((query >> uint64(lows[table])) & last_bucket)
            for flip in range(flips.size):
                bucket = table * buckets + (own ^ flips[flip])
                place = table * size + int64(get(bounds, bucket))
                end = table * size + int64(get(bounds, bucket + 1))
                while place < end:
                    near = _near(tables, place, query, distance)
                    if end - place < 8:
                        near &= (uint64(1) << uint64(end - place)) - uint64(1)
                    while near:
                        code = get(tables, place + lowest_bit(near))
                        near &= near - uint64(1)
                        is_new = True
                        for earlier in range(table):
                            if _popcount((code ^ query) & masks[earlier]) <= radius:
                                is_new = False
                        if is_new:
                            if total == output.size:
                                return number
                            slot = total
                            while slot > first and output[slot - 1] > code:
                                output[slot] = output[slot - 1]
                                slot -= 1
                            output[slot] = code
                            total += 1
                    place += 8
        counts[number + 1] = total
    return queries.size


@cached
def pairs(codes: Any, begin: int, numbers: Any, differing: Any, output: Any, state: Any) -> Any:
    """Find near pairs within runs of codes that agree on some bits; return the value of `begin` for the next call.

    Args:
        codes: Codes, and PADDING additional codes. The codes of a run are adjacent.
        begin: Index of the first code to pair with later codes.
        numbers: Three numbers: a mask of the bits that the codes of a run agree on, the distance, and the maximum
            length of a run.
        differing: Bit masks; the codes of a pair must differ in at least one bit of each mask.
        output: Receives the pairs, the smaller code first; at least as many rows as codes in the longest run.
        state: Receives the number of pairs, and 1 if longer runs were skipped.
    """
    lead, distance, longest = numbers[0], numbers[1], int64(numbers[2])
    total, end, size = 0, begin, codes.size - PADDING
    i = begin
    while i < size:
        code = get(codes, i)
        if end <= i:
            end = i + 1
            while end < size and (get(codes, end) ^ code) & lead == uint64(0):
                end += 1
            if end - i > longest:
                state[1] = 1
                i = end
                continue
        before = total
        place = i + 1
        while place < end:
            near = _near(codes, place, code, distance)
            if end - place < 8:
                near &= (uint64(1) << uint64(end - place)) - uint64(1)
            while near:
                other = get(codes, place + lowest_bit(near))
                near &= near - uint64(1)
                is_new = True
                for mask in range(differing.size):
                    if (other ^ code) & differing[mask] == uint64(0):
                        is_new = False
                if is_new:
                    if total == output.shape[0]:
                        state[0] = before
                        return i
                    output[total, 0] = min(code, other)
                    output[total, 1] = max(code, other)
                    total += 1
            place += 8
        i += 1
    state[0] = total
    return size


@cached
def read_numbers(text: Any, codes: Any) -> Any:
    """Read one decimal number per line, ignoring blanks around it; the last line ends in a newline.

    Return the number of lines read, and the offset of the first invalid line (the length of the text if all are valid).
    """
    most, count, i = uint64(0xFFFFFFFFFFFFFFFF), 0, 0
    while i < text.size:
        start = i
        while text[i] == 32 or (9 <= text[i] <= 13 and text[i] != 10):
            i += 1
        number, digits, fits = uint64(0), 0, True
        while 48 <= text[i] <= 57:
            digit = uint64(text[i] - 48)
            if digits > 18 and (number > most // uint64(10) or number * uint64(10) > most - digit):
                fits = False
            number = number * uint64(10) + digit
            digits += 1 if number else 0
            i += 1
        has_digits = i > start and 48 <= text[i - 1] <= 57
        while text[i] == 32 or (9 <= text[i] <= 13 and text[i] != 10):
            i += 1
        if text[i] != 10 or not has_digits or not fits:
            return count, start
        codes[count] = number
        count += 1
        i += 1
    return count, i


@cached
def write_groups(codes: Any, ends: Any, text: Any) -> Any:
    """Write groups of numbers as lines such as [1, 2, 3]; return the number of bytes.

    `text` must have room for 22 bytes per number, and 3 per group.
    """
    at = 0
    for group in range(ends.size - 1):
        text[at] = 91  # [
        at += 1
        for i in range(ends[group], ends[group + 1]):
            if i > ends[group]:
                text[at] = 44  # a comma and a blank
                text[at + 1] = 32
                at += 2
            left, digits = codes[i], 1
            power = uint64(10)
            while digits < 20 and left >= power:
                digits += 1
                power *= uint64(10)
            for place in range(digits - 1, -1, -1):
                quotient = left // uint64(10)
                text[at + place] = 48 + int64(left - quotient * uint64(10))
                left = quotient
            at += digits
        text[at] = 93
        text[at + 1] = 10
        at += 2
    return at


def warm_up() -> None:
    call_safely(_call_all)


def _call_all() -> None:
    codes, counts = np.zeros(PADDING, np.uint64), np.zeros(1 << 11, np.int64)
    ends, masks = np.zeros(2, np.int32), np.zeros(1, np.uint64)
    radix_sort(codes[:0], codes[:0], 0, 0, counts)
    bucket_bounds(codes[:0], 0, 0, ends)
    lows, numbers = np.zeros(1, np.int64), np.zeros(4, np.int64)
    find(codes[:1], 0, codes, ends, lows, masks, lows, numbers, codes[:0], counts[:2])
    pairs(codes, 0, np.zeros(3, np.uint64), masks, np.empty((1, 2), np.uint64), counts[:2])
    text = np.array([10], np.uint8)
    read_numbers(text, codes)
    write_groups(codes[:0], counts[:1], text)
