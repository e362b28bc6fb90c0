"""Search by sketch tokens with verification; for short texts the result is exact, as plain sets show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.families import family_documents, shingles
from whorl.engine.embedded import search as embedded_search
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.engine.protocol import CandidatePage, Candidates, Costs
from whorl.fingerprint.fingerprint_texts import text_hashes
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, sketch_of_distinct
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Metric
from whorl.model import Document
from whorl.query.plan.nodes import Bool, BoundPlan, SketchTokens, Words
from whorl.search.similar.fetch_query_sources import QuerySources
from whorl.search.similar.find_similar import (
    MOST_OF_FIRST_QUERY,
    MOST_VERIFIED,
    SketchSearch,
    make_search,
    phrases_of,
    verify,
)
from whorl.search.similar.options import SimilarCriteria

DOCUMENTS = family_documents(25, seed=5, longest=60)
SHINGLES = {document.id: shingles(document.text) for document in DOCUMENTS}
#: The documents with the most overlapping ones.
SOURCES = sorted(SHINGLES, key=lambda name: -sum(bool(SHINGLES[name] & other) for other in SHINGLES.values()))[:6]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("by_sketch") / "store"
    with EmbeddedEngine(made) as engine:
        engine.index(DOCUMENTS)
        engine.refresh()
    return made


@pytest.fixture
def engine(folder: Path) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(folder) as opened:
        yield opened


def search(engine: EmbeddedEngine, reference: str, question: SimilarCriteria) -> SketchSearch:
    made = make_search(QuerySources(engine, {"given": "one two"}), reference, question)
    assert isinstance(made, SketchSearch)
    return made


@pytest.mark.parametrize("metric", SIMILAR_METRICS)
@pytest.mark.parametrize("percent", [20, 50, 80, 100])
def test_short_texts_are_found_exactly(engine: EmbeddedEngine, metric: Metric, percent: int) -> None:
    """
    For short texts the hits are exactly the other documents at or above the threshold, with exact shares.
    """
    for name in SOURCES:
        own, verified = (
            SHINGLES[name],
            verify(search(engine, name, SimilarCriteria(metric, Fraction(percent, 100), Fraction(1)))),
        )
        expected = {}
        for other, theirs in SHINGLES.items():
            smaller = min(own, theirs, key=len)
            whole = {
                Metric.CONTAINMENT: smaller,
                Metric.JACCARD: own | theirs,
                Metric.A_IN_B: own,
                Metric.B_IN_A: theirs,
            }[metric]
            if other != name and theirs and 100 * len(own & theirs) >= percent * len(whole):
                expected[other] = pytest.approx(100 * len(own & theirs) / len(whole), abs=1e-4)
        assert {hit.hit.id: hit.hit.score for hit in verified.hits} == expected
        assert verified.seen == verified.candidates


@pytest.mark.parametrize("metric", SIMILAR_METRICS)
def test_look_ups_cover_all_sizes(engine: EmbeddedEngine, metric: Metric) -> None:
    """
    The look-up has one clause for each range of sizes, with tokens of the source only. The ranges have no gaps; the
    last one is open only if hits may have any size, since larger documents may have been added.
    """
    name = max(SHINGLES, key=lambda reference: len(SHINGLES[reference]))
    root = search(engine, name, SimilarCriteria(metric)).candidate_query()
    clauses = root.should if isinstance(root, Bool) else (root,)
    assert not isinstance(root, Bool) or root.min_should_match == 1
    branches = [clause for clause in clauses if isinstance(clause, SketchTokens)]
    assert len(branches) == len(clauses) > 0
    for one, other in pairwise(branches):
        assert one.largest_size is not None
        assert one.largest_size + 1 == other.smallest_size
    for branch in branches:
        assert len(set(branch.numbers)) == len(branch.numbers) <= len(SHINGLES[name])
        assert 1 <= branch.min_should_match <= len(branch.numbers)
    assert (branches[-1].largest_size is None) == (metric in (Metric.A_IN_B, Metric.CONTAINMENT))


def test_a_text_without_shingles_asks_nothing(engine: EmbeddedEngine) -> None:
    """
    A source without shingles makes no look-up, nor does one too large to be contained in any document.
    """
    assert search(engine, "given", SimilarCriteria()).candidate_query() is None
    huge = QuerySources(engine, {"huge": " ".join(f"w{at}" for at in range(10_000))})
    made = make_search(huge, "huge", SimilarCriteria(Metric.A_IN_B, Fraction(1, 2)))
    assert made.candidate_query() is None
    assert not verify(made).hits


def test_candidates_that_lost_their_sketch_are_passed_over(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A candidate whose sketch is missing because its document was replaced counts as seen but is not a hit; candidates
    already seen are not returned again.
    """
    monkeypatch.setattr(embedded_search, "FEW_CANDIDATES", 99)
    made = search(engine, SOURCES[0], SimilarCriteria())
    root = made.candidate_query()
    assert root is not None
    whole = made.batch(BoundPlan(root), 0, set())
    assert whole is not None
    assert len(whole.hits) > 1
    lost, known = (similar.hit.id for similar in whole.hits[:2])
    candidates = engine.candidates(BoundPlan(root), start=0, rows=99)
    assert isinstance(candidates, CandidatePage)
    without = replace(
        candidates, hits=tuple((hit, None if hit.id == lost else sketch) for hit, sketch in candidates.hits)
    )
    monkeypatch.setattr(EmbeddedEngine, "candidates", lambda *_, **__: without)
    batch = made.batch(BoundPlan(root), 0, {known})
    assert batch is not None
    ids = [own.candidates.ids(range(len(own.candidates))) for own in (batch, whole)]
    assert ids[0] == ids[1]
    assert {similar.hit.id for similar in batch.hits} == {similar.hit.id for similar in whole.hits} - {lost, known}


