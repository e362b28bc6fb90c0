"""Marks of clusters in an embedded store: properties of its documents, which are indexed as all others are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from whorl.arrays import chunks
from whorl.engine.embedded.records import Records
from whorl.engine.marks import marked, marks_in
from whorl.engine.protocol import Mark
from whorl.model import IS_PRINCIPAL, Document
from whorl.planning.build import Bool, BoundPlan
from whorl.planning.clauses import Kind, Present

#: Documents stored again at once, each with its text.
_AT_ONCE, _CHARACTERS_AT_ONCE = 256, 1 << 24
#: Documents looked at at once.
_READ_AT_ONCE = 1000
#: The name of a cluster is a document's id, whose type may be any that a text can have: a date, for instance.
_MARKED = Present(IS_PRINCIPAL, Kind.BOOLEAN)


class EmbeddedMarks:
    """What a store's documents say of their clusters.

    Args:
        records: The documents.
        ids: Returns the ids of the documents that match a plan.
        store_again: Stores documents in the place of those of the same digests.
        require_writable: Raises StoreError where the store cannot be written to.
    """

    def __init__(
        self,
        records: Records,
        ids: Callable[[BoundPlan], Sequence[str]],
        store_again: Callable[[Sequence[Document]], None],
        require_writable: Callable[[], None],
    ) -> None:
        self._records, self._ids, self._store_again = records, ids, store_again
        self._require_writable = require_writable

    def prepare(self) -> None:
        """Raise StoreError where the store cannot be written to; nothing else has to be seen to."""
        self._require_writable()

    def everything(self) -> Iterator[Mapping[str, Mark]]:
        """Yield all marks there are by the ids of their documents, a portion at a time."""
        ids = self._ids(BoundPlan(_MARKED))
        for at in range(0, len(ids), _READ_AT_ONCE):
            yield self.of(ids[at : at + _READ_AT_ONCE])

    def of(self, ids: Collection[str]) -> Mapping[str, Mark]:
        """Return the marks of documents, by id, of those that have one."""
        return marks_in(self._records.properties(ids))

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        """Return how many documents of each cluster match a plan, of those that have any."""
        both = BoundPlan(Bool(must=(plan.root, _MARKED)))
        return Counter(mark.cluster for mark in self.of(self._ids(both)).values())

    def write(self, changes: Mapping[str, Mark | None]) -> None:
        """Give documents marks, or take them away (None)."""
        documents = (each.document for each in self._records.records(changes))
        for some in chunks(documents, lambda each: len(each.text), _CHARACTERS_AT_ONCE, _AT_ONCE):
            self._store_again([marked(each, changes[each.id]) for each in some])
