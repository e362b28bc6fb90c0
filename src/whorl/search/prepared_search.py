"""Prepares queries: each is parsed once, and can then be run, sorted, faceted, highlighted and explained several times.

Stages of a query: str → Ast → Plan → ResolvedPlan → BoundPlan → Page
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.arrays_and_batches import batches
from whorl.engine.protocol import Engine, Facet, FacetResult, LookUp, gap_warnings
from whorl.errors import ParameterError, SchemaError, UnknownDocumentError, UnknownFieldError, require_text
from whorl.fingerprint.minhash.bucket_estimates import compare_buckets, estimate_buckets
from whorl.fingerprint.minhash.signature_and_tokens import Signature, buckets_from, shared_tokens
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.statistics.overlap_estimates import estimate
from whorl.model import Hit, Order, Page, Stored
from whorl.operations import MAX_START, CommonOptions, QueryPlan, Reading
from whorl.query.literals import read_name
from whorl.query.messages import Mistake
from whorl.query.plan.describe import describe
from whorl.query.plan.fields_and_values import FieldsByKind, value_named
from whorl.query.plan.nodes import (
    Bool,
    BoundPlan,
    FieldClause,
    FingerprintClause,
    Kind,
    Plan,
    ResolvedPlan,
    SharedTokens,
    clause_kinds,
    leaves,
    possible_ids,
    references,
    with_ids,
)
from whorl.query.plan.planner import QueryDefaults, bind, missing_field_message, resolve
from whorl.query.unparse import suggest_field, write_quoted
from whorl.request_context import require_time, trace
from whorl.search.document_references import References
from whorl.search.similar.fetch_query_sources import QuerySources

# Methods import these modules when they need them, so that searches start faster.
if TYPE_CHECKING:
    from whorl.search.boilerplate import BoilerplateDetector
    from whorl.search.highlighting import Highlights, Marking, Snippet
    from whorl.search.similar.find_similar import CalibratedFingerprints
    from whorl.search.similar.results import Explanation, Measured

#: Types of values that a field can be sorted by, in order of preference. Integers and floats are sorted together.
_SORTED_BY = ((Kind.DATE,), (Kind.FLOAT, Kind.INTEGER), (Kind.KEYWORD,), (Kind.BOOLEAN,))
#: Minimum and maximum number of hits to fetch in one request if hits are collapsed.
_MIN_FETCHED, _MAX_FETCHED = 50, 1000
#: A filter query, or a list of filter queries; hits must match at least one of them.
Filter: TypeAlias = str | Sequence[str]
#: Sort key for the score of a hit; `@score` sorts by a field with the name "score".
_SCORE = "score"
#: Separators: a comma between sort keys, and white space between the name and the direction in a key. In a name, a
#: backslash must precede these characters, as in queries.
_COMMA, _BLANKS = re.compile(r"(?<!\\),"), re.compile(r"(?<!\\)\s+")
#: Sort keys, or a text such as "cm:modified desc, name"; None sorts by score.
Sort: TypeAlias = str | Sequence[Order] | None


class QueryOptions(CommonOptions, total=False):
    """Keywords of `Store.prepare` and `Store.explain`; `ExplainOperation` describes them.

    `filter` can also be a list of filters; hits match all of them. A filter is a query, or a list of alternatives.
    """

    plan: QueryPlan
    metric: Metric | str
    afts: Reading
    filter: Filter | Iterable[Filter] | None
    rows: int
    start: int


class SearchOptions(QueryOptions, total=False):
    """Keywords of `Store.search`; `SearchOperation` describes them."""

    sort: Sort
    collapse: bool


def parse_sort_keys(sort: Sort) -> tuple[Order, ...]:
    """Return the sort keys in a text such as "cm:modified desc, name"; raise ParameterError if it is malformed."""
    if isinstance(sort, str):
        return tuple(map(_sort_key, _COMMA.split(sort)))
    keys: tuple[Any, ...] = tuple(sort or ()) if isinstance(sort, Iterable | None) else (sort,)
    for key in keys:
        if not isinstance(key, Order):
            raise ParameterError(f"sort must be a text such as 'cm:modified desc, name', or Orders, got {key!r:.80}")
    return keys


def _sort_key(text: str) -> Order:
    field, *direction = _BLANKS.split(text.strip())
    direction = [word.lower() for word in direction]
    if not field or len(direction) > 1 or not {*direction} <= {"asc", "desc"}:
        raise ParameterError(
            "sort takes fields with commas between them, each with asc, desc or nothing, such as 'cm:modified desc, "
            f"name', got {text.strip()!r}"
        )
    if field == _SCORE:
        return Order(None, is_ascending=direction == ["asc"])
    try:
        return Order(read_name(field, 0), is_ascending=direction != ["desc"])
    except Mistake as mistake:
        raise mistake.error(text) from None


def _as_list(chosen: Filter | Iterable[Filter]) -> Iterable[Any]:
    return chosen if isinstance(chosen, Iterable) and not isinstance(chosen, str) else [chosen]


class QueryReader:
    """Parses and resolves queries of one store, all with the same defaults, fields and current time.

    Args:
        names: Maps field names used in queries to field names in the store.
        texts: Names of the texts given with the queries.
        documents: Resolves references in filters, including paths and names; None to allow only references that the
            engine resolves, such as ids.
    """

    def __init__(
        self,
        engine: Engine,
        names: Mapping[str, str],
        defaults: QueryDefaults,
        max_rows: int,
        texts: Collection[str] = (),
        documents: References | None = None,
    ) -> None:
        self._engine, self.names, self._defaults, self._documents = engine, names, defaults, documents
        self._max_rows, self._texts, self._now = max_rows, texts, datetime.now(UTC)

    def query(self, text: str) -> tuple[ResolvedPlan, tuple[str, ...]]:
        require_text("a query", text, "'*' finds all documents")
        return self._resolve_plan(self._defaults.plan(text), text)

    def filter(self, chosen: Filter) -> tuple[ResolvedPlan, tuple[str, ...]]:
        texts = _as_list(chosen)
        for text in texts:
            require_text("a filter", text, "write a query, or a list of queries")
        plans = [self._resolve_plan(self._defaults.filter(text), text) for text in texts]
        warnings = tuple(warning for _, of_text in plans for warning in of_text)
        return Bool(should=tuple(plan for plan, _ in plans), min_should_match=1), warnings

    def bound_filter(self, query: str) -> BoundPlan:
        """Return one query as a plan for the engine; its FINGERPRINTs refer to documents of the store."""
        require_text("a query", query, "join several with AND")
        plan, warnings = self.filter(query)
        bound = bind(plan, QuerySources(self._engine, references=self._documents).signatures(references(plan)))
        return replace(bound, warnings=(*bound.warnings, *warnings))

    def fields_by_kind(self, field: str) -> FieldsByKind | None:
        """Return the types of a field in a query, with the engine's likeliest field for each; None if unknown."""
        return next(iter(self.spellings(field).values()), None)

    def spellings(self, field: str) -> dict[str, FieldsByKind]:
        """Return all fields that a query calls `field`, the likeliest first; see `Fields.resolve_names`."""
        named = self._defaults.full_name(field)
        found = self._engine.fields().resolve_names(named, self.names)
        return found or self._engine.fields(latest=True).resolve_names(named, self.names)

    def ignored_spellings(self, field: str) -> str:
        """Return, for a warning, the other spellings of a field, which sorting or faceting by it ignores."""
        return " or ".join(f"{name!r:.80}" for name in [*self.spellings(field)][1:])

    def sortable(self, key: Order) -> Order:
        """Return a sort key with the engine's fields and types; raise ParameterError if the store cannot sort by it."""
        if key.field is None:
            return key
        by_kind = self.fields_by_kind(key.field) or self.fields_by_kind(key.field.removeprefix("@"))
        if by_kind is None:
            hint = "".join(
                f"; did you mean {suggest_field(near)}?" for near in self._engine.fields().nearest(key.field)[:1]
            )
            missed = "".join(f"; {gap}" for gap in self._engine.gaps("words"))
            raise ParameterError(f"the store has no field {key.field!r:.80} to sort by{hint}{missed}")
        # If some documents have dates or numbers in the field, sort by these, not by texts.
        kinds = next((kinds for kinds in _SORTED_BY if not by_kind.keys().isdisjoint(kinds)), None)
        if kinds is None:
            raise ParameterError(
                f"field {key.field!r:.80} holds words, which have no order; sort by one with whole values"
            )
        return replace(key, engine_fields=tuple((kind, by_kind[kind]) for kind in kinds if kind in by_kind))

    def is_missing(self, key: Order) -> bool:
        """Check whether the store lacks the field of a sort key, as `QueryDefaults.empty_fields` allows."""
        name = key.field or ""
        return self._defaults.full_name(name) in self._defaults.empty_fields and self.fields_by_kind(name) is None

    def sort_warnings(self, keys: Iterable[Order]) -> Iterator[str]:
        """Yield warnings about documents that come last because of the value's type or the spelling of the field."""
        for key in keys:
            if not key.field:
                continue
            by_kind = self.fields_by_kind(key.field) or {}
            if ignored := self.ignored_spellings(key.field):
                yield f"sort: documents that have {key.field!r:.80} only as {ignored} come last"
            sorted_kinds = [kind for kind, _ in key.engine_fields]
            others = [kind for kinds in _SORTED_BY for kind in kinds if kind in by_kind and kind not in sorted_kinds]
            if others:
                names = " and ".join(kind.value for kind in others)
                yield f"sort: {key.field!r:.80} also has {names}; documents that have only that come last"

    def require_page(self, start: int, rows: int) -> None:
        if not 0 <= start <= MAX_START:
            raise ParameterError(f"start must be 0 to {MAX_START:,}, got {start}")
        if not 0 <= rows <= self._max_rows:
            raise ParameterError(f"rows must be 0 to {self._max_rows:,}, got {rows}")

    def _resolve_plan(self, plan: Plan, text: str) -> tuple[ResolvedPlan, tuple[str, ...]]:
        resolved, warnings = self._with_fields(plan, text)
        possible = possible_ids(resolved)
        if not possible:
            return resolved, warnings
        existing = {*possible.intersection(self._texts), *self._engine.resolve(possible.difference(self._texts))}
        taken = dict.fromkeys(
            f"{write_quoted(leaf.whole_reference, special='')} is the id of a document, and so means all of it; the "
            f"document {leaf.reference!r} with an overlap is FINGERPRINT:{write_quoted(leaf.reference, special='')}"
            f"{leaf.whole_reference.removeprefix(leaf.reference)}"
            for leaf in leaves(resolved)
            if isinstance(leaf, FingerprintClause)
            and leaf.whole_reference is not None
            and leaf.whole_reference in existing
        )
        return with_ids(resolved, existing), (*warnings, *taken)

    def _with_fields(self, plan: Plan, text: str) -> tuple[ResolvedPlan, tuple[str, ...]]:
        fields = self._engine.fields() if any(isinstance(leaf, FieldClause) for leaf in leaves(plan)) else None
        options = text, self._now, self.names, self._defaults.empty_fields
        with suppress(UnknownFieldError):
            return resolve(plan, fields, *options)
        try:
            # Another process may have just indexed the first document with this field, so read the fields again.
            return resolve(plan, self._engine.fields(latest=True), *options)
        except UnknownFieldError as error:
            # Documents that the engine cannot search yet may have the field, so the hint mentions them.
            if not (gaps := self._engine.gaps("words")):
                raise
            hint = "\n".join(filter(None, (error.hint, *gaps)))
            raise UnknownFieldError(error.message, query=error.query, span=error.span, hint=hint) from None


