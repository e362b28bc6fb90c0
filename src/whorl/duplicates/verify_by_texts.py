"""Compares the full texts of a candidate pair if the sketches are too incomplete to decide about the pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.duplicates.options import PairOptions
from whorl.duplicates.pairs import Pairs
from whorl.duplicates.sketch_arrays import Hashes, Numbers
from whorl.duplicates.sketch_store import SketchStore, StoredSketches
from whorl.duplicates.sketching import sketch_key
from whorl.duplicates.verify_by_sketches import measure_pairs
from whorl.fingerprint.sketch.frac_minhash import Sketch
from whorl.request_context import report_progress, require_time

#: Function that returns all 64-bit hashes of texts, ascending, by document id; it omits documents without a text.
ReadHashes: TypeAlias = Callable[[Sequence[str]], Mapping[str, Hashes]]

#: Confidence level of the interval that must lie above the threshold to accept a pair without reading its texts. With
#: only 95 %, the search would wrongly accept too many of the thousands of candidates just below the threshold.
_ACCEPTANCE_CONFIDENCE = 0.9999
#: Maximum number of documents to read at a time, and approximate maximum number of their shingles.
_READ_AT_ONCE, _SHINGLES_AT_ONCE = 64, 500_000


def split_equal_samples(
    store: SketchStore, stored: StoredSketches, pair_options: PairOptions, read: ReadHashes
) -> StoredSketches:
    """Give new keys to documents whose incomplete sketches are equal, because their texts may differ.

    Keys are computed from all hashes of the texts. Documents that are certainly similar enough for a pair keep their
    keys, and so are treated as equal.
    """
    sketches, keys = stored.sketches, stored.keys.copy()
    is_part = sketches.scheme.levels(sketches.sizes) > 0
    distinct_keys, counts = np.unique(keys[is_part & (sketches.sizes > 0)], return_counts=True)
    suspects = np.flatnonzero(is_part & np.isin(keys, distinct_keys[counts > 1]))
    estimates = measure_pairs(sketches, suspects, suspects, _ACCEPTANCE_CONFIDENCE)
    suspects = suspects[estimates.low < pair_options.least_overlap(estimates.sizes_a, estimates.sizes_b)]
    replaced: list[tuple[int, int]] = []
    for at in range(0, suspects.size, _READ_AT_ONCE):
        require_time()
        for index, whole in _read_hashes(store, stored, suspects[at : at + _READ_AT_ONCE], read).items():
            keys[index] = sketch_key(Sketch(store.scheme, whole.size, whole))
            replaced.append((int(keys[index]), int(stored.numbers[index])))
    store.replace_keys(replaced)
    return replace(stored, keys=keys)


def verify_exact(
    store: SketchStore, stored: StoredSketches, pairs: Pairs, pair_options: PairOptions, read: ReadHashes
) -> Pairs:
    """Count the shared shingles of undecided pairs in their texts, and drop the pairs below the threshold."""
    needed = pair_options.least_overlap(pairs.sizes_a, pairs.sizes_b)
    is_open = ~pairs.is_exact & ~(stored.is_paired[pairs.a] & stored.is_paired[pairs.b])
    at = np.flatnonzero(is_open)
    is_open[at] = measure_pairs(stored.sketches, pairs.a[at], pairs.b[at], _ACCEPTANCE_CONFIDENCE).low < needed[at]
    shared, low, high = pairs.shared.copy(), pairs.low.copy(), pairs.high.copy()
    is_pair = np.ones(len(pairs), np.bool_)
    done = 0
    for group in _groups_to_read(np.flatnonzero(is_open), pairs):
        require_time()
        indices = np.unique(np.concatenate([pairs.a[group], pairs.b[group]]))
        hashes = _read_hashes(store, stored, indices, read)
        for at in group.tolist():
            one, other = (hashes.get(int(side[at])) for side in (pairs.a, pairs.b))
            if one is not None and other is not None:
                count = int(np.intersect1d(one, other, assume_unique=True).size)
                shared[at] = low[at] = high[at] = count
                is_pair[at] = count >= needed[at]
        done += group.size
        report_progress("reading whole", done)
    return replace(pairs, shared=shared, low=low, high=high).select(is_pair)


def _read_hashes(store: SketchStore, stored: StoredSketches, indices: Numbers, read: ReadHashes) -> dict[int, Hashes]:
    numbers = stored.numbers[indices].tolist()
    known = store.describe(numbers)
    ids = {index: known[number][0] for index, number in zip(indices.tolist(), numbers, strict=True)}
    hashes = read(list(ids.values()))
    return {index: hashes[document_id] for index, document_id in ids.items() if document_id in hashes}


def _groups_to_read(at: npt.NDArray[np.intp], pairs: Pairs) -> Iterator[npt.NDArray[np.intp]]:
    group: list[int] = []
    documents: set[int] = set()
    shingles = 0
    for pair in at.tolist():
        two = {int(pairs.a[pair]), int(pairs.b[pair])}
        size = 0 if two <= documents else int(pairs.sizes_a[pair] + pairs.sizes_b[pair])
        if group and (len(documents | two) > _READ_AT_ONCE or (size and shingles + size > _SHINGLES_AT_ONCE)):
            yield np.array(group, np.intp)
            group, documents, shingles = [], set(), 0
        group.append(pair)
        documents |= two
        shingles += size
    if group:
        yield np.array(group, np.intp)
