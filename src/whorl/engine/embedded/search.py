"""Runs query plans on an embedded store: reads and sorts the hits, counts facets, compares candidates.

Plans with only fingerprint tokens run on the token index. All other plans run on tantivy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, compress
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from tantivy import Occur, Query

from whorl.arrays_and_batches import batches, find_sorted, sort_distinct
from whorl.engine.embedded.database import Head, RecordDatabase, SketchedDocument
from whorl.engine.embedded.prepare_documents import SCHEMA
from whorl.engine.embedded.segmented_token_index import TokenSnapshot
from whorl.engine.embedded.segments import SKETCH, Numbers
from whorl.engine.embedded.shared_tokens import (
    ScoredDocuments,
    best_page,
    has_only_tokens,
    match_tokens,
    passage_postings,
    shared_counts,
)
from whorl.engine.embedded.store_files import IndexBrokenError
from whorl.engine.embedded.store_index import StoreIndex
from whorl.engine.embedded.tantivy_query import IndexReader, TantivyQuery, any_of, folded_phrase_query, translate
from whorl.engine.embedded.text_index import ScoredId
from whorl.engine.index_terms import encode_sortable
from whorl.engine.protocol import (
    CandidatePage,
    Candidates,
    Facet,
    FacetResult,
    MatchCount,
    PassageMatches,
    Role,
    Statistics,
    StatisticsFacet,
    ValueCount,
    ValueFacet,
    reference_meanings,
)
from whorl.fingerprint.shingling import well_formed
from whorl.fingerprint.sketch.frac_minhash import Overlaps, Sketch, compare
from whorl.model import Document, Hit, Order, Page
from whorl.query.plan.fields_and_values import encode_keyword
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, Equal, Kind, SketchTokens, Value
from whorl.request_context import timely

_PROPERTIES: Mapping[Role, str] = {"dbid": "DBID", "noderef": "LID"}
_PHRASES_AT_ONCE = 100
_HEADS_AT_ONCE = 1000
#: Values of documents in the requested fields: keyed by document id, then by the field's type and name.
_DocumentValues = Mapping[str, Mapping[tuple[Kind, str], list[Value]]]
_Data = TypeVar("_Data")


_Row = TypeVar("_Row", bound=Head | SketchedDocument)
#: Function that reads stored documents by their numbers ("number") or ids ("id").
_Read: TypeAlias = Callable[[Literal["number", "id"], Sequence[int] | Sequence[str]], Iterable[_Row]]


class PlanRunner:
    """Runs bound query plans (resolved for this store); raises IndexBrokenError for a broken index."""

    def __init__(self, records: RecordDatabase, index: StoreIndex, profile: str) -> None:
        self._records, self._index, self._profile = records, index, profile

    def page(self, plan: BoundPlan, start: int, rows: int, order: Sequence[Order]) -> Page:
        if order:
            # The index cannot sort by values, so fetch all hits.
            total, scored = self._all_matches(plan)
            reads_values = any(key.field is not None and not key.is_by_id for key in order)
            heads = self._records.heads("id", _ids(scored) if reads_values else [])
            scored = sort_hits(scored, {head.id: head.document() for head in heads}, order)[start : start + rows]
            total, hits = self._read_hits(total, scored, self._records.heads)
        else:
            total, hits = self._read_page(plan, start, rows, self._records.heads)
        return Page(total, tuple(Hit(head.id, head.name, score) for head, score in hits), plan.warnings)

    def count_outdated(self, plan: BoundPlan) -> int:
        """Return the number of hits that were replaced or deleted after the index was written."""
        reached = self._index.read_applied_numbers()
        changed = None if reached is None else self._records.find_changed_since(reached[0])
        if changed is None:
            return self.page(plan, 0, 0, ()).total
        if has_only_tokens(plan.root):
            numbers = match_tokens(plan.root, self._index.tokens()).numbers
            return int(np.isin(numbers, list(changed)).sum())
        among = Query.term_set_query(SCHEMA, "id", list(set(changed.values())))
        both = Query.boolean_query([(Occur.Must, self._translate(plan).query), (Occur.Must, among)])
        return self._index.text_index.matches(both, 0, 0, is_ranked=False)[0]

    def candidates(self, plan: BoundPlan, start: int, rows: int) -> Candidates:
        snapshot = self._index.tokens()
        matches = match_tokens(plan.root, snapshot) if has_only_tokens(plan.root) else None
        if matches is not None and min(matches.numbers.size - start, rows) > FEW_CANDIDATES:
            # The database is at least as new as the index, so a missing record means that the document was deleted
            # after the snapshot.
            changed = self._records.find_changed_since(snapshot.applied)
            if changed is not None:
                return self._indexed_candidates(snapshot, plan, matches, (start, rows), changed)
        total, hits = self._read_page(plan, start, rows, self._records.sketched_documents, matches)
        sketched = ((Hit(row.id, row.name, score), row.sketch) for row, score in hits)
        return CandidatePage(total, tuple(sketched), plan.warnings)

    def _indexed_candidates(
        self,
        snapshot: TokenSnapshot,
        plan: BoundPlan,
        matches: ScoredDocuments,
        page: tuple[int, int],
        changed: Mapping[int, str],
    ) -> StoredCandidates:
        """Return one page of candidates that the token index compares with the source, without their stored sketches.

        `page` has the first row and the number of rows. `changed` has the ids of the documents changed since
        `snapshot`, keyed by number; deleted documents are left out.
        """
        scored, total, (start, rows) = matches, matches.numbers.size, page
        if start or rows < total:
            numbers = [number for number, _ in best_page(matches, start, rows, self._records.ids)]
            scored = matches.select(np.isin(matches.numbers, numbers))
        if changed:
            touched = scored.numbers[np.isin(scored.numbers, list(changed))].tolist()
            deleted = set(touched).difference(self._records.ids(touched))
            scored, total = scored.select(~np.isin(scored.numbers, list(deleted))), total - len(deleted)
        return StoredCandidates(self._records, snapshot, plan, scored, total, changed, self.require_deleted)

    def _read_page(
        self, plan: BoundPlan, start: int, rows: int, read: _Read[_Row], matches: ScoredDocuments | None = None
    ) -> tuple[int, list[tuple[_Row, float]]]:
        """Run a plan; return the number of hits, and the documents of one page with their scores."""
        if not has_only_tokens(plan.root):
            return self._read_hits(*self._match_page(plan, start, rows), read)
        matches = match_tokens(plan.root, self._index.tokens()) if matches is None else matches
        page = best_page(matches, start, rows, self._records.ids)
        rows_read = {row.number: row for row in read("number", [number for number, _ in page])}
        missing = [number for number, _ in page if number not in rows_read]
        self.require_deleted(missing)
        present = [(rows_read[number], score) for number, score in page if number in rows_read]
        return matches.numbers.size - len(missing), present

    def _read_hits(
        self, total: int, scored: Sequence[ScoredId], read: _Read[_Row]
    ) -> tuple[int, list[tuple[_Row, float]]]:
        """Return the number of hits, and a page of documents with scores, without documents that were just deleted."""
        known = {row.id: row for row in read("id", _ids(scored))}
        # A missing hit must have just been deleted; otherwise, the store is damaged.
        self.require_deleted([document_id for document_id, _ in scored if document_id not in known])
        hits = [(known[document_id], score) for document_id, score in scored if document_id in known]
        return total - len(scored) + len(hits), hits

    def find_documents_with_passages(
        self, counts: Mapping[int, int], most: int, among: Collection[str], left_out: BoundPlan | None
    ) -> PassageMatches:
        wanted = np.array(list(counts), np.int64)
        hash_indices, matching, frequent = passage_postings(self._index.tokens(), wanted)
        is_rare = np.array(list(counts.values()), np.int64) <= most
        required = np.array(list(self._records.numbers(among).values()), np.int64)
        rare = [matching[is_rare[hash_indices]], *(numbers for index, numbers in frequent.items() if is_rare[index])]
        chosen = sort_distinct([numbers.view(np.uint64) for numbers in (*rare, required)])
        id_of = self._records.ids(chosen.tolist())
        if left_out is not None and id_of:
            excluded = set(self.ids(left_out))
            id_of = {number: document_id for number, document_id in id_of.items() if document_id not in excluded}
        documents = np.array(list(id_of), np.int64)
        owners, is_known = find_sorted(documents, matching)
        pairs = [(owners[is_known], hash_indices[is_known])]
        for index, numbers in frequent.items():
            has_hash = find_sorted(numbers, documents)[1]
            pairs.append((np.flatnonzero(has_hash), np.full(np.count_nonzero(has_hash), index)))
        return PassageMatches(tuple(id_of.values()), *map(np.concatenate, zip(*pairs, strict=True)))

    def find_documents_with_phrases(self, phrases: Collection[tuple[str, ...]]) -> set[str]:
        queries = [folded_phrase_query("content", phrase) for phrase in phrases]
        # Most phrases occur in no document. Checking whether a phrase occurs is faster than searching for its
        # documents, so search only for phrases that occur.
        known = compress(queries, self._index.text_index.are_known(queries))
        batched = map(any_of, batches(known, _PHRASES_AT_ONCE))
        return set(chain.from_iterable(map(self._index.text_index.ids, batched)))

    def find_known_phrases(self, phrases: Collection[tuple[str, ...]]) -> list[tuple[str, ...]]:
        are_known = self._index.text_index.are_known([folded_phrase_query("content", phrase) for phrase in phrases])
        return [*compress(phrases, are_known)]

    def ids(self, plan: BoundPlan) -> list[str]:
        if has_only_tokens(plan.root):
            return _ids(self._all_matches(plan)[1])
        return self._index.text_index.ids(self._translate(plan).query)

    def _all_matches(self, plan: BoundPlan) -> tuple[int, list[ScoredId]]:
        """Return the number of matching documents, and all their ids and scores."""
        if not has_only_tokens(plan.root):
            return self._match_page(plan, 0, self._records.count())
        matches = match_tokens(plan.root, self._index.tokens())
        id_of = self._records.ids(matches.numbers.tolist())
        self.require_deleted([number for number in matches.numbers.tolist() if number not in id_of])
        pairs = zip(matches.numbers.tolist(), matches.scores.tolist(), strict=True)
        return len(id_of), [(id_of[number], score) for number, score in pairs if number in id_of]

    def facets(self, plan: BoundPlan, facets: Sequence[Facet]) -> tuple[FacetResult, ...]:
        counted = set(_counted_fields(facets))
        return self._count_facets(facets, self._read_values(self.ids(plan), counted) if counted else {}, plan.root)

    def _read_values(self, ids: Sequence[str], fields: set[tuple[Kind, str]]) -> _DocumentValues:
        values_by_id: dict[str, dict[tuple[Kind, str], list[Value]]] = {}
        for batch in timely(batches(ids, _HEADS_AT_ONCE), 1):
            for head in self._records.heads("id", batch):
                values = values_by_id.setdefault(head.id, {})
                for name, kind, value in [("id", Kind.KEYWORD, head.id), *head.document().whole_values()]:
                    if (kind, name) in fields:
                        shortened = encode_keyword(str(value)) if kind is Kind.KEYWORD else value
                        values.setdefault((kind, name), []).append(shortened)
        return values_by_id

    def _count_facets(
        self, facets: Sequence[Facet], values_by_id: _DocumentValues, among: BoundNode
    ) -> tuple[FacetResult, ...]:
        """Count the facets of the matches of the query `among`; `values_by_id` has the values of these documents."""
        results: list[FacetResult] = []
        for facet in facets:
            match facet:
                case MatchCount(node=node):
                    results.append(self.page(BoundPlan(Bool(must=(among, node))), 0, 0, ()).total)
                case ValueFacet():
                    results.append(tuple(self._count_values(facet, values_by_id, among)))
                case StatisticsFacet(kind=kind, field=field):
                    numbers = [
                        float(value) for values in values_by_id.values() for value in values.get((kind, field), ())
                    ]
                    smallest, largest = min(numbers, default=0.0), max(numbers, default=0.0)
                    squares = sum((number * number for number in numbers), 0.0)
                    results.append(Statistics(len(numbers), smallest, largest, sum(numbers, 0.0), squares))
        return tuple(results)

    def _count_values(self, facet: ValueFacet, values_by_id: _DocumentValues, among: BoundNode) -> Iterator[ValueCount]:
        field = (facet.kind, facet.field)
        counts = Counter(value for values in values_by_id.values() for value in dict.fromkeys(values.get(field, ())))
        retained = [
            (count, encode_sortable(facet.kind, value).encode(), value)
            for value, count in counts.items()
            if count >= facet.min_count and (not facet.prefix or str(value).startswith(facet.prefix))
        ]
        retained.sort(key=lambda counted: counted[1] if facet.is_by_value else (-counted[0], counted[1]))
        for count, _, value in retained[: facet.limit]:
            subfacets: tuple[FacetResult, ...] = ()
            if facet.subfacets:
                matching = {key: values for key, values in values_by_id.items() if value in values.get(field, ())}
                node = Bool(must=(among, Equal(facet.field, facet.kind, value)))
                subfacets = self._count_facets(facet.subfacets, matching, node)
            yield ValueCount(value, count, subfacets)

    def _match_page(self, plan: BoundPlan, start: int, rows: int) -> tuple[int, list[ScoredId]]:
        translation = self._translate(plan)
        return self._index.text_index.matches(translation.query, start, rows, is_ranked=translation.score is None)

    def _translate(self, plan: BoundPlan) -> TantivyQuery:
        reader = IndexReader(self._index, self._records, self._profile)
        translation = translate(plan, self._profile, reader)
        reader.run_trials()
        return translation

    def resolve(
        self, references: Collection[str], read: Callable[[list[str]], Mapping[str, _Data]]
    ) -> Iterator[tuple[str, tuple[str, _Data]]]:
        """Yield each reference that names a document, with its id and data; `read` returns the data for ids."""
        documents = [(reference, self._resolve_reference(reference, read)) for reference in references]
        self.require_deleted([reference for reference, document in documents if document is None])
        return ((reference, document) for reference, document in documents if document is not None)

    def _resolve_reference(
        self, reference: str, read: Callable[[list[str]], Mapping[str, _Data]]
    ) -> tuple[str, _Data] | None:
        if reference != well_formed(reference):
            return None
        for role, value in reference_meanings(reference):
            document_id = value if role == "key" else self._records.find_by_handle(_PROPERTIES[role], value)
            if document_id is not None and (data := read([document_id])):
                return document_id, data[document_id]
        return None

    def require_deleted(self, missing: Sequence[str] | Sequence[int]) -> None:
        """Raise StoreError if the index contains a missing document, although the journal lists no change of it.

        `missing` has the numbers or ids of documents that the database lacks.
        """
        reached = self._index.read_applied_numbers() if missing else None
        changed = None if reached is None else self._records.find_changed_since(reached[0])
        if changed is None:
            return
        lost = set(missing) - set(changed) - set(changed.values())
        numbers = [key for key in lost if isinstance(key, int)]
        ids = [key for key in lost if isinstance(key, str) and key == well_formed(key)]
        with suppress(IndexBrokenError):
            for key in (*numbers, *self._index.text_index.ids(Query.term_set_query(SCHEMA, "id", ids))):
                self._records.raise_damaged(f"document {key!r} is not where it was")


def _ids(scored: Iterable[ScoredId]) -> list[str]:
    return [document_id for document_id, _ in scored]


def _counted_fields(facets: Sequence[Facet]) -> list[tuple[Kind, str]]:
    fields = [(facet.kind, facet.field) for facet in facets if isinstance(facet, ValueFacet | StatisticsFacet)]
    inner = (_counted_fields(facet.subfacets) for facet in facets if isinstance(facet, ValueFacet))
    return [*fields, *chain.from_iterable(inner)]


def sort_hits(
    scored: Sequence[tuple[str, float]], documents: Mapping[str, Document], order: Sequence[Order]
) -> list[tuple[str, float]]:
    """Sort hits by several keys, then by id. Hits without a value, or without a document, come last."""
    hits = sorted(scored)
    # Sorting is stable, so sort by the primary key last.
    for key in reversed(order):
        values = dict(zip(hits, map(_sort_value(documents, key), hits), strict=True))
        present = [hit for hit in hits if values[hit] is not None]
        present.sort(key=values.__getitem__, reverse=not key.is_ascending)
        hits = present + [hit for hit in hits if values[hit] is None]
    return hits


def _sort_value(documents: Mapping[str, Document], key: Order) -> Callable[[tuple[str, float]], Any]:
    """Return a function that maps a hit to its value for a sort key, or to None if the hit has no value."""
    if key.field is None:
        return lambda hit: hit[1]
    if key.is_by_id:
        return lambda hit: hit[0]
    extreme = min if key.is_ascending else max

    def value(hit: tuple[str, float]) -> Any:
        document = documents.get(hit[0])
        whole_values = document.whole_values() if document else []
        values = ([whole for name, kind, whole in whole_values if (kind, name) == own] for own in key.engine_fields)
        return next((extreme(present) for present in values if present), None)

    return value


#: Up to this number of candidates, reading their records is at least as fast as looking up the source's hashes.
FEW_CANDIDATES = 32
_SKETCHES_AT_ONCE = 256


class StoredCandidates(Candidates):
    """Candidates of a search in an embedded store, sorted by document number.

    A source can have thousands of near-copies, and reading their records would take most of the time of a search. The
    index has every hash of a short document. So if the sketch of the source is complete, the index alone gives the
    number of hashes that each short candidate shares with the source. This class reads the records only of other
    candidates, and of the documents on a page.

    Args:
        scored: Numbers of the candidates, ascending, with their scores.
        changed: Numbers of the documents that changed after the snapshot of the index.
        require_deleted: Raises StoreError if any of the given documents is missing but was not deleted.
    """

    def __init__(
        self,
        records: RecordDatabase,
        snapshot: TokenSnapshot,
        plan: BoundPlan,
        scored: ScoredDocuments,
        total: int,
        changed: Collection[int],
        require_deleted: Callable[[Sequence[int]], None],
    ) -> None:
        self._records, self._snapshot, self._plan, self._scored = records, snapshot, plan, scored
        self.total, self.warnings = total, plan.warnings
        self._changed, self._require_deleted = changed, require_deleted

    def __len__(self) -> int:
        return self._scored.numbers.size

    def compare(self, source: Sketch, left_out: Collection[str]) -> tuple[list[int], Overlaps]:
        numbers, left_out_numbers = self._scored.numbers, list(self._records.numbers(left_out).values())
        positions = np.flatnonzero(~np.isin(numbers, left_out_numbers, kind="sort"))
        sizes = self._snapshot.sizes(numbers)
        is_compared = self._is_indexed(source, sizes)
        shared = np.zeros_like(sizes)
        # If the index is damaged, compare the records of all candidates instead.
        try:
            shared[is_compared] = self._shared(source, is_compared)
        except IndexBrokenError:
            is_compared[:] = False
        overlaps = Overlaps.of_complete(source.size, sizes, shared)
        for batch in batches(positions[~is_compared[positions]].tolist(), _SKETCHES_AT_ONCE):
            documents = self._records.sketched_documents("number", numbers[batch].tolist())
            sketches = {document.number: document.sketch for document in documents}
            present = [position for position in batch if numbers[position] in sketches]
            overlaps.put(present, compare(source, [sketches[int(numbers[position])] for position in present]))
            is_compared[present] = True
        compared = positions[is_compared[positions]]
        return compared.tolist(), overlaps.select(compared)

    def _is_indexed(self, source: Sketch, sizes: Numbers) -> npt.NDArray[np.bool_]:
        """Return a mask of the candidates that the index alone can compare exactly with the source."""
        # The index cannot compare a source with repeated hashes: it counts a hash once, but a sketch counts every
        # repetition.
        if not source.is_complete or (source.hashes[1:] == source.hashes[:-1]).any():
            return np.zeros(sizes.size, np.bool_)
        is_short = (sizes > 0) & (sizes <= source.scheme.largest_at(0))
        if self._changed:
            is_short &= ~np.isin(self._scored.numbers, list(self._changed))
        return is_short if np.count_nonzero(is_short) > FEW_CANDIDATES else np.zeros_like(is_short)

    def _shared(self, source: Sketch, which: npt.NDArray[np.bool_]) -> Numbers:
        """For each candidate in the mask `which`, return the number of hashes that it shares with the source."""
        root = self._plan.root
        if isinstance(root, SketchTokens) and root.is_whole:
            return self._scored.scores[which].astype(np.int64)
        if not which.any():
            return np.empty(0, np.int64)
        return shared_counts(self._snapshot, SKETCH, source.hashes, self._scored.numbers[which])

    def ids(self, positions: Sequence[int]) -> list[str]:
        numbers = self._scored.numbers[list(positions)].tolist()
        ids = self._records.ids(numbers)
        return [ids.get(number, "") for number in numbers]

    def fetch_hits(self, positions: Sequence[int]) -> dict[int, Hit]:
        numbers = dict(zip(positions, self._scored.numbers[list(positions)].tolist(), strict=True))
        heads = {head.number: head for head in self._records.heads("number", numbers.values())}
        self._require_deleted([number for number in numbers.values() if number not in heads])
        present = {at: heads[number] for at, number in numbers.items() if number in heads}
        return {at: Hit(head.id, head.name, 0.0) for at, head in present.items()}
