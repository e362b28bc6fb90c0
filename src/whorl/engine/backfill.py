"""Changes existing documents on Solr and OpenSearch in batches: adds missing fields, or writes cluster labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from whorl.arrays import batches
from whorl.engine.protocol import ClusterLabel
from whorl.errors import EngineError, EngineResponseError, ParameterError
from whorl.model import CLUSTER, IS_PRINCIPAL, Document, PropertyValue

#: Number of documents to fetch and send per request; each has its whole text.
DEFAULT_BATCH = 100
#: Number of documents between two commits. After an error, the next run continues from the last commit.
_COMMIT_EVERY = 10_000

_Batch = TypeVar("_Batch")


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """Numbers of documents that a backfill run has processed.

    Args:
        total: Documents to process, counted at the beginning.
        sent: Documents that got whorl's fields from their text.
        removed: Documents without a text, whose empty sketch the run has removed.
        kept: Documents that keep their empty sketch, because their text is shorter than a shingle.
        textless: Documents without a stored text, which searches do not find.
        refused: Ids of refused documents, each with the server's reason.
        left: Documents that lack whorl's fields after the run, because they were added or changed during the run.
        example: Smallest id of the processed documents, as an example for messages; "" if there is none.
    """

    total: int = 0
    sent: int = 0
    removed: int = 0
    kept: int = 0
    textless: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    left: int = 0
    example: str = field(default="", compare=False)

    @property
    def done(self) -> int:
        return self.sent + self.removed + self.kept + self.textless + len(self.refused)

    def __add__(self, other: BackfillReport) -> BackfillReport:
        """Add the counts of a batch; the total stays the same."""
        counted = ("sent", "removed", "kept", "textless", "refused")
        sums = {name: getattr(self, name) + getattr(other, name) for name in counted}
        example = min(filter(None, (self.example, other.example)), default="")
        return replace(self, example=example, **sums)


def fill_batches(
    total: int,
    batches: Iterable[_Batch],
    fill: Callable[[_Batch], BackfillReport],
    *,
    commit: Callable[[], None],
    lacking: Callable[[], int],
    progress: Callable[[BackfillReport], None],
) -> BackfillReport:
    """Update documents in batches.

    After an error, this commits the updates so far, so that the next run continues from there.

    `fill` updates a batch, `commit` commits all updates so far, and `lacking` counts the documents that still lack
    whorl's fields. `progress` gets the counts so far, before the first batch and after each batch.
    """
    done, committed = BackfillReport(total), 0
    progress(done)
    try:
        for batch in batches:
            done += fill(batch)
            if done.sent - committed >= _COMMIT_EVERY:
                commit()
                committed = done.sent
            progress(done)
    except BaseException:
        with suppress(EngineError):
            commit()
        raise
    commit()
    return replace(done, left=max(0, lacking() - done.textless - len(done.refused)))


def require_batch(batch: int) -> None:
    if batch < 1:
        raise ParameterError(f"batch must be at least 1, got {batch}")


def ignore_progress(done: BackfillReport) -> None: ...


#: Number of documents per read request, and number per update request.
READ_AT_ONCE, CHANGED_AT_ONCE = 1000, 100


class ServerLabels(ABC):
    """Reads and writes the cluster labels of documents on a server, in batches."""

    def __init__(self, url: str) -> None:
        self._url = url

    def labels_of(self, ids: Collection[str]) -> Mapping[str, ClusterLabel]:
        labels: dict[str, ClusterLabel] = {}
        for batch in batches(ids, READ_AT_ONCE):
            labels |= self._read(batch)
        return labels

    def write(self, changes: Mapping[str, ClusterLabel | None]) -> None:
        """Set the cluster labels of documents; None removes a label. Searches see the labels after the next commit."""
        for batch in batches(changes, CHANGED_AT_ONCE):
            self._require_written(self._change(batch, changes))

    def _require_written(self, refused: Iterable[tuple[str, str]]) -> None:
        for document_id, reason in refused:
            raise EngineResponseError(f"{self._url} refuses the cluster of {document_id!r}: {reason}")

    @abstractmethod
    def _read(self, ids: Sequence[str]) -> Mapping[str, ClusterLabel]:
        """Return the labels of documents, in one request."""

    @abstractmethod
    def _change(self, ids: Sequence[str], changes: Mapping[str, ClusterLabel | None]) -> Iterable[tuple[str, str]]:
        """Change the labels of documents in one request; return the refused ids, each with the server's reason."""


def cluster_label(properties: Mapping[str, PropertyValue | Sequence[PropertyValue]]) -> ClusterLabel | None:
    """Return the cluster label in a document's properties; None if the label is missing or incomplete."""
    cluster, is_principal = _first_value(properties.get(CLUSTER)), _first_value(properties.get(IS_PRINCIPAL))
    return ClusterLabel(cluster, is_principal) if isinstance(cluster, str) and isinstance(is_principal, bool) else None


def cluster_labels(
    documents: Mapping[str, Mapping[str, PropertyValue | Sequence[PropertyValue]]],
) -> dict[str, ClusterLabel]:
    """Return the cluster labels in the properties of documents, by id; omit documents without a label."""
    labels = {document_id: cluster_label(properties) for document_id, properties in documents.items()}
    return {document_id: label for document_id, label in labels.items() if label is not None}


def with_cluster_label(document: Document, label: ClusterLabel | None) -> Document:
    properties = {name: values for name, values in document.properties.items() if name not in (CLUSTER, IS_PRINCIPAL)}
    if label is not None:
        properties |= {CLUSTER: label.cluster, IS_PRINCIPAL: label.is_principal}
    return replace(document, properties=properties)


def _first_value(value: PropertyValue | Sequence[PropertyValue] | None) -> object:
    return next(iter(value), None) if isinstance(value, tuple | list) else value
