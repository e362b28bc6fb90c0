"""Plan of the calibrated search whose threshold ignores common text.

Let R be the a shingles of the source that are not common; let I be the number of them in a document, and b the number
of the document's own shingles that are not common. b is unknown before the document's text is read, since documents are
indexed with all of their shingles. So candidates are the documents with enough of R, whatever their size:

    a_in_b    I / a >= t
    jaccard   I / (a + b - I) >= t, which implies I / a >= t, since b >= I
    b_in_a    I / b >= t, which implies nothing about I / a: a document with little text beyond common text may be
              contained in the source completely. Candidates must have `RestPlan.least` shingles of R.

The look-ups and the second phase are those of `plan`, for R instead of the source and for documents that contain a part
of it, with the same recall; the texts of their results are read and counted exactly. Two texts together mark more words
as common than either alone, a dozen at the ends of a form. The words that this removes from R are also in the document,
except for a few shingles that extend beyond a passage, so a document at the threshold has the required share of R.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from whorl.fingerprint.statistics.metric import Metric
from whorl.search.similar.plan import SketchPlan

#: Minimum for candidates within the source: this number of shingles, or this fraction (1 / n) of the source's rest.
_LEAST_WITHIN, _PART_WITHIN = 20, 4


@dataclass(frozen=True, slots=True)
class RestPlan:
    """Candidates of the search without common text, and the recall that the search guarantees.

    Args:
        metric: Metric that the threshold applies to, without common text.
        threshold: Fraction in (0, 1].
        recall: Wanted probability that a document at the threshold is found, a fraction in (0, 1].
        source_size: Distinct shingles of the source, common ones included.
        candidates: Plan that finds documents with enough of the source's rest.
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
        """Smallest number of these shingles that a candidate has."""
        return self.candidates.overlap_at(self.left)

    @property
    def promised(self) -> bool:
        """Whether documents at the threshold are found with the wanted recall, however large and however common."""
        return self.candidates.promised and (self.metric is not Metric.B_IN_A or self.least <= 1)


def part_of_source(metric: Metric, threshold: Fraction, left: int) -> Fraction:
    """Return the share of the source's rest that makes a document a candidate, in (0, 1].

    Args:
        metric: Metric of the search.
        threshold: Threshold of the search, a fraction in (0, 1].
        left: Distinct shingles of the source that are not common.
    """
    if metric is not Metric.B_IN_A or not left:
        return threshold
    return Fraction(max(1, min(_LEAST_WITHIN, -(-left // _PART_WITHIN))), left)