class PreparedQuery:
    """A parsed query, with its sources; created by `Store.prepare`.

    With a metric, FINGERPRINTs are calibrated: they find the same documents as `Store.similar`. Otherwise they search
    for tokens and bands, as in Alfresco and Solr.
    """

    def __init__(
        self,
        reader: QueryReader,
        sources: QuerySources,
        query: str,
        filters: Iterable[Filter],
        metric: Metric | str | None,
        ignored: BoilerplateDetector | None = None,
    ) -> None:
        self.reader, self._sources = reader, sources
        self.engine = sources.engine
        #: The plan of the query without its filters, before binding.
        self.resolved, warnings = reader.query(query)
        self._length = len(query)
        #: Distinct documents and texts that the query's FINGERPRINTs name, without the sources of filters.
        self.references = tuple(references(self.resolved))
        chosen = [reader.filter(query) for query in _as_list(filters)]
        self._filters = [plan for plan, _ in chosen]
        self._plan: ResolvedPlan = self._without(())
        used = references(self._plan)
        #: Part of the index that the query and its filters read, for warnings about documents that this part lacks.
        self.looked_up: LookUp = "words" if not used else "tokens" if metric is None else "sketches"
        unused = [
            f"the query does not use the source {name!r:.80}: write FINGERPRINT:{name}"
            for name in sources.texts
            if name not in used
        ]
        self._warnings = (*warnings, *(warning for _, of_filter in chosen for warning in of_filter), *unused)
        #: Number of tokens that each hit of the last page shares with the source, by id; empty if unknown.
        self._counts: Mapping[str, int] = {}
        self._calibrated: CalibratedFingerprints | None = None
        if metric is not None:
            from whorl.search.similar.find_similar import CalibratedFingerprints

            self._calibrated = CalibratedFingerprints(sources, metric, ignored)

    @cached_property
    def bound(self) -> BoundPlan:
        """Plan for the engine, with FINGERPRINTs replaced by tokens, or by ids from the calibrated searches."""
        bound = self._bind(self._plan)
        return BoundPlan(bound.root, tuple(dict.fromkeys((*bound.warnings, *self._warnings))))

    def search(
        self, *, start: int = 0, rows: int = 10, sort: Sort = None, with_shared: bool = False, collapse: bool = False
    ) -> Page:
        """Return one page of matching documents.

        Args:
            with_shared: If the query has exactly one source, count the tokens that each hit shares with it.
            collapse: Return only the best hit of each labelled cluster.

        Raises:
            ParameterError: The page is out of range, a sort field does not exist, or no document has a cluster label.
        """
        self.reader.require_page(start, rows)
        wanted = parse_sort_keys(sort)
        missing = [key for key in wanted if self.reader.is_missing(key)]
        keys = [self.reader.sortable(key) for key in wanted if key not in missing]
        gaps = gap_warnings(self.engine, self.looked_up)
        search = partial(search_collapsed, self.engine) if collapse else self.engine.search
        page = search(self.bound, start=start, rows=rows, order=keys)
        root = self.bound.root
        is_count = isinstance(root, SharedTokens) and root.weight == 1.0 and not keys
        self._counts = {hit.id: round(hit.score) for hit in page.hits} if is_count else {}
        trace().record_search(clause_kinds(root), self._length, page.total)
        warnings = [*gaps, *self.reader.sort_warnings(keys), *(missing_field_message(key.field) for key in missing)]
        if isinstance(sort, str) and any(key.field is None for key in keys) and self.reader.fields_by_kind(_SCORE):
            warnings.append("sort: 'score' is the score of a hit; '@score' sorts by the field of that name")
        if warnings:
            page = replace(page, warnings=(*page.warnings, *warnings))
        if gaps or not (self._calibrated is None or self._calibrated.is_whole):
            outdated = self.engine.count_outdated(self.bound) if gaps else 0
            page = replace(page, is_total_exact=False, outdated=outdated or None)
        return self._with_shared(page) if with_shared and page.hits and self._calibrated is None else page

    def measure_hits(self, ids: Collection[str]) -> Mapping[str, Measured]:
        """Return each hit's overlap with the query's source, by id; empty unless the query has exactly one source."""
        if len(self.references) != 1:
            return {}
        counts = {document_id: self._counts[document_id] for document_id in ids if document_id in self._counts}
        measured = measure(self._sources, self.references[0], ids, counts)
        if self._calibrated is None:
            return measured
        # Prefer the exact overlaps of the search, because an estimate could be below the threshold.
        exact = self._calibrated.exact_estimates(self.references[0])
        return {
            document_id: replace(overlap, estimate=exact.get(document_id, overlap.estimate))
            for document_id, overlap in measured.items()
        }

    def snippets(self, ids: Collection[str]) -> Iterator[tuple[str, Snippet]]:
        """Yield the ids of hits whose texts contain words of the query, each with a snippet.

        Leave out hits without a stored text. If the texts are too long in total, also leave out the last hits.
        """
        from whorl.search.highlighting import snippet, word_clauses
        from whorl.search.similar.compare_hit_texts import texts_of_page

        contents = self.engine.fields().resolve_name("TEXT", self.reader.names) or {}
        clauses = word_clauses(self._plan, set(contents.values()))
        for document_id, text in texts_of_page(self.engine, dict.fromkeys(ids) if clauses else ()):
            if shown := snippet(text, clauses, self.engine.scheme.profile):
                yield document_id, shown

    def explain(self, *, start: int = 0, rows: int = 10) -> Explanation:
        from whorl.search.similar.results import Explanation

        require_time()
        fingerprints = [leaf for leaf in leaves(self._plan) if isinstance(leaf, FingerprintClause)]
        if self._calibrated is None or not fingerprints:
            bound = self.bound
            request = self.engine.explain(bound, start=start, rows=rows)
            return Explanation(tuple(describe(bound.root)), (), bound.warnings, request)
        plans, request, warnings = self._calibrated.explain(fingerprints)
        known = tuple(dict.fromkeys((*warnings, *self._warnings)))
        return Explanation(tuple(describe(self._plan)), plans, known, request)

    def _without(self, filters: Collection[int]) -> ResolvedPlan:
        remaining = [plan for number, plan in enumerate(self._filters) if number not in filters]
        return Bool(must=(self.resolved, *remaining)) if remaining else self.resolved

    def _bind(self, plan: ResolvedPlan) -> BoundPlan:
        if self._calibrated is not None:
            return self._calibrated.bind(plan)
        sources = self._sources
        return bind(plan, sources.signatures(references(plan)), sources.texts, sources.unknown_document_error)

    def _with_shared(self, page: Page) -> Page:
        if len(self.references) != 1:
            return page
        own = self._sources.signatures({self.references[0]: True}).get(self.references[0])
        if own is None:
            return page
        counts = self._counts
        if not counts:
            signatures = self.engine.signatures({hit.id: False for hit in page.hits})
            counts = {name: shared_tokens(own, signature) for name, signature in signatures.items()}
        hits = tuple(replace(hit, shared_tokens=counts.get(hit.id)) for hit in page.hits)
        return replace(page, source_tokens=len(own), hits=hits)