class Dear(EmbeddedEngine):
    """An engine with expensive look-ups, which records the requested numbers of candidates."""

    rows: list[int]

    @property
    def costs(self) -> Costs:  # type: ignore[override]
        return Costs(200.0, 150.0)

    def candidates(self, plan: BoundPlan, *, start: int, rows: int, in_order: bool = True) -> Candidates:
        self.rows.append(rows)
        return super().candidates(plan, start=start, rows=rows, in_order=in_order)


def test_boilerplate_needs_more_tokens(tmp_path: Path) -> None:
    """
    Half of 300 texts share a fifth that holds many of their smallest hashes, so a look-up of few tokens makes them all
    candidates. The search then looks up all tokens, after at most a hundred useless candidates, and finds the copies.
    """
    words: dict[str, list[str]] = {}
    for number in range(300):
        footer = [f"{'a' if number < 150 else 'f'}{at}" for at in range(120)]
        words[f"{number}"] = [f"w{number}x{at}" for at in range(480)] + footer
    sources = ["0", "1", "2", "297", "298", "299"]
    for name in sources:
        words[f"copy of {name}"] = [f"x{at}" if at % 40 == 0 else word for at, word in enumerate(words[name])]
    with Dear(tmp_path / "store") as engine:
        engine.index(Document(name, " ".join(text)) for name, text in words.items())
        engine.refresh()
        for name in sources:
            engine.rows = []
            made = search(engine, name, SimilarCriteria(Metric.JACCARD, Fraction(1, 2)))
            few, verified = made.plan.look_up_count, verify(made)
            assert [hit.hit.id for hit in verified.hits] == [f"copy of {name}"]
            is_common = int(name) < 150
            assert engine.rows == ([MOST_OF_FIRST_QUERY, MOST_VERIFIED] if is_common else [MOST_OF_FIRST_QUERY])
            assert (made.plan.look_up_count > few) == is_common
            assert verified.candidates <= MOST_OF_FIRST_QUERY


def test_short_sources_are_looked_up_as_phrases(tmp_path: Path) -> None:
    """
    Large documents keep few hashes, so a short source is looked up by all of its shingles, with as many as the
    threshold needs; a long source is not.
    """
    words = [f"w{at}" for at in range(9_000)]
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index(
            [
                Document("book", " ".join(words)),
                Document("part", " ".join(words[40:60])),
                Document("half", " ".join([*words[40:50], *(f"x{at}" for at in range(3_000))])),
            ]
        )
        engine.refresh()
        given = {
            "short": " ".join(words[40:60]),
            "long": " ".join(words[:140]),
            "again": " ".join([*words[40:60], *words[40:60]]),
        }

        def run_search(reference: str, percent: int) -> tuple[list[str], SketchSearch]:
            criteria = SimilarCriteria(Metric.A_IN_B, Fraction(percent, 100))
            made = make_search(QuerySources(engine, given), reference, criteria)
            assert isinstance(made, SketchSearch)
            return sorted(similar.hit.id for similar in verify(made).hits), made

        assert run_search("short", 50)[0] == ["book", "part"]
        hits, made = run_search("short", 30)
        assert hits == ["book", "half", "part"]
        root = made.candidate_query()
        assert isinstance(root, Bool)
        phrases = root.should[-1]
        assert isinstance(phrases, Bool)
        assert [leaf.text for leaf in phrases.should if isinstance(leaf, Words)] == [
            " ".join(words[at : at + 5]) for at in range(40, 56)
        ]
        assert phrases.min_should_match == 5
        assert run_search("part", 50)[0] == ["book"]
        # Each distinct shingle is looked up once.
        hits, made = run_search("again", 40)
        assert (hits, made.plan.promised, made.plan.source_size) == (["book", "part"], True, 20)
        long = run_search("long", 3)[1].plan
        assert not long.promised
        assert not any(branch.by_phrases for branch in long.branches)


def test_phrases_are_the_shingles_of_the_sketch() -> None:
    """
    A phrase is a distinct shingle of the text; shingles outside the sketch are left out.
    """
    scheme = Scheme()
    text = "one two three four five six one two three four five"
    sketch = sketch_of_distinct(np.unique(text_hashes(text, scheme)), SketchScheme())
    assert phrases_of(text, sketch, scheme) == (
        "one two three four five",
        "two three four five six",
        "three four five six one",
        "four five six one two",
        "five six one two three",
        "six one two three four",
    )
    less = sketch_of_distinct(np.unique(text_hashes("two three four five six", scheme)), SketchScheme())
    assert phrases_of(text, less, scheme) == ("two three four five six",)
