"""Adds fields to existing documents in batches, on Solr and OpenSearch, with progress and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from whorl.errors import EngineError, ParameterError

#: Documents fetched and sent per request; each includes its whole text.
DEFAULT_BATCH = 100
#: Documents between commits. The next run sees the committed updates, even if this run fails.
_COMMIT_EVERY = 10_000

_Batch = TypeVar("_Batch")


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """Counts of documents.

    Args:
        total: Documents to process, counted at the beginning of the run.
        sent: Documents that got whorl's fields, made from their text.
        removed: Documents without a text that lost their empty sketch.
        kept: Documents whose text is so short that an empty sketch is right.
        textless: Documents without a stored text; they get no fields, so searches do not find them.
        refused: Ids of the documents that the server refuses, each with its reason.
        left: Documents that still lack whorl's fields, because they were added or changed during the run.
        example: Smallest of the batches' example ids, "" for none. Servers return documents in any order, but each run
            should name the same one.
    """

    total: int = 0
    sent: int = 0
    removed: int = 0
    kept: int = 0
    textless: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    left: int = 0
    example: str = field(default="", compare=False)

    @property
    def done(self) -> int:
        return self.sent + self.removed + self.kept + self.textless + len(self.refused)

    def __add__(self, other: BackfillReport) -> BackfillReport:
        """Add the counts of a batch; the total stays the same."""
        counted = ("sent", "removed", "kept", "textless", "refused")
        sums = {name: getattr(self, name) + getattr(other, name) for name in counted}
        example = min(filter(None, (self.example, other.example)), default="")
        return replace(self, example=example, **sums)


def fill_batches(
    total: int,
    batches: Iterable[_Batch],
    fill: Callable[[_Batch], BackfillReport],
    *,
    commit: Callable[[], None],
    lacking: Callable[[], int],
    progress: Callable[[BackfillReport], None],
) -> BackfillReport:
    """Update documents a batch at a time. If an error stops the run, another run continues from there.

    Args:
        progress: Called with the counts so far, before the first batch and after each.
    """
    done, committed = BackfillReport(total), 0
    progress(done)
    try:
        for batch in batches:
            done += fill(batch)
            if done.sent - committed >= _COMMIT_EVERY:
                commit()
                committed = done.sent
            progress(done)
    except BaseException:
        with suppress(EngineError):
            commit()
        raise
    commit()
    return replace(done, left=max(0, lacking() - done.textless - len(done.refused)))


def require_batch(batch: int) -> None:
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")


def ignore_progress(done: BackfillReport) -> None: ...
