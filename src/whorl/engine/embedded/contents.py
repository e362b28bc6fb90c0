"""What is in the store, for clauses that no query of the index tells."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tantivy import Query

from whorl.context import require_time, seconds_left
from whorl.engine.embedded.counting import Counted, count
from whorl.engine.embedded.index import InvertedIndex
from whorl.engine.embedded.records import Records
from whorl.engine.embedded.tokens import TokenSnapshot
from whorl.errors import StoppedError
from whorl.planning.build import BoundNode

#: The words of each value of a field, in order.
Values: TypeAlias = Sequence[Sequence[str]]


class Contents:
    """What one query asks beside its search.

    Args:
        index: The index.
        records: The documents.
        words: Splits a text into words.
    """

    def __init__(self, index: InvertedIndex, records: Records, words: Callable[[str], list[str]]) -> None:
        self._index, self._records, self._words = index, records, words
        self._tokens: TokenSnapshot | None = None
        self._pending: list[Query] = []
        self._rehearsed_seconds = 0.0

    def counted(self, plan: BoundNode) -> Counted:
        """Return the documents that match a part of a plan which is countable, all parts at one moment."""
        if self._tokens is None:
            self._tokens = self._index.tokens()
        return count(plan, self._tokens)

    def names(self) -> set[str]:
        """Return the names of all fields."""
        return {"name", "content", *(name for name, _ in self._records.fields())}

    def terms(self, field: str, beginning: str, most: int) -> list[str]:
        """Return terms of one of tantivy's fields that begin so: all of them, or some more than `most`."""
        return self._index.terms(field, beginning, most)

    def verified(self, query: Query, fields: Sequence[str], is_match: Callable[[Values], bool]) -> list[str]:
        """Return the ids of the documents that a query finds and of which one of some fields passes a test."""
        self.require_time_for_all()
        _, found = self._index.matches(query, 0, self._records.count(), is_ranked=False)
        verified = []
        for record in self._records.records(document_id for document_id, _ in found):
            require_time()
            document = record.document
            texts = {"name": (document.name,), "content": (document.text,), **document.values()}
            if any(is_match([self._words(text) for text in texts.get(field, ())]) for field in fields):
                verified.append(document.id)
        return verified

    def rehearse(self, query: Query) -> None:
        """Have a part of a query run alone, before any query runs."""
        self._pending.append(query)

    def require_time_for_all(self) -> None:
        """Run the parts alone, and go on only if there is time for them once more, all together.

        tantivy cannot be stopped on the way, but between the parts we can.
        """
        while self._pending:
            begin = time.monotonic()
            self._index.matches(self._pending.pop(), 0, 0, is_ranked=False)
            self._rehearsed_seconds += time.monotonic() - begin
            require_time()
        require_time()
        left = seconds_left()
        if left is not None and left < self._rehearsed_seconds:
            raise StoppedError("the time left is too short for the patterns of this query; ask for fewer of them")
