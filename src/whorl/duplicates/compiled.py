"""The compiled loop of `overlap`: ascending hashes of two documents, merged."""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import kept


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
