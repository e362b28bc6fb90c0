"""Calibrated search for what documents share beyond what is common: candidates by sketches, every hit by its text.

`rest_plan` says which documents are looked for, and what is promised of them. Their texts are read, as many as the
means of one search allow, those with most in common first; hits are those that reach the threshold without what is
common, as `fingerprint.passages` counts it, so that all their numbers are exact.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from whorl.boilerplate import Commons
from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.batch import hashes_of_words
from whorl.fingerprint.passages import TextWords, common_shingles, words_of
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import sketch_of_distinct
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.planning.build import BoundNode, BoundPlan
from whorl.similar.by_sketch import SketchSearch
from whorl.similar.hits import Batch, Found, Settled, exact_estimate
from whorl.similar.plan import BUDGET_OF_TWO_PHASES
from whorl.similar.question import Question
from whorl.similar.rest import comparisons
from whorl.similar.rest_plan import RestPlan, part_of_source
from whorl.similar.sources import Source, text_of

#: Candidates whose texts one search reads at most.
MOST_READ = 1_000
#: Tokens of a branch where documents within the source are looked for: small parts of it take more.
_BUDGET_WITHIN = 4 * BUDGET_OF_TWO_PHASES


class RestSearch:
    """A question about what is not common in one source, in a store whose documents have sketches and texts.

    Args:
        engine: Where the documents are.
        source: What they are compared with.
        question: What is to be found, of what is not common.
        commons: Tells what is common.

    Raises:
        ParameterError: The documents have no sketches, or the source has no text.
    """

    def __init__(self, engine: Engine, source: Source, question: Question, commons: Commons) -> None:
        scheme = engine.sketch_scheme
        if scheme is None:
            raise ParameterError(
                "what is common can be left out where documents have sketches, and these have none: 'whorl solr check' "
                "or 'whorl opensearch check' says how they get them"
            )
        text = text_of(engine, source)
        if text is None:
            raise ParameterError(f"{source.name!r} has no stored text, so its common text cannot be left out")
        self.engine, self.source, self.question = engine, source, question
        self._text, self._commons = text, commons
        words = words_of(text, engine.scheme)
        left, self._size = _left(words, commons, engine.scheme)
        part = part_of_source(question.metric, question.threshold, left.size)
        self._by_sketch = SketchSearch(
            engine,
            source,
            sketch_of_distinct(left, scheme),
            Question(Metric.A_IN_B, part, question.recall),
            budget=_BUDGET_WITHIN if question.metric is Metric.B_IN_A else BUDGET_OF_TWO_PHASES,
        )
        self.warnings: tuple[str, ...] = self._by_sketch.warnings
        if self._size and not left.size:
            self.warnings = (f"all of {source.name!r} is common, so nothing is left to look for",)

    @property
    def plan(self) -> RestPlan:
        """How candidates are found, and what is promised."""
        question = self.question
        return RestPlan(question.metric, question.threshold, question.recall, self._size, self._by_sketch.plan)

    @property
    def most_verified(self) -> int:
        """Candidates whose sketches are compared at most."""
        return self._by_sketch.most_verified

    @property
    def at_once(self) -> int:
        """Candidates fetched at once."""
        return self._by_sketch.at_once

    def look_ups(self) -> BoundNode | None:
        """Return what the engine is asked for: documents with enough of what is left. None where nothing is."""
        return self._by_sketch.look_ups()

    def batch(self, look_ups: BoundPlan, start: int, seen: Set[str]) -> Batch | None:
        """Fetch candidates and compare their sketches, as `SketchSearch.batch` does, with what is left."""
        return self._by_sketch.batch(look_ups, start, seen)

    def settled(self, kept: list[Found]) -> Settled:
        """Return the candidates of all batches that are hits, by their texts, as far as these can be read."""
        # Each has about so much of what is left of the source.
        by_id = {found.hit.id: found for found in sorted(kept, key=lambda found: (-found.hit.score, found.hit.id))}
        wanted, metric, hits, read = list(by_id)[:MOST_READ], self.question.metric, list[Found](), 0
        for document_id, comparison in comparisons(self.engine, self._text, wanted, self._commons):
            read += 1
            rest = comparison.rest
            assert rest is not None
            least = least_overlap(metric, self.question.threshold, rest.shingles_a, rest.shingles_b)
            if rest.shared_shingles < max(1, least):
                continue
            sizes = comparison.a.shingles, comparison.b.shingles
            hit = replace(by_id[document_id].hit, score=round(100 * rest.shares.by(metric), 4))
            hits.append(Found(hit, exact_estimate(*sizes, comparison.shared_shingles), rest))
        return Settled(hits, unread=len(kept) - read)


def _left(words: TextWords, commons: Commons, scheme: Scheme) -> tuple[npt.NDArray[np.uint64], int]:
    """Return the distinct hashes of the shingles of a text that are not common, sorted, and how many it has in all."""
    hashes = hashes_of_words(words.words, scheme)
    common = hashes[common_shingles(commons.words(words), scheme.shingle_size)]
    distinct = np.unique(hashes)
    return np.setdiff1d(distinct, common), distinct.size
