"""Clusters written into the documents of a store, so that its searches can show one of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from whorl.arrays import batches
from whorl.context import require_time
from whorl.duplicates.result import Cluster
from whorl.engine.protocol import Engine, Mark

#: Documents changed between two words of progress.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Marked:
    """What a run did.

    Args:
        clusters: Clusters that there are.
        documents: Documents in them.
        written: Those that did not say so yet, or said something else.
        cleared: Documents that said they were in one, and are in none.
        left: Documents that somebody changed or deleted meanwhile: they are as they were, until the next run.
    """

    clusters: int
    documents: int
    written: int
    cleared: int
    left: int = 0


def write_ids(
    engine: Engine, clusters: Iterable[Cluster], progress: Callable[[int], None] = lambda count: None
) -> Marked:
    """Write into each document of a store which cluster it is in, and whether it is the principal.

    Only what is not there already is changed, so a run that was stopped is completed by another one, and a run after
    changes puts right what they made of the clusters. A document that somebody changes meanwhile is left to the next.

    Args:
        engine: The store that the clusters were found in.
        clusters: All of them, complete ones, so that each document is a duplicate of the one that stands for it.
        progress: Called with how many documents were changed so far.

    Raises:
        SchemaError: The store cannot hold them; nothing has been changed.
    """
    engine.marks.prepare()
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
