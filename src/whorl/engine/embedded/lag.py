"""The lag of an index: changes in the records that the index lacks, after a crash or on a full disk."""

from __future__ import annotations

import time
from collections.abc import Callable

from whorl.engine.embedded.index import InvertedIndex
from whorl.engine.embedded.records import Records
from whorl.errors import StoreError

#: Seconds between two attempts to write an index that could not be written.
RETRY_SECONDS = 10.0


class IndexLag:
    """Measures the lag, and ends it if possible.

    Args:
        records: The records of the store.
        index: Its index.
        catch_up: Applies the journal to the index, unless a writer is at work; raises StoreError if it cannot.
    """

    def __init__(self, records: Records, index: InvertedIndex, catch_up: Callable[[], None]) -> None:
        self._records, self._index, self._catch_up = records, index, catch_up
        self._current_at = -1
        self._failed_at: float | None = None

    def note_failure(self) -> None:
        """Remember that the index could not be written."""
        self._failed_at = time.monotonic()

    def changes(self) -> int:
        """Return the number of changed documents that the index lacks; 0 while a writer is at work."""
        if self._is_current():
            return 0
        if self._failed_at is None or time.monotonic() - self._failed_at >= RETRY_SECONDS:
            self._failed_at = None
            try:
                self._catch_up()
            except StoreError:
                self.note_failure()
        if self._failed_at is None or self._is_current():
            return 0
        reached = self._index.reached()
        changed = self._records.changed_since(reached[0]) if reached else None
        # An index older than the journal is rebuilt as a whole.
        return self._records.count() if changed is None else len(changed)

    def _is_current(self) -> bool:
        last = self._records.last_change()
        if self._current_at != last:
            reached = self._index.reached()
            if reached is None or reached[0] < last:
                return False
            self._current_at = last
        self._failed_at = None
        return True
