"""Local remainder of a search: documents few enough for one worker, which runs the in-process search on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from whorl.duplicates.options import PairQuestion
from whorl.duplicates.pairs import find_pairs
from whorl.duplicates.rounds import Round
from whorl.duplicates.spark.blocks import Block
from whorl.duplicates.spark.frames import Batches, stepped
from whorl.duplicates.spark.verify import PAIRS, told
from whorl.duplicates.verify import Pairs
from whorl.fingerprint.sketch.sketch import SketchScheme

#: Maximum number of hashes for one worker: eight bytes each, and several times as much during the search.
MOST_AT_ONCE = 1 << 25


@dataclass(frozen=True, slots=True)
class Rest:
    """Documents left to be compared with each other.

    Args:
        sketches: Rows of SKETCHES.
        to_look: The remaining rounds; if none remain, the last one, which returns crowds.
        most: Maximum number of pairs of one hash in a round.
    """

    sketches: DataFrame
    to_look: Sequence[Round]
    most: int

    def pairs(self, scheme: SketchScheme, question: PairQuestion, *, links_suffice: bool) -> DataFrame:
        """Return the pairs, with the columns of `verify.verified_pairs`.

        Args:
            scheme: Sketch scheme.
            question: Metric, threshold and recall.
            links_suffice: As in `whorl.duplicates.pairs.find_pairs`.
        """
        # Capture the fields, not `self`: a data frame cannot be sent to a worker.
        to_look, most = self.to_look, self.most

        def found(batches: Batches) -> Batches:
            block = Block.of(batches, scheme)
            # Documents of equal size are compared in the order of their keys; a block is sorted by key.
            pairs = find_pairs(
                block.sketches,
                np.arange(block.keys.size),
                question,
                known=Pairs.together([]),
                is_known=~block.is_new,
                links_suffice=links_suffice,
                most=most,
                to_look=to_look,
            )
            yield told(pairs.at(block.keys))

        return stepped(self.sketches.coalesce(1), found, PAIRS)
