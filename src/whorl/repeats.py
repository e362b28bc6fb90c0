"""What new documents repeat: told before they are stored, or as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from whorl.errors import ParameterError, UnknownDocumentError
from whorl.fingerprint.statistics.metric import Metric, Percent
from whorl.model import Document
from whorl.similar.hits import Found
from whorl.similar.question import ask
from whorl.store import Store

#: Documents that are told of each, the most similar.
MOST_TOLD = 10
#: Hits looked at in one search.
_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Repeats:
    """What a document repeats.

    Args:
        id: The document.
        found: The documents that share as much with it as was asked for, the most similar first, MOST_TOLD of them.
    """

    id: str
    found: tuple[Found, ...]


class RepeatSearch:
    """Looks for what new documents repeat.

    Args:
        store: Where the others are.
        threshold: How much makes a repetition: in percent, above 0, at most 100; up to 1 a fraction.
        metric: What that is a share of, as in `Store.similar`: "jaccard", "a_in_b" (how much of the new document is in
            the other one) or "b_in_a" (how much of the other one is in it).

    Raises:
        ParameterError: There is no such metric, or the threshold is out of its range.
    """

    def __init__(self, store: Store, threshold: Percent, metric: Metric | str = Metric.JACCARD) -> None:
        ask(metric, threshold, 95)
        self._store, self._threshold, self._metric = store, threshold, metric

    def of_new(self, document: Document) -> Repeats | None:
        """Return what a document repeats that need not be in the store, None for nothing; it repeats not itself."""
        found = self._found(document.text, {document.id})
        return Repeats(document.id, found) if found else None

    def of_stored(self, ids: Iterable[str], progress: Callable[[int], None] = lambda count: None) -> Iterator[Repeats]:
        """Yield what documents repeat of those that were in the store before, or come before them here.

        Args:
            ids: Documents that were stored just now, in their order; each once.
            progress: Called with how many of them were looked at.
        """
        later = dict.fromkeys(ids)
        for count, document_id in enumerate(list(later), start=1):
            found = self._found(None, later, document_id)
            del later[document_id]
            progress(count)
            if found:
                yield Repeats(document_id, found)

    def _found(self, source: str | None, left_out: Collection[str], reference: str = "source") -> tuple[Found, ...]:
        def hits() -> Iterator[Found]:
            try:
                prepared = self._store.prepare_similar(
                    reference, source=source, metric=self._metric, threshold=self._threshold
                )
            except (ParameterError, UnknownDocumentError):
                # Without anything to compare, or deleted meanwhile.
                return
            start, found = 0, None
            while found is None or len(found) == _AT_ONCE:
                found = prepared.search(start=start, rows=_AT_ONCE).found
                yield from (each for each in found if each.hit.id not in left_out)
                start += _AT_ONCE

        return tuple(islice(hits(), MOST_TOLD))
