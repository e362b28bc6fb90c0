"""Calibrated search without common text: candidates by sketches, every hit verified on its text.

`rest_plan` defines the candidates and the promised recall. The texts of the candidates are read, up to the limits of
one search and those with the largest overlap first; hits are the documents that reach the threshold without common
text, as `fingerprint.passages` counts it, so that all their numbers are exact.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.batch import hashes_of_words
from whorl.fingerprint.compare import TextWords, common_shingles, words_of
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.sketch.sketch import sketch_of_distinct
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.query.plan.nodes import BoundNode, BoundPlan
from whorl.search.boilerplate import Commons
from whorl.search.similar.options import Question
from whorl.search.similar.plan import BUDGET_OF_TWO_PHASES
from whorl.search.similar.rest import comparisons
from whorl.search.similar.rest_plan import RestPlan, part_of_source
from whorl.search.similar.results import Batch, Found, Settled, exact_estimate
from whorl.search.similar.searchers import SketchSearch
from whorl.search.similar.sources import Source, text_of

#: Largest number of texts that a search reads.
MOST_READ = 1_000
#: Tokens of a branch in the search for documents within the source: finding small parts of it takes more.
_BUDGET_WITHIN = 4 * BUDGET_OF_TWO_PHASES


class RestSearch:
    """Calibrated search for one source without common text, in a store whose documents have sketches and texts.

    Args:
        engine: Engine of the store.
        source: Source that documents are compared with.
        question: Options of the search, applied to the text that is not common.
        commons: Detector of common text.

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
        """Plan of the candidates, and the promised recall."""
        question = self.question
        return RestPlan(question.metric, question.threshold, question.recall, self._size, self._by_sketch.plan)

    @property
    def most_verified(self) -> int:
        """Largest number of candidates whose sketches are compared."""
        return self._by_sketch.most_verified

    @property
    def at_once(self) -> int:
        """Candidates fetched at once."""
        return self._by_sketch.at_once

    def look_ups(self) -> BoundNode | None:
        """Return the query for documents with enough of the source's rest; None without such a rest."""
        return self._by_sketch.look_ups()

    def batch(self, look_ups: BoundPlan, start: int, seen: Set[str]) -> Batch | None:
        """Fetch candidates and compare their sketches with the source's rest, as `SketchSearch.batch` does."""
        return self._by_sketch.batch(look_ups, start, seen)

    def settled(self, kept: list[Found]) -> Settled:
        """Return the candidates of all batches that are hits, verified on their texts as far as these can be read."""
        # The score estimates the candidate's share of the source's rest.
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
    """Return the distinct hashes of a text's shingles that are not common, sorted, and the number of all of them."""
    hashes = hashes_of_words(words.words, scheme)
    common = hashes[common_shingles(commons.words(words), scheme.shingle_size)]
    distinct = np.unique(hashes)
    return np.setdiff1d(distinct, common), distinct.size
