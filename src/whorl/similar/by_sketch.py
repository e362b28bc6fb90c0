"""Calibrated search by sketches: candidates by few look-ups, each verified on its sketch.

`docs/accuracy.md` says why the recall asked for is the recall delivered. The plan says which tokens of the source's
sketch to ask for and how many a document must have; the engine gives those documents with their sketches; on these
every candidate is judged anew. Hits of which the sketches leave open whether they are any (a short text in a very long
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
from whorl.planning.build import Bool, BoundNode, BoundPlan, SketchTokens
from whorl.similar.hits import Batch, Found, Settled, scored
from whorl.similar.plan import BUDGET_OF_TWO_PHASES, Branch, SketchPlan, make_plan
from whorl.similar.question import Question
from whorl.similar.sources import Source
from whorl.similar.whole_text import Reader

#: Candidates that are verified at most, best first.
MOST_VERIFIED = 10_000
#: Candidates fetched at once: their sketches take about 3 MB.
AT_ONCE = 2_000
#: Candidates of which it is not worth asking anew to have fewer.
FEW = 100
#: A page of hits has the plan of the page before.
_plan = lru_cache(64)(make_plan)


class SketchSearch:
    """A question about one source, in a store whose documents have sketches.

    Args:
        engine: Where the documents are.
        source: What they are compared with.
        sketch: Its sketch.
        question: What is to be found.
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
        # Documents that contain the source may have any size: those larger than there are need no promise.
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
        """Ask for more tokens from now on, where few of them were asked, and for many candidates at once."""
        precise = self._planned(None)
        self.plan, self._costs = max(self.plan, precise, key=lambda plan: plan.look_ups), None

    @property
    def most_verified(self) -> int:
        """Candidates that are verified at most."""
        return MOST_VERIFIED

    @property
    def at_once(self) -> int:
        """Candidates fetched at once."""
        return AT_ONCE

    def look_ups(self) -> BoundNode | None:
        """Return what the engine is asked for: documents of any branch. None where nothing can be asked."""
        plan = self.plan
        largest = max((branch.largest_size or 0 for branch in plan.branches), default=0)
        branches = tuple(
            self._look_up(
                branch,
                # Larger ones may have come since.
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
        # Two shingles with one token are found as one.
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
        """Fetch the candidates behind a place, and verify those that were not seen yet.

        Returns:
            None where they are too many for the few tokens that were asked: `look_ups` may be others from now on.
        """
        # Those that are too many need not come; of those that are few, all come, in any order.
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
        """Return the hits of all batches, those that their sketches leave open by their texts, as far as means go."""
        return Settled(list(self._reader.settled(kept)))