def search_collapsed(engine: Engine, plan: BoundPlan, *, start: int, rows: int, order: Sequence[Order] = ()) -> Page:
    """Return one page of a plan's hits, with only the best hit of each cluster.

    The total is computed from the engine's counts of hits per cluster.

    Raises:
        ParameterError: No document has a cluster label; `whorl duplicates --write-ids` writes these labels.
    """
    counts = engine.labels.counts(plan)
    if not counts and not any(engine.labels.read_all()):
        raise ParameterError(
            "no document of the store has a cluster label, so nothing can be collapsed; "
            "'whorl duplicates --store STORE --write-ids' writes labels"
        )
    wanted, seen, passed = start + rows, set[str](), 0
    batch_size = min(max(2 * wanted, _MIN_FETCHED), _MAX_FETCHED) if rows else 0
    retained: list[Hit] = []
    at = 0
    while True:
        require_time()
        page = engine.search(plan, start=at, rows=batch_size, order=order)
        marks = engine.labels.labels_of([hit.id for hit in page.hits])
        for hit in page.hits:
            mark, copies = marks.get(hit.id), 0
            if mark is not None:
                if mark.cluster in seen:
                    continue
                seen.add(mark.cluster)
                hit, copies = replace(hit, cluster=mark.cluster), max(1, counts.get(mark.cluster, 1)) - 1
            passed += 1
            if start < passed <= wanted:
                retained.append(replace(hit, copies=copies))
        at += len(page.hits)
        if passed >= wanted or len(page.hits) < max(batch_size, 1):
            break
    total = page.total - sum(counts.values()) + len(counts)
    return replace(page, total=total, hits=tuple(retained), matches=page.total)


