"""Finds the stored documents that a new document repeats in large part."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

from whorl.engine.protocol import require_current_index
from whorl.errors import ParameterError, UnknownDocumentError
from whorl.fingerprint.statistics.metric import Metric, Percent
from whorl.model import Document, documents_only
from whorl.request_context import report_progress
from whorl.search.similar.fetch_query_sources import SOURCE
from whorl.search.similar.options import make_criteria
from whorl.search.similar.results import SimilarHit
from whorl.store import Store

#: Maximum number of stored documents to return for a new document.
MOST_REPEATED = 10
_AT_ONCE = 100


class RepeatedDocument(SimilarHit):
    """A stored document that a new document repeats.

    In its shares, A is the new document, and B is the stored document.
    """

    __slots__ = ()
    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id=hit.id", "name=hit.name", "*estimate")


@dataclass(frozen=True, slots=True)
class NewDocumentRepeats:
    """The id of a new document, and the stored documents that the new document repeats."""

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("id", "hits=found")

    id: str
    found: tuple[RepeatedDocument, ...]


class RepeatSearch:
    """Finds the stored documents that new documents repeat.

    Args:
        threshold: Minimum share of a repetition in percent: above 0, at most 100. A number up to 1 is a fraction.
        metric: "jaccard"; "a_in_b", the share of the new document that is in the stored document; "b_in_a", the share
            of the stored document that is in the new document; or "containment", the larger of the two.

    Raises:
        ParameterError: The metric is unknown, or the threshold is out of its range.
        StoreError: The index lacks some stored documents.
    """

    def __init__(self, store: Store, threshold: Percent, metric: Metric | str = Metric.JACCARD) -> None:
        self.notes = make_criteria(metric, threshold, 95).notes
        require_current_index(store.engine, "what new documents repeat")
        self._store, self._threshold, self._metric = store, threshold, metric

    def find_for_new(self, document: Document) -> NewDocumentRepeats | None:
        """Return the stored documents that a new document repeats, or None if it repeats none.

        Raises:
            DocumentError: `document` is not a `Document`.
        """
        [document] = documents_only([document])
        repeated = self._find_repeated(document.text, {document.id})
        return NewDocumentRepeats(document.id, repeated) if repeated else None

    def find_for_stored(self, ids: Iterable[str]) -> Iterator[NewDocumentRepeats]:
        """Yield the id of each newly stored document that repeats earlier ones, and these documents.

        `ids` are the distinct ids of the new documents, oldest first.
        """
        later = dict.fromkeys(ids)
        total = len(later)
        for number, document_id in enumerate(list(later), start=1):
            repeated = self._find_repeated(None, later, document_id)
            del later[document_id]
            report_progress("comparing", number, total)
            if repeated:
                yield NewDocumentRepeats(document_id, repeated)

    def _find_repeated(
        self, source: str | None, left_out: Collection[str], reference: str = SOURCE
    ) -> tuple[RepeatedDocument, ...]:
        try:
            prepared = self._store.prepare_similar(
                reference, source=source, metric=self._metric, threshold=self._threshold
            )
        except (ParameterError, UnknownDocumentError):
            # The document has no shingles, or was just deleted.
            return ()
        found = list[RepeatedDocument]()
        for start in count(0, _AT_ONCE):
            page = prepared.search(start=start, rows=_AT_ONCE).found
            found += (RepeatedDocument(hit.hit, hit.estimate) for hit in page if hit.hit.id not in left_out)
            if len(page) < _AT_ONCE or len(found) >= MOST_REPEATED:
                break
        return tuple(found[:MOST_REPEATED])
