"""Defines `Finding`, the result of one check of a server, and the findings that Solr and OpenSearch have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial


class Severity(Enum):
    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check of a collection or index.

    Args:
        code: Name of the finding for programs; it keeps its meaning in all versions.
        remedy: Recommended action, or "".
    """

    level: Severity
    code: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        lines = f"{self.level.value:>7}  {self.message}"
        return f"{lines}\n         → {self.remedy}" if self.remedy else lines

    def as_json(self) -> dict[str, str]:
        return {"level": self.level.value, "code": self.code, "message": self.message, "remedy": self.remedy}


error, ok = partial(Finding, Severity.ERROR), partial(Finding, Severity.OK)
warning, note = partial(Finding, Severity.WARNING), partial(Finding, Severity.NOTE)


def sort_findings(findings: list[Finding]) -> list[Finding]:
    order = [Severity.ERROR, Severity.OK, Severity.WARNING, Severity.NOTE]
    return sorted(findings, key=lambda finding: order.index(finding.level))


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, or () if it has none.

    >>> version_numbers("8.11.4"), version_numbers("nightly")
    ((8, 11), ())
    """
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def is_tested(version: str, tested: Iterable[str]) -> bool:
    """Check whether whorl is tested with a version, or with an earlier version of the same major number."""
    numbers = version_numbers(version)
    return any(numbers[:1] == oldest[:1] and numbers >= oldest for oldest in map(version_numbers, tested))


def untried_version_warning(server: str, tried: str, remedy: str) -> Finding:
    return warning("untried-version", f"whorl is tested with {tried}, not with {server}", remedy)


def unsplit_names_note(field: str, remedy: str) -> Finding:
    """Report that the field of document names is not split into words at `_` and `.`."""
    message = f"the words of {field} do not end at _ and .: lease_2024.txt is one word, which name:2024 does not find"
    return note("whole-names", message, remedy)


def missing_name_note(field: str, remedy: str) -> Finding:
    return note("no-name", f"there is no stored field {field!r} to show beside an id", remedy)


def missing_passages_warning(count: int, remedy: str) -> Finding:
    message = f"{count:,} documents have no passages, so 'whorl sources' finds none with certainty"
    return warning("without-passages", message, remedy)
