"""Commits that threads share: Solr makes one after the other, and each makes everybody's documents searchable."""

from __future__ import annotations

import threading
from collections.abc import Callable

from whorl.errors import EngineError


class SharedCommit:
    """Commits what was sent before; of those who wait for their turn together, one does it for all.

    A thread needs a commit that begins after it has asked: one that was under way already may not have seen its
    documents. Known from databases as group commit.

    Args:
        commit: Makes everything sent so far searchable.
    """

    def __init__(self, commit: Callable[[], None]) -> None:
        self._commit = commit
        self._turn = threading.Lock()
        self._begun = self._ended = 0
        self._error: EngineError | None = None

    def __call__(self) -> None:
        """Return when a commit has ended that began after this call.

        Raises:
            EngineError: It failed; all who shared it are told, or each would wait for a silent Solr in turn.
        """
        # Reading it is enough: who counts it up at this moment has begun after us or before us, and we take the later.
        wanted = self._begun + 1
        with self._turn:
            if self._ended < wanted:
                self._begun += 1
                self._error = None
                try:
                    self._commit()
                except EngineError as error:
                    self._error = error
                # Whatever else is raised is this caller's own, as Ctrl-C is: the next one commits again.
                self._ended = self._begun
            if self._error is not None:
                raise self._error