def highlight_hits(
    prepared: PreparedQuery, documents: Mapping[str, Stored], fields: Mapping[str, Marking]
) -> Highlights:
    """Return fragments of hits with the query's words marked, but not the words of its filters.

    The words are marked in every field of `fields`, even if the query looks for them in another field.
    """
    from whorl.search.highlighting import TEXTS_AT_ONCE, Highlights, Marker

    engine, reader, warnings = prepared.engine, prepared.reader, list[str]()
    split = set(engine.fields().split_fields)
    spellings = {field: reader.spellings(field) for field in fields}
    markers = {
        field: Marker(
            prepared.resolved,
            engine.scheme.profile,
            has_phrases=marking.use_phrase_highlighter,
            splits=any(not split.isdisjoint(by_kind.values()) for by_kind in spellings[field].values()),
        )
        for field, marking in fields.items()
    }
    content, name = (next(iter(reader.spellings(own).values()), None) for own in ("content", "name"))

    def values(field: str, stored: Stored) -> Iterator[str]:
        if name in spellings[field].values():
            yield stored.name
        spelled = [stored.properties.get(own, ()) for own in spellings[field]]
        yield from map(str, chain(value_named(field, reader.names, stored.properties) or (), *spelled))

    def texts_in(field: str, ids: Collection[str]) -> Mapping[str, str]:
        if not spellings[field]:
            warnings.append(f"the store has no field {field!r:.80}, so nothing is marked in it")
            return {}
        if content not in spellings[field].values():
            return {own: "\n".join(dict.fromkeys(values(field, documents[own]))) for own in ids}
        try:
            return engine.texts(ids)
        except SchemaError as error:
            warnings.append(f"nothing is marked in {field!r:.80}: {error}")
            return {}

    marked = dict[str, list[tuple[str, Sequence[str]]]]()
    for ids in batches(documents, TEXTS_AT_ONCE):
        texts = {field: texts_in(field, ids) for field in fields}
        for document_id in ids:
            for field, marking in fields.items():
                require_time()
                if fragments := markers[field].snippets(texts[field].get(document_id, ""), marking):
                    marked.setdefault(document_id, []).append((field, fragments))
    return Highlights(marked, tuple(dict.fromkeys(warnings)))


