"""Prepares similarity searches: the source is read once, and the search can then be run and explained several times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from whorl.engine.protocol import gap_warnings
from whorl.query.plan.nodes import BoundPlan, MatchAll
from whorl.request_context import trace
from whorl.search.boilerplate import BoilerplateDetector
from whorl.search.prepared_search import QueryReader
from whorl.search.similar.compare_hit_texts import compare_without_common
from whorl.search.similar.fetch_query_sources import QuerySources
from whorl.search.similar.find_similar import ChangedSourceError, candidate_plan, find_similar, make_search_ignoring
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.results import Similar, SimilarPlan


class PreparedSimilar:
    """A calibrated search with its source and parsed filter; created by `Store.prepare_similar`."""

    def __init__(
        self,
        reader: QueryReader,
        sources: QuerySources,
        reference: str,
        criteria: SimilarCriteria,
        filter_query: str | None,
        detector: BoilerplateDetector | None = None,
        *,
        ignore_common: bool = False,
    ) -> None:
        self._reader, self._engine = reader, sources.engine
        self._filter = BoundPlan(MatchAll()) if filter_query is None else reader.bound_filter(filter_query)
        self._length = len(filter_query or "")
        self._sources = sources
        ignored = detector if ignore_common else None
        self._search_again = partial(make_search_ignoring, ignored, sources, reference, criteria)
        self._search = self._search_again()
        self._detector, self._ignores_common = detector, ignore_common

    @property
    def plan(self) -> SimilarPlan:
        """The search plan, with its guaranteed recall."""
        return self._search.plan

    def search(self, *, start: int = 0, rows: int = 10, exact: bool = False) -> Similar:
        """Return one page of hits; raise ParameterError if the page is out of range.

        With `exact`, compare the whole texts of the hits on the page, instead of estimating shares from sketches.
        """
        self._reader.require_page(start, rows)
        gaps = gap_warnings(self._engine, "sketches")
        try:
            page = find_similar(self._search, self._filter, start=start, rows=rows, exact=exact)
        except ChangedSourceError:
            self._sources.caches_sketches = False
            self._search = self._search_again()
            page = find_similar(self._search, self._filter, start=start, rows=rows, exact=exact)
        if gaps:
            page = replace(page, is_total_exact=False, is_complete=False, warnings=(*page.warnings, *gaps))
        trace().record_search(f"similar by {page.plan.metric.value}", self._length, page.total)
        if self._detector is None:
            return page
        residuals, warnings = {hit.hit.id: hit.residual for hit in page.found}, page.warnings
        if not self._ignores_common:
            residuals, more = compare_without_common(self._engine, self._search.source, list(residuals), self._detector)
            warnings = (*warnings, *more)
        hits = [replace(hit, residual=residuals.get(hit.hit.id), separates_boilerplate=True) for hit in page.found]
        return replace(page, found=tuple(hits), warnings=warnings)

    def request(self) -> Mapping[str, object]:
        """Return the engine's request for candidates as JSON values, without sending it."""
        plan = candidate_plan(self._search, self._filter.root)
        return self._engine.explain(plan, start=0, rows=self._search.batch_size(plan))
