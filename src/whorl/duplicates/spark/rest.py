"""The rest of a search, of so few documents that one worker finds their pairs by the functions of one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from whorl.duplicates.question import PairQuestion
from whorl.duplicates.schedule import Round
from whorl.duplicates.search import find_pairs
from whorl.duplicates.spark.blocks import Block
from whorl.duplicates.spark.frames import Batches, stepped
from whorl.duplicates.spark.verify import PAIRS, told
from whorl.duplicates.verify import Pairs
from whorl.fingerprint.sketch.sketch import SketchScheme

#: Hashes that one worker looks at: eight bytes each, and a few times as much while it does.
MOST_AT_ONCE = 1 << 25


@dataclass(frozen=True, slots=True)
class Rest:
    """Documents that still have to be compared with one another.

    Args:
        sketches: Rows of SKETCHES.
        to_look: The rounds that are left, or if none are, the last one, in which crowds are told.
        most: Pairs that one hash may make in each of them.
    """

    sketches: DataFrame
    to_look: Sequence[Round]
    most: int

    def pairs(self, scheme: SketchScheme, question: PairQuestion, *, links_suffice: bool) -> DataFrame:
        """Return the pairs, in columns as those of `verify.verified_pairs`.

        Args:
            scheme: What the sketches depend on.
            question: What is to be found.
            links_suffice: As of `whorl.duplicates.search.find_pairs`.
        """
        # Not the frame, which no worker can have.
        to_look, most = self.to_look, self.most

        def found(batches: Batches) -> Batches:
            block = Block.of(batches, scheme)
            # Documents of one size are compared in the order of their keys, in which those of a block are.
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
