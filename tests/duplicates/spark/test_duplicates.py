"""Tests of duplicates on a real Spark: the same pairs and clusters as in one process."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import astuple
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.duplicates.spark.made_blocks import framed
from tests.duplicates.spark.spark_runtime import QUIET
from tests.families import family_documents
from tests.sampling import FULL, combine, thorough
from whorl.duplicates import DuplicatesOptions, duplicates_among, parse_pair_options
from whorl.fingerprint.sketch.frac_minhash import SketchScheme
from whorl.fingerprint.statistics.metric import round_down
from whorl.model import Document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
#: Sketches of few hashes, so that a few hundred documents have many levels.
SMALL = SketchScheme(k=256, floor_level=1, cap=512)
#: Maximum number of stages of a search for pairs and clusters, if no hash makes too many pairs.
MOST_STAGES = 40

pytestmark = QUIET


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Families of similar texts, some equal, some too short."""
    made = family_documents(45, seed=3, longest=1_200)
    equal = [document for document in made if len(document.text.split()) > 50][:5]
    made += [Document(f"equal/{number}/{document.id}", document.text) for document in equal for number in range(2)]
    made += [Document(f"short/{number}", "too short") for number in range(3)]
    # Spark orders documents by id.
    return sorted(made, key=lambda document: document.id)


def stages_of(spark: SparkSession, group: str) -> int:
    """Return the number of completed stages of jobs; a skipped stage has no completed task."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage is not None and stage.numCompletedTasks > 0 for stage in stages)


def clusters_of(rows: list[Any]) -> dict[str, dict[str, tuple[object, ...]]]:
    actual: dict[str, dict[str, tuple[object, ...]]] = defaultdict(dict)
    for row in rows:
        assert row.id not in actual[row.cluster]
        actual[row.cluster][row.id] = (row.shingles, row.jaccard, row.a_in_b, row.b_in_a, row.exact)
    assert all(row.documents == len(actual[row.cluster]) for row in rows)
    return dict(actual)


@pytest.mark.parametrize(("metric", "percent", "partitions"), combine(["jaccard", "containment"], [50, 80, 90], [3, 1]))
def test_pairs_and_clusters_equal_the_local_search(
    spark: SparkSession, documents: list[Document], metric: str, percent: int, partitions: int
) -> None:
    """
    Pairs with all digits of their shares, clusters and complete clusters equal those of one process.
    """
    from whorl.duplicates.spark.duplicates import SparkDuplicates

    options = parse_pair_options(metric, percent, 95)
    with duplicates_among(documents, options) as local:
        pairs = {
            (pair.a.id, pair.b.id): (
                *(round_down(share) for share in astuple(pair.shares)),
                pair.is_exact,
                pair.a.name,
                pair.b.name,
            )
            for pair in local.pairs()
        }
        clusters, complete = (
            {
                group.members[0].id: {
                    match.b.id: (match.b.size, *map(round_down, astuple(match.shares)), match.is_exact)
                    for match in group.matches
                }
                for group in local.clusters(complete=is_complete)
            }
            for is_complete in (False, True)
        )
    group = f"{metric} {percent} {partitions}"
    spark.sparkContext.setJobGroup(group, "counted")
    duplicates = SparkDuplicates(framed(spark, documents, partitions), options)
    rows = duplicates.pairs().collect()
    assert len(rows) == len(pairs) > 20
    assert {(row[0], row[1]): tuple(row[2:]) for row in rows} == pairs
    too_short = sum(len(document.text.split()) < 5 for document in documents)
    assert (duplicates.loaded.documents, duplicates.loaded.too_short) == (len(documents), too_short)
    assert clusters_of(duplicates.clusters().collect()) == clusters
    assert stages_of(spark, group) <= MOST_STAGES
    if partitions == 3:
        assert clusters_of(duplicates.clusters(complete=True).collect()) == complete


# Without FULL, this case has a reference and the small limit; `test_a_cluster_survives_the_loss_of_its_hubs` covers the
# case without a reference and with the large limit.
@thorough
@pytest.mark.parametrize(("known", "most_at_once"), [*product([0, 60], [0, 1 << 25])] if FULL else [(60, 0)])
def test_a_hash_block_becomes_one_cluster_with_few_pairs(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, known: int, most_at_once: int
) -> None:
    """
    If only clusters are needed, far fewer than their 4,005 pairs link 90 near-copies. Most of them are reference
    documents, which make no pairs with each other. Another block of reference documents makes no cluster, and pages
    that share a fifth with the near-copies are in none.
    """
    from whorl.duplicates.spark.duplicates import SparkDuplicates

    monkeypatch.setattr("whorl.duplicates.spark.duplicates.MOST_PAIRS", 50)
    monkeypatch.setattr("whorl.duplicates.spark.duplicates.MOST_AT_ONCE", most_at_once)
    chance = random.Random(6)
    page, foreign = ([f"{letter}{at}" for at in range(100)] for letter in "pq")
    made = [Document(f"page/{at:03}", " ".join([*page, f"x{at}"])) for at in range(90)]
    reference = made[:known] + [Document(f"foreign/{at}", " ".join([*foreign, f"x{at}"])) for at in range(known)]
    others = [
        Document(f"other/{at}", " ".join([*page[:20], *(f"o{chance.randrange(10**6)}" for _ in range(80))]))
        for at in range(20)
    ]
    duplicates = SparkDuplicates(
        framed(spark, made[known:] + others, 3),
        DuplicatesOptions(parse_pair_options("jaccard", 80, 95), spanning_only=True),
        reference=framed(spark, reference, 2) if reference else None,
    )
    pairs = duplicates.pairs().collect()
    assert 89 <= len(pairs) < 90 * 20
    known_ids = {document.id for document in reference}
    assert not any({pair.a, pair.b} <= known_ids for pair in pairs)
    clusters = clusters_of(duplicates.clusters().collect())
    assert {first: set(members) for first, members in clusters.items()} == {
        "page/000": {document.id for document in made}
    }
