"""A query made ready once: read, its fields resolved, its sources fetched; then searched, counted, measured, explained.

str → Ast → Plan → ResolvedPlan → BoundPlan → Page
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeAlias

from whorl.arrays import batches
from whorl.boilerplate import CommonOptions, Commons
from whorl.collapse import collapsed_page
from whorl.context import require_time, trace
from whorl.engine.facets import Counted, Facet
from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.minhash.signature import shared_tokens
from whorl.fingerprint.statistics.metric import Metric, metric_named
from whorl.model import Order, Page
from whorl.planning.bind import bind
from whorl.planning.build import (
    Bool,
    BoundLeaf,
    BoundPlan,
    FieldClause,
    FingerprintClause,
    MatchAll,
    Nothing,
    Plan,
    ResolvedLeaf,
    ResolvedPlan,
    kinds,
    leaves,
    mapped,
    references,
)
from whorl.planning.clauses import Kind
from whorl.planning.describe import describe
from whorl.planning.fields import Places
from whorl.planning.options import Conventions
from whorl.planning.resolve import resolve
from whorl.settings.settings import MAX_START
from whorl.similar.hits import Similar, SimilarPlan, Verified
from whorl.similar.measured import Measured, measure
from whorl.similar.question import DEFAULT_RECALL, DEFAULT_THRESHOLD, METRICS, Question
from whorl.similar.rest import MOST_CHARACTERS, rests
from whorl.similar.search import SimilarSearch, choose, find_similar, look_ups, search_for, search_of_rest, verify
from whorl.similar.sources import Sources
from whorl.snippets import Snippet, snippet, word_clauses

#: The types of values that a field is sorted by, the first that it has; some numbers are whole, some are not.
_SORTED_BY = ((Kind.DATE,), (Kind.FLOAT, Kind.INTEGER), (Kind.KEYWORD,), (Kind.BOOLEAN,))
#: Texts fetched in one request to show where words stand.
_TEXTS_AT_ONCE = 25
#: A query that chooses, or several of which any is to match.
Filter: TypeAlias = str | Sequence[str]


class Reading(CommonOptions, total=False):
    """How a query is read, as the arguments of `Store.prepare` say it."""

    source: str | Mapping[str, str] | None
    calibrated: bool
    metric: Metric | str
    conventions: Conventions
    filters: Iterable[Filter]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a query does; nothing was searched for it.

    Args:
        plan: In words and numbers, line by line.
        fingerprints: The calibrated FINGERPRINTs in the order of the query, each its source and how it finds its
            documents; one source may have several.
        warnings: What the user should know.
        request: What the engine is asked, as JSON values; where FINGERPRINTs are calibrated, what it is asked for their
            candidates.
    """

    plan: tuple[str, ...]
    fingerprints: tuple[tuple[str, SimilarPlan], ...]
    warnings: tuple[str, ...]
    request: Mapping[str, object]


