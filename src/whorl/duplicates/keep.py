"""Which document of a cluster is kept: by its place, its length, its date, or any property that it has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from whorl.errors import ParameterError
from whorl.planning.dates import DateError, read_date

#: What a choice goes by, and whether it needs a column, may have one (of files the date of their last change does), or
#: has none.
_COLUMNS = {"first": "none", "longest": "none", "newest": "may", "oldest": "may", "largest": "must", "smallest": "must"}
_DATES, _DESCENDING = ("newest", "oldest"), ("oldest", "smallest")


@dataclass(frozen=True, slots=True)
class Keep:
    """Which one is kept; of several alike the first.

    Args:
        by: "first", "longest" (with most distinct shingles), "newest", "oldest", "largest" or "smallest".
        column: The column, or property, of the date or the number; "" for none.

    Raises:
        ParameterError: There is no such choice, or it goes with a column, or without one.
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
        """Return a choice as people type it: `first`, `newest:modified`, `largest:quality`.

        Raises:
            ParameterError: There is no such choice.
        """
        by, _, column = words.partition(":")
        return cls(by, column)

    def __str__(self) -> str:
        return f"{self.by}:{self.column}" if self.column else self.by

    @property
    def is_by_value(self) -> bool:
        """Whether a date or a number decides, of a column or another one."""
        return _COLUMNS[self.by] != "none"

    @property
    def is_by_date(self) -> bool:
        """Whether it is a date that decides."""
        return self.by in _DATES

    @property
    def sought(self) -> str:
        """What is looked for in the column: a date or a number."""
        return "date" if self.is_by_date else "number"

    def worth(self, value: object) -> float | None:
        """Return what a document with this date or number is worth, the larger the better; None if it is neither.

        Args:
            value: As it stands in the column, or seconds since 1970; of several values the first counts.
        """
        number = seconds_of(value) if self.is_by_date else _number(value)
        return -number if number is not None and self.by in _DESCENDING else number


def seconds_of(value: object) -> float | None:
    """Return the moment of a field's value, or of the first of several, in seconds since 1970; None if it is none.

    Args:
        value: A date as queries write it, or a number of seconds; in a list or tuple or alone.
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
