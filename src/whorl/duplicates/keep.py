"""Retention policy: the choice of the document of a cluster to keep, by position, length, date or any property."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from whorl.errors import ParameterError
from whorl.query.plan.dates import DateError, read_date

#: Policies, and whether each must, may or cannot have a column; files without a date column use their time of change.
_COLUMNS = {"first": "none", "longest": "none", "newest": "may", "oldest": "may", "largest": "must", "smallest": "must"}
_DATES, _DESCENDING = ("newest", "oldest"), ("oldest", "smallest")


@dataclass(frozen=True, slots=True)
class Keep:
    """Retention policy; ties go to the first document.

    Args:
        by: "first", "longest" (with most distinct shingles), "newest", "oldest", "largest" or "smallest".
        column: Column, or property, of the date or number; "" for none.

    Raises:
        ParameterError: The policy is unknown, lacks its column, or takes none.
    """

    by: str
    column: str = ""

    def __post_init__(self) -> None:
        column = _COLUMNS.get(self.by)
        if column is None:
            raise ParameterError(f"keep must be one of {', '.join(_COLUMNS)}, got {self.by!r}")
        if column == "none" and self.column:
            raise ParameterError(f"{self.by} has no column, got {self.column!r}")
        if column == "must" and not self.column:
            raise ParameterError(f"{self.by} needs the column of the number: {self.by}:COLUMN")

    @classmethod
    def named(cls, words: str) -> Keep:
        """Return a policy as users type it: `first`, `newest:modified`, `largest:quality`.

        Raises:
            ParameterError: The policy is unknown.
        """
        by, _, column = words.partition(":")
        return cls(by, column)

    def __str__(self) -> str:
        return f"{self.by}:{self.column}" if self.column else self.by

    @property
    def is_by_value(self) -> bool:
        """Whether a date or a number decides, with or without a column."""
        return _COLUMNS[self.by] != "none"

    @property
    def is_by_date(self) -> bool:
        """Whether a date decides."""
        return self.by in _DATES

    @property
    def sought(self) -> str:
        """Kind of value needed from the column: a date or a number."""
        return "date" if self.is_by_date else "number"

    def worth(self, value: object) -> float | None:
        """Return the rank of a document with this date or number, the larger the better; None if the value is neither.

        Args:
            value: Value of the column, or seconds since 1970; the first counts if there are several.
        """
        number = seconds_of(value) if self.is_by_date else _number(value)
        return -number if number is not None and self.by in _DESCENDING else number


def seconds_of(value: object) -> float | None:
    """Return a field's value, or the first of several, in seconds since 1970; None if it is no date.

    Args:
        value: A date as queries write it, or a number of seconds, alone or in a list or tuple.
    """
    first = value[0] if isinstance(value, list | tuple) and value else value
    if not isinstance(first, str):
        return _number(first)
    try:
        return read_date(first, datetime.now(UTC)).first / 1000
    except DateError:
        return None


def _number(value: object) -> float | None:
    first = value[0] if isinstance(value, list | tuple) and value else value
    try:
        number = float(first)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