class QueryReader:
    """Reads queries as one store does: under its conventions, with its fields, all at one moment.

    Args:
        engine: What has the fields.
        names: Maps field names used in queries to field names in the store.
        conventions: What the queries leave unsaid.
        max_rows: Hits on a page, at most.
    """

    def __init__(self, engine: Engine, names: Mapping[str, str], conventions: Conventions, max_rows: int) -> None:
        self._engine, self._names, self._conventions = engine, names, conventions
        self._max_rows, self._now = max_rows, datetime.now(UTC)

    def query(self, text: str) -> tuple[ResolvedPlan, tuple[str, ...]]:
        """Return the plan of a query, and what the user should know about it."""
        return self._resolved(self._conventions.plan(text), text)

    def filter(self, chosen: Filter) -> tuple[ResolvedPlan, tuple[str, ...]]:
        """Return the plan of a filter, and what the user should know about it."""
        texts = [chosen] if isinstance(chosen, str) else chosen
        plans = [self._resolved(self._conventions.filter(text), text) for text in texts]
        warnings = tuple(warning for _, some in plans for warning in some)
        return Bool(should=tuple(plan for plan, _ in plans), min_should_match=1), warnings

    def bound_filter(self, chosen: Filter) -> BoundPlan:
        """Return a filter as the engine runs it; its FINGERPRINTs name documents of the store."""
        plan, warnings = self.filter(chosen)
        bound = bind(plan, Sources(self._engine).signatures(references(plan)))
        return replace(bound, warnings=(*bound.warnings, *warnings))

    def places(self, field: str) -> Places | None:
        """Return the places of the field that a name in a query means, None where the store has no such field."""
        return self._engine.fields().named(self._conventions.named(field), self._names)

    def sortable(self, key: Order) -> Order:
        """Return a key by what the engine calls its field, and by the type of its values.

        Raises:
            ParameterError: There is no such field to sort by.
        """
        if key.field is None:
            return key
        places = self.places(key.field)
        if places is None:
            raise ParameterError(f"the store has no field {key.field!r} to sort by")
        # Whoever has given some documents dates or numbers wants these in order.
        kinds = next((some for some in _SORTED_BY if not places.keys().isdisjoint(some)), None)
        if kinds is None:
            raise ParameterError(f"field {key.field!r} holds words, which have no order; sort by one with whole values")
        return replace(key, places=tuple((kind, places[kind]) for kind in kinds if kind in places))

    def content_places(self) -> Collection[str]:
        """Return what the engine calls the field of the documents' texts."""
        return set((self._engine.fields().named("TEXT", self._names) or {}).values())

    def require_page(self, start: int, rows: int) -> None:
        """Raise ParameterError unless there can be a page of so many rows at such a place."""
        if not 0 <= start <= MAX_START:
            raise ParameterError(f"start must be 0 to {MAX_START:,}, got {start}")
        if not 0 <= rows <= self._max_rows:
            raise ParameterError(f"rows must be 0 to {self._max_rows:,}, got {rows}")

    def _resolved(self, plan: Plan, text: str) -> tuple[ResolvedPlan, tuple[str, ...]]:
        # Fingerprints alone ask no field, and the engine need not say what it has.
        fields = self._engine.fields() if any(isinstance(leaf, FieldClause) for leaf in leaves(plan)) else None
        return resolve(plan, fields, text, self._now, self._names, self._conventions.empty_fields)


