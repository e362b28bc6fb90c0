"""Defines similarity metrics, shares and intervals, computes the overlap for a threshold, and parses percentages.

A is the source or the first text, B is the hit or the second text. With a shingles in A, b in B and I in both:

    jaccard       I / (a + b - I)   how similar the two are
    a_in_b        I / a             how much of A is in B
    b_in_a        I / b             how much of B is in A
    containment   I / min(a, b)     the larger of a_in_b and b_in_a: how much of the smaller text is in the other

Searches for one source use all four metrics. Searches for all pairs, which have no direction, use jaccard and
containment. Decisions about hits use fractions, never floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from whorl.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: A threshold or a recall as users write it: a fraction up to 1, otherwise a percentage, as in the clause FINGERPRINT.
Percent: TypeAlias = int | float | str | Fraction
#: Shares with six decimals are multiples of 1 / `SHARE_STEPS`. `SLACK` is a tolerance for rounding, which is larger
#: than the error of a share as a float.
SHARE_STEPS, SLACK = 1_000_000, 1e-9
#: Annotations of numbers that JSON and CSV show with six decimals. Shares and lower ends of intervals are rounded down,
#: and upper ends are rounded up.
SHARE, INTERVAL = "share", "interval"
#: Share from 0 to 1.
Share: TypeAlias = Annotated[float, SHARE]
#: Confidence interval for a share: its lower end and its upper end.
Interval: TypeAlias = Annotated[tuple[float, float], INTERVAL]
_Count = TypeVar("_Count", int, "npt.NDArray[np.int64]")
#: Maximum length of the exponent of a percentage, including the sign. It is enough for every float.
_EXPONENT = 4


class Metric(Enum):
    """Measure of similarity that a threshold applies to; docs/accuracy.md compares the four measures."""

    JACCARD = "jaccard"
    A_IN_B = "a_in_b"
    B_IN_A = "b_in_a"
    CONTAINMENT = "containment"

    @property
    def allows_smaller(self) -> bool:
        """Whether a hit can reach a threshold even if it is very much smaller than the source."""
        return self in (Metric.B_IN_A, Metric.CONTAINMENT)

    @property
    def allows_larger(self) -> bool:
        """Whether a hit can reach a threshold even if it is very much larger than the source."""
        return self in (Metric.A_IN_B, Metric.CONTAINMENT)

    @property
    def bounds_sizes(self) -> bool:
        """Whether a threshold limits the size of a hit, relative to the source, in both directions."""
        return not self.allows_smaller and not self.allows_larger

    def as_jaccard(self, threshold: Fraction) -> Fraction | None:
        """Return the Jaccard similarity of two documents just at a threshold; None if it depends on their sizes.

        This value is also the smallest ratio of the sizes of two documents that reach the threshold.
        """
        return threshold if self is Metric.JACCARD else None


#: Names of the metrics of a search for one source, and of a search for all pairs.
SimilarMetric: TypeAlias = Literal["containment", "jaccard", "a_in_b", "b_in_a", "similarity", "contains", "within"]
PairMetric: TypeAlias = Literal["jaccard", "containment", "similarity"]
#: Other names that users may type for a metric.
_TYPED = {"similarity": Metric.JACCARD, "contains": Metric.A_IN_B, "within": Metric.B_IN_A}
#: For each metric, a description of the text or texts that its shares refer to.
_WHOLES = {
    Metric.JACCARD: "both texts together",
    Metric.A_IN_B: "{a}",
    Metric.B_IN_A: "{b}",
    Metric.CONTAINMENT: "the smaller text",
}


def metric_named(word: Metric | str, choices: Iterable[Metric]) -> Metric:
    """Return the metric for a name that a user typed.

    Raises:
        ParameterError: The name is unknown, or its metric is not in `choices`.

    >>> metric_named("contains", list(Metric))
    <Metric.A_IN_B: 'a_in_b'>
    """
    names = [choice.value for choice in choices]
    metric: Metric | None = None
    if isinstance(word, Metric):
        metric = word
    elif isinstance(word, str):
        metric = _TYPED.get(word) or (Metric(word) if word in names else None)
    if metric is None or metric not in choices:
        raise ParameterError(f"metric must be {', '.join(names[:-1])} or {names[-1]}, got {word!r:.80}")
    return metric


def _metrics_named(words: Sequence[str]) -> dict[Metric, list[str]]:
    names: dict[Metric, list[str]] = {}
    for word in words:
        names.setdefault(metric_named(word, list(Metric)), []).append(word)
    return names


#: The metrics of a search for one source, and of a search for all pairs, with the names that users may type.
SIMILAR_METRICS = _metrics_named(get_args(SimilarMetric))
PAIR_METRICS = _metrics_named(get_args(PairMetric))


def name_whole(metric: Metric, a: str, b: str) -> str:
    return _WHOLES[metric].format(a=a, b=b)


def describe_metrics(metrics: Mapping[Metric, Sequence[str]], a: str = "A", b: str = "B") -> str:
    """Describe metrics in a help text: for each metric, the text that its shares refer to, and the metric's names.

    `a` and `b` are the help text's names of the two compared texts.

    >>> describe_metrics(PAIR_METRICS)
    'both texts together (jaccard or similarity), or the smaller text (containment)'
    """
    *others, last = (f"{name_whole(metric, a, b)} ({' or '.join(names)})" for metric, names in metrics.items())
    return ", ".join([*others, f"or {last}"])


@dataclass(frozen=True, slots=True)
class Shares:
    """Shared shingles of two documents, as fractions in [0, 1] of distinct shingles; 0 if a document has no shingles.

    Args:
        jaccard: Shared shingles as a fraction of the union.
        a_in_b: Shared shingles as a fraction of A (the source or first text).
        b_in_a: Shared shingles as a fraction of B (the hit or second text).
    """

    NAMES: ClassVar = ("jaccard", "a_in_b", "b_in_a")

    jaccard: Share
    a_in_b: Share
    b_in_a: Share

    @classmethod
    def of_counts(cls, shared: float, size_a: int, size_b: int) -> Shares:
        """Compute the shares of two documents from their numbers of shingles; `shared` may be an estimate.

        >>> Shares.of_counts(20, 30, 30)
        Shares(jaccard=0.5, a_in_b=0.6666666666666666, b_in_a=0.6666666666666666)
        """
        either = size_a + size_b - shared
        return cls(
            shared / either if either else 0.0, shared / size_a if size_a else 0.0, shared / size_b if size_b else 0.0
        )

    def swapped(self) -> Shares:
        return Shares(self.jaccard, self.b_in_a, self.a_in_b)

    def measured_by(self, metric: Metric) -> float:
        return max(self.a_in_b, self.b_in_a) if metric is Metric.CONTAINMENT else float(getattr(self, metric.value))


class Intervals(NamedTuple):
    """The 95 % interval of each share, as lower and upper end."""

    jaccard: Interval
    a_in_b: Interval
    b_in_a: Interval

    @classmethod
    def between(cls, low: Shares, high: Shares) -> Intervals:
        return cls((low.jaccard, high.jaccard), (low.a_in_b, high.a_in_b), (low.b_in_a, high.b_in_a))


def round_down(share: float) -> float:
    """Return a share in [0, 1] rounded down to six decimals, so that only a complete share is 1.

    >>> round_down(2 / 3), round_down(0.3)
    (0.666666, 0.3)
    """
    return (share * SHARE_STEPS + SLACK) // 1 / SHARE_STEPS


def round_up(share: float) -> float:
    """Return the upper end of an interval of shares, rounded up to six decimals."""
    return math.ceil(share * SHARE_STEPS - SLACK) / SHARE_STEPS


def require_fraction(name: str, value: Fraction) -> None:
    # Compare integers, here and below: comparing fractions takes a microsecond each time.
    if not isinstance(value, Fraction | int) or not 0 < value.numerator <= value.denominator:
        raise ParameterError(f"{name} must be a fraction above 0 and at most 1, such as Fraction(4, 5), got {value}")


def denominator_of(metric: Metric, shared: _Count | int, source_size: _Count | int, hit_size: _Count) -> _Count:
    """Return the denominator of a metric, a number of shingles; the arguments are integers or arrays of integers."""
    match metric:
        case Metric.JACCARD:
            return source_size + hit_size - shared
        case Metric.A_IN_B:
            return source_size + 0 * hit_size
        case Metric.B_IN_A:
            return hit_size
        case Metric.CONTAINMENT:
            # The smaller size; unlike `min`, the formula also works for arrays.
            return (source_size + hit_size - abs(source_size - hit_size)) // 2


def least_overlap(metric: Metric, threshold: Fraction, source_size: _Count, hit_size: _Count) -> _Count:
    """Return the smallest number of shared shingles that reaches a threshold; it can exceed a text's size.

    The sizes are integers or arrays of integers. The number is at least 1, or 0 for a threshold of 0 or less.

    >>> least_overlap(Metric.JACCARD, Fraction(1, 2), 30, 30)
    20
    """
    if (jaccard := metric.as_jaccard(threshold)) is None:
        part, whole = threshold.as_integer_ratio()
        needed = -(-part * denominator_of(metric, 0, source_size, hit_size) // whole)
    else:
        # Solve I >= t (a + b - I) for I.
        part, whole = jaccard.as_integer_ratio()
        needed = -(-part * (source_size + hit_size) // (whole + part))
    return needed + (needed < 1) if part > 0 else 0 * needed


def sizes_for(metric: Metric, threshold: Fraction, source_size: int) -> tuple[int, int | None]:
    """Return the smallest and largest size of a hit that can reach a threshold; None for an unlimited size.

    >>> sizes_for(Metric.JACCARD, Fraction(7, 10), 10)
    (7, 14)
    """
    numerator, denominator = (metric.as_jaccard(threshold) or threshold).as_integer_ratio()
    smallest = 1 if metric.allows_smaller else max(1, -(-numerator * source_size // denominator))
    return smallest, None if metric.allows_larger else source_size * denominator // numerator


def fraction_of(name: str, percent: Percent) -> Fraction:
    """Convert a percentage to a fraction in (0, 1]. A number up to 1 is already a fraction.

    The rule of FINGERPRINT (docs/afts.md) holds for every threshold and recall: 0.8 is 80 %, 1 is 100 %.

    Raises:
        ParameterError: The value is not a percentage; the message contains `name`.

    >>> fraction_of("threshold", 80) == fraction_of("threshold", "0.8") == Fraction(4, 5)
    True
    """
    # Convert through text, so that 0.1 is exactly a tenth.
    value = _percentage(str(percent))
    if value is None:
        raise ParameterError(f"{name} must be a percentage above 0 and at most 100, got {percent}")
    return value


def notes_on(**percents: Percent) -> tuple[str, ...]:
    """Return a note for each percentage of exactly 1, because users may mean 1 % or 100 %.

    >>> notes_on(threshold=1, recall=95)
    ('threshold 1 means 100 %, since a number up to 1 is a fraction; write 0.01 for 1 %',)
    """
    return tuple(
        f"{name} 1 means 100 %, since a number up to 1 is a fraction; write 0.01 for 1 %"
        for name, percent in percents.items()
        if fraction_of(name, percent) == 1 and Fraction(str(percent)) == 1
    )


@lru_cache
def _percentage(text: str) -> Fraction | None:
    try:
        # Reject long exponents: 1e-99999999 is a number with a hundred million digits.
        value = Fraction(0) if len(text.lower().partition("e")[2]) > _EXPONENT else Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
    if not 0 < value <= 100:
        return None
    return value / 100 if value > 1 else value
