"""Facets and cluster labels of an embedded store.

Facets are counted on the records of the matching documents; each record is read once. Cluster labels ("marks") are
ordinary indexed properties of documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from whorl.arrays import batches, chunks
from whorl.context import require_time
from whorl.engine.embedded.records import Records
from whorl.engine.embedded.search import PlanRunner
from whorl.engine.labels import cluster_labels, with_cluster_label
from whorl.engine.lucene import encode_sortable
from whorl.engine.protocol import (
    ClusterLabel,
    Facet,
    FacetResult,
    MatchCount,
    Statistics,
    StatisticsFacet,
    ValueCount,
    ValueFacet,
)
from whorl.model import IS_PRINCIPAL, Document
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, Equal, Exists, Kind, Value
from whorl.query.plan.values import whole

#: Documents read at once, without their texts.
_READ_AT_ONCE = 1000
#: Values of the requested fields by document id.
_DocumentValues = Mapping[str, Mapping[tuple[Kind, str], list[Value]]]


def count_facets(
    runner: PlanRunner, records: Records, plan: BoundPlan, facets: Sequence[Facet]
) -> tuple[FacetResult, ...]:
    """Return the counts of facets among the documents that match a plan."""
    places = set(_places(facets))
    if not places:
        return tuple(_count_matching(runner, plan.root, facet) for facet in facets if isinstance(facet, MatchCount))
    return _count_each(runner, facets, _read_values(runner.ids(plan), records, places), plan.root)


def _places(facets: Sequence[Facet]) -> list[tuple[Kind, str]]:
    places = [(facet.kind, facet.place) for facet in facets if isinstance(facet, ValueFacet | StatisticsFacet)]
    return places + [place for facet in facets if isinstance(facet, ValueFacet) for place in _places(facet.within)]


def _read_values(ids: Sequence[str], records: Records, places: set[tuple[Kind, str]]) -> _DocumentValues:
    values_by_id: dict[str, dict[tuple[Kind, str], list[Value]]] = {}
    for batch in batches(ids, _READ_AT_ONCE):
        require_time()
        for head in records.heads("id", batch):
            values = values_by_id.setdefault(head.id, {})
            for name, kind, value in [("id", Kind.KEYWORD, head.id), *head.document().wholes()]:
                if (kind, name) in places:
                    values.setdefault((kind, name), []).append(whole(str(value)) if kind is Kind.KEYWORD else value)
    return values_by_id


def _count_each(
    runner: PlanRunner, facets: Sequence[Facet], known: _DocumentValues, among: BoundNode
) -> tuple[FacetResult, ...]:
    counts: list[FacetResult] = []
    for facet in facets:
        match facet:
            case MatchCount():
                counts.append(_count_matching(runner, among, facet))
            case ValueFacet():
                counts.append(_count_values(runner, facet, known, among))
            case StatisticsFacet(kind=kind, place=place):
                counts.append(
                    _statistics([float(value) for values in known.values() for value in values.get((kind, place), ())])
                )
    return tuple(counts)


def _count_matching(runner: PlanRunner, among: BoundNode, facet: MatchCount) -> int:
    return runner.page(BoundPlan(Bool(must=(among, facet.node))), 0, 0, ()).total


def _count_values(
    runner: PlanRunner, facet: ValueFacet, known: _DocumentValues, among: BoundNode
) -> tuple[ValueCount, ...]:
    kind, place = facet.kind, facet.place
    counts = Counter(value for values in known.values() for value in dict.fromkeys(values.get((kind, place), ())))
    retained = [
        (count, encode_sortable(kind, value).encode(), value)
        for value, count in counts.items()
        if count >= facet.least and (not facet.beginning or str(value).startswith(facet.beginning))
    ]
    retained.sort(key=lambda counted: counted[1] if facet.is_by_value else (-counted[0], counted[1]))
    return tuple(
        ValueCount(value, count, _count_within(runner, facet, value, known, among))
        for count, _, value in retained[: facet.most]
    )


def _count_within(
    runner: PlanRunner, facet: ValueFacet, value: Value, known: _DocumentValues, among: BoundNode
) -> tuple[FacetResult, ...]:
    if not facet.within:
        return ()
    place = (facet.kind, facet.place)
    matching = {document_id: values for document_id, values in known.items() if value in values.get(place, ())}
    return _count_each(runner, facet.within, matching, Bool(must=(among, Equal(facet.place, facet.kind, value))))


def _statistics(numbers: Sequence[float]) -> Statistics:
    if not numbers:
        return Statistics()
    return Statistics(
        len(numbers), min(numbers), max(numbers), sum(numbers), sum(number * number for number in numbers)
    )


#: Limits of a batch of rewritten documents, with their texts.
_AT_ONCE, _CHARACTERS_AT_ONCE = 256, 1 << 24
#: Matches labelled documents. The cluster property is no help: its value is a document's id, of any type, even a date.
_MARKED = Exists(IS_PRINCIPAL, Kind.BOOLEAN)


class EmbeddedLabels:
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

    def everything(self) -> Iterator[Mapping[str, ClusterLabel]]:
        ids = self._ids(BoundPlan(_MARKED))
        for at in range(0, len(ids), _READ_AT_ONCE):
            yield self.labels_of(ids[at : at + _READ_AT_ONCE])

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        return cluster_labels({head.id: head.properties for head in self._records.heads("id", ids)})

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        both = BoundPlan(Bool(must=(plan.root, _MARKED)))
        return Counter(mark.cluster for mark in self.labels_of(self._ids(both)).values())

    def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
        documents = (record.document for record in self._records.documents(changes))
        for batch in chunks(documents, lambda document: len(document.text), _CHARACTERS_AT_ONCE, _AT_ONCE):
            self._store_again([with_cluster_label(document, changes[document.id]) for document in batch])
