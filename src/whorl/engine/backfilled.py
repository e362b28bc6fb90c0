"""Progress counts of a backfill, which adds whorl's fields to the documents of an existing index."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backfilled:
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
