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
    cluster_labels,
    with_cluster_label,
)
from whorl.model import IS_PRINCIPAL, Document
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, Equal, Exists, Kind, Value
from whorl.query.plan.values import whole

#: Documents read at once, without their texts.
_READ_AT_ONCE = 1000
#: Values of the requested fields by document id.
_Known = Mapping[str, Mapping[tuple[Kind, str], list[Value]]]


def count_facets(
    search: PlanRunner, records: Records, plan: BoundPlan, asked: Sequence[Facet]
) -> tuple[FacetResult, ...]:
    """Return the counts of facets among the documents that match a plan."""
    places = set(_places(asked))
    if not places:
        return tuple(_matching(search, plan.root, facet) for facet in asked if isinstance(facet, MatchCount))
    return _counted(search, asked, _known(search.ids(plan), records, places), plan.root)


def _places(asked: Sequence[Facet]) -> list[tuple[Kind, str]]:
    found = [(facet.kind, facet.place) for facet in asked if isinstance(facet, ValueFacet | StatisticsFacet)]
    return found + [place for facet in asked if isinstance(facet, ValueFacet) for place in _places(facet.within)]


def _known(ids: Sequence[str], records: Records, places: set[tuple[Kind, str]]) -> _Known:
    known: dict[str, dict[tuple[Kind, str], list[Value]]] = {}
    for some in batches(ids, _READ_AT_ONCE):
        require_time()
        for document_id, (document, _) in records.heads(some).items():
            own = known.setdefault(document_id, {})
            for name, kind, value in [("id", Kind.KEYWORD, document_id), *document.wholes()]:
                if (kind, name) in places:
                    own.setdefault((kind, name), []).append(whole(str(value)) if kind is Kind.KEYWORD else value)
    return known


def _counted(search: PlanRunner, asked: Sequence[Facet], known: _Known, among: BoundNode) -> tuple[FacetResult, ...]:
    counted: list[FacetResult] = []
    for facet in asked:
        match facet:
            case MatchCount():
                counted.append(_matching(search, among, facet))
            case ValueFacet():
                counted.append(_values(search, facet, known, among))
            case StatisticsFacet(kind=kind, place=place):
                counted.append(
                    _statistics([float(each) for own in known.values() for each in own.get((kind, place), ())])
                )
    return tuple(counted)


def _matching(search: PlanRunner, among: BoundNode, facet: MatchCount) -> int:
    return search.page(BoundPlan(Bool(must=(among, facet.node))), 0, 0, ()).total


def _values(search: PlanRunner, facet: ValueFacet, known: _Known, among: BoundNode) -> tuple[ValueCount, ...]:
    kind, place = facet.kind, facet.place
    counts = Counter(each for own in known.values() for each in dict.fromkeys(own.get((kind, place), ())))
    found = [
        (count, encode_sortable(kind, value).encode(), value)
        for value, count in counts.items()
        if count >= facet.least and (not facet.beginning or str(value).startswith(facet.beginning))
    ]
    found.sort(key=lambda each: each[1] if facet.is_by_value else (-each[0], each[1]))
    return tuple(
        ValueCount(value, count, _within(search, facet, value, known, among)) for count, _, value in found[: facet.most]
    )


def _within(
    search: PlanRunner, facet: ValueFacet, value: Value, known: _Known, among: BoundNode
) -> tuple[FacetResult, ...]:
    if not facet.within:
        return ()
    place = (facet.kind, facet.place)
    own = {document_id: told for document_id, told in known.items() if value in told.get(place, ())}
    return _counted(search, facet.within, own, Bool(must=(among, Equal(facet.place, facet.kind, value))))


def _statistics(numbers: Sequence[float]) -> Statistics:
    if not numbers:
        return Statistics()
    return Statistics(len(numbers), min(numbers), max(numbers), sum(numbers), sum(each * each for each in numbers))


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
        """Yield all labels by document id, in batches."""
        ids = self._ids(BoundPlan(_MARKED))
        for at in range(0, len(ids), _READ_AT_ONCE):
            yield self.labels_of(ids[at : at + _READ_AT_ONCE])

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        """Return the labels of the labelled ones among some documents, by id."""
        return cluster_labels(self._records.properties(ids))

    def counts(self, plan: BoundPlan) -> Mapping[str, int]:
        """Return the number of matching documents by cluster; clusters without a match are left out."""
        both = BoundPlan(Bool(must=(plan.root, _MARKED)))
        return Counter(mark.cluster for mark in self.labels_of(self._ids(both)).values())

    def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
        """Set the labels of documents, or remove them (None)."""
        documents = (each.document for each in self._records.documents(changes))
        for some in chunks(documents, lambda each: len(each.text), _CHARACTERS_AT_ONCE, _AT_ONCE):
            self._store_again([with_cluster_label(each, changes[each.id]) for each in some])
