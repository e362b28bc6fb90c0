"""Filter on stored fields, for clauses that tantivy cannot evaluate exactly."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tantivy import Query

from whorl.context import require_time, seconds_left
from whorl.engine.embedded.counting import Counted, count
from whorl.engine.embedded.index import InvertedIndex
from whorl.engine.embedded.postings import TokenSnapshot
from whorl.engine.embedded.records import Records
from whorl.errors import StoppedError
from whorl.query.plan.build import BoundNode
from whorl.query.plan.fields import split_name

#: The words of each value of a field, in order.
Values: TypeAlias = Sequence[Sequence[str]]


class Contents:
    """Access to tokens, terms and stored fields for the translation of one query.

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
        """Return the documents that match a countable part of a plan; all parts share one snapshot of the tokens."""
        if self._tokens is None:
            self._tokens = self._index.tokens()
        return count(plan, self._tokens)

    def names(self) -> set[str]:
        """Return the names of all fields."""
        return {"name", "content", *(name for name, _ in self._records.fields())}

    def terms(self, field: str, beginning: str, most: int) -> list[str]:
        """Return the terms of a tantivy field with a prefix: all of them, or more than `most` if they exceed it."""
        return self._index.terms(field, beginning, most)

    def verified(self, query: Query, fields: Sequence[str], is_match: Callable[[Values], bool]) -> list[str]:
        """Return the ids of a query's hits in which at least one of the fields passes a test."""
        self.require_time_for_all()
        _, found = self._index.matches(query, 0, self._records.count(), is_ranked=False)
        verified = []
        for record in self._records.records(document_id for document_id, _ in found):
            require_time()
            document = record.document
            texts = {"name": (document.name,), "content": (document.text,), **document.values()}
            texts["name"] = tuple(map(split_name, texts["name"]))
            if any(is_match([self._words(text) for text in texts.get(field, ())]) for field in fields):
                verified.append(document.id)
        return verified

    def rehearse(self, query: Query) -> None:
        """Schedule a part of a query to run alone, before any whole query runs."""
        self._pending.append(query)

    def require_time_for_all(self) -> None:
        """Run the scheduled parts alone, and require enough time to run all of them once more.

        A tantivy search cannot be cancelled, but whorl can stop between the parts.

        Raises:
            StoppedError: The time left is too short.
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
