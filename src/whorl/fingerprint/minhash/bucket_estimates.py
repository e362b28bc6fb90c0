"""Estimates the overlap of two documents from MinHash tokens alone, for indexes without sketches.

The index keeps the smallest hash of every bucket of a document, but not the document's size. Two documents are compared
bucket by bucket. An empty bucket counts as infinity, even if rotation filled it. Let A have a shingles and B have b
shingles, and let them share I. For any sizes, the number of shared buckets then has exactly these distributions:

    given the M buckets that A fills with a hash not above B's    shared ~ Hypergeometric(a, I, M)
    given the M buckets that B fills with a hash not above A's    shared ~ Hypergeometric(b, I, M)
    given the M buckets that A or B fills                         shared ~ Hypergeometric(a + b - I, I, M)

The reason: the M smallest hashes are a uniform sample of the shingles of A, of B, or of their union. A bucket is shared
if both documents have the shingle of its smallest hash. So shared / M is an unbiased estimate of I / a, of I / b, and
of the Jaccard similarity; the usual shared / 512 is biased.

Sizes are estimated from the tokens. Let v be the position of a hash in its bucket, from 0 to 1, and 1 for an empty
bucket. The estimate is buckets * filled / sum(v); its standard deviation is 3 to 4.5 % (512 buckets). The size matters
only for small documents, whose tokens are a large sample. To be safe, the code adds a tenth to an estimated size.

Suppose that B has the shingle of a token of A. Then B also has the token with probability (1 - v / buckets) ** (b - I):
none of its b - I other shingles may have a smaller hash in the bucket. So a search looks up tokens with small positions
first. It also limits the size of B, because a much larger document has smaller hashes than A in most buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.statistics.hypergeometric import Bools, Counts, Floats, reaches
from whorl.fingerprint.statistics.metric import Metric, Shares, least_overlap
from whorl.fingerprint.statistics.overlap_estimates import CONFIDENCE, Estimate, overlap_interval

#: Safety factor for estimated sizes: it adds about two standard deviations.
MARGIN = 1.1
_EMPTY = np.iinfo(np.uint64).max
_WORD_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """A document's signature by bucket, without the repeats of rotation.

    Args:
        minima: Smallest hash of each bucket; 2**64 - 1 for an empty bucket.
        positions: Position of each hash within its bucket's range of hash values, in [0, 1]; 1 for an empty bucket.
        is_filled: Mask of the buckets that had a hash before rotation filled the empty buckets.
        is_known: Mask of the buckets whose content is known; estimates ignore the other buckets.
    """

    minima: npt.NDArray[np.uint64]
    positions: Floats
    is_filled: Bools
    is_known: Bools

    @property
    def size(self) -> int:
        return _size(self.positions, self.is_filled, self.is_known)


def buckets_of(minima: npt.NDArray[np.uint64], is_known: Bools | None = None) -> Buckets:
    """Return the buckets of a signature that has one 64-bit hash for each bucket.

    A bucket is empty if its hash is outside the bucket's range, for example copied by rotation. `is_known` is
    False for the buckets whose hashes an index has lost.
    """
    if not minima.size:
        raise ParameterError("a text of fewer words than one shingle has no buckets; it cannot be compared")
    width = -(-(1 << _WORD_BITS) // minima.size)
    words = minima >> np.uint64(_WORD_BITS)
    known = np.ones(minima.shape, dtype=np.bool_) if is_known is None else is_known
    is_filled = known & (words // np.uint64(width) == np.arange(minima.size, dtype=np.uint64))
    offset = minima - (np.arange(minima.size, dtype=np.uint64) * np.uint64(width) << np.uint64(_WORD_BITS))
    positions = np.where(is_filled, offset / float(width << _WORD_BITS), 1.0)
    return Buckets(np.where(is_filled, minima, _EMPTY), positions, is_filled, known)


@dataclass(frozen=True, slots=True)
class BucketOverlaps:
    """Comparison of a source's buckets with the buckets of each hit; int64 arrays of shape (hits,).

    Args:
        source_size: Number of distinct shingles of the source; an estimate unless `is_source_size_known`.
        sizes: Estimated number of distinct shingles of the hit.
        union_sizes: Estimated number of distinct shingles of source and hit together.
        source_counts: Number of filled buckets of the source whose minimum is at most the hit's.
        counts: Number of filled buckets of the hit whose minimum is at most the source's.
        union_counts: Number of buckets that the source or the hit fills.
        shared: Number of filled buckets with the same minimum in both.
    """

    source_size: int
    is_source_size_known: bool
    sizes: Counts
    union_sizes: Counts
    source_counts: Counts
    counts: Counts
    union_counts: Counts
    shared: Counts


def compare_buckets(source: Buckets, hits: Sequence[Buckets], source_size: int | None = None) -> BucketOverlaps:
    """Compare the buckets of a source and each hit; `source_size` is the source's exact size, if known."""
    for hit in hits:
        if hit.minima.size != source.minima.size:
            raise SchemeMismatchError(
                f"signatures of {source.minima.size} and {hit.minima.size} buckets cannot be compared"
            )
    shape = (len(hits), source.minima.size)
    minima = np.array([hit.minima for hit in hits], dtype=np.uint64).reshape(shape)
    is_filled = np.array([hit.is_filled for hit in hits], dtype=np.bool_).reshape(shape)
    is_known = np.array([hit.is_known for hit in hits], dtype=np.bool_).reshape(shape) & source.is_known
    positions = np.minimum(np.array([hit.positions for hit in hits]).reshape(shape), source.positions)
    own_filled, is_filled = source.is_filled & is_known, is_filled & is_known
    either = own_filled | is_filled
    unions = [_size(*rows) for rows in zip(positions, either, is_known, strict=True)]
    return BucketOverlaps(
        source.size if source_size is None else source_size,
        source_size is not None,
        np.array([hit.size for hit in hits], dtype=np.int64),
        np.array(unions, dtype=np.int64),
        (own_filled & (source.minima <= minima)).sum(axis=1),
        (is_filled & (minima <= source.minima)).sum(axis=1),
        either.sum(axis=1),
        (own_filled & is_filled & (source.minima == minima)).sum(axis=1),
    )


