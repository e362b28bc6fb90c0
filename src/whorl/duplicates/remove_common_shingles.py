"""Finds shingles that many of the compared documents share, and removes them from the sketches.

A shingle is common if more than a given number of distinct documents contain it, or if a boilerplate text contains it.
Equal documents are counted as one document, so that a text with many copies does not make its shingles common.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from whorl.arrays_and_batches import chunks, find_sorted, run_starts, sort_distinct
from whorl.duplicates.sketch_arrays import HASH, Bools, Hashes, Numbers, Sketches, map_hashes
from whorl.errors import ParameterError, require_text, require_texts
from whorl.fingerprint.fingerprint_texts import hash_texts
from whorl.fingerprint.shingling import Scheme
from whorl.request_context import require_time
from whorl.search.boilerplate import DEFAULT_ABOVE, common_limit

#: Approximate number of hashes to hold in memory at a time.
_AT_ONCE = 1 << 23


@dataclass(frozen=True, slots=True)
class BoilerplateOptions:
    """Definition of common text (boilerplate), and whether the search ignores it.

    Args:
        above: A shingle is common above this frequency: a number of documents ("50") or a share of the distinct
            documents ("1%"), as `whorl.search.boilerplate.common_limit` reads it. None if only `boilerplate` defines
            common shingles.
        boilerplate: Texts, such as a licence or a menu; all of their shingles are common.
        is_ignored: Whether the search ignores common text. If false, the search compares whole texts, and also reports
            the shares of each pair without common text.

    Raises:
        ParameterError: No definition is given, or the frequency is invalid.
    """

    above: str | None = DEFAULT_ABOVE
    boilerplate: tuple[str, ...] = ()
    is_ignored: bool = False

    def __post_init__(self) -> None:
        if self.above is None and not self.boilerplate:
            raise ParameterError("say which text is common: a number or share of documents, or boilerplate")
        if self.above is not None:
            require_text("above", self.above, "such as '50' or '1%'")
            common_limit(self.above, 0)


def parse_boilerplate_options(
    above: str | None = None, boilerplate: Iterable[str] = (), *, ignore_common: bool = False
) -> BoilerplateOptions | None:
    """Return the boilerplate options for a user's arguments, or None if no argument is given.

    By default, a shingle in more than 1 % of the documents is common.

    Raises:
        ParameterError: The frequency is invalid, or `boilerplate` is not a list of texts.
    """
    if isinstance(boilerplate, Iterable) and not isinstance(boilerplate, str):
        # Make a tuple, because a generator is always true, and an array has no truth value.
        boilerplate = tuple(boilerplate)
    require_texts("boilerplate", boilerplate)
    if above is None and not boilerplate and not ignore_common:
        return None
    default = None if boilerplate else DEFAULT_ABOVE
    return BoilerplateOptions(default if above is None else above, tuple(boilerplate), ignore_common)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSketches:
    """Sketches without the hashes of common shingles, and numbers that describe the removal.

    Args:
        above: A shingle in more than this number of distinct documents is common. None if only boilerplate texts define
            common shingles.
        sketches: Sketches without common hashes. A sketch that is a sample of a very long document is unchanged.
        shingles: Number of distinct common shingles.
        share: Removed hashes as a fraction of all hashes of the sketches, in [0, 1].
        only_common: Number of documents that have only common shingles.
    """

    options: BoilerplateOptions
    above: int | None
    sketches: Sketches
    shingles: int
    share: float
    only_common: int


def remove_boilerplate(
    sketches: Sketches, firsts: Numbers, options: BoilerplateOptions, scheme: Scheme
) -> ResidualSketches:
    is_whole = sketches.scheme.levels(sketches.sizes) == 0
    different = np.flatnonzero((firsts == np.arange(len(sketches))) & (sketches.sizes > 0))
    above = None if options.above is None else common_limit(options.above, different.size)
    shift = np.uint64(64 - sketches.scheme.bits)
    parts = [text.hashes >> shift for text in hash_texts(options.boilerplate, scheme, workers=1)]
    if above is not None:
        parts.append(frequent_hashes(sketches, different[is_whole[different]], above))
    common = sort_distinct(parts)
    residual = _without_hashes(sketches, common, is_whole)
    left, whole = int(residual.counts.sum()), int(sketches.counts.sum())
    only_common = int(np.count_nonzero((residual.sizes == 0) & (sketches.sizes > 0)))
    return ResidualSketches(
        options, above, residual, common.size, (whole - left) / whole if whole else 0.0, only_common
    )


def frequent_hashes(sketches: Sketches, indices: Numbers, limit: int) -> Hashes:
    """Return the hashes, ascending, that more than `limit` of these documents have. All sketches must be complete."""
    total = int(sketches.counts[indices].sum())
    portions = max(1, -(-total // _AT_ONCE))
    frequent, taken = [np.empty(0, np.uint64)], np.zeros(indices.size, np.int64)
    for portion in range(1, portions + 1):
        require_time()
        end = np.uint64(sketches.scheme.bound(0) * portion // portions - 1)
        upto = sketches.count_upto(indices, np.full(indices.size, end))
        hashes, owners = sketches.copy_hashes(indices, taken, upto - taken)
        taken = upto
        # Two hashes of a document may be equal after truncation to the top bits; count them once.
        hashes = np.sort(hashes[run_starts(hashes, owners)])
        starts = run_starts(hashes)
        frequent.append(hashes[starts[np.diff(starts, append=hashes.size) > limit]])
    return np.concatenate(frequent)


def _without_hashes(sketches: Sketches, common: Hashes, is_whole: Bools) -> Sketches:
    """Return the sketches without common hashes, in a temporary file; samples (outside `is_whole`) stay unchanged."""
    counts = np.zeros(len(sketches), np.int64)
    if not common.size:
        return sketches
    with tempfile.TemporaryFile(prefix="whorl-rest-") as file:
        for portion in chunks(range(len(sketches)), lambda index: int(sketches.counts[index]), _AT_ONCE):
            require_time()
            documents = np.array(portion, np.int64)
            hashes, owners = sketches.copy_hashes(documents)
            is_left = ~find_sorted(common, hashes)[1] | ~is_whole[documents][owners]
            counts[documents] = np.bincount(owners[is_left], minlength=documents.size)
            hashes[is_left].astype(HASH, copy=False).tofile(file)
        left = map_hashes(file, int(counts.sum()))
    sizes = np.where(is_whole, counts, sketches.sizes)
    return Sketches(sketches.scheme, sizes, np.cumsum(counts) - counts, counts, left)
