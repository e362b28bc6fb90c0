"""Checks by simulation that calibrated searches have the recall that they state.

    python benchmarks/calibration.py [--quick] [--draws N] [--seed N]

For sources of 20 to 200,000 shingles, 7 thresholds and 5 recalls, documents exactly at the threshold are drawn. They
either have the source's size and this Jaccard similarity, or they contain this share of the source and are as large as
the source, 10 or 100 times as large. The plan runs with 128 tokens and no second phase, and with 64 tokens and the
second phase. The same is done for documents 10 points below the threshold, which should not be found.

The simulation draws numbers of common hashes, which have known distributions for uniform hashes. A source's sketch
consists of random hashes. The number X of the looked-up tokens that match is hypergeometric, and so is, given X, the
number of matches among the other hashes of the sketch; the number of the hit's own hashes is binomial. Each cell is
drawn for several sketches of the source. Without a second phase the recall is also summed exactly.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

import whorl
from whorl.fingerprint.sketch.frac_minhash import Overlaps, Sketch, SketchScheme, sketch_of_distinct
from whorl.fingerprint.statistics.hypergeometric import least_good_for, reaches, upper_tail
from whorl.fingerprint.statistics.metric import Metric, least_overlap
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.sketch_plan import Branch, SketchPlan, make_plan

RESULTS = Path(__file__).resolve().parent / "results" / "calibration.csv"
SCHEME = SketchScheme()
THRESHOLDS = [Fraction(percent, 100) for percent in (5, 10, 20, 50, 80, 90, 95)]
RECALLS = [Fraction(percent, 100) for percent in (50, 80, 90, 95, 99)]
SIZES = (20, 100, 500, 2000, 20_000, 200_000)
#: Metric, and size of the hits relative to the source.
KINDS = ((Metric.JACCARD, 1), (Metric.A_IN_B, 1), (Metric.A_IN_B, 10), (Metric.A_IN_B, 100))
#: Number of sketches of each source.
SOURCES = 4
#: Excess over the requested recall that counts as close.
CLOSE = 0.02


class OnePhase(SimilarCriteria):
    """Criteria of a search without a second phase, so that the first may miss all that the recall allows."""

    def phase_recalls(self, requests: int = 1) -> tuple[Fraction, Fraction]:
        return self.recall, Fraction(0)


@dataclass(frozen=True, slots=True)
class Cell:
    """Outcome of one search.

    Args:
        source_size: Distinct shingles of the source.
        hit_size: Distinct shingles of the documents.
        phases: 1 or 2.
        threshold: Fraction.
        wanted: Requested recall, a fraction.
        tokens: Tokens looked up for documents of that size, mean over the source's sketches.
        promised: Whether all plans promise the recall for documents of that size.
        recall: Share of the documents at the threshold that were found.
        noise: Standard deviation of the recall if it equals the requested one.
        exact_recall: The recall, summed exactly; None with a second phase.
        below_10: Share found of the documents 10 points below the threshold; None if that is 0 or less.
    """

    metric: Metric
    source_size: int
    hit_size: int
    phases: int
    threshold: Fraction
    wanted: Fraction
    tokens: float
    promised: bool
    recall: float
    noise: float
    exact_recall: float | None
    below_10: float | None


def own_branch(plan: SketchPlan, size: int) -> Branch:
    """Return the plan's branch for documents of this size."""
    return next(b for b in plan.branches if b.largest_size is None or size <= b.largest_size)


