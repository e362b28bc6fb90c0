"""Writes cluster ids into the documents of a store, so that searches can show one document per cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whorl.arrays_and_batches import batches
from whorl.duplicates.results import Cluster
from whorl.engine.protocol import ClusterLabel, Engine, require_current_index
from whorl.request_context import report_progress, require_time

#: Number of documents to write between two progress reports.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Numbers of labelled clusters and documents.

    Args:
        written: Documents whose label was missing or has changed.
        cleared: Documents whose label was removed, because they are no longer in a cluster.
        left: Documents without the new label, because they were changed or deleted during the run.
    """

    clusters: int
    documents: int
    written: int
    cleared: int
    left: int = 0


def write_ids(engine: Engine, clusters: Iterable[Cluster]) -> LabelCounts:
    """Write each document's cluster id, and whether it represents the cluster, into a store.

    Only missing or changed labels are written, so a run completes an interrupted one.

    Args:
        engine: Engine of the store in which the clusters were found.
        clusters: All clusters, found with `complete`, so that each document is a duplicate of its cluster's principal.

    Raises:
        SchemaError: The store has no fields for labels; nothing was changed.
    """
    engine.labels.prepare()
    require_current_index(engine, "what the store says of its clusters")
    wanted: dict[str, ClusterLabel] = {}
    count = 0
    for count, cluster in enumerate(clusters, start=1):  # noqa: B007 - the last number is needed
        name = cluster.members[0].id
        wanted |= {member.id: ClusterLabel(name, member == cluster.principal) for member in cluster.members}
    changes: dict[str, ClusterLabel | None] = dict(wanted)
    for portion in engine.labels.read_all():
        for document_id, mark in portion.items():
            if document_id not in wanted:
                changes[document_id] = None
            elif wanted[document_id] == mark:
                changes.pop(document_id, None)
    for done, batch in enumerate(portions := list(batches(sorted(changes), _AT_ONCE))):
        require_time()
        engine.labels.write({document_id: changes[document_id] for document_id in batch})
        report_progress("writing", done * _AT_ONCE + len(batch), len(changes))
    engine.refresh()
    done_ids = [
        document_id
        for batch in portions
        for labels in [engine.labels.labels_of(batch)]
        for document_id in batch
        if labels.get(document_id) == changes[document_id]
    ]
    written = sum(changes[document_id] is not None for document_id in done_ids)
    return LabelCounts(count, len(wanted), written, len(done_ids) - written, len(changes) - len(done_ids))
