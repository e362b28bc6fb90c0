"""The plan of a calibrated search whose threshold counts what is not common alone.

Let R be the a shingles of the source that are not common; of a document let I be those of R that it has, and b those of
its own that are not common. Nobody knows b before the document's text is read: documents stand in the index with all
of their shingles. So candidates are those that have enough of R, whatever their size:

    a_in_b    I / a >= t
    jaccard   I / (a + b - I) >= t, from which follows I / a >= t, since b >= I
    b_in_a    I / b >= t, from which follows nothing about I / a: a document of which little is left may lie in the
              source with all of it. Those are looked for that have `least_within` of R.

The look-ups and the second phase are those of `plan`, for R in the place of the source and documents that contain a
part of it, with the same recall; what they find is read and counted exactly. Two texts together show more words to be
common than either alone, by a dozen at the ends of a form. What these take from a is what the document has, but for a
few shingles that reach beyond a passage, so that a document at the threshold has as much of R as is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from whorl.fingerprint.statistics.metric import Metric
from whorl.similar.plan import SketchPlan

#: Shingles, and the part of the source's that are left, from which on documents within the source are looked for.
_LEAST_WITHIN, _PART_WITHIN = 20, 4


@dataclass(frozen=True, slots=True)
class RestPlan:
    """What to ask for and what is promised.

    Args:
        metric: What the threshold is a share of: shares without what is common.
        threshold: Fraction in (0, 1].
        recall: Wanted chance to find a document at the threshold, a fraction in (0, 1].
        source_size: Distinct shingles of the source, with those that are common.
        candidates: The plan that finds documents with enough of what is left of the source.
    """

    metric: Metric
    threshold: Fraction
    recall: Fraction
    source_size: int
    candidates: SketchPlan

    @property
    def left(self) -> int:
        """Distinct shingles of the source that are not common."""
        return self.candidates.source_size

    @property
    def least(self) -> int:
        """How many of them a document has, at least, that is looked for."""
        return self.candidates.overlap_at(self.left)

    @property
    def promised(self) -> bool:
        """Whether documents at the threshold are found with the wanted recall, however large and however common."""
        return self.candidates.promised and (self.metric is not Metric.B_IN_A or self.least <= 1)


def part_of_source(metric: Metric, threshold: Fraction, left: int) -> Fraction:
    """Return the share of what is left of the source that makes a candidate, in (0, 1].

    Args:
        metric: What is asked for.
        threshold: Likewise; a fraction in (0, 1].
        left: Distinct shingles that are left.
    """
    if metric is not Metric.B_IN_A or not left:
        return threshold
    return Fraction(max(1, min(_LEAST_WITHIN, -(-left // _PART_WITHIN))), left)
