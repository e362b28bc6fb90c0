"""Options of the duplicate search: metric, threshold, recall, retention policy and unit of text.

`fingerprint/statistics/metric.py` has the formulas of the metrics.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

import numpy as np

from whorl.duplicates.remove_common_shingles import BoilerplateOptions, parse_boilerplate_options
from whorl.duplicates.retention import Keep
from whorl.duplicates.sketch_arrays import Numbers
from whorl.errors import ParameterError, require_int
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import (
    PAIR_METRICS,
    Metric,
    Percent,
    fraction_of,
    least_overlap,
    metric_named,
    notes_on,
    require_fraction,
)
from whorl.fingerprint.words.tokenizer import CHARACTERS, DEFAULT_PROFILE
from whorl.operations import DuplicatesOperation

DEFAULT_THRESHOLD = fraction_of("threshold", DuplicatesOperation.threshold)
DEFAULT_RECALL = fraction_of("recall", DuplicatesOperation.recall)
#: Largest denominator of a threshold, so that the int64 arithmetic below does not overflow.
_LARGEST_DENOMINATOR = 10**6


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Definition of a pair of near-duplicates, and the share of pairs that the search must find.

    Args:
        threshold: Fraction in (0, 1], in steps of a millionth.
        recall: Minimum share of the pairs just at the threshold that the search finds; fraction in (0, 1]. Pairs above
            the threshold are found more often.
        notes: Explanations of ambiguous numbers for the user: 1 means 100 %, not 1 %.

    Raises:
        ParameterError: The metric is not in PAIR_METRICS, or a fraction is outside its range.
    """

    metric: Metric = Metric.JACCARD
    threshold: Fraction = DEFAULT_THRESHOLD
    recall: Fraction = DEFAULT_RECALL
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        metric_named(self.metric, PAIR_METRICS)
        require_fraction("threshold", self.threshold)
        if self.threshold.denominator > _LARGEST_DENOMINATOR:
            percent = float(100 * self.threshold)
            raise ParameterError(
                f"threshold has steps of a ten thousandth of a percent, got {percent!r} %; round it to four decimals"
            )
        require_fraction("recall", self.recall)

    def __str__(self) -> str:
        return f"{self.metric.value} {self.threshold} with recall {self.recall}"

    @property
    def least_jaccard(self) -> Fraction | None:
        """Jaccard similarity of a pair just at the threshold; None for containment.

        The smaller document of a pair has at least this fraction of the larger document's number of shingles.
        """
        return self.metric.as_jaccard(self.threshold)

    def least_overlap(self, sizes_a: Numbers, sizes_b: Numbers) -> Numbers:
        """Return the minimum number of shingles, at least 1, that a pair of documents of these sizes shares."""
        return least_overlap(self.metric, self.threshold, sizes_a, sizes_b)

    def smallest_partner(self, sizes: Numbers) -> Numbers:
        """Return the minimum size of the smaller document in a pair, given the size of the larger document."""
        if self.least_jaccard is None:
            return np.ones_like(sizes)
        part, whole = self.least_jaccard.as_integer_ratio()
        return np.asarray(np.maximum(1, -(-part * sizes // whole)))

    @property
    def share_of_smaller(self) -> Fraction:
        """Minimum fraction of the smaller document's shingles that the larger document of a pair contains."""
        least = self.least_jaccard
        return self.threshold if least is None else 2 * least / (1 + least)


def parse_pair_options(metric: Metric | str, threshold: Percent, recall: Percent) -> PairOptions:
    """Return the options for a user's metric and percentages.

    Args:
        metric: A metric, or one of the names in `PairMetric`.
        threshold: Percentage above 0, at most 100; a number up to 1 is a fraction.
        recall: Percentage above 0, at most 100; a number up to 1 is a fraction.

    Raises:
        ParameterError: The metric is unknown, or a number is not a percentage above 0.
    """
    chosen = metric_named(metric, PAIR_METRICS)
    notes = notes_on(threshold=threshold, recall=recall)
    return PairOptions(chosen, fraction_of("threshold", threshold), fraction_of("recall", recall), notes)


class Granularity(StrEnum):
    """The unit of text that is compared: whole documents, or the paragraphs, lines or repeated passages in them."""

    DOCUMENT = "document"
    PARAGRAPH = "paragraph"
    LINE = "line"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True)
class DuplicatesOptions:
    """Options of a search for near-duplicates.

    Args:
        scheme: Scheme of words and shingles for documents outside a store; a store has its own scheme.
        keep: Retention policy; its column is a property, or a field of the store. None keeps the first document.
        date: Property or field with the dates of documents; None for the dates of files.
        within: Property that must be equal in both documents of a pair. Documents without the property are compared
            with each other.
        granularity: Unit of text to compare; all runs with the same `state` must compare the same unit.
        common: Boilerplate options. With `state`, frequencies cover the documents of all runs. New documents can make
            shingles common, so each run that ignores common text searches for all pairs again.
        spanning_only: Find all clusters, but not all pairs: skip a pair if other pairs already connect its documents.
        state: Folder of the persistent sketch store; None for a temporary store. The next run with this folder
            completes an interrupted run, and compares new documents with all earlier documents.
        reference_only: Compare documents with the reference only, not with each other.
        workers: Number of processes that read and sketch, and of threads that compare. With `state`, one process reads.
    """

    pairs: PairOptions = PairOptions()
    _: KW_ONLY
    scheme: Scheme = field(default_factory=Scheme)
    keep: Keep | None = None
    date: str | None = None
    within: str | None = None
    granularity: Granularity = Granularity.DOCUMENT
    common: BoilerplateOptions | None = None
    spanning_only: bool = False
    state: Path | None = None
    reference_only: bool = False
    workers: int = 1

    def __post_init__(self) -> None:
        for name, kind, example in (
            ("pairs", PairOptions, "parse_pair_options('jaccard', 80, 95)"),
            ("scheme", Scheme, "Scheme(shingle_size=5)"),
            ("keep", Keep | None, "Keep('longest')"),
            ("granularity", Granularity, "Granularity.LINE"),
            ("common", BoilerplateOptions | None, "BoilerplateOptions('1%')"),
            ("state", Path | None, "Path('seen')"),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ParameterError(f"{name} must be of another type, such as {example}, got {value!r:.80}")
        object.__setattr__(self, "workers", require_int("workers", self.workers))
        if self.workers < 1:
            raise ParameterError(f"workers must be at least 1, got {self.workers}")

    @property
    def policy(self) -> Keep:
        return self.keep or Keep("first")

    @classmethod
    def from_options(cls, options: PairOptions | DuplicatesOperation | DuplicatesOptions) -> DuplicatesOptions:
        """Convert `PairOptions` or a front end's operation to search options; raise ParameterError if invalid."""
        if isinstance(options, DuplicatesOptions):
            return options
        if isinstance(options, PairOptions):
            return cls(options)
        if not isinstance(options, DuplicatesOperation):
            raise ParameterError(
                f"options must be DuplicatesOptions, or those of parse_pair_options(), got {options!r:.80}"
            )
        keep = _keep_of(options)
        date = options.date or (keep.column or None if keep is not None and keep.is_by_date else None)
        # With `reference_only`, the default metric and shingle length are different: an item of a test set is a small
        # part of a document, and common phrases have fewer than eight words.
        metric, words = (Metric.CONTAINMENT, 8) if options.reference_only else (Metric.JACCARD, 5)
        return cls(
            parse_pair_options(options.metric or metric, options.threshold, options.recall),
            scheme=scheme_of_shingles(options.shingle or None, characters=options.characters, words=words),
            keep=keep,
            date=date,
            within=options.within,
            granularity=Granularity(options.level),
            common=parse_boilerplate_options(
                options.common_above, options.boilerplate, ignore_common=options.ignore_common
            ),
            spanning_only=options.clusters and not options.is_complete,
            state=None if options.state is None else Path(options.state),
            reference_only=options.reference_only,
            workers=options.workers or 1,
        )


def scheme_of_shingles(size: int | None, *, characters: bool, words: int = 5) -> Scheme:
    """Return the scheme for shingles of `size` words or characters; by default `words` words, or 9 characters."""
    profile, default = (CHARACTERS, 9) if characters else (DEFAULT_PROFILE, words)
    return Scheme(profile, default if size is None else size)


def _keep_of(operation: DuplicatesOperation) -> Keep | None:
    """Return the retention policy of an operation; None if the user named none and no files are rewritten."""
    keep = None if operation.keep is None else Keep.parse(operation.keep)
    if keep in (Keep("newest"), Keep("oldest")):
        return Keep(operation.keep or "", operation.date or "")
    if operation.date is not None and not operation.versions:
        raise ParameterError("date goes with versions, keep newest or keep oldest")
    return keep or (Keep("first") if operation.filtered or operation.annotated else None)
