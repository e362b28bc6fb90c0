"""Calibrated search by sketches: candidates by few look-ups, each verified on its sketch.

`docs/accuracy.md` explains why the search keeps the requested recall. The plan determines the tokens of the source's
sketch to look up and the number that a document must have; the engine returns those documents with their sketches; the
second phase verifies every candidate on its sketch. Hits that the sketches leave undecided (a short text in a very long
one) are read whole, so that their numbers are exact.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

import numpy as np

from whorl.arrays import ascending_distinct
from whorl.engine.protocol import Costs, Engine
from whorl.fingerprint.sketch.sketch import Sketch, compare
from whorl.fingerprint.statistics.estimate import estimate_overlaps
from whorl.fingerprint.statistics.metric import Metric
from whorl.model import Hit
from whorl.query.plan.nodes import Bool, BoundNode, BoundPlan, SketchTokens
from whorl.search.similar.options import Question
from whorl.search.similar.plan import BUDGET_OF_TWO_PHASES, Branch, SketchPlan, make_plan
from whorl.search.similar.results import Batch, Found, Settled, scored
from whorl.search.similar.sources import Source
from whorl.search.similar.verify import Reader

#: Largest number of candidates that a search verifies, best first.
MOST_VERIFIED = 10_000
#: Candidates fetched at once; their sketches take about 3 MB.
AT_ONCE = 2_000
#: Largest number of candidates for which a second query with more tokens does not pay off.
FEW = 100
#: Further pages of hits have the plan of the first page, so plans are cached.
_plan = lru_cache(64)(make_plan)


class SketchSearch:
    """Calibrated search for one source, in a store whose documents have sketches.

    Args:
        engine: Engine of the store.
        source: Source that documents are compared with.
        sketch: Sketch of the source.
        question: Options of the search.
        budget: Tokens of a branch, as in `make_plan`.
    """

    def __init__(
        self,
        engine: Engine,
        source: Source,
        sketch: Sketch,
        question: Question,
        budget: int = BUDGET_OF_TWO_PHASES,
    ) -> None:
        self._budget = budget
        self.engine, self.source, self.question, self._sketch = engine, source, question, sketch
        # Documents that contain the source may have any size; limit the promise to the largest size in the index.
        self._largest = engine.largest_size() if question.metric is Metric.A_IN_B else None
        self._costs = engine.costs
        self.plan: SketchPlan = self._planned(self._costs)
        self._reader = Reader(engine, source, question)
        self.warnings: tuple[str, ...] = () if sketch.size else (source.no_fingerprint(engine.scheme),)

    def _planned(self, costs: Costs | None) -> SketchPlan:
        question, asks = self.question, 1 if self._costs is None else 2
        return _plan(
            self._sketch,
            question.metric,
            question.threshold,
            question.recall,
            budget=self._budget,
            asks=asks,
            costs=costs,
            largest_size=self._largest,
        )

    def _narrow(self) -> None:
        """Switch to the plan with more tokens, and to large batches of candidates."""
        precise = self._planned(None)
        self.plan, self._costs = max(self.plan, precise, key=lambda plan: plan.look_ups), None

    @property
    def most_verified(self) -> int:
        """Largest number of candidates that are verified."""
        return MOST_VERIFIED

    @property
    def at_once(self) -> int:
        """Candidates fetched at once."""
        return AT_ONCE

    def look_ups(self) -> BoundNode | None:
        """Return the query for the documents of all branches; None if there are no tokens to look up."""
        plan = self.plan
        largest = max((branch.largest_size or 0 for branch in plan.branches), default=0)
        branches = tuple(
            self._look_up(
                branch,
                # Larger documents may have been added since the plan was made.
                branch.largest_size if branch.largest_size != largest or plan.metric is not Metric.A_IN_B else None,
            )
            for branch in plan.branches
            if branch.min_should_match
        )
        if len(branches) < 2:
            return next(iter(branches), None)
        return Bool(should=branches, min_should_match=1)

    def _look_up(self, branch: Branch, largest_size: int | None) -> SketchTokens:
        tokens = self._sketch.hashes[branch.tokens.start : branch.tokens.stop]
        distinct = ascending_distinct(tokens)
        # Two shingles with the same token count as one match.
        minimum = max(1, branch.min_should_match - (tokens.size - distinct.size))
        return SketchTokens(
            self.source.name,
            self._sketch.scheme,
            tuple(distinct.tolist()),
            minimum,
            branch.smallest_size,
            largest_size,
        )

    def batch(self, look_ups: BoundPlan, start: int, seen: Set[str]) -> Batch | None:
        """Fetch the candidates after the first `start` ones, and verify those not seen yet.

        Returns:
            None if the few tokens of the first plan match too many candidates; `look_ups` then returns another query.
        """
        # The first query fetches at most FEW candidates: it is repeated if there are more, and complete otherwise, so
        # that their order does not matter.
        is_cheap = self._costs is not None and not start
        candidates = self.engine.candidates(
            look_ups, start=start, rows=FEW if is_cheap else AT_ONCE, in_order=not is_cheap
        )
        if is_cheap and candidates.total > FEW:
            self._narrow()
            return None
        fresh = [
            (hit, sketch)
            for hit, sketch in candidates.found
            if sketch is not None and hit.id not in seen and hit.id != self.source.document_id
        ]
        ids = tuple(hit.id for hit, _ in candidates.found)
        return Batch(candidates.total, ids, tuple(self._judged(fresh)), candidates.warnings)

    def _judged(self, candidates: list[tuple[Hit, Sketch]]) -> list[Found]:
        if not candidates:
            return []
        overlaps = compare(self._sketch, [sketch for _, sketch in candidates])
        at = np.flatnonzero(self.plan.is_hit(overlaps))
        estimates = estimate_overlaps(overlaps.of(at))
        return [
            scored(candidates[place][0], estimate, self.question.metric)
            for place, estimate in zip(at.tolist(), estimates, strict=True)
        ]

    def settled(self, kept: list[Found]) -> Settled:
        """Return the hits of all batches; undecided ones are verified on their texts, within the search's limits."""
        return Settled(list(self._reader.settled(kept)))
