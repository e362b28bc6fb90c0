"""Hits, their scores and order, and projected totals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.families import shingles
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import CandidatePage
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, compare, sketch_of_distinct
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Metric, Shares
from whorl.fingerprint.statistics.overlap_estimates import estimate, estimate_overlaps
from whorl.model import Document, Hit
from whorl.search.prepared_search import measure
from whorl.search.similar.fetch_query_sources import QuerySources
from whorl.search.similar.results import RankedHits, SimilarHit, Verified, exact_estimate, score_hit, sort_hits


def similar_hit(name: str, shared: int) -> SimilarHit:
    """Return a hit of 30 shingles that shares `shared` with a source of 20."""
    return score_hit(Hit(name, "", 0.0), exact_estimate(20, 30, shared), Metric.JACCARD)


def test_exact_estimates_have_no_interval() -> None:
    """
    The interval of an exact estimate is a single value.
    """
    estimate = exact_estimate(20, 30, 10)
    assert estimate.low == estimate.shares == estimate.high == Shares(10 / 40, 10 / 20, 10 / 30)
    assert (estimate.source_size, estimate.hit_size, estimate.shared_hashes, estimate.is_exact) == (20, 30, 10, True)


@pytest.mark.parametrize(
    ("metric", "score"), [(Metric.JACCARD, 16.2791), (Metric.A_IN_B, 35.0), (Metric.B_IN_A, 23.3333)]
)
def test_scores_are_percentages_of_the_metric(metric: Metric, score: float) -> None:
    """
    Scores have four decimals: 7 of 43, 20 and 30.
    """
    hit = Hit("a", "name", 512.0, shared_tokens=3)
    assert score_hit(hit, exact_estimate(20, 30, 7), metric).hit == Hit("a", "name", score, 3)


def test_the_best_come_first() -> None:
    """
    Hits are ordered by score, then by the code points of their ids.
    """
    hits = [
        similar_hit("b", 10),
        similar_hit("é", 20),
        similar_hit("a", 10),
        similar_hit("Z", 10),
        similar_hit("c", 11),
    ]
    assert [similar.hit.id for similar in sort_hits(hits, Metric.JACCARD)] == ["é", "c", "Z", "a", "b"]
    assert sort_hits([], Metric.JACCARD) == []


def test_the_most_specific_hit_comes_first() -> None:
    """
    A sentence of the source and a book that contains it have 100 %; a near-copy with 95 % comes first.
    """
    sizes = {"sentence": (5, 5), "book": (3_000, 100), "copy": (100, 95)}
    hits = [
        score_hit(Hit(name, "", 0.0), exact_estimate(100, size, shared), Metric.CONTAINMENT)
        for name, (size, shared) in sizes.items()
    ]
    assert [hit.hit.score for hit in hits] == [100, 100, 95]
    assert [hit.hit.id for hit in sort_hits(hits, Metric.CONTAINMENT)] == ["copy", "sentence", "book"]
    assert sort_hits(hits, Metric.A_IN_B)[0].hit.id == "book"


def equal_hits(chance: random.Random, count: int) -> list[SimilarHit]:
    """Return hits with many equal numbers: some shares are equal for documents of different sizes."""
    names = chance.sample(range(10 * count), count)
    return [
        score_hit(Hit(f"d{name}", "", 0.0), exact_estimate(20, size, size // 2), Metric.CONTAINMENT)
        for name, size in zip(names, chance.choices((4, 8, 20, 40), k=count), strict=True)
    ]


@pytest.mark.parametrize("metric", SIMILAR_METRICS)
def test_hits_are_made_in_order(metric: Metric) -> None:
    """
    Every slice has the hits that a sort of all of them has there, in the same order.
    """
    hits = equal_hits(random.Random(3), 40)
    hits = [score_hit(similar.hit, similar.estimate, metric) for similar in hits]
    ranked, expected = RankedHits.from_hits(hits, metric), sort_hits(hits, metric)
    assert (len(ranked), list(ranked), ranked[-1:]) == (40, expected, (expected[-1],))
    for start in range(0, 44, 3):
        for rows in (0, 1, 10, 100):
            assert ranked[start : start + rows] == tuple(expected[start : start + rows])


@pytest.mark.parametrize("metric", SIMILAR_METRICS)
def test_hits_of_estimates(metric: Metric) -> None:
    """
    Hits made from columns of estimates are those made one by one, with exact shares and with intervals. A document
    that was just deleted is left out.
    """
    chance = random.Random(4)
    pool = np.unique(np.array([chance.getrandbits(64) for _ in range(9_000)], np.uint64))
    source = sketch_of_distinct(pool[:3_000], SketchScheme())
    sketches = [sketch_of_distinct(pool[at : at + size], SketchScheme()) for at in (0, 900) for size in (900, 2_500)]
    overlaps = compare(source, sketches)
    groups = [[0, 4, 7], [1], [2, 6], [3, 5]]
    page = CandidatePage(8, tuple((Hit(f"d{9 - at}", "", 1.0), None) for at in range(8)))
    ranked = RankedHits.from_estimates(page, groups, estimate_overlaps(overlaps), metric)
    expected = [
        score_hit(page.hits[at][0], one, metric)
        for own, one in zip(groups, estimate(source, sketches), strict=True)
        for at in own
    ]
    assert list(ranked) == sort_hits(expected, metric)
    decided, undecided = ranked.split(Fraction(1, 2))
    is_decided = [hit for hit in ranked if hit.estimate.is_exact or hit.estimate.low.measured_by(metric) >= 0.5]
    assert list(decided) == is_decided
    assert list(undecided) == [hit for hit in ranked if hit not in is_decided]


@pytest.mark.parametrize(
    ("hit_count", "candidates", "verified_count", "is_whole", "projected"),
    [(0, 0, 0, True, 0), (3, 10, 10, True, 3), (3, 10, 4, False, 8), (0, 10, 4, False, 0), (4, 9, 4, False, 9)],
)
def test_projected_totals(hit_count: int, candidates: int, verified_count: int, is_whole: bool, projected: int) -> None:
    """
    The share of hits among the verified candidates is projected to all candidates.
    """
    hits = RankedHits.from_hits([similar_hit(str(number), 10) for number in range(hit_count)], Metric.JACCARD)
    verified = Verified(hits, candidates, verified_count)
    assert (verified.is_whole, verified.projected) == (is_whole, projected)


WORDS = [f"w{at}" for at in range(200)]
TEXTS = {
    "whole": " ".join(WORDS),
    "half": " ".join(WORDS[:100]),
    "far": " ".join(f"x{at}" for at in range(100)),
    "short": "one two",
}


def store(folder: Path, scheme: Scheme) -> EmbeddedEngine:
    engine = EmbeddedEngine(folder, scheme=scheme)
    engine.index(Document(name, text) for name, text in TEXTS.items())
    engine.refresh()
    return engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    with store(tmp_path / "store", Scheme()) as opened:
        yield opened


def true_shares(one: str, other: str) -> Shares:
    a, b = shingles(one), shingles(other)
    return Shares.of_counts(len(a & b), len(a), len(b))


def test_shares_are_those_of_the_shingles(engine: EmbeddedEngine) -> None:
    """
    With complete sketches the shares are exact, for a document and for a given text; a source shares everything with
    itself.
    """
    sources = QuerySources(engine, {"given": TEXTS["half"]})
    for source, text in (("half", TEXTS["half"]), ("given", TEXTS["half"])):
        measured = measure(sources, source, ["whole", "half", "far", "short", "gone"])
        assert list(measured) == ["whole", "half", "far"]
        for name, measurement in measured.items():
            assert measurement.estimate is not None
            assert measurement.estimate.is_exact
            assert measurement.estimate.shares == true_shares(text, TEXTS[name])
            assert measurement.source_tokens == 512
        assert measured["half"].shared_tokens == 512
        assert 0 < measured["whole"].shared_tokens < 512
        assert measured["far"].shared_tokens == 0


def test_tokens_tell_roughly(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Without sketches, the shares have wide intervals that contain the true shares.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    measured = measure(QuerySources(engine, {}), "half", ["whole", "half", "far"])
    for name, measurement in measured.items():
        assert measurement.estimate is not None
        truth = true_shares(TEXTS["half"], TEXTS[name])
        for share in Shares.NAMES:
            low, likeliest, high = (
                getattr(part, share)
                for part in (measurement.estimate.low, measurement.estimate.shares, measurement.estimate.high)
            )
            assert low <= likeliest <= high
            assert low <= getattr(truth, share) <= high
        assert measurement.estimate.is_exact is False


def test_tokens_of_other_schemes_tell_too_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If buckets may be empty or hold several tokens, shared tokens are counted but not converted to shares.
    """
    monkeypatch.setattr(EmbeddedEngine, "sketch_scheme", None)
    with store(tmp_path / "other", Scheme(bucket_count=16, hash_set_size=2)) as engine:
        measured = measure(QuerySources(engine, {}), "half", ["whole", "half"])
    assert [similar.estimate for similar in measured.values()] == [None, None]
    assert measured["half"].shared_tokens == measured["half"].source_tokens


@pytest.mark.parametrize(("source", "ids"), [("gone", ["half"]), ("short", ["half"]), ("half", []), ("half", ["gone"])])
def test_nothing_to_measure(engine: EmbeddedEngine, source: str, ids: list[str]) -> None:
    """
    An unknown or too short source, and deleted hits, have no measurements.
    """
    assert measure(QuerySources(engine, {}), source, ids) == {}
