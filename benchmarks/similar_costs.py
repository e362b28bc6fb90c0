"""Measures look-ups and candidates in a real Solr; whorl chooses its plans by these costs.

    python benchmarks/similar_costs.py --keep FOLDER [--sources 40] [--rounds 9]

FOLDER was filled by `benchmarks/similar.py --keep`. With Solr's caches off, it measures the time of one more token that
is looked up in each segment, and of one more candidate from its record to the judgement of its sketch. It also measures
D, a measure of how many documents share much with the sources: see `search/similar/sketch_plan.py`.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from statistics import mean, median

import numpy as np

from corpus_texts import documents
from engine_solr import own_solr
from similar import merged
from whorl import Store, open_store
from whorl.engine.solr.client import SolrClient
from whorl.fingerprint.sketch.frac_minhash import Sketch, SketchScheme, lookup_numbers
from whorl.fingerprint.statistics.hypergeometric import min_should_match_for
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.statistics.overlap_estimates import estimate_overlaps, judge_overlaps
from whorl.query.plan.nodes import BoundNode, BoundPlan, MatchAll, SketchTokens

CORPUS = Path(__file__).resolve().parent / "data" / "main.jsonl"
TOKENS, CANDIDATES = (8, 24, 64, 128), (10, 100, 300)
HALF, RECALL = Fraction(1, 2), Fraction(99, 100)


def slope(timed: dict[int, Callable[[], object]], rounds: int) -> float:
    """Return the microseconds per additional item: the slope of a line through the medians of interleaved rounds."""
    seconds: dict[int, list[float]] = {count: [] for count in timed}
    for _ in range(rounds):
        for count, ask in timed.items():
            begun = time.perf_counter()
            ask()
            seconds[count].append(time.perf_counter() - begun)
    return 1e6 * float(np.polyfit(list(seconds), [median(times) for times in seconds.values()], 1)[0])


def sketch_plan(numbers: list[int], minimum: int, largest: int | None = None) -> BoundNode:
    """Return a query for tokens of sketches."""
    return SketchTokens("source", SketchScheme(), tuple(numbers), minimum, 1, largest)


def look_up(store: Store, rounds: int) -> float:
    """Return the microseconds of a token that no document has, which costs as much as any other."""
    chance = random.Random(3)

    def ask(count: int) -> Callable[[], object]:
        return lambda: store.engine.candidates(
            BoundPlan(sketch_plan([chance.randrange(1 << 40) for _ in range(count)], 2)), start=0, rows=1
        )

    return slope({count: ask(count) for count in TOKENS}, rounds)


def candidate(store: Store, source: Sketch, rounds: int) -> float:
    def ask(count: int) -> Callable[[], object]:
        def judged() -> None:
            candidates = store.engine.candidates(BoundPlan(MatchAll()), start=0, rows=count)
            _, overlaps = candidates.compare(source, ())
            judge_overlaps(overlaps, Metric.JACCARD, HALF, RECALL)
            tuple(estimate_overlaps(overlaps.select(np.arange(min(10, count)))))

        return judged

    return slope({count: ask(count) for count in CANDIDATES}, rounds)


def sharing(store: Store, sources: list[Sketch]) -> dict[tuple[int, int], float]:
    """Return D, calculated from the mean numbers of candidates, by threshold and tokens."""
    sharing_costs: dict[tuple[int, int], float] = {}
    for percent in (20, 50, 80, 90):
        for tokens in (5, 10, 20, 40, 64):
            totals = []
            for sketch in sources:
                count = min(tokens, len(sketch.hashes))
                good = sketch.size * percent // 100
                minimum = int(min_should_match_for(sketch.size, good, count, RECALL))
                if minimum >= 2:
                    numbers = lookup_numbers(sketch)[:count].tolist()
                    plan = BoundPlan(sketch_plan(numbers, minimum))
                    total = store.engine.search(plan, start=0, rows=0).total
                    totals.append(total * (minimum - 1) / count)
            if len(totals) > len(sources) // 2:
                sharing_costs[percent, tokens] = mean(totals)
    return sharing_costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--sources", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    with (
        own_solr(arguments.keep / "solr") as measured,
        open_store(measured.url) as store,
        closing(SolrClient(measured.url)) as client,
    ):
        measured.switch_caches(on=False)
        segments, count = merged(client, None), store.count()
        ids = [document.id for document in documents(arguments.corpus, count)]
        chosen = random.Random(5).sample(ids, arguments.sources)
        sketches = [sketch for sketch in store.engine.sketches(chosen).values() if sketch.size >= 40]
        print(f"Solr {measured.version}, {count:,} documents in {segments} segments, {len(sketches)} sources")
        print(f"a look-up: {look_up(store, arguments.rounds) / segments:.1f} microseconds in a segment")
        print(f"a candidate: {candidate(store, sketches[0], arguments.rounds):.0f} microseconds")
        for (percent, tokens), value in sharing(store, sketches).items():
            print(f"D by the candidates of {tokens} tokens at {percent} %: {value:.1f}")


if __name__ == "__main__":
    main()