class PreparedQuery:
    """A query whose text is read and whose sources are fetched; `Store.prepare` makes one.

    Args:
        reader: Reads it, and the filters.
        sources: The documents and texts that its FINGERPRINTs name.
        query: Its text.
        filters: Queries that choose and score nothing; or one.
        metric: What the overlap of a FINGERPRINT is a share of, if it means what `Store.similar` finds; None if it
            means the tokens and bands that Alfresco and Solr count.
        ignored: Tells what counts for nothing in what it finds; None where everything counts.
    """

    def __init__(
        self,
        reader: QueryReader,
        sources: Sources,
        query: str,
        filters: Iterable[Filter],
        metric: Metric | str | None,
        ignored: Commons | None = None,
    ) -> None:
        self._reader, self._sources, self._metric, self._ignored = reader, sources, metric, ignored
        self._engine, self._length = sources.engine, len(query)
        self._asked, warnings = reader.query(query)
        self._references = tuple(references(self._asked))
        chosen = [reader.filter(each) for each in ([filters] if isinstance(filters, str) else filters)]
        self._chosen = [plan for plan, _ in chosen]
        self._plan: ResolvedPlan = self._without(())
        used = references(self._plan)
        unused = [
            f"the query does not use the source {name!r}: write FINGERPRINT:{name}"
            for name in sources.texts
            if name not in used
        ]
        self._warnings = (*warnings, *(warning for _, some in chosen for warning in some), *unused)
        self._searches: dict[tuple[str, Question], SimilarSearch | str] = {}
        self._verified: dict[tuple[str, Question], Verified] = {}
        self._is_whole = True

    @property
    def references(self) -> tuple[str, ...]:
        """The documents and texts that the FINGERPRINTs of the query name, each once; without those of filters."""
        return self._references

    @property
    def resolved(self) -> ResolvedPlan:
        """What the query looks for, without its filters; no FINGERPRINT has its tokens yet."""
        return self._asked

    @property
    def reader(self) -> QueryReader:
        """What has read the query."""
        return self._reader

    @property
    def counting(self) -> Counting:
        """What counts among all documents that match."""
        return Counting(self._engine, self._reader, self._bind, self._plan_without)

    @cached_property
    def bound(self) -> BoundPlan:
        """The plan that the engine runs; for it the candidates of calibrated FINGERPRINTs are looked for."""
        bound = self._bind(self._plan)
        return BoundPlan(bound.root, tuple(dict.fromkeys((*bound.warnings, *self._warnings))))

    def search(
        self,
        *,
        start: int = 0,
        rows: int = 10,
        order: Sequence[Order] = (),
        with_shared: bool = False,
        collapsed: bool = False,
    ) -> Page:
        """Return one page of the documents that match.

        Args:
            start: Hits to leave out before the page.
            rows: Hits on the page.
            order: What the hits are sorted by, instead of their scores.
            with_shared: Also count the tokens that each hit shares with the source, if the query has just one.
            collapsed: Whether of each cluster that was written into the store the best hit comes alone.

        Raises:
            ParameterError: There is no such page, or no such field to sort by; or no document says which cluster it is
                in.
        """
        self._reader.require_page(start, rows)
        keys = [self._reader.sortable(key) for key in order]
        if collapsed:
            page = collapsed_page(self._engine, self.bound, start=start, rows=rows, order=keys)
        else:
            page = self._engine.search(self.bound, start=start, rows=rows, order=keys)
        trace().answered(kinds(self.bound.root), self._length, page.total)
        if not self._is_whole:
            page = replace(page, is_total_exact=False)
        return self._with_shared(page) if with_shared and page.hits and self._metric is None else page

    def measured(self, ids: Collection[str]) -> Mapping[str, Measured]:
        """Return what hits share with the query's source, by id; nothing unless it has just one."""
        if len(self._references) != 1:
            return {}
        measured = measure(self._sources, self._references[0], ids)
        # What was counted to find a hit is told of it, not an estimate that may lie below the threshold.
        exact = {
            found.hit.id: found.estimate
            for (reference, _), verified in self._verified.items()
            if reference == self._references[0]
            for found in verified.kept
            if found.estimate.is_exact
        }
        return {each: replace(told, estimate=exact.get(each, told.estimate)) for each, told in measured.items()}

    def snippets(self, ids: Collection[str]) -> Iterator[tuple[str, Snippet]]:
        """Yield hits that have words of the query in their texts, and where these stand.

        Hits without a stored text are left out, and so are the last ones where all together are too long.
        """
        clauses = word_clauses(self._plan, self._reader.content_places())
        characters, profile = 0, self._engine.scheme.profile
        for some in batches(dict.fromkeys(ids) if clauses else (), _TEXTS_AT_ONCE):
            if characters >= MOST_CHARACTERS:
                break
            for document_id, text in self._engine.texts(some).items():
                require_time()
                characters += len(text)
                if shown := snippet(text, clauses, profile):
                    yield document_id, shown

    def explain(self, *, start: int = 0, rows: int = 10) -> Explanation:
        """Return what a search would do."""
        if self._metric is None or not any(isinstance(leaf, FingerprintClause) for leaf in leaves(self._plan)):
            bound = self.bound
            request = self._engine.explain(bound, start=start, rows=rows)
            return Explanation(tuple(describe(bound.root)), (), bound.warnings, request)
        warnings = list[str]()
        requests = list[dict[str, object]]()
        plans = list[tuple[str, SimilarPlan]]()
        for clause in (leaf for leaf in leaves(self._plan) if isinstance(leaf, FingerprintClause)):
            search = self._search_of(clause)
            if isinstance(search, str):
                warnings.append(search)
                continue
            warnings += [*search.warnings, *_unpromised(search)]
            plans.append((clause.reference, search.plan))
            request = self._engine.explain(look_ups(search), start=0, rows=search.at_once)
            requests.append({"source": clause.reference, "request": request})
        known = tuple(dict.fromkeys((*warnings, *self._warnings)))
        return Explanation(tuple(describe(self._plan)), tuple(plans), known, {"candidates": requests})

    def _plan_without(self, filters: Collection[int]) -> BoundPlan:
        return self._bind(self._without(filters)) if filters else self.bound

    def _without(self, filters: Collection[int]) -> ResolvedPlan:
        chosen = [plan for number, plan in enumerate(self._chosen) if number not in filters]
        return Bool(must=(self._asked, *chosen)) if chosen else self._asked

    def _bind(self, plan: ResolvedPlan) -> BoundPlan:
        if self._metric is None:
            return bind(plan, self._sources.signatures(references(plan)), self._sources.texts)
        warnings: list[str] = []

        def bound(leaf: ResolvedLeaf) -> BoundLeaf:
            return self._found(leaf, warnings) if isinstance(leaf, FingerprintClause) else leaf

        return BoundPlan(mapped(plan, bound), tuple(warnings))

    def _found(self, clause: FingerprintClause, warnings: list[str]) -> BoundLeaf:
        """Return the documents that a calibrated FINGERPRINT finds."""
        search = self._search_of(clause)
        if isinstance(search, str):
            warnings.append(search)
            return Nothing(search)
        key = (clause.reference, search.question)
        if key not in self._verified:
            self._verified[key] = verify(search)
        verified = self._verified[key]
        warnings += [*verified.warnings, *_unpromised(search)]
        if not verified.is_whole:
            self._is_whole = False
            warnings.append(
                f"FINGERPRINT:{clause.reference} has {verified.candidates:,} candidates, and {verified.seen:,} of them "
                "were verified, those with most in common first: there may be more hits than the total says; a higher "
                "threshold finds all of its own"
            )
        return choose(search, verified, clause.weight)

    def _search_of(self, clause: FingerprintClause) -> SimilarSearch | str:
        """Return the search that a calibrated FINGERPRINT stands for, or why there is none."""
        overlap, probability = clause.overlap or DEFAULT_THRESHOLD, clause.probability or DEFAULT_RECALL
        # Fractions already, of which a hundredfold up to 1 would be read as another fraction.
        question = Question(metric_named(self._metric or Metric.JACCARD, METRICS), overlap, probability)
        key = (clause.reference, question)
        if key not in self._searches:
            try:
                self._searches[key] = _search_for(self._sources, clause.reference, question, self._ignored)
            except ParameterError as error:
                self._searches[key] = str(error)
        return self._searches[key]

    def _with_shared(self, page: Page) -> Page:
        if len(self._references) != 1:
            return page
        own = self._sources.signatures({self._references[0]: True}).get(self._references[0])
        if own is None:
            return page
        found = self._engine.signatures({hit.id: False for hit in page.hits})
        hits = tuple(
            replace(hit, shared_tokens=shared_tokens(own, found[hit.id])) if hit.id in found else hit
            for hit in page.hits
        )
        return replace(page, source_tokens=len(own), hits=hits)


