"""Cluster labels ("marks") of an embedded store, kept as ordinary indexed properties of its documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from whorl.arrays import chunks
from whorl.engine.embedded.records import Records
from whorl.engine.marks import marked, marks_in
from whorl.engine.protocol import Mark
from whorl.model import IS_PRINCIPAL, Document
from whorl.query.plan.build import Bool, BoundPlan
from whorl.query.plan.clauses import Kind, Present

#: Limits of a batch of rewritten documents, with their texts.
_AT_ONCE, _CHARACTERS_AT_ONCE = 256, 1 << 24
#: Documents whose labels are read at once.
_READ_AT_ONCE = 1000
#: Matches labelled documents. The cluster property is no help: its value is a document's id, of any type, even a date.
_MARKED = Present(IS_PRINCIPAL, Kind.BOOLEAN)


class EmbeddedMarks:
    """Reads and writes the cluster labels of a store.

    Args:
        records: The documents.
        ids: Returns the ids of the documents that match a plan.
        store_again: Replaces documents, if their digests have not changed.
        require_writable: Raises StoreError if the store is read-only.
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
        """Raise StoreError if the store is read-only; an embedded store needs no further preparation."""
        self._require_writable()

    def everything(self) -> Iterator[Mapping[str, Mark]]:
        """Yield all labels by document id, in batches."""
        ids = self._ids(BoundPlan(_MARKED))
        for at in range(0, len(ids), _READ_AT_ONCE):
            yield self.of(ids[at : at + _READ_AT_ONCE])

    def of(self, ids: Collection[str]) -> Mapping[str, Mark]:
        """Return the labels of the labelled ones among some documents, by id."""
        return marks_in(self._records.properties(ids))

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        """Return the number of matching documents by cluster; clusters without a match are left out."""
        both = BoundPlan(Bool(must=(plan.root, _MARKED)))
        return Counter(mark.cluster for mark in self.of(self._ids(both)).values())

    def write(self, changes: Mapping[str, Mark | None]) -> None:
        """Set the labels of documents, or remove them (None)."""
        documents = (each.document for each in self._records.records(changes))
        for some in chunks(documents, lambda each: len(each.text), _CHARACTERS_AT_ONCE, _AT_ONCE):
            self._store_again([marked(each, changes[each.id]) for each in some])
