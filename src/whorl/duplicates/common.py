"""What is common among the documents that are compared, told apart from the rest of each.

All hashes of all documents are at hand here, so no store has to keep passages for it: a shingle is common if more than
a given number of the different documents have it, or a text has it that is named as boilerplate. Equal documents
count once, or whatever comes often enough would be common for that alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from whorl.arrays import chunks, run_starts, sorted_distinct
from whorl.boilerplate import DEFAULT_ABOVE, common_limit
from whorl.context import require_time
from whorl.duplicates.sketches import Numbers, Sketches
from whorl.errors import ParameterError
from whorl.fingerprint.batch import hashed
from whorl.fingerprint.scheme import Scheme

#: Hashes that are looked at together.
_AT_ONCE = 1 << 23

_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class CommonQuestion:
    """What is taken for common, and what follows from it.

    Args:
        above: What stands in more documents, a number ("50") or a share of the different ones ("1%"), as
            `whorl.boilerplate.common_limit` reads it; None where only `boilerplate` counts.
        boilerplate: Texts all of whose shingles are common.
        is_ignored: Whether the rest alone makes documents duplicates; else both shares are told, and everything counts.

    Raises:
        ParameterError: Nothing is named, or what is no line.
    """

    above: str | None = DEFAULT_ABOVE
    boilerplate: tuple[str, ...] = ()
    is_ignored: bool = False

    def __post_init__(self) -> None:
        if self.above is None and not self.boilerplate:
            raise ParameterError("say which text is common: a number or share of documents, or boilerplate")
        if self.above is not None:
            common_limit(self.above, 0)


def ask_common(
    above: str | None = None, boilerplate: Sequence[str] = (), *, ignore_common: bool = False
) -> CommonQuestion | None:
    """Return what is asked of common text; None where nothing is.

    Args:
        above: As in `CommonQuestion`; "1%" where what is common is ignored and nothing is named.
        boilerplate: As in `CommonQuestion`.
        ignore_common: Whether the rest alone makes documents duplicates.

    Raises:
        ParameterError: What is no line.
    """
    if above is None and not boilerplate and not ignore_common:
        return None
    default = None if boilerplate else DEFAULT_ABOVE
    return CommonQuestion(default if above is None else above, tuple(boilerplate), ignore_common)


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """Documents without what is common in them.

    Args:
        question: What was taken for common.
        above: Of so many different documents, or fewer, is what is not common; None where only boilerplate counts.
        sketches: What is left of each document. One of more hashes than a sketch keeps is left whole.
        shingles: Different shingles that are common.
        share: How much of all documents is common, in [0, 1].
        bare: Documents of which nothing is left.
    """

    question: CommonQuestion
    above: int | None
    sketches: Sketches
    shingles: int
    share: float
    bare: int


def rest_of(sketches: Sketches, firsts: Numbers, question: CommonQuestion, scheme: Scheme) -> Rest:
    """Return what is left of documents without what is common.

    Args:
        sketches: Of all documents.
        firsts: For each document the first one that is equal to it.
        question: What is common.
        scheme: What shingles are.
    """
    is_whole = sketches.scheme_levels(sketches.sizes) == 0
    different = np.flatnonzero((firsts == np.arange(len(sketches))) & (sketches.sizes > 0))
    above = None if question.above is None else common_limit(question.above, different.size)
    shift = np.uint64(64 - sketches.scheme.bits)
    parts = [each.hashes >> shift for each in hashed(question.boilerplate, scheme, workers=1)]
    if above is not None:
        parts.append(frequent(sketches, different[is_whole[different]], above))
    common = sorted_distinct(parts)
    rest = _without(sketches, common, is_whole)
    left, whole = int(rest.counts.sum()), int(sketches.counts.sum())
    bare = int(np.count_nonzero((rest.sizes == 0) & (sketches.sizes > 0)))
    return Rest(question, above, rest, common.size, (whole - left) / whole if whole else 0.0, bare)


def frequent(sketches: Sketches, places: Numbers, limit: int) -> _Hashes:
    """Return the hashes that more than so many documents have, ascending; uint64 array.

    Args:
        sketches: Of all documents.
        places: Of those that are counted, whose sketches are complete.
        limit: How many documents may have a hash that is not among them.
    """
    total = int(sketches.counts[places].sum())
    portions = max(1, -(-total // _AT_ONCE))
    found, taken = [np.empty(0, np.uint64)], np.zeros(places.size, np.int64)
    for portion in range(1, portions + 1):
        require_time()
        end = np.uint64(sketches.scheme.bound(0) * portion // portions - 1)
        upto = sketches.upto(places, np.full(places.size, end))
        hashes, owners = sketches.gathered(places, taken, upto - taken)
        taken = upto
        # A hash that one document has twice, cut to its top bits, is one document's.
        hashes = np.sort(hashes[run_starts(hashes, owners)])
        starts = run_starts(hashes)
        found.append(hashes[starts[np.diff(np.append(starts, hashes.size)) > limit]])
    return np.concatenate(found)


def _without(sketches: Sketches, common: _Hashes, is_whole: npt.NDArray[np.bool_]) -> Sketches:
    """Return sketches without some hashes, in a file that goes with them."""
    places, counts = np.arange(len(sketches)), np.zeros(len(sketches), np.int64)
    if not common.size:
        return sketches
    with tempfile.TemporaryFile(prefix="whorl-rest-") as file:
        for some in chunks(places.tolist(), lambda place: int(sketches.counts[place]), _AT_ONCE):
            require_time()
            here = np.array(some, np.int64)
            hashes, owners = sketches.gathered(here, np.zeros_like(here), sketches.counts[here])
            at = np.minimum(np.searchsorted(common, hashes), common.size - 1)
            is_left = (common[at] != hashes) | ~is_whole[here][owners]
            counts[here] = np.bincount(owners[is_left], minlength=here.size)
            hashes[is_left].tofile(file)
        total = int(counts.sum())
        # numpy maps no empty file.
        left = np.memmap(file, np.uint64, "r", shape=(total,)) if total else np.empty(0, np.uint64)
    sizes = np.where(is_whole, counts, sketches.sizes)
    return Sketches(sketches.scheme, sizes, np.cumsum(counts) - counts, counts, left)