def measure(
    sources: QuerySources, reference: str, ids: Collection[str], counts: Mapping[str, int] = MappingProxyType({})
) -> Mapping[str, Measured]:
    """Return each document's overlap with a source, by id; omit documents without a fingerprint.

    Overlaps are estimated from sketches if both texts have them, otherwise from the less precise MinHash tokens. The
    result is empty if the source is unknown. `counts` has the numbers of shared tokens that are already known, by id.
    These documents' signatures are fetched only if they have no sketches.
    """
    try:
        source = sources.source(reference)
    except UnknownDocumentError:
        return {}
    own = sources.signatures({reference: False}).get(reference)
    if own is None or not len(own) or not ids:
        return {}
    from whorl.search.similar.results import Measured

    engine = sources.engine
    scheme = engine.sketch_scheme
    sketch = None if scheme is None else sources.sketch(source, scheme)
    uncounted = [name for name in ids if sketch is None or name not in counts]
    signatures = _nonempty_signatures(engine, uncounted)
    counted = {name: shared_tokens(own, signature) for name, signature in signatures.items()} | {**counts}
    present = [name for name in ids if name in counted]
    sketches = {} if sketch is None else engine.sketches(present)
    estimates = {} if sketch is None else dict(zip(sketches, estimate(sketch, [*sketches.values()]), strict=True))
    rough = [name for name in present if name not in estimates]
    if rough and own.scheme.fills_every_bucket:
        signatures |= _nonempty_signatures(engine, [name for name in rough if name not in signatures])
        rough = [name for name in rough if name in signatures]
        overlaps = compare_buckets(buckets_from(own), [buckets_from(signatures[name]) for name in rough])
        estimates |= zip(rough, estimate_buckets(overlaps), strict=True)
    return {name: Measured(counted[name], len(own), estimates.get(name)) for name in present}


def _nonempty_signatures(engine: Engine, ids: Collection[str]) -> dict[str, Signature]:
    signatures = engine.signatures(dict.fromkeys(ids, False)) if ids else {}
    return {name: signature for name, signature in signatures.items() if len(signature)}


def engine_facets(
    prepared: PreparedQuery, requests: Sequence[Facet], without: Collection[int] = ()
) -> tuple[FacetResult, ...]:
    """Return the engine's facets of a query's hits, without the filters at the indices `without`."""
    plan = prepared._bind(prepared._without(without)) if without else prepared.bound
    return prepared.engine.facets(plan, requests) if requests else ()


def bound_filter(prepared: PreparedQuery, chosen: Filter) -> BoundPlan:
    """Return an additional filter of a query as a plan for the engine, with its warnings."""
    plan, warnings = prepared.reader.filter(chosen)
    bound = prepared._bind(plan)
    return BoundPlan(bound.root, tuple(dict.fromkeys((*bound.warnings, *warnings))))
