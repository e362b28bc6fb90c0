"""The compiled loops of all pairs: hashes that documents share, found among all and counted of two."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import get, int64, kept, uint64
from whorl.fingerprint.compiled.ordering import put_in_order


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


@kept
def meeting(
    hashes: Any,
    firsts: Any,
    counts: Any,
    lasts: Any,
    is_larger: Any,
    bits: Any,
    parts: Any,
    heads: Any,
    aside: Any,
    keys: Any,
    frequencies: Any,
    offered: Any,
) -> Any:
    """Write the entries of hashes that some member offers and a larger one has, as `candidates._meeting` returns them.

    Args:
        hashes: uint64 array, those of each member ascending.
        firsts: int64 array of shape (members,): where the hashes of each begin.
        counts: How many of them to look at.
        lasts: uint64 array of shape (members,): the largest hash that each offers, shifted as all are.
        is_larger: bool array of shape (members,).
        bits: int64 array: by how much to shift hashes, how many bits are a member's number, how many upper bits of
            all entries are equal.
        parts: int64 array of one more than a power of two, at least 3, which is written on: entries are put in order
            part by part.
        heads: int64 array of more than all entries, which is written on.
        aside: uint64 array of as many as there are, which is written on.
        keys: Another; gets the entries.
        frequencies: int32 array of this shape; gets how many members have the hash.
        offered: bool array of this shape; gets whether the member offers it.

    Returns:
        The number of entries written.
    """
    shift, member_bits, lead = uint64(bits[0]), uint64(bits[1]), uint64(bits[2])
    of_members = (uint64(1) << member_bits) - uint64(1)
    part_bits = 0
    while (1 << part_bits) < parts.size - 1:
        part_bits += 1
    part_shift = uint64(64 - part_bits)
    parts[:] = 0
    for member in range(counts.size):
        for i in range(firsts[member], firsts[member] + counts[member]):
            key = ((get(hashes, i) >> shift) << member_bits) << lead
            parts[int64(key >> part_shift) + 1] += 1
    for part in range(parts.size - 1):
        parts[part + 1] += parts[part]
    for member in range(counts.size):
        for i in range(firsts[member], firsts[member] + counts[member]):
            key = ((get(hashes, i) >> shift) << member_bits) | uint64(member)
            part = int64((key << lead) >> part_shift)
            aside[uint64(parts[part])] = key
            parts[part] += 1
    total = begin = 0
    for part in range(parts.size - 1):
        end = parts[part]
        # What is written never reaches what is still to be read: that is put in order behind it.
        put_in_order(aside, begin, end - begin, int64(lead) + part_bits, keys, begin, heads)
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
                    is_offered |= token <= lasts[member]
                    is_met |= is_larger[member]
                if is_offered and is_met:
                    for i in range(at, after):
                        key = get(keys, i)
                        member = int64(key & of_members)
                        keys[uint64(total)] = key
                        frequencies[total] = after - at
                        offered[total] = token <= lasts[member]
                        total += 1
            at = after
        begin = end
    return total