class Counting:
    """Counts among the documents that a prepared query matches; `whorl.facets` asks it by the names of fields.

    Args:
        engine: What has the documents.
        reader: Reads further filters.
        bind: Fetches what the FINGERPRINTs of a plan name.
        plan: Returns the plan of the query without some of its filters, by their numbers.
    """

    def __init__(
        self,
        engine: Engine,
        reader: QueryReader,
        bind: Callable[[ResolvedPlan], BoundPlan],
        plan: Callable[[Collection[int]], BoundPlan],
    ) -> None:
        self._engine, self._reader, self._bind, self._plan = engine, reader, bind, plan

    def filtered(self, chosen: Filter) -> BoundPlan:
        """Return a further filter as the engine runs it, with what to know about it."""
        plan, warnings = self._reader.filter(chosen)
        bound = self._bind(plan)
        return BoundPlan(bound.root, tuple(dict.fromkeys((*bound.warnings, *warnings))))

    def facets(self, asked: Sequence[Facet], without: Collection[int] = ()) -> tuple[Counted, ...]:
        """Return what is counted among all documents that match.

        Args:
            asked: The questions; an answer for each comes back.
            without: Filters, by their numbers, that a document need not match to be counted.
        """
        return self._engine.facets(self._plan(without), asked) if asked else ()


