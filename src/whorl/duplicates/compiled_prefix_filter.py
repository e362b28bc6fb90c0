"""Compiled (numba) loops that collect shared hashes and mark each document's rarest hashes.

`prefix_filter` calls the loops, and describes the algorithm. A member is a document that takes part in the comparison.
Members are numbered in the order of their sizes. An entry is a 64-bit integer for one hash of one member: the upper
bits have the hash, and the lower bits have the member number. A part has all entries with the same leading bits; each
part is sorted separately.
"""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import cached, get, int64, loop, uint64
from whorl.fingerprint.compiled.shingle_hash_loops import put_in_order, sort


@cached
def make_entries(
    hashes: Any, numbers: Any, cursors: Any, ends: Any, state: Any, upto: int, last: Any, bits: Any, parts: Any,
    made_entries: Any,
) -> None:  # fmt: skip
    """Write an entry for each hash up to `last`, one member after another; count the entries of each part.

    Args:
        hashes: Hashes of all members, one member after another, ascending within each.
        numbers: Number of each member; the lower bits of the member's entries contain it.
        cursors: Offset in `hashes` of each member's first hash that is not yet read; updated.
        ends: Offset after each member's last hash.
        state: Index of the first member to read, and number of entries written; updated. The loop stops if
            `made_entries` is full.
        upto: Index after the last member to read.
        last: Largest hash to read.
        bits: Three numbers: right shift of the hashes, width of a member number in bits, and number of leading bits
            that all entries share.
        parts: Receives the number of entries in each part: element i + 1 counts the entries of part i. The number of
            parts is a power of two.
        made_entries: Receives the entries.
    """
    shift, part_shift = uint64(bits[0]), _part_shift(parts)
    member_bits, lead = uint64(bits[1]), uint64(bits[2])
    count = state[1]
    for member in range(state[0], min(upto, cursors.size)):
        at, end, number = cursors[member], ends[member], uint64(numbers[member])
        while at < end and count < made_entries.size and get(hashes, at) <= last:
            key = ((get(hashes, at) >> shift) << member_bits) | number
            parts[int64((key << lead) >> part_shift) + 1] += 1
            made_entries[uint64(count)] = key
            count += 1
            at += 1
        cursors[member] = at
        if count == made_entries.size:
            # The next call continues with this member.
            state[0], state[1] = member, count
            return
    state[0], state[1] = upto, count


@cached
def distribute_entries(made_entries: Any, bits: Any, parts: Any, entries: Any) -> None:
    """Copy the entries of `make_entries` to `entries`, grouped by part; change the offsets in `parts` to ends."""
    part_shift, lead = _part_shift(parts), uint64(bits[2])
    for i in range(made_entries.size):
        key = get(made_entries, i)
        part = int64((key << lead) >> part_shift)
        entries[uint64(parts[part])] = key
        parts[part] += 1


@cached
def select_shared(
    entries: Any, bits: Any, parts: Any, first: int, upto: int, last_indexable: Any, is_larger: Any, heads: Any,
    keys: Any, frequencies: Any, indexable: Any,
) -> Any:  # fmt: skip
    """Write to `keys` the entries of hashes that can lead to a pair; return the number of entries written.

    A hash can lead to a pair if at least two members have it, at least one of them may have it in its index prefix, and
    at least one of them may be the larger document of a pair (`is_larger`).

    Args:
        parts: End of each part in `entries`, as `distribute_entries` leaves it.
        first, upto: Half-open range of the parts to read.
        last_indexable: Largest hash that each member's index prefix may contain.
        heads: Scratch space.
        frequencies: Receives the number of members with the hash, for each entry in `keys`.
        indexable: Receives whether the index prefix of the entry's member may contain the hash, for each entry in
            `keys`.
    """
    part_shift, member_bits, lead = _part_shift(parts), uint64(bits[1]), int64(bits[2])
    of_members = (uint64(1) << member_bits) - uint64(1)
    begin = parts[first - 1] if first else 0
    total = begin
    for part in range(first, upto):
        end = parts[part]
        # Sort the part into the same range of `keys`, then move the selected entries to the beginning of `keys`. They
        # overwrite only entries that the loop has already read.
        put_in_order(entries, begin, end - begin, lead + 64 - int64(part_shift), keys, begin, heads)
        at = begin
        while at < end:
            token = get(keys, at) >> member_bits
            after = at + 1
            while after < end and get(keys, after) >> member_bits == token:
                after += 1
            if after - at > 1:
                is_indexable = has_larger = False
                for i in range(at, after):
                    member = int64(get(keys, i) & of_members)
                    is_indexable |= token <= last_indexable[member]
                    has_larger |= is_larger[member]
                if is_indexable and has_larger:
                    for i in range(at, after):
                        key = get(keys, i)
                        keys[uint64(total)] = key
                        frequencies[total] = after - at
                        indexable[total] = token <= last_indexable[int64(key & of_members)]
                        total += 1
            at = after
        begin = end
    return total - (parts[first - 1] if first else 0)


@cached
def mark_prefixes(
    keys: Any, frequencies: Any, indexable: Any, member_bits: int, index_lengths: Any, probe_lengths: Any, begins: Any,
    slots: Any, aside: Any, is_indexed: Any, is_probed: Any,
) -> None:  # fmt: skip
    """Mark the entries in each member's index prefix (`is_indexed`) and in its probe prefix (`is_probed`).

    A prefix has the member's rarest hashes; ties go to the smaller hash. The entries come from `select_shared`.
    `index_lengths` and `probe_lengths` have the number of entries in each member's prefixes; an index prefix has only
    indexable entries. `begins` has the offset of each member's entries when they are grouped by member; the function
    overwrites it. `slots` and `aside` are scratch space.
    """
    of_members = (uint64(1) << uint64(member_bits)) - uint64(1)
    # After this loop, each offset in `begins` is the end of the member's entries.
    for i in range(keys.size):
        member = int64(get(keys, i) & of_members)
        slots[begins[member]] = i
        begins[member] += 1
        is_indexed[i] = is_probed[i] = False
    begin = 0
    for member in range(begins.size):
        end = begins[member]
        if index_lengths[member] > 0 or probe_lengths[member] > 0:
            for at in range(begin, end):
                aside[uint64(at - begin)] = uint64(frequencies[slots[at]]) << uint64(32) | uint64(at - begin)
            sort(aside, 0, end - begin)
            rank = 0
            for at in range(begin, end):
                i = slots[begin + int64(aside[at - begin] & uint64(0xFFFFFFFF))]
                is_probed[i] = at - begin < probe_lengths[member]
                if indexable[i]:
                    is_indexed[i] = rank < index_lengths[member]
                    rank += 1
        begin = end


@loop
def _part_shift(parts: Any) -> Any:
    """Return the right shift that leaves an entry's part number, after the shared leading bits were shifted out."""
    bits = 0
    while (1 << bits) < parts.size - 1:
        bits += 1
    return uint64(64 - bits)