def is_candidate(plan: SketchPlan, size: int, shared: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return a mask of the numbers of shared tokens that are enough for a document of this size.

    A search requires the number for the smallest document of the branch, which is not larger.
    """
    needed = plan.overlap_at(size)
    if needed > min(plan.source_size, size) or not plan.branches:
        return np.zeros(shared.shape, np.bool_)
    tokens = len(own_branch(plan, size).tokens)
    return (shared >= 1) & reaches(plan.source_size, needed, tokens, shared, plan.first_recall)


def simulated_hits(
    plan: SketchPlan, source: Sketch, size: int, overlap: int, draws: int, rng: np.random.Generator
) -> int:
    token_count = len(own_branch(plan, size).tokens)
    level = max(source.level, SCHEME.level(size))
    own = source.count_at(level)
    at_first = (
        rng.hypergeometric(overlap, source.size - overlap, token_count, draws)
        if token_count
        else np.zeros(draws, np.int64)
    )
    passes = is_candidate(plan, size, np.arange(token_count + 1))
    shared = at_first[passes[at_first]]
    if not plan.second_recall or not shared.size:
        return len(shared)
    if own > token_count:
        shared = shared + rng.hypergeometric(
            overlap - shared, source.size - token_count - overlap + shared, own - token_count
        )
    alone = rng.binomial(size - overlap, 0.5**level, shared.size)
    same = np.ones(shared.size, dtype=np.int64)
    overlaps = Overlaps(source.size, same * size, same * level, same * own, shared + alone, shared)
    return int(plan.is_hit(overlaps).sum())


def exact_recall(plan: SketchPlan, size: int, overlap: int) -> float:
    """Return the probability that a document with `overlap` shared shingles passes the first phase."""
    shared = np.arange(len(own_branch(plan, size).tokens) + 2)
    tails = upper_tail(plan.source_size, overlap, shared.size - 2, shared)
    passes = is_candidate(plan, size, shared[:-1])
    return float((tails[:-1] - tails[1:]) @ passes)


def measured(
    sources: list[Sketch], metric: Metric, hit_size: int, threshold: Fraction, wanted: Fraction,
    phases: int, draws: int, rng: np.random.Generator,
) -> Cell:  # fmt: skip
    """Return the outcome of a search, over all sketches of a source."""
    size = sources[0].size
    criteria = (SimilarCriteria if phases == 2 else OnePhase)(metric, threshold, wanted)
    budget = 64 if phases == 2 else 128
    plans = [make_plan(source, criteria, budget=budget, largest_size=max(hit_size, size)) for source in sources]
    branches = [own_branch(plan, hit_size) for plan in plans]
    overlap = least_overlap(metric, threshold, size, hit_size)
    lower = threshold - Fraction(1, 10)
    draws_each = draws // len(sources)
    pairs = list(zip(plans, sources, strict=True))
    hits = sum(simulated_hits(plan, source, hit_size, overlap, draws_each, rng) for plan, source in pairs)
    below = None
    if lower > 0:
        few = least_overlap(metric, lower, size, hit_size)
        below = (
            sum(simulated_hits(plan, source, hit_size, few, draws_each, rng) for plan, source in pairs)
            / draws_each
            / len(sources)
        )
    return Cell(
        metric=metric,
        source_size=size,
        hit_size=hit_size,
        phases=phases,
        threshold=threshold,
        wanted=wanted,
        tokens=sum(len(branch.tokens) for branch in branches) / len(branches),
        promised=all(_is_promised(plan, branch, hit_size) for plan, branch in zip(plans, branches, strict=True)),
        recall=hits / draws_each / len(sources),
        noise=math.sqrt(float(wanted * (1 - wanted)) / draws_each / len(sources)),
        exact_recall=sum(exact_recall(plan, hit_size, overlap) for plan in plans) / len(plans) if phases == 1 else None,
        below_10=below,
    )


def promised_from(plan: SketchPlan, branch: Branch) -> int | None:
    """Return the smallest size for which a branch reaches the requested recall; None if no size does."""
    if branch.promised:
        return branch.smallest_size
    largest = branch.largest_size
    enough = int(least_good_for(plan.source_size, len(branch.tokens), 1, plan.first_recall))
    if plan.overlap_at(branch.smallest_size) >= enough:
        return branch.smallest_size
    if largest is None or plan.overlap_at(largest) < enough:
        return None
    sizes = range(branch.smallest_size, largest + 1)
    return sizes[bisect_left(sizes, enough, key=plan.overlap_at)]


def _is_promised(plan: SketchPlan, branch: Branch, hit_size: int) -> bool:
    first = promised_from(plan, branch)
    return first is not None and first <= hit_size


def cells(sizes: tuple[int, ...], draws: int, seed: int, *, every: int) -> Iterator[Cell]:
    """Yield the cells of every n-th threshold and recall (`every`); the same seed gives the same figures."""
    for size in sizes:
        rng = np.random.default_rng([seed, size])
        hashes: list[npt.NDArray[np.uint64]] = [rng.integers(0, 1 << 64, size, dtype=np.uint64) for _ in range(SOURCES)]
        sources = [sketch_of_distinct(np.unique(own), SCHEME) for own in hashes]
        for metric, ratio in KINDS:
            for phases in (1, 2):
                for threshold in THRESHOLDS[every - 1 :: every]:
                    for wanted in RECALLS[every - 1 :: every]:
                        yield measured(sources, metric, ratio * size, threshold, wanted, phases, draws, rng)


def summary(results: list[Cell]) -> Iterator[str]:
    """Yield a line for each kind of search and size of source: the promised and the simulated recall."""
    yield f"{'':40} promised  worst   in noise  within {CLOSE:.0%}  mean excess  found 10 points below"
    keys = sorted({(cell.phases, cell.metric.value, cell.source_size, cell.hit_size) for cell in results})
    for key in keys:
        own = [c for c in results if (c.phases, c.metric.value, c.source_size, c.hit_size) == key]
        promised = [cell for cell in own if cell.promised]
        name = f"{key[0]} phase{'s' if key[0] > 1 else ' '} {key[1]:10} {key[2]:7,} in {key[3]:10,}"
        line = f"{name}  {len(promised):4}/{len(own)}"
        if promised:
            recalls = [(c.recall if c.exact_recall is None else c.exact_recall) - float(c.wanted) for c in promised]
            short = min(cell.recall - float(cell.wanted) for cell in promised)
            sigmas = min((cell.recall - float(cell.wanted)) / cell.noise for cell in promised)
            near = sum(-3 * c.noise <= excess <= CLOSE for c, excess in zip(promised, recalls, strict=True))
            below = [cell.below_10 for cell in promised if cell.below_10 is not None]
            line += f"  {100 * short:+6.2f}  {sigmas:+6.1f} sd  {near:4}/{len(promised)}"
            line += f"  {100 * sum(recalls) / len(recalls):8.2f}  {100 * sum(below) / max(1, len(below)):12.1f}"
        yield line


def write_csv(path: Path, results: list[Cell], draws: int, seed: int) -> None:
    """Record all cells."""
    head = ["date", "whorl", "numpy", "scheme", "draws", "seed", "metric", "source_size", "hit_size", "phases"]
    head += ["threshold", "wanted", "tokens", "promised", "recall", "noise", "exact_recall", "below_10"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        for c in results:
            row = [date.today().isoformat(), whorl.__version__, np.__version__, SCHEME.name, draws, seed]
            row += [c.metric.value, c.source_size, c.hit_size, c.phases, float(c.threshold), float(c.wanted), c.tokens]
            row += [int(c.promised), *(f"{part:.5g}" for part in (c.recall, c.noise))]
            row += ["" if part is None else f"{part:.5g}" for part in (c.exact_recall, c.below_10)]
            writer.writerow(row)


def main() -> None:
    """Simulate and print the summary; record the cells unless it is the quick run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="two sizes, a sixth of the pairs, few draws, nothing recorded"
    )
    parser.add_argument("--draws", type=int, default=10_000, help="documents in a cell (10000)")
    parser.add_argument("--seed", type=int, default=11)
    arguments = parser.parse_args()
    sizes, draws = ((100, 20_000), 400) if arguments.quick else (SIZES, arguments.draws)
    started = time.perf_counter()
    results = list(cells(sizes, draws, arguments.seed, every=2 if arguments.quick else 1))
    print("\n".join(summary(results)))
    promised = [cell for cell in results if cell.promised]
    worst = min((cell.recall - float(cell.wanted)) / cell.noise for cell in promised)
    exact = [c.exact_recall - float(c.wanted) for c in promised if c.exact_recall is not None]
    # The expected minimum of this many normal draws.
    expected = math.sqrt(2 * math.log(len(promised)))
    print(
        f"{len(promised)} of {len(results)} cells promised, {draws} draws each, {time.perf_counter() - started:.0f} s"
    )
    print(f"lowest recall {worst:+.1f} sd of its noise against the request; chance alone goes to about -{expected:.1f}")
    print(f"lowest recall without second phase, summed exactly: {100 * min(exact):+.4f} points")
    if not arguments.quick:
        write_csv(RESULTS, results, draws, arguments.seed)


if __name__ == "__main__":
    main()
