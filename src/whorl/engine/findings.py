"""Results of checks and backfills: findings, progress counts, and the probe text that reveals an analysis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
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

    level: Severity
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
    order = [Severity.ERROR, Severity.OK, Severity.WARNING, Severity.NOTE]
    return sorted(findings, key=lambda finding: order.index(finding.level))


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """Counts of documents.

    Args:
        total: Documents to process, counted at the beginning of the run.
        sent: Documents with new fields, made from their text.
        removed: Documents without text whose empty sketch was removed.
        kept: Documents whose empty sketch is right, because their text is too short.
        textless: Documents without a text, or whose text is not stored with them; they get no fields and are not found.
        refused: Documents that cannot be stored with whorl's fields: id and the server's reason.
        left: Further documents that lack whorl's fields at the end: changed during the run, or new.
    """

    total: int
    sent: int = 0
    removed: int = 0
    kept: int = 0
    textless: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    left: int = 0

    @property
    def done(self) -> int:
        """Number of processed documents."""
        return self.sent + self.removed + self.kept + self.textless + len(self.refused)


#: Distinguishes the word-break profiles (a colon between letters, a letter that is new in Unicode 15 and another from
#: 16), and rejects analyses that break or fold differently, remove markup, stop words or long words, or stem words.
PROBE = (
    "one:two \U00011f04\U00011f05 three \U00010d4e\U00010d4f, (Don't) 3.14 x_y Straße ﬁne 中文 – naïve; "
    "The houses of John's churches are running <b>out</b> of R&amp;D, wi-fi; l'été et des eaux, der Hund und die "
    f"Häuser, los niños que, и не только, 日本語の文 {'long' * 80} 1,000 e-mail@example.org a_b?c=d end."
)