class PreparedSimilar:
    """A calibrated search whose source is fetched and whose filter is read; `Store.prepare_similar` makes one.

    Args:
        reader: Reads the filter.
        sources: What knows the source.
        reference: The source: a document, or the name of a text given beside.
        question: What is to be found.
        only: A query: others than the documents that it matches are no hits; None for no such filter.
        commons: Tells what is common; None where nobody has said what that is.
        ignore_common: Whether what is common counts for nothing.
    """

    def __init__(
        self,
        reader: QueryReader,
        sources: Sources,
        reference: str,
        question: Question,
        only: str | None,
        commons: Commons | None = None,
        *,
        ignore_common: bool = False,
    ) -> None:
        self._reader, self._engine, self._length = reader, sources.engine, len(only or "")
        self._filter = BoundPlan(MatchAll()) if only is None else reader.bound_filter(only)
        self._search = _search_for(sources, reference, question, commons if ignore_common else None)
        self._commons, self._ignores_common = commons, ignore_common

    @property
    def plan(self) -> SimilarPlan:
        """How candidates are found, and what is promised."""
        return self._search.plan

    def search(self, *, start: int = 0, rows: int = 10, exact: bool = False) -> Similar:
        """Return one page of hits.

        Args:
            start: Hits to leave out before the page, 0 to 1,000,000.
            rows: Hits on the page, 0 to 10,000.
            exact: Whether the texts of the hits on the page are compared whole; else their numbers are estimates from
                sketches, with intervals. Where it was told what is common, the texts are compared without that in any
                case.

        Raises:
            ParameterError: There is no such page.
        """
        self._reader.require_page(start, rows)
        page = find_similar(self._search, self._filter, start=start, rows=rows, exact=exact)
        trace().answered(f"similar by {page.plan.metric.value}", self._length, page.total)
        if self._commons is None:
            return page
        page = replace(page, tells_common=True)
        if self._ignores_common:
            return page
        left = rests(self._engine, self._search.source, [found.hit.id for found in page.found], self._commons)
        found = tuple(replace(each, rest=left.by_id.get(each.hit.id)) for each in page.found)
        return replace(page, found=found, warnings=(*page.warnings, *left.warnings))

    def request(self) -> Mapping[str, object]:
        """Return what the engine is asked for candidates, as JSON values; nothing is searched."""
        return self._engine.explain(look_ups(self._search, self._filter.root), start=0, rows=self._search.at_once)


def _search_for(sources: Sources, reference: str, question: Question, ignored: Commons | None) -> SimilarSearch:
    if ignored is None:
        return search_for(sources, reference, question)
    return search_of_rest(sources, reference, question, ignored)


def _unpromised(search: SimilarSearch) -> list[str]:
    if search.plan.promised or not search.plan.source_size:
        return []
    return [f"FINGERPRINT:{search.source.name} is best effort: see 'whorl similar --explain'"]
