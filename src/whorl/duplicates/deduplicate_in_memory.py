"""Finds near-duplicates among texts in memory: lists, pandas or polars frames, Arrow tables, Hugging Face datasets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from whorl.connected_components import UnionFind
from whorl.duplicates.clusters import groups_by_label, labels_around_kept
from whorl.duplicates.options import (
    DEFAULT_RECALL,
    DEFAULT_THRESHOLD,
    DuplicatesOptions,
    PairOptions,
    parse_pair_options,
    scheme_of_shingles,
)
from whorl.duplicates.pairs import ExactCopies, Pairs
from whorl.duplicates.remove_common_shingles import parse_boilerplate_options
from whorl.duplicates.results import arrays_of
from whorl.duplicates.retention import Keep, UnreadValues
from whorl.duplicates.run import duplicates_among
from whorl.duplicates.sketch_arrays import Numbers
from whorl.duplicates.worker_pool import worthwhile_workers
from whorl.errors import ParameterError, require_bool
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.statistics.metric import Metric, Percent, fraction_of, notes_on
from whorl.ingest.rows.row_format import column_paths, find_text, has_column
from whorl.model import Document, PropertyValue
from whorl.operations import CommonOptions

#: Names of the methods that convert a column to a list: `to_pylist` in pyarrow, `to_list` in pandas and polars.
_TO_LIST = ("to_pylist", "to_list")
#: Names of the types of missing values in pandas.
_MISSING = ("NAType", "NaTType")
_LISTED_COLUMNS = 20
_PAIRS_AT_ONCE = 1 << 20
#: Property of a text's document with its value of `within_column`.
_GROUP = "group"


@dataclass(frozen=True, slots=True)
class DeduplicationSummary:
    """Numbers of texts before and after deduplication; sizes are in bytes of UTF-8.

    Args:
        too_short: Texts with fewer words than a shingle. They are kept without comparison.
        clusters: Groups of two or more near-duplicates.
        removed: Near-duplicates of a kept text.
    """

    texts: int
    too_short: int
    clusters: int
    removed: int
    text_bytes: int
    removed_bytes: int

    @property
    def removed_share(self) -> float:
        return self.removed / max(self.texts, 1)

    def __str__(self) -> str:
        clusters = f"{self.clusters:,} cluster{'' if self.clusters == 1 else 's'}"
        unit, name = (1e6, "MB") if self.text_bytes >= 1e6 else (1e3, "kB")
        left = (self.text_bytes - self.removed_bytes) / unit
        return (
            f"{self.texts:,} texts; {self.removed:,} of them ({self.removed_share:.1%}) repeat others, in {clusters}; "
            f"{left:,.1f} of {self.text_bytes / unit:,.1f} {name} are left"
        )


class Deduplication:
    """Near-duplicates among texts. A text is identified by its row number, from 0.

    Args:
        pairs: Pairs of different texts. If texts are equal, only the first text is in pairs.
        firsts: For each text, the row of the first equal text, which may be its own row; int64 array of shape (texts,).
        keep: Retention policy.
        losses: Loss of each text; the policy keeps the text of a cluster with the smallest loss. Infinity if the text
            has no date or number. A float64 array of shape (texts,).
        sizes: Number of distinct shingles of each text that were compared: without boilerplate if it is ignored.
        lengths: Length of each text in UTF-8 bytes.

    Raises:
        ParameterError: The policy needs a date or a number, and no text of a cluster has one.
    """

    def __init__(
        self,
        options: PairOptions,
        pairs: Pairs,
        firsts: Numbers,
        keep: Keep,
        losses: npt.NDArray[np.float64],
        sizes: Numbers,
        lengths: Numbers,
    ) -> None:
        self.options, self._pairs, self._firsts = options, pairs, firsts
        self._keep, self._losses, self._sizes, self._lengths = keep, losses, sizes, lengths
        self._order = np.argsort(losses, kind="stable")
        if np.isinf(losses).any():
            kept = self.labels[~self.keep]
            if (unranked := kept[np.isinf(losses[kept])]).size:
                count = int(np.count_nonzero(self.labels == unranked[0]))
                raise ParameterError(f"row {unranked[0]:,} and {count - 1:,} more have {_no_rank(keep)}")

    def __repr__(self) -> str:
        return f"<Deduplication of {self.summary}>"

    @cached_property
    def labels(self) -> Numbers:
        """For each text, the row of the text kept in its place, or its own row; int64 array of shape (texts,)."""
        firsts = self._firsts[self._order]
        # Each element of `best` is the best of several equal texts. The assignment sets it once for each of them, and
        # numpy keeps the last value, so the best text comes last.
        best = np.empty(self._sizes.size, np.int64)
        best[firsts[::-1]] = self._order[::-1]
        labels = labels_around_kept(self._sizes.size, self._pairs, firsts, np.zeros(self._sizes.size, np.bool_))
        return best[labels[self._firsts]]

    @cached_property
    def keep(self) -> npt.NDArray[np.bool_]:
        """Mask of the texts to keep: no two are near-duplicates, and every other text duplicates a kept text."""
        return np.asarray(self.labels == np.arange(self.labels.size))

    @cached_property
    def components(self) -> Numbers:
        """For each text, the first row that chains of pairs link it to, or its own; int64 array of shape (texts,).

        Texts with different numbers are not near-duplicates, but texts with different `labels` can be: two texts may
        duplicate each other and different kept texts. So divide training and test data by `components`.
        """
        forest = UnionFind(self._sizes.size)
        forest.join(self._pairs.a, self._pairs.b)
        return forest.labels()[self._firsts]

    @property
    def clusters(self) -> list[list[int]]:
        """Rows of each cluster, starting with the row to keep. The largest cluster comes first."""
        return [sorted(group.tolist(), key=lambda row: not self.keep[row]) for group in groups_by_label(self.labels)]

    def pairs(self) -> dict[str, npt.NDArray[Any]]:
        """Return all pairs as columns: the rows a < b, and the shares jaccard, a_in_b and b_in_a as fractions.

        pandas, polars and pyarrow can convert the columns to a table. Two equal texts are also a pair, so many copies
        of a text give many pairs.
        """
        copies = ExactCopies(self._firsts)
        # A pair of a text with itself represents the pairs among the copies of this text.
        one, other = (np.concatenate([own, copies.copied]) for own in (self._pairs.a, self._pairs.b))
        shared = np.concatenate([self._pairs.shared, self._sizes[copies.copied]])
        nothing = (np.empty(0, np.int64),) * 3
        expanded = [nothing, *copies.expand(one, other, _PAIRS_AT_ONCE)]
        rows_a, rows_b, indices = (np.concatenate(parts) for parts in zip(*expanded, strict=True))
        common, sizes_a, sizes_b = shared[indices], self._sizes[rows_a], self._sizes[rows_b]
        jaccard = common / (sizes_a + sizes_b - common)
        by_similarity = np.lexsort((rows_b, rows_a, -jaccard))
        columns = {"a": rows_a, "b": rows_b, "jaccard": jaccard, "a_in_b": common / sizes_a, "b_in_a": common / sizes_b}
        return {name: column[by_similarity] for name, column in columns.items()}

    @cached_property
    def summary(self) -> DeduplicationSummary:
        is_removed = ~self.keep
        return DeduplicationSummary(
            texts=self._sizes.size,
            too_short=int(np.count_nonzero(self._sizes == 0)),
            clusters=np.unique(self.labels[is_removed]).size,
            removed=int(np.count_nonzero(is_removed)),
            text_bytes=int(self._lengths.sum()),
            removed_bytes=int(self._lengths[is_removed].sum()),
        )

    def at(self, threshold: Percent) -> Deduplication:
        """Return the result for a higher threshold, without a new search.

        Args:
            threshold: Percentage; a number up to 1 is a fraction.

        Raises:
            ParameterError: The threshold is lower than in the run; or the policy needs a date or number, and no text of
                a cluster has one.
        """
        wanted = fraction_of("threshold", threshold)
        _warn_of(notes_on(threshold=threshold))
        if wanted < self.options.threshold:
            raise ParameterError(
                f"pairs were searched for from {float(self.options.threshold):.6g} on, so that those from "
                f"{float(wanted):.6g} on are not known; deduplicate the texts again with threshold={threshold}"
            )
        options = replace(self.options, threshold=wanted)
        # Shares of very long texts are estimates, so keep each pair that may reach the threshold.
        is_pair = self._pairs.high >= options.least_overlap(self._pairs.sizes_a, self._pairs.sizes_b)
        pairs = self._pairs.select(is_pair)
        return Deduplication(options, pairs, self._firsts, self._keep, self._losses, self._sizes, self._lengths)


class DeduplicationOptions(CommonOptions, total=False):
    """Further options of `deduplicate`.

    Args:
        within_column: Compare only texts with the same value in this column of the table, for instance a language.
            Texts without a value are compared with each other.
        shingle: Number of words or characters per shingle. By default, 5 words or 9 characters. Texts with fewer are
            kept without comparison.
        characters: Whether shingles are made of characters, not of words.
    """

    within_column: str | None
    shingle: int | None
    characters: bool


def deduplicate(
    texts: Any,
    *,
    text_column: str = "text",
    threshold: Percent = float(DEFAULT_THRESHOLD),
    metric: Metric | str = Metric.JACCARD,
    recall: Percent = float(DEFAULT_RECALL),
    keep: Keep | str = "first",
    **more: Unpack[DeduplicationOptions],
) -> Deduplication:
    """Find near-duplicates among texts in memory.

    Args:
        texts: An iterable of texts, a column of pandas, polars or pyarrow, or a table with such a column: a frame of
            pandas or polars, an Arrow table, a Hugging Face dataset. A missing text is treated as an empty text.
        text_column: Column of the texts in a table. A nested field is named by its path, such as "messages.content";
            the texts of a list are joined with blank lines.
        threshold: Minimum share of common shingles that makes two texts near-duplicates, in percent; a number up to 1
            is a fraction.
        metric: Share that the threshold applies to: common shingles as a share of all shingles of both texts
            ("jaccard"), or of the smaller text's shingles ("containment").
        recall: Minimum percentage of the pairs just at the threshold that the search finds; a number up to 1 is a
            fraction.
        keep: Text of a cluster to keep: "first", "longest" (most distinct shingles), or according to another column of
            the table, "newest:COLUMN", "oldest:COLUMN", "largest:COLUMN" or "smallest:COLUMN". Ties go to the first
            text. A text without a date or number is kept only if its cluster has no other text.
        more: `within_column=None`, `shingle=None` and `characters=False` (see `DeduplicationOptions`).
            `ignore_common=False`, which leaves common text out of all shares, with `common_above=None` or
            `boilerplate=()`, which define common text (see `CommonOptions`).

    The number 1 as a percentage means 100 %, not 1 %; a UserWarning says so.

    Raises:
        ParameterError: An option is invalid, a column is missing or has the name of another column, a value is not a
            text, or no text of a cluster has a date or number in the column of `keep`.

    >>> found = deduplicate(["one two three four five six", "a b c d e", "One two three four five six!"])
    >>> found.keep.tolist(), found.clusters
    ([True, True, False], [[0, 2]])
    """
    if unknown := more.keys() - DeduplicationOptions.__optional_keys__:
        raise TypeError(f"deduplicate() has no option {min(unknown)!r}")
    policy = keep if isinstance(keep, Keep) else Keep.parse(keep)
    pair_options = parse_pair_options(metric, threshold, recall)
    _warn_of(pair_options.notes)
    values = _column(texts, text_column)
    if policy.is_by_value and not policy.column:
        raise ParameterError(f"keep {policy} needs a column: keep={f'{policy}:COLUMN'!r}")
    ranks = _named_column(texts, f"keep {policy}", policy.column)
    groups = _named_column(texts, "within_column", more.get("within_column"))
    read = [_text(row, value) for row, value in enumerate(values)]
    lengths = np.fromiter((len(text.encode()) for text in read), np.int64, len(read))
    options = replace(
        _search_options(more),
        pairs=pair_options,
        within=_GROUP if groups else None,
        workers=worthwhile_workers(int(lengths.sum())),
    )
    properties = map(_group, groups) if groups else repeat(dict[str, PropertyValue]())
    documents = (
        Document(str(row), text, properties=own) for row, (text, own) in enumerate(zip(read, properties, strict=False))
    )
    with duplicates_among(documents, options) as duplicates:
        pairs, firsts, sizes, compared_sizes = arrays_of(duplicates)
    numbers = np.array([policy.rank_of(value) for value in ranks or ()], np.float64)
    losses = policy.losses(sizes, numbers)
    if ranks is not None:
        values_without = (value for value, number in zip(ranks, numbers, strict=True) if np.isnan(number))
        unread = UnreadValues.of_column(policy.column, policy.needed_type, values_without)
        if read and np.isinf(losses).all():
            readable = "2022-06-30" if policy.is_by_date else "1000000"
            shown = f" ({unread[0].first!r:.80} cannot be read, {readable} can)" if unread else ""
            raise ParameterError(f"the {len(read):,} texts have {_no_rank(policy)}{shown}")
        _warn_of(
            f"{found.count:,} text{' has' if found.count == 1 else 's have'} no {found.needed_type} that can be read "
            f"{found}"
            for found in unread
        )
    return Deduplication(pair_options, pairs, firsts, policy, losses, compared_sizes, lengths)


def _search_options(more: DeduplicationOptions) -> DuplicatesOptions:
    characters, ignore_common = more.get("characters", False), more.get("ignore_common", False)
    require_bool("characters", characters)
    require_bool("ignore_common", ignore_common)
    common = parse_boilerplate_options(
        more.get("common_above"), more.get("boilerplate", ()), ignore_common=ignore_common
    )
    if common is not None and not ignore_common:
        raise ParameterError("common_above and boilerplate only say which text is common; add ignore_common=True")
    scheme = scheme_of_shingles(more.get("shingle"), characters=characters)
    return DuplicatesOptions(scheme=scheme, common=common)


def _named_column(texts: Any, option: str, column: str | None) -> list[Any] | None:
    """Return the column that an option names; None if it names none."""
    if not column:
        return None
    if _column_names(texts) is None:
        raise ParameterError(f"{option} needs a table with a column {column!r}, not texts alone")
    return _column(texts, column)


def _warn_of(notes: Iterable[str]) -> None:
    """Issue notes as warnings that point to the line that called the public function."""
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=3)


def _no_rank(keep: Keep) -> str:
    return (
        f"no {keep.needed_type} in the column {keep.column!r}, so the {keep.by} is unknown; name another column, or "
        "keep the first or the longest"
    )


def _column(data: Any, name: str) -> list[Any]:
    if isinstance(data, str | bytes | Mapping):
        raise ParameterError(f"texts is one {type(data).__name__}, not several texts; give a list of them")
    if type(data).__name__ == "LazyFrame":
        raise ParameterError("texts is a LazyFrame, which has no rows yet; call its collect() first")
    if (known := _column_names(data)) is None:
        return _values(data)
    outer = name if name in known else str(name).partition(".")[0]
    if known.count(outer) > 1:
        raise ParameterError(f"several columns are called {outer!r}; rename all but one")
    if outer not in known:
        raise _no_column(name, known)
    if outer == name:
        return [
            find_text({name: _with_lists(value)}, name) if isinstance(value, list | np.ndarray) else value
            for value in _values(data[name])
        ]
    rows = [{outer: _with_lists(value)} for value in _values(data[outer])]
    given = [row for row in rows if row[outer] is not None and row[outer] != []]
    if given and not any(has_column(row, name) for row in given):
        inner = dict.fromkeys(path for row in given[:_LISTED_COLUMNS] for path in column_paths(row))
        raise _no_column(name, [*inner, *(own for own in known if own != outer)])
    return [find_text(row, name) for row in rows]


def _no_column(name: str, known: Sequence[object]) -> ParameterError:
    listed = ", ".join(map(repr, known[:_LISTED_COLUMNS])) or "none"
    return ParameterError(f"there is no column {name!r}; name one of {listed}")


def _with_lists(value: object) -> object:
    """Convert the arrays in a value to lists: pandas stores nested columns as arrays."""
    if isinstance(value, dict):
        return {key: _with_lists(inner) for key, inner in value.items()}
    return [_with_lists(inner) for inner in value] if isinstance(value, list | np.ndarray) else value


def _values(data: Any) -> list[Any]:
    for method in _TO_LIST:
        if hasattr(data, method):
            return list(getattr(data, method)())
    if not isinstance(data, Iterable):
        raise ParameterError(f"texts must be a list of texts, a column or a table, got {data!r:.80}")
    return list(data)


def _column_names(data: Any) -> list[Any] | None:
    # Arrow and Hugging Face call the attribute column_names, pandas and polars call it columns.
    names = getattr(data, "column_names", getattr(data, "columns", None))
    return None if names is None else list(names)


def _text(row: int, value: object) -> str:
    if isinstance(value, str):
        return value if value.isascii() else well_formed(value)
    if _is_missing(value):
        return ""
    raise ParameterError(f"row {row:,} has no text, but {value!r:.80}; give texts, or a table and its text_column")


def _group(value: object) -> dict[str, PropertyValue]:
    if _is_missing(value):
        return {}
    is_plain = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return {_GROUP: value if is_plain else str(value)}  # type: ignore[dict-item]


def _is_missing(value: object) -> bool:
    # In pandas, a missing value is NaN, NaT or NA. NaN is the only float that differs from itself, so compare it.
    return value is None or type(value).__name__ in _MISSING or (isinstance(value, float) and value != value)
