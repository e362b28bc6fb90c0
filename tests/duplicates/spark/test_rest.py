"""Tests of the local remainder of a search."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.duplicates.spark.blocked import SMALL, alike_sets, blocked
from tests.duplicates.spark.spark_runtime import QUIET
from tests.plain import sketch_of
from whorl.duplicates import ask_pairs
from whorl.duplicates.clusters import Components
from whorl.duplicates.sketch_store import sketch_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = QUIET


@pytest.mark.parametrize("links_suffice", [False, True])
def test_one_worker_finds_the_rest(spark: SparkSession, links_suffice: bool) -> None:
    """
    The pairs that one worker finds among postponed documents equal those of the distributed search in all numbers; with
    `links_suffice`, fewer pairs connect the same components.
    """
    from whorl.duplicates.spark.prefix_filter import find_candidates as candidates_by_parts
    from whorl.duplicates.spark.verify import verified_pairs

    made = {
        sketch_key(sketch): sketch
        for each in alike_sets(random.Random(2))
        for sketch in [sketch_of(np.array(list(each), np.uint64), SMALL)]
    }
    documents, asked = blocked(spark, made, SMALL, 3), ask_pairs("jaccard", 80, 90)
    by_parts = [each.pairs for each in candidates_by_parts(documents, asked, most=15, most_at_once=0)]
    assert len(by_parts) > 1
    expected = {tuple(row) for each in by_parts for row in verified_pairs(each, documents, asked).collect()}
    (only,) = candidates_by_parts(documents, asked, most=15)
    assert only.rest is not None
    first = {tuple(row) for row in verified_pairs(only.pairs, documents, asked).collect()}
    rest = {tuple(row) for row in only.rest.pairs(SMALL, asked, links_suffice=links_suffice).collect()}
    assert rest - first
    assert first | rest <= expected
    assert (first | rest < expected) == links_suffice
    numbers = sorted(made)
    labels = []
    for pairs in (expected, first | rest):
        hanging = Components(len(numbers))
        hanging.join(*(np.searchsorted(numbers, [pair[side] for pair in pairs]) for side in (0, 1)))
        labels.append(hanging.labels().tolist())
    assert labels[0] == labels[1]
