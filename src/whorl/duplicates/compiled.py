"""The compiled loops of all pairs: hashes that documents share, found among all."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import get, int64, kept, loop, uint64
from whorl.fingerprint.compiled.ordering import put_in_order, sort


@kept
def take(
    hashes: Any, numbers: Any, cursors: Any, ends: Any, state: Any, upto: int, last: Any, bits: Any, parts: Any,
    taken: Any,
) -> None:  # fmt: skip
    """Write the entries of some members up to a given hash, one member after the other, and count those of each part.

    Args:
        hashes: uint64 array, those of each member ascending.
        numbers: int64 array of shape (members,): the number that each has in entries.
        cursors: int64 array of this shape: where those of each begin that are left, which is moved on.
        ends: Where they end.
        state: int64 array: the first member, and how many entries are written; gets where it came to. It ends early
            where there is no more room.
        upto: The member behind the last.
        last: The largest hash to look at.
        bits: int64 array: by how much to shift hashes, how many bits are a member's number, how many upper bits of
            all entries are equal.
        parts: int64 array of one more than a power of two, at least 3; what stands in front of each part grows by
            what is found in the one before.
        taken: uint64 array; gets the entries.
    """
    shift, part_shift = uint64(bits[0]), _part_shift(parts)
    member_bits, lead = uint64(bits[1]), uint64(bits[2])
    count = state[1]
    for member in range(state[0], min(upto, cursors.size)):
        at, end, number = cursors[member], ends[member], uint64(numbers[member])
        while at < end and count < taken.size and get(hashes, at) <= last:
            key = ((get(hashes, at) >> shift) << member_bits) | number
            parts[int64((key << lead) >> part_shift) + 1] += 1
            taken[uint64(count)] = key
            count += 1
            at += 1
        cursors[member] = at
        if count == taken.size:
            # There may be more of this one.
            state[0], state[1] = member, count
            return
    state[0], state[1] = upto, count


@kept
def put_in_parts(taken: Any, bits: Any, parts: Any, entries: Any) -> None:
    """Write entries that `take` has written, each into its part.

    Args:
        taken: uint64 array: the entries.
        bits: As in `take`.
        parts: Where each part begins; gets where it ends.
        entries: uint64 array of as many as there are in all.
    """
    part_shift, lead = _part_shift(parts), uint64(bits[2])
    for i in range(taken.size):
        key = get(taken, i)
        part = int64((key << lead) >> part_shift)
        entries[uint64(parts[part])] = key
        parts[part] += 1


@kept
def meeting(
    entries: Any,
    bits: Any,
    parts: Any,
    first: int,
    upto: int,
    offers: Any,
    is_larger: Any,
    heads: Any,
    keys: Any,
    frequencies: Any,
    offered: Any,
) -> Any:
    """Write the entries of hashes that some member offers and a larger one has, as `candidates._meeting` returns them.

    Args:
        entries: As `put_in_parts` has written them.
        bits: The same.
        parts: Where each part ends, and one number more.
        first: The first part to look at; what is found is written from where that begins.
        upto: The one behind the last.
        offers: uint64 array of shape (members,): the largest hash that each offers, shifted as all are.
        is_larger: bool array of shape (members,).
        heads: int64 array, which is written on.
        keys: uint64 array of as many as there are entries; gets them.
        frequencies: int32 array of this shape; gets how many members have the hash.
        offered: bool array of this shape; gets whether the member offers it.

    Returns:
        The number of entries written.
    """
    part_shift, member_bits, lead = _part_shift(parts), uint64(bits[1]), int64(bits[2])
    of_members = (uint64(1) << member_bits) - uint64(1)
    begin = parts[first - 1] if first else 0
    total = begin
    for part in range(first, upto):
        end = parts[part]
        # What is written never reaches what is still to be read: that is put in order behind it.
        put_in_order(entries, begin, end - begin, lead + 64 - int64(part_shift), keys, begin, heads)
        at = begin
        while at < end:
            token = get(keys, at) >> member_bits
            after = at + 1
            while after < end and get(keys, after) >> member_bits == token:
                after += 1
            if after - at > 1:
                is_offered = is_met = False
                for i in range(at, after):
                    member = int64(get(keys, i) & of_members)
                    is_offered |= token <= offers[member]
                    is_met |= is_larger[member]
                if is_offered and is_met:
                    for i in range(at, after):
                        key = get(keys, i)
                        keys[uint64(total)] = key
                        frequencies[total] = after - at
                        offered[total] = token <= offers[int64(key & of_members)]
                        total += 1
            at = after
        begin = end
    return total - (parts[first - 1] if first else 0)


@kept
def count_entries(keys: Any, offered: Any, member_bits: int, met: Any, met_offered: Any) -> None:
    """Count the entries of each member.

    Args:
        keys: As `meeting` writes them.
        offered: bool array of this shape.
        member_bits: How many bits are a member's number.
        met: int64 array of shape (members,); grows by how many entries each has.
        met_offered: The same, of those that are offered.
    """
    of_members = (uint64(1) << uint64(member_bits)) - uint64(1)
    for i in range(keys.size):
        member = int64(get(keys, i) & of_members)
        met[member] += 1
        met_offered[member] += offered[i]


@kept
def leave_out(
    numbers: Any, cursors: Any, ends: Any, counts: Any, offered: Any, least_offered: Any, least_shared: Any,
    is_larger: Any, met: Any, met_offered: Any, is_open: Any,
) -> Any:  # fmt: skip
    """Leave out members that can make no pair any more.

    Args:
        numbers: int64 array of shape (left,): the members that are left; gets those that stay, in their order.
        cursors: Where the hashes of each begin that are left; gets those of the members that stay.
        ends: Where they end; the same.
        counts: int64 array of shape (members,), as are all others: how many hashes are looked at.
        offered: How many of them are offered.
        least_offered: How many of these a larger partner shares.
        least_shared: How many a smaller partner shares.
        is_larger: bool array: who may have one.
        met: How many entries each has so far; becomes 0 of those that are left out.
        met_offered: How many of them are offered; the same.
        is_open: bool array of no member; gets those that stay.

    Returns:
        How many stay.
    """
    count = 0
    for i in range(numbers.size):
        member, left = numbers[i], ends[i] - cursors[i]
        left_offered = max(0, offered[member] - (counts[member] - left))
        is_found = offered[member] > 0 and met_offered[member] + left_offered >= least_offered[member]
        if is_found or (is_larger[member] and met[member] + left >= least_shared[member]):
            numbers[count], cursors[count], ends[count] = member, cursors[i], ends[i]
            is_open[member] = True
            count += 1
        else:
            met[member] = met_offered[member] = 0
    return count


@kept
def rarest(
    keys: Any, frequencies: Any, offered: Any, member_bits: int, found_by: Any, asks: Any, begins: Any, slots: Any,
    aside: Any, is_found_by: Any, is_asked: Any,
) -> None:  # fmt: skip
    """Mark the entries that the prefix filter lets through: of each member the first by frequency, equal ones by hash.

    Args:
        keys: uint64 array, ascending: entries as `meeting` writes them.
        frequencies: int32 array of this shape: how many members have each hash.
        offered: bool array of this shape.
        member_bits: How many bits are a member's number.
        found_by: int64 array of shape (members,): by how many of the offered entries each is found.
        asks: The same: of how many entries each asks.
        begins: int64 array of this shape: how many entries those before each have, which is written on.
        slots: Array of whole numbers, of as many as there are entries, which is written on.
        aside: uint64 array of as many as one member has at most, which is written on.
        is_found_by: bool array of this shape; gets which entries members are found by.
        is_asked: The same: of which they ask.
    """
    of_members = (uint64(1) << uint64(member_bits)) - uint64(1)
    # Where each begins is moved on to where it ends, which is where the next one begins.
    for i in range(keys.size):
        member = int64(get(keys, i) & of_members)
        slots[begins[member]] = i
        begins[member] += 1
        is_found_by[i] = is_asked[i] = False
    begin = 0
    for member in range(begins.size):
        end = begins[member]
        if found_by[member] > 0 or asks[member] > 0:
            for at in range(begin, end):
                aside[uint64(at - begin)] = uint64(frequencies[slots[at]]) << uint64(32) | uint64(at - begin)
            sort(aside, 0, end - begin)
            rank = 0
            for at in range(begin, end):
                i = slots[begin + int64(aside[at - begin] & uint64(0xFFFFFFFF))]
                is_asked[i] = at - begin < asks[member]
                if offered[i]:
                    is_found_by[i] = rank < found_by[member]
                    rank += 1
        begin = end


@loop
def _part_shift(parts: Any) -> Any:
    """Return by how much to shift an entry, whose lead is gone, to get its part."""
    bits = 0
    while (1 << bits) < parts.size - 1:
        bits += 1
    return uint64(64 - bits)
