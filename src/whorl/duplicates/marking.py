"""Cluster labels: writes clusters into the documents of a store, so that searches can show one hit per cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from whorl.arrays import batches
from whorl.context import require_time
from whorl.duplicates.result import Cluster
from whorl.engine.lag import require_current_index
from whorl.engine.protocol import Engine, Mark

#: Documents written between two progress reports.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Marked:
    """Summary of a run.

    Args:
        clusters: Number of clusters.
        documents: Number of documents in clusters.
        written: Documents whose label was missing or has changed.
        cleared: Documents whose label was removed, since they are in no cluster any more.
        left: Documents that were changed or deleted during the run; they keep their state until the next run.
    """

    clusters: int
    documents: int
    written: int
    cleared: int
    left: int = 0


def write_ids(
    engine: Engine, clusters: Iterable[Cluster], progress: Callable[[int], None] = lambda count: None
) -> Marked:
    """Write cluster labels into the documents of a store: the cluster's id, and whether the document is its principal.

    Only missing or changed labels are written, so another run completes an interrupted one and adapts the labels to
    later changes. A document that changes during the run is left to the next run.

    Args:
        engine: Engine of the store in which the clusters were found.
        clusters: All clusters, complete ones, so that each document is a duplicate of its principal.
        progress: Called with the number of documents changed so far.

    Raises:
        SchemaError: The store has no fields for labels; nothing was changed.
    """
    engine.marks.prepare()
    require_current_index(engine, "what the store says of its clusters")
    wanted: dict[str, Mark] = {}
    count = 0
    for count, cluster in enumerate(clusters, start=1):  # noqa: B007 - the last one is told
        name = cluster.members[0].id
        wanted |= {each.id: Mark(name, each == cluster.principal) for each in cluster.members}
    changes: dict[str, Mark | None] = dict(wanted)
    for portion in engine.marks.everything():
        for document_id, mark in portion.items():
            if document_id not in wanted:
                changes[document_id] = None
            elif wanted[document_id] == mark:
                changes.pop(document_id, None)
    for done, some in enumerate(portions := list(batches(sorted(changes), _AT_ONCE))):
        require_time()
        engine.marks.write({each: changes[each] for each in some})
        progress(done * _AT_ONCE + len(some))
    engine.refresh()
    right = [
        each
        for some in portions
        for there in [engine.marks.of(some)]
        for each in some
        if there.get(each) == changes[each]
    ]
    written = sum(changes[each] is not None for each in right)
    return Marked(count, len(wanted), written, len(right) - written, len(changes) - len(right))
