"""Retention policies: which document of a cluster is kept, for example the first, the longest or the newest one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from whorl.duplicates.sketch_arrays import Numbers
from whorl.errors import ParameterError, require_text
from whorl.query.plan.fields_and_values import UnreadableError, read_date

#: Retention policies, and whether each must, may or cannot name a column. A policy by date without a column uses the
#: modification times of files.
_COLUMNS = {"first": "none", "longest": "none", "newest": "may", "oldest": "may", "largest": "must", "smallest": "must"}
_DATES, _DESCENDING = ("newest", "oldest"), ("oldest", "smallest")


@dataclass(frozen=True, slots=True)
class Keep:
    """Retention policy: selects the document of a cluster to keep. Ties go to the first document.

    Args:
        by: "first", "longest" (with most distinct shingles), "newest", "oldest", "largest" or "smallest".
        column: Column or property with the date or number; "" if the policy needs none.

    Raises:
        ParameterError: The policy is unknown, or its column is missing or not allowed.
    """

    by: str
    column: str = ""

    def __post_init__(self) -> None:
        column = _COLUMNS.get(self.by)
        if column is None:
            raise ParameterError(f"keep must be one of {', '.join(_COLUMNS)}, got {self.by!r:.80}")
        if column == "none" and self.column:
            raise ParameterError(f"{self.by} has no column, got {self.column!r:.80}")
        if column == "must" and not self.column:
            raise ParameterError(f"{self.by} needs the column of the number: {self.by}:COLUMN")

    @classmethod
    def parse(cls, words: str) -> Keep:
        """Parse a policy, such as `first`, `newest:modified` or `largest:quality`."""
        require_text("keep", words, "write first or longest, for instance")
        by, _, column = words.partition(":")
        return cls(by, column)

    def __str__(self) -> str:
        return f"{self.by}:{self.column}" if self.column else self.by

    @property
    def is_by_value(self) -> bool:
        return _COLUMNS[self.by] != "none"

    @property
    def is_by_date(self) -> bool:
        return self.by in _DATES

    @property
    def needed_type(self) -> str:
        return "date" if self.is_by_date else "number"

    def rank_of(self, value: object) -> float | None:
        """Return the rank of a document (larger is better), or None if the value is not a date or number.

        `value` is the value of the column (a list stands for its first item), or seconds since 1970.
        """
        number = seconds_of(value) if self.is_by_date else _number(value)
        return -number if number is not None and self.by in _DESCENDING else number

    def losses(self, sizes: Numbers, ranks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the loss of each document, given its number of shingles and its rank (NaN if unknown).

        The document of a cluster with the smallest loss is kept; without a rank, the loss is infinite.
        """
        if self.by == "longest":
            return -sizes.astype(np.float64)
        return np.where(np.isnan(ranks), np.inf, -ranks) if self.is_by_value else np.zeros(sizes.size)


#: Spellings of missing values in Python, JSON, numpy and pandas, in lower case.
_MISSING = frozenset({"", "none", "null", "nan", "nat", "<na>"})


@dataclass(frozen=True, slots=True)
class UnreadValues:
    """Number of a column's values that are not of the `needed_type` (date or number), and the first of these values."""

    column: str
    needed_type: str
    count: int
    first: object

    @classmethod
    def of_column(cls, column: str, needed_type: str, unread: Iterable[object]) -> list[UnreadValues]:
        """Summarise a column's unread values: return a list with one element.

        If all values are missing (None, NaN, blanks), the list is empty.
        """
        present = [value for value in map(_first_of, unread) if str(value).strip().lower() not in _MISSING]
        return [cls(column, needed_type, len(present), present[0])] if present else []

    @classmethod
    def sum(cls, parts: Iterable[UnreadValues]) -> list[UnreadValues]:
        """Add up the numbers of unread values in several parts of a collection, column by column."""
        sums: dict[tuple[str, str], UnreadValues] = {}
        for part in parts:
            before = sums.get((part.column, part.needed_type), replace(part, count=0))
            sums[part.column, part.needed_type] = replace(before, count=before.count + part.count)
        return list(sums.values())

    def __str__(self) -> str:
        return f"in the column {self.column!r}, such as {self.first!r:.80}"


def ranks_and_dates(
    keep: Keep, date_column: str | None, values_of: Callable[[str], Sequence[object]], count: int
) -> tuple[npt.NDArray[np.float64], dict[tuple[str, str], dict[int, object]]]:
    """Convert the values of the retention policy's column to ranks, and the values of the date column to dates.

    Args:
        values_of: Returns the values of a column, one for each of `count` documents.

    Returns:
        First, the ranks and dates (seconds since 1970) as an array of shape (2, count); NaN if the column is not named,
            or a value cannot be converted. Second, the values that cannot be converted: for each pair (column, needed
            type), a dict from indices of documents to values.
    """
    converted = np.full((2, count), np.nan)
    unread: dict[tuple[str, str], dict[int, object]] = {}
    columns = ((keep.column, keep.needed_type, keep.rank_of), (date_column, "date", seconds_of))
    for row, (column, needed_type, convert) in zip(converted, columns, strict=True):
        if column:
            values = values_of(column)
            row[:] = [convert(value) for value in values]
            unread[column, needed_type] = {at: values[at] for at in np.flatnonzero(np.isnan(row)).tolist()}
    return converted, unread


def none_for_nan(numbers: npt.NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers.tolist()]


def seconds_of(value: object) -> float | None:
    """Convert a field's value, or the first of its values, to seconds since 1970; return None if it is not a date.

    A number, also as text, means seconds: CSV has only text, and Spark reads all JSON values as text.
    """
    first = _first_of(value)
    if isinstance(first, date):
        first = first.isoformat()
    if not isinstance(first, str):
        return _number(first)
    try:
        return read_date(first, datetime.now(UTC)).first / 1000
    except UnreadableError:
        return _number(first)


def _number(value: object) -> float | None:
    try:
        number = float(_first_of(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _first_of(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) and value else value


def unknown_rank(keep: Keep, document_id: str, others: int) -> ParameterError:
    """Return the error for a cluster without ranks: a document, and `others` more, lack the value that ranks them."""
    return ParameterError(
        f"the {keep.by} of {document_id!r} and {others} more is unknown; name another column or property "
        f"(keep {keep.by}:NAME), or keep the first or the longest"
    )


def require_property(keep: Keep | None) -> None:
    """Raise ParameterError if a policy by date or number does not name its property."""
    if keep is not None and keep.is_by_value and not keep.column:
        raise ParameterError(f"documents of a store have dates in a property: keep {keep}:PROPERTY")
