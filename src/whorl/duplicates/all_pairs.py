"""Finds all pairs of similar documents, or enough pairs to connect each cluster (spanning pairs).

The prefix filter yields candidate pairs; this module compares the sketches of the two documents of each pair.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whorl.arrays_and_batches import run_starts
from whorl.connected_components import UnionFind
from whorl.duplicates.options import PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.prefix_filter import PAIRS_AT_ONCE, HashBlock, find_candidates
from whorl.duplicates.prefix_lengths import JoinOptions
from whorl.duplicates.sketch_arrays import Bools, Numbers, Sketches
from whorl.duplicates.verify_by_sketches import verify_pairs
from whorl.request_context import report_progress, require_time

#: Number of pivots: the documents of a block (`HashBlock`) that are compared with the whole block first.
_PIVOTS = 16
#: Number of documents to sample from a block, to see whether most of the block is one cluster.
_SAMPLE = 64


def first_of_equals(keys: Numbers, sizes: Numbers) -> Numbers:
    """Map each document to the first one with an equal key; a document without shingles is mapped to itself."""
    _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.where(sizes > 0, firsts[inverse], np.arange(keys.size))


def find_pairs(
    sketches: Sketches,
    firsts: Numbers,
    options: JoinOptions,
    *,
    known: Pairs,
    is_known: Bools,
    keys: Numbers | None = None,
) -> Pairs:
    """Return all pairs of near-duplicates, except pairs of equal documents.

    Args:
        firsts: Result of `first_of_equals`. Only the first of several equal documents is compared.
        known: Pairs found by an earlier run.
        is_known: Mask of the documents that are not compared with each other: earlier documents, whose pairs are in
            `known`, and reference documents.
        keys: Keys as in `first_of_equals`. Documents of equal size are sorted by key, for a result that does not depend
            on the order of the input.
    """
    indices = np.flatnonzero((firsts == np.arange(len(sketches))) & (sketches.sizes > 0))
    if keys is not None:
        indices = indices[np.argsort(keys[indices])]
    # Renumber the compared documents: from here on, all indices refer to `compared`.
    compared = sketches.select(indices)
    is_new = ~is_known[indices]
    if not is_new.any():
        return known
    batches_found, count = list[Pairs](), len(known)
    spanning = _SpanningPairs(compared, options.pairs, is_new)
    if options.spanning_only:
        index_of = np.full(len(sketches), -1)
        index_of[indices] = np.arange(indices.size)
        spanning.add(known.renumber(index_of))

    def connect_block(hash_block: Numbers) -> bool:
        links, is_decided = spanning.probe_block(hash_block) if options.spanning_only else ([], False)
        batches_found.extend(pairs.renumber(indices) for pairs in links)
        return is_decided

    for batch in find_candidates(compared, options, connect_block):
        if isinstance(batch, HashBlock):
            pairs = Pairs.concatenate(spanning.within_block(batch.indices))
        else:
            is_open = is_new[batch.smaller] | is_new[batch.larger]
            a, b = batch.smaller[is_open], batch.larger[is_open]
            if options.spanning_everywhere:
                pairs = Pairs.concatenate(spanning.among_candidates(a, b, options.workers))
            else:
                pairs = verify_pairs(compared, a, b, options.pairs, options.workers)
                if options.spanning_only:
                    spanning.add(pairs)
        batches_found.append(pairs.renumber(indices))
        count += len(pairs)
        report_progress("comparing", count)
    return Pairs.concatenate([known, *batches_found])


class _SpanningPairs:
    """Finds enough pairs to connect all documents of each cluster (spanning pairs)."""

    def __init__(self, sketches: Sketches, pair_options: PairOptions, is_new: Bools) -> None:
        self._sketches, self._pair_options, self._is_new = sketches, pair_options, is_new
        self._components = UnionFind(len(sketches))

    def add(self, pairs: Pairs) -> None:
        self._components.join(pairs.a, pairs.b)

    def among_candidates(self, a: Numbers, b: Numbers, workers: int) -> Iterator[Pairs]:
        """Yield spanning pairs among the candidate pairs of `a` and `b`; equal elements of `a` must be adjacent.

        Each document of `a` is compared with one of its candidates, then with two more, then with four, and so on, but
        not with candidates in its component. So n near-copies take about n comparisons.
        """
        most = 1
        while a.size:
            is_apart = self._components.find(a) != self._components.find(b)
            a, b = a[is_apart], b[is_apart]
            starts = run_starts(a)
            is_next = np.arange(a.size) < np.repeat(starts + most, np.diff(starts, append=a.size))
            yield self._verify_unconnected(a[is_next], b[is_next], workers)
            a, b, most = a[~is_next], b[~is_next], 2 * most

    def within_block(self, hash_block: Numbers) -> Iterator[Pairs]:
        """Yield spanning pairs within a block. At least one document of each pair is new."""
        yield from self._with_pivots(hash_block)
        for outside, others in self._products_left(hash_block):
            portion = max(1, PAIRS_AT_ONCE // 8 // max(1, others.size))
            for at in range(0, outside.size, portion):
                rows = outside[at : at + portion]
                yield self._verify_unconnected(np.repeat(rows, others.size), np.tile(others, rows.size))

    def probe_block(self, hash_block: Numbers) -> tuple[list[Pairs], bool]:
        """Try to connect a block with few comparisons; return the spanning pairs found, and whether the block is done.

        The method gives up if a sample shows only shared boilerplate, or if too many comparisons remain.
        """
        batches_found: list[Pairs] = []
        outside = self._outside_largest(hash_block[self._is_new[hash_block]], hash_block)
        if outside.size > _PIVOTS:
            sample = hash_block[np.linspace(0, hash_block.size - 1, min(_SAMPLE, hash_block.size)).astype(np.int64)]
            # The smallest and the largest documents of a block are often outliers, so use a document from the middle.
            middle = np.full(sample.size, outside[outside.size // 2])
            batches_found.append(self._verify_unconnected(middle, sample))
            if 2 * np.count_nonzero(self._components.find(sample) == self._components.find(middle)) < sample.size:
                return batches_found, False
            batches_found += self._with_pivots(hash_block)
        left = sum(outside.size * others.size for outside, others in self._products_left(hash_block))
        if left > _PIVOTS * hash_block.size:
            return batches_found, False
        return batches_found + list(self.within_block(hash_block)), True

    def _with_pivots(self, hash_block: Numbers) -> Iterator[Pairs]:
        left = hash_block[self._is_new[hash_block]]
        for _ in range(_PIVOTS):
            left = self._outside_largest(left, hash_block)
            if not left.size:
                break
            yield self._verify_unconnected(np.full(hash_block.size, left[0]), hash_block)
            left = left[1:]

    def _products_left(self, hash_block: Numbers) -> tuple[tuple[Numbers, Numbers], ...]:
        """Return the remaining comparisons of a block as two tuples (A, B): each document of A with each document of B.

        No others are needed: if two documents are not connected, one of them is outside the block's largest component.
        """
        is_new = self._is_new[hash_block]
        new, old = hash_block[is_new], hash_block[~is_new]
        return (self._outside_largest(new, hash_block), hash_block), (self._outside_largest(old, hash_block), new)

    def _outside_largest(self, documents: Numbers, hash_block: Numbers) -> Numbers:
        roots, counts = np.unique(self._components.find(hash_block), return_counts=True)
        return documents[self._components.find(documents) != roots[counts.argmax()]] if counts.max() > 1 else documents

    def _verify_unconnected(self, a: Numbers, b: Numbers, workers: int = 1) -> Pairs:
        require_time()
        is_open = self._components.find(a) != self._components.find(b)
        pairs = verify_pairs(self._sketches, a[is_open], b[is_open], self._pair_options, workers)
        self.add(pairs)
        return pairs
