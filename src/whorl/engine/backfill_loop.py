"""Runs a backfill in batches, and counts its outcomes, for Solr and OpenSearch.

The modules `backfill_and_labels` of both engines compute the fields that a backfill adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from whorl.errors import EngineError, ParameterError

#: Number of documents to fetch and send in one request. It is small, because each document includes its whole text.
DEFAULT_BATCH = 100
#: Number of documents between two commits. After an error, the next run continues from the last commit.
_COMMIT_EVERY = 10_000

_Batch = TypeVar("_Batch")


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """Counts of the documents that a backfill run has processed, by outcome.

    Args:
        total: Number of documents to process, counted at the beginning.
        sent: Documents that got whorl's fields from their text.
        cleared: Documents without a text, whose empty sketch the run has removed.
        too_short: Documents that keep their empty sketch, because their text is shorter than a shingle.
        textless: Documents left unchanged, because the server returns no text for them.
        refused: Ids of documents that could not be updated, each with the reason.
        changed: Documents that need another run, because they were added or changed during the run.
        example: Id of a processed document with a non-empty text, for an example command; "" for none.
    """

    total: int = 0
    sent: int = 0
    cleared: int = 0
    too_short: int = 0
    textless: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    changed: int = 0
    example: str = field(default="", compare=False)

    @property
    def processed(self) -> int:
        return self.sent + self.cleared + self.too_short + self.textless + len(self.refused)

    def __add__(self, other: BackfillReport) -> BackfillReport:
        """Add the counts of a batch; the total stays the same."""
        counted = ("sent", "cleared", "too_short", "textless", "refused", "changed")
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
    """Update documents in batches, and return the counts of the run.

    `total` is the number of documents to process. `fill` updates a batch, `commit` commits all finished updates, and
    `lacking` counts the documents that still lack whorl's fields. `progress` gets the counts before the first batch and
    after each batch. After an error, finished updates are committed, so that the next run need not repeat them.
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
    # A document that already had whorl's fields does not lack them, although it has changed.
    return replace(done, changed=max(done.changed, lacking() - done.textless - len(done.refused)))


def require_batch(batch: int) -> None:
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")


def ignore_progress(done: BackfillReport) -> None: ...
