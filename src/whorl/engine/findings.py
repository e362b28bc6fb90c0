"""Finding of a check of a collection or index: an observation, its severity and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """Severity of a finding."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation.

    Args:
        level: Severity.
        code: Identifier for programs; never reused for something else.
        message: The observation and its consequence.
        remedy: Recommended action, or "".
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
    """Return findings in display order: errors first, notes last."""
    order = [Level.ERROR, Level.OK, Level.WARNING, Level.NOTE]
    return sorted(findings, key=lambda finding: order.index(finding.level))
