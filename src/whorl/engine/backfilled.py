"""What a run did so far that gives the documents of an index the fields which fingerprint search needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backfilled:
    """Counts of documents.

    Args:
        total: To look at when the run began.
        sent: What was made of their text was sent.
        removed: An empty sketch was taken away, since they have no text that it could be of.
        kept: Their sketch is rightly empty: their text is too short.
        textless: They have no text, or it is not stored with them; they get nothing, and are not found.
        refused: They cannot be stored with our fields; the server's reason stands beside the id.
        left: They still lack our fields at the end, beside those: changed meanwhile, or new.
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
        """Documents that were looked at."""
        return self.sent + self.removed + self.kept + self.textless + len(self.refused)
