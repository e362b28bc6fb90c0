"""Reads and writes the cluster labels of an embedded store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from whorl.arrays_and_batches import batches, chunks
from whorl.engine.cluster_labels import READ_AT_ONCE, cluster_labels, with_cluster_label
from whorl.engine.embedded.database import RecordDatabase
from whorl.engine.protocol import ClusterLabel
from whorl.model import IS_PRINCIPAL, Document
from whorl.query.plan.nodes import Bool, BoundPlan, Exists, Kind

#: Limits of a batch of documents that get cluster labels: number of documents, and characters of their texts.
_DOCUMENTS_AT_ONCE, _CHARACTERS_AT_ONCE = 256, 1 << 24
#: Clause for documents with a cluster label. It uses `whorl_is_principal`, which is always a Boolean, because the
#: cluster's id has no fixed type.
_LABELLED = Exists(IS_PRINCIPAL, Kind.BOOLEAN)


@dataclass(frozen=True, slots=True)
class EmbeddedLabels:
    """Reads and writes the cluster labels of a store.

    Args:
        prepare: Raises an error if labels cannot be written.
        store_again: Replaces documents, except documents that have changed since they were read.
    """

    records: RecordDatabase
    ids: Callable[[BoundPlan], Sequence[str]]
    prepare: Callable[[], None]
    store_again: Callable[[Sequence[Document]], None]

    def read_all(self) -> Iterator[Mapping[str, ClusterLabel]]:
        for ids in batches(self.ids(BoundPlan(_LABELLED)), READ_AT_ONCE):
            yield self.labels_of(ids)

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        return cluster_labels({head.id: head.properties for head in self.records.heads("id", ids)})

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        both = BoundPlan(Bool(must=(plan.root, _LABELLED)))
        return Counter(label.cluster for label in self.labels_of(self.ids(both)).values())

    def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
        documents = (record.document for record in self.records.documents("id", changes))
        for batch in chunks(documents, lambda document: len(document.text), _CHARACTERS_AT_ONCE, _DOCUMENTS_AT_ONCE):
            self.store_again([with_cluster_label(document, changes[document.id]) for document in batch])