def judge_buckets(overlaps: BucketOverlaps, metric: Metric, threshold: Fraction, recall: Fraction) -> Bools:
    """Return a mask of the candidates to keep.

    A candidate just at the threshold is kept with a probability near `recall`.
    """
    population, drawn = _population_and_draws(overlaps, metric)
    # If a document is just at the threshold, the shared shingles are this fraction of the population.
    part = metric.as_jaccard(threshold) or threshold
    needed = np.array([least_overlap(Metric.A_IN_B, part, size, size) for size in population.tolist()], dtype=np.int64)
    return reaches(population, needed, drawn, overlaps.shared, recall)


def estimate_buckets(overlaps: BucketOverlaps) -> tuple[Estimate, ...]:
    """Estimate the shares of a source and its hits, with intervals. Sizes and confidence are approximate."""
    columns: list[list[list[float]]] = []
    for metric in (Metric.JACCARD, Metric.A_IN_B, Metric.B_IN_A):
        population, drawn = _population_and_draws(overlaps, metric)
        is_union = np.zeros(population.shape, dtype=np.bool_)
        most = population - drawn + overlaps.shared
        least, largest = overlap_interval(population, is_union, drawn, overlaps.shared, most, CONFIDENCE)
        value = overlaps.shared / np.maximum(drawn, 1)
        low, high = np.minimum(least / population, value), np.maximum(largest / population, value)
        columns.append([value.tolist(), low.tolist(), high.tolist()])
    values, lows, highs = (map(Shares, *column) for column in zip(*columns, strict=True))
    counts = (part.tolist() for part in (overlaps.shared, overlaps.source_counts, overlaps.sizes))
    return tuple(
        Estimate(shares, low, high, shared, source_count, overlaps.source_size, size, is_exact=False)
        for shares, low, high, shared, source_count, size in zip(values, lows, highs, *counts, strict=True)
    )


def _population_and_draws(overlaps: BucketOverlaps, metric: Metric) -> tuple[Counts, Counts]:
    """Return the population and sample size of the hypergeometric distribution of the shared buckets.

    The population is the number of shingles of the text or union that the metric refers to, but at least the sample
    size. An estimated number of shingles is first multiplied by MARGIN.
    """
    size, sizes = overlaps.source_size, overlaps.sizes
    if metric.bounds_sizes:
        population, drawn = _with_margin(overlaps.union_sizes), overlaps.union_counts
    else:
        # The metric is a share of the shingles of one text; for CONTAINMENT, of the smaller text.
        is_of_hit = sizes < size if metric is Metric.CONTAINMENT else np.full(sizes.shape, metric is Metric.B_IN_A)
        of_source = size if overlaps.is_source_size_known else _with_margin(size)
        population = np.where(is_of_hit, _with_margin(sizes), of_source)
        drawn = np.where(is_of_hit, overlaps.counts, overlaps.source_counts)
    return np.maximum(1, np.maximum(population, drawn)), drawn


def _with_margin(estimated_size: Counts | int) -> Counts:
    return (np.asarray(estimated_size) * MARGIN).astype(np.int64) + 1


def _size(positions: Floats, is_filled: Bools, is_known: Bools) -> int:
    filled = int(is_filled[is_known].sum())
    return max(filled, round(positions.size * filled / positions[is_known].sum())) if filled else 0
