"""What a doctor says of a collection or an index: one thing that was seen, how much it matters, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was seen.

    Args:
        level: How much it matters.
        code: A name for programs; never reused for something else.
        message: What was seen and why it matters.
        remedy: What to do, or "".
    """

    level: Level
    code: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        lines = f"{self.level.value:>7}  {self.message}"
        return f"{lines}\n         → {self.remedy}" if self.remedy else lines

    def as_json(self) -> dict[str, str]:
        """Return the finding's parts as JSON values."""
        return {"level": self.level.value, "code": self.code, "message": self.message, "remedy": self.remedy}


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Return findings in the order in which they are shown: errors first, notes last."""
    order = [Level.ERROR, Level.OK, Level.WARNING, Level.NOTE]
    return sorted(findings, key=lambda finding: order.index(finding.level))
