"""Compares the source with the texts of hits that sketches cannot decide, or that need exact percentages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import batches, chunks, find_sorted
from whorl.engine.protocol import Engine
from whorl.fingerprint.compare_texts import Comparison, ResidualOverlap, compare, words_of
from whorl.fingerprint.fingerprint_texts import hash_texts
from whorl.fingerprint.statistics.metric import least_overlap
from whorl.request_context import require_time
from whorl.search.boilerplate import BoilerplateDetector, Comparer
from whorl.search.similar.fetch_query_sources import QuerySource, text_of
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.results import RankedHits, SimilarHit, exact_estimate, ordering_metric, score_hit, sort_hits

#: Limits of one search: number of texts to read to decide hits, number of texts to read for a page's percentages, and
#: number of characters of these texts.
MOST_VERIFIED_EXACTLY, MOST_READ_FOR_PAGE, MOST_CHARACTERS = 3_000, 300, 30_000_000
#: Limits of one request: texts to decide hits, texts for a page, and approximate number of shingles.
_VERIFIED_AT_ONCE, _TEXTS_AT_ONCE, _SHINGLES_AT_ONCE = 200, 25, 100_000
#: Minimum number of texts to read at once, even if a page needs fewer.
_LEAST_AT_ONCE = 5


class TextVerifier:
    """Verifies hits exactly, by their texts, within the limits of one search."""

    def __init__(self, engine: Engine, source: QuerySource, criteria: SimilarCriteria) -> None:
        self._engine, self._source, self._criteria = engine, source, criteria
        self._read, self._characters = 0, 0
        self._own: npt.NDArray[np.uint64] | None = None

    def _texts_left(self, most: int) -> int:
        return most - self._read if self._characters < MOST_CHARACTERS else 0

    def _fetch_texts(self, hits: Sequence[SimilarHit], others: Sequence[str] = ()) -> dict[str, str]:
        require_time()
        texts = dict(self._engine.texts([*others, *(similar.hit.id for similar in hits)]))
        read = [text for document_id, text in texts.items() if document_id not in others]
        self._read += len(read)
        self._characters += sum(map(len, read))
        return texts

    def verify_exact(self, hits: Iterable[SimilarHit]) -> Iterator[SimilarHit]:
        """Compare undecided hits by their texts; drop hits below the threshold."""
        # Read small texts first: within the limits, they decide the most hits.
        undecided = sorted(hits, key=lambda similar: (similar.estimate.hit_size, similar.hit.id))
        hashes = dict(self._hash_hits(undecided))
        for similar in undecided:
            if self._own is None or similar.hit.id not in hashes:
                yield similar
            else:
                few, many = sorted((self._own, hashes[similar.hit.id]), key=len)
                shared = int(find_sorted(many, few)[1].sum())
                yield from self._score_exactly(similar, len(self._own), len(hashes[similar.hit.id]), shared)

    def _hash_hits(self, hits: list[SimilarHit]) -> Iterator[tuple[str, npt.NDArray[np.uint64]]]:
        """Yield the id of each hit and the hashes of all shingles of its text, until a limit of the search is reached.

        The source's own hashes are kept in `_own`; if the source has no text, nothing is yielded.
        """
        for group in chunks(hits, _hit_size, _SHINGLES_AT_ONCE, _VERIFIED_AT_ONCE):
            if not (left := self._texts_left(MOST_VERIFIED_EXACTLY)):
                return
            # Fetch the source's text in the same request as the texts of the first hits.
            own_ids = [own_id] if self._own is None and (own_id := self._source.document_id) is not None else []
            texts = self._fetch_texts(group[:left], own_ids)
            if self._own is None:
                own = texts.pop(own_ids[0], None) if own_ids else self._source.text
                if own is None:
                    return
                self._own = self._hash_texts([own])[0]
            yield from zip(texts, self._hash_texts(texts.values()), strict=True)

    def _hash_texts(self, texts: Iterable[str]) -> list[npt.NDArray[np.uint64]]:
        return [text.hashes for text in hash_texts(texts, self._engine.scheme, workers=1)]

    def _score_exactly(self, similar: SimilarHit, source_size: int, size: int, shared: int) -> Iterator[SimilarHit]:
        """Yield the hit with exact shares if it reaches the threshold. The arguments are numbers of shingles."""
        metric = self._criteria.metric
        if shared >= least_overlap(metric, self._criteria.threshold, source_size, size):
            yield score_hit(similar.hit, exact_estimate(source_size, size, shared), metric)

    def compare_best(self, hits: RankedHits, end: int) -> tuple[RankedHits | tuple[SimilarHit, ...], list[str]]:
        """Compare the texts of the best hits until the first `end` hits have exact shares; return hits and warnings.

        A text is read if the upper end of the hit's interval could place it among the first `end` hits. Hits below the
        threshold are dropped; the others are sorted, best first.
        """
        if not end or all(group.estimate.is_exact for group in hits.groups):
            return hits, []
        metric, order = self._criteria.metric, ordering_metric(self._criteria.metric)
        unread = sorted(
            (similar for similar in hits if not similar.estimate.is_exact),
            key=lambda similar: (-similar.estimate.high.measured_by(order), similar.hit.id),
        )
        known = sort_hits((similar for similar in hits if similar.estimate.is_exact), metric)
        own = text_of(self._engine, self._source)
        if own is None:
            return hits, [f"{self._source.name!r} has no stored text, so the percentages are estimates"]
        without_text: list[SimilarHit] = []
        while unread and (left := self._texts_left(MOST_READ_FOR_PAGE)):
            lacking, highest = end - len(known), unread[0].estimate.high.measured_by(order)
            if lacking <= 0 and known[end - 1].estimate.shares.measured_by(order) >= highest:
                break
            wanted = unread[: min(max(lacking, _LEAST_AT_ONCE), _TEXTS_AT_ONCE, left)]
            group = next(chunks(wanted, _hit_size, _SHINGLES_AT_ONCE, _TEXTS_AT_ONCE))
            del unread[: len(group)]
            texts = self._fetch_texts(group)
            for similar in group:
                if similar.hit.id in texts:
                    found = compare(own, texts[similar.hit.id], self._engine.scheme)
                    known += self._score_exactly(similar, found.a.shingles, found.b.shingles, found.shared_shingles)
                else:
                    without_text.append(similar)
            known = sort_hits(known, metric)
        page = tuple(sort_hits([*known, *without_text, *unread], metric))
        return page, [*_notes_on_estimates(page[:end], {similar.hit.id for similar in without_text})]


def _notes_on_estimates(page: Iterable[SimilarHit], without_text: Set[str]) -> Iterator[str]:
    """Yield a note for each reason why hits of a page were not compared by their texts."""
    estimated = {similar.hit.id for similar in page if not similar.estimate.is_exact}
    if missing := len(estimated & without_text):
        yield f"{missing} of the hits have no stored text, so their percentages are estimates"
    if unread := len(estimated - without_text):
        yield (
            f"{unread:,} of the hits were not read, and their percentages are estimates: one search reads "
            f"{MOST_READ_FOR_PAGE} texts, or as many as have {MOST_CHARACTERS:,} characters together"
        )


def _hit_size(similar: SimilarHit) -> int:
    return similar.estimate.hit_size


#: Maximum total number of characters of the texts of a page's hits.
MOST_PAGE_CHARACTERS = 20_000_000


def compare_without_common(
    engine: Engine, source: QuerySource, ids: Sequence[str], detector: BoilerplateDetector
) -> tuple[dict[str, ResidualOverlap | None], tuple[str, ...]]:
    """Compare a source with documents, without their common text; return the overlaps by id, and warnings."""
    own = text_of(engine, source)
    if own is None:
        return {}, (f"{source.name!r} has no stored text, so its common text cannot be left out",)
    compared = compare_with_documents(engine, own, ids, detector)
    residuals = {document_id: comparison.residual for document_id, comparison in compared}
    missing = len(ids) - len(residuals)
    warnings = (f"{missing} of the hits were not read, so their shares without common text are unknown",)
    return residuals, warnings if missing else ()


def compare_with_documents(
    engine: Engine, text: str, ids: Sequence[str], detector: BoilerplateDetector | None = None
) -> Iterator[tuple[str, Comparison]]:
    """Compare a text (A) with documents (B), read by `texts_of_page`; yield the id and the comparison of each."""
    scheme = engine.scheme
    comparer = Comparer(words_of(text, scheme), scheme, detector)
    for document_id, other in texts_of_page(engine, ids):
        yield document_id, comparer.compare(words_of(other, scheme))


def texts_of_page(engine: Engine, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the id and text of documents in order, if they have a text, up to `MOST_PAGE_CHARACTERS` in total."""
    characters = 0
    for batch in batches(ids, _TEXTS_AT_ONCE):
        if characters >= MOST_PAGE_CHARACTERS:
            break
        texts = engine.texts(batch)
        for document_id in filter(texts.__contains__, batch):
            require_time()
            characters += len(texts[document_id])
            yield document_id, texts[document_id]
