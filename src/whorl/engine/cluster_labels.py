"""Converts cluster labels to and from document properties, and reads and writes them on servers in batches.

A label says which cluster a document belongs to, and whether the document represents the cluster. `write_ids` of
`whorl.duplicates` writes the labels; searches with `collapse` and facets read them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from whorl.arrays_and_batches import batches
from whorl.engine.protocol import ClusterLabel
from whorl.errors import EngineResponseError
from whorl.model import CLUSTER, IS_PRINCIPAL, Document, PropertyValue

READ_AT_ONCE, CHANGED_AT_ONCE = 1000, 100


class ServerLabels(ABC):
    """Base class for reading and writing the cluster labels of documents on a server, in batches."""

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
        """Read the labels of documents with one request."""

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
    """Return the cluster labels in the properties of documents, keyed by id; omit documents without a label."""
    return {key: label for key, properties in documents.items() if (label := cluster_label(properties)) is not None}


def with_cluster_label(document: Document, label: ClusterLabel | None) -> Document:
    properties = {name: values for name, values in document.properties.items() if name not in (CLUSTER, IS_PRINCIPAL)}
    if label is not None:
        properties |= {CLUSTER: label.cluster, IS_PRINCIPAL: label.is_principal}
    return replace(document, properties=properties)


def _first_value(value: PropertyValue | Sequence[PropertyValue] | None) -> object:
    return next(iter(value), None) if isinstance(value, tuple | list) else value
