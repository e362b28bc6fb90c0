"""Measures recall and the error of percentages: whorl, stock MinHash queries and datasketch, in one run.

    python benchmarks/accuracy.py [CORPUS_FOLDER] [--quick] [--keep FOLDER]

All methods search the same documents with the same sources: the texts of the corpora, and composites, passages and
edited copies of them (`accuracy_documents`). The true hits are counted on all shingles of all documents
(`accuracy_truth`). Each method answers each question as its users would ask it (`accuracy_methods`, `accuracy_peers`).
whorl is the product itself: `Store.similar` on an embedded store. The figures go into results/accuracy.csv and
results/accuracy-errors.csv, the input of `accuracy_plots.py`. With --keep the store stays, and the next run does not
index again.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

import whorl
from accuracy_documents import QUICK, SEED, Amounts, documents, kind_of, sampled
from accuracy_measures import Errors, Pair, Retrieved, errors_of, score_of
from accuracy_methods import Answer, Bands, Calibrated, Method, Overlap, Question, StockTokens, Tested
from accuracy_peers import Ensemble, Lsh, Sketches
from accuracy_truth import Hashed, Truth, all_hashed
from corpus import DEFAULT_DIRECTORY, CorpusError
from whorl import Document
from whorl.fingerprint.minhash.bucket_estimates import compare_buckets, estimate_buckets
from whorl.fingerprint.sketch.frac_minhash import SketchScheme, sketch_of_distinct
from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Metric, Shares
from whorl.fingerprint.statistics.overlap_estimates import Estimate, estimate

RESULTS = Path(__file__).resolve().parent / "results"
RECALL = 95
QUESTIONS = [
    *(Question(Metric.JACCARD, threshold, RECALL) for threshold in (20, 30, 50, 70, 80, 90)),
    *(Question(Metric.A_IN_B, threshold, RECALL) for threshold in (20, 50, 80, 90)),
    *(Question(Metric.B_IN_A, threshold, RECALL) for threshold in (20, 50, 80, 90)),
]
#: Number of sources of each kind, spread over the sizes. "real" are texts of the corpora.
SOURCES = {"real": 100, "composite": 20, "passage": 70, "edited": 130}
#: Percentages are checked for pairs that share at least this part of the source, and for at most this many pairs of a
#: source: pairs of one source share its sketch, so their errors are correlated.
LEAST_SHARED, MOST_PAIRS = 0.1, 10
#: Question whose returned percentages are checked. Some of them come from texts that the search reads.
RETURNED = Question(Metric.A_IN_B, 20, RECALL)


@dataclass(frozen=True, slots=True)
class Collection:
    """The searched documents.

    Args:
        hashed: Hashes of the documents, in the same order.
        truth: Exact overlaps.
        tokens: Stock tokens of the documents.
        sources: Indices of the documents that serve as sources.
    """

    documents: Sequence[Document]
    hashed: Sequence[Hashed]
    truth: Truth
    tokens: StockTokens
    sources: Sequence[int]


def collection(folder: Path, amounts: Amounts) -> Collection:
    collected = documents(folder, amounts)
    characters = sum(len(document.text) for document in collected)
    say(f"{len(collected):,} documents, {characters / 1e6:.0f} million characters")
    hashed = all_hashed(collected, lambda done: say(f"{done:,} hashed") if done % 2_000 == 0 else None)
    truth = Truth(hashed)
    return Collection(collected, hashed, truth, StockTokens(hashed), _sources(collected, truth))


def _sources(collected: Sequence[Document], truth: Truth) -> list[int]:
    rng = random.Random(SEED + 1)
    sizes = dict(zip((document.id for document in collected), truth.sizes.tolist(), strict=True))
    numbers = {document.id: number for number, document in enumerate(collected)}
    groups: dict[str, list[Document]] = {kind: [] for kind in SOURCES}
    for document in sorted(collected, key=lambda document: sizes[document.id]):
        if sizes[document.id]:
            kind = kind_of(document.id)
            groups[kind if kind in SOURCES else "real"].append(document)
    return [numbers[document.id] for kind, count in SOURCES.items() for document in sampled(groups[kind], count, rng)]


def measured(several: Sequence[Method], known: Collection) -> Iterator[tuple[Retrieved, dict[int, Answer]]]:
    """Yield the figures of each method for each question that it can answer, and its answers by source."""
    # Counting takes as long as searching for large documents.
    overlaps = {source: known.truth.overlaps(source) for source in known.sources}
    for question in QUESTIONS:
        true = {
            source: known.truth.hits(source, overlaps[source], question.metric, question.threshold)
            for source in known.sources
        }
        for method in several:
            started = time.perf_counter()
            returned = {source: method.answers(source, question) for source in known.sources}
            answers = {source: answer for source, answer in returned.items() if answer is not None}
            if answers:
                row = score_of(method.name, question, [(answer, true[source]) for source, answer in answers.items()])
                seconds = time.perf_counter() - started
                say(
                    f"{question.sign} {row.method:20} {row.true:6} true {row.found:7} found, recall "
                    f"{100 * row.recall:6.2f}, precision {100 * row.precision:6.2f}, {seconds:.0f} s"
                )
                yield row, answers


def errors(known: Collection, returned: Mapping[int, Answer]) -> Iterator[Errors]:
    """Yield the errors of percentages from stock tokens, tested stock tokens, sketches, and whorl's hits.

    Args:
        returned: whorl's answers to one question, by source.
    """
    rng = np.random.default_rng(SEED)
    pairs: dict[str, list[Pair]] = {
        "stock OR": [],
        "stock tokens, tested": [],
        "whorl, sketches": [],
        "whorl, hits": [],
    }
    scheme = SketchScheme()
    sketches = [sketch_of_distinct(signature.hashes, scheme) for signature in known.hashed]
    for source in known.sources:
        overlaps, size = known.truth.overlaps(source), int(known.truth.sizes[source])
        own = known.tokens.buckets[source]
        at = np.flatnonzero(overlaps >= LEAST_SHARED * size)
        if own is None or not at.size:
            continue
        hits = np.sort(rng.choice(at, min(MOST_PAIRS, at.size), replace=False)).tolist()
        shared = known.tokens.postings.shared(known.tokens.minima[source])[hits]
        buckets = [
            buckets_of_hit
            for buckets_of_hit in (known.tokens.buckets[hit] for hit in hits)
            if buckets_of_hit is not None
        ]
        estimates_by_method = {
            "stock OR": [_read_off(count / known.tokens.minima[source].size) for count in shared.tolist()],
            "stock tokens, tested": estimate_buckets(compare_buckets(own, buckets)),
            "whorl, sketches": estimate(sketches[source], [sketches[hit] for hit in hits]),
        }
        for method, estimates in estimates_by_method.items():
            pairs[method] += [
                Pair(size, int(known.truth.sizes[hit]), int(overlaps[hit]), estimate)
                for hit, estimate in zip(hits, estimates, strict=True)
            ]
        by_hit = returned[source].estimates or {}
        pairs["whorl, hits"] += [
            Pair(size, int(known.truth.sizes[hit]), int(overlaps[hit]), by_hit[hit])
            for hit in rng.permutation(sorted(by_hit))[:MOST_PAIRS].tolist()
        ]
    for method, own_pairs in pairs.items():
        yield from errors_of(method, own_pairs)


def _read_off(value: float) -> Estimate:
    """Return an estimate without an interval, as a count of shared tokens gives it."""
    every = Shares(value, value, value)
    return Estimate(every, every, every, 0, 0, 0, 0, is_exact=False)


def table(scores: Sequence[Retrieved], metric: Metric) -> Iterator[str]:
    """Yield a Markdown table of recall and precision in percent, with a row for each method."""
    own = [score for score in scores if score.question.metric is metric]
    signs = list(dict.fromkeys(score.question.sign for score in own))
    yield f"| | {' | '.join(signs)} |"
    yield f"|---|{'---|' * len(signs)}"
    for method in dict.fromkeys(score.method for score in own):
        cells = {score.question.sign: score for score in own if score.method == method}
        yield f"| {method} | {' | '.join(_cell(cells[sign]) for sign in signs)} |"


def _cell(score: Retrieved) -> str:
    return f"{100 * score.recall:.1f} / {100 * score.precision:.1f}"


def errors_table(rows: Sequence[Errors]) -> Iterator[str]:
    """Yield a Markdown table with a row for each method and group of size ratios."""
    yield "| | sizes | pairs | error of `a_in_b` | of `jaccard` | within 10 points | intervals hold |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        sizes = f"{row.least:g} to {row.below:g}" if row.below else "all" if row.least == 1 else f"{row.least:g} on"
        held = "none given" if row.method == "stock OR" else f"{100 * row.covered:.1f} %"
        yield (
            f"| {row.method} | {sizes} | {row.pairs:,} | {row.containment:.2f} | {row.jaccard:.2f} "
            f"| {100 * row.within_10:.0f} % | {held} |"
        )


def write_scores(path: Path, rows: Sequence[Retrieved], count: int) -> None:
    names = ["true", "found", "right", "look_ups", "candidates", "read", "most_read", "promised"]
    head = ["date", "whorl", "documents", "sources", "method", "metric", "threshold", "wanted", "recall", "precision"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head + names)
        for row in rows:
            row_values = [date.today().isoformat(), whorl.__version__, count, row.sources, row.method]
            row_values += [row.question.metric.value, row.question.threshold, row.question.recall]
            writer.writerow(
                [*row_values, *(_short(value) for value in (row.recall, row.precision)), *_values(row, names)]
            )


def write_errors(path: Path, rows: Sequence[Errors], count: int) -> None:
    names = ["method", "least", "below", "pairs", "containment", "jaccard", "within_10"]
    names += ["covered", "sampled", "covered_sampled"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["date", "whorl", "documents", *names])
        writer.writerows([date.today().isoformat(), whorl.__version__, count, *_values(row, names)] for row in rows)


def _values(row: Retrieved | Errors, names: Sequence[str]) -> list[object]:
    return [_short(getattr(row, name)) for name in names]


def _short(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float) else value


def say(message: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


def run(folder: Path, store: Path, *, is_quick: bool) -> None:
    """Measure and print; record the figures unless it is the quick run."""
    known = collection(folder, QUICK if is_quick else Amounts())
    whole = Calibrated(known.documents, store)
    whole.store.index(known.documents)
    say(f"indexed; {len(known.sources)} sources")
    sketches = Sketches(known.hashed)
    say("sketched")
    several: list[Method] = [
        Overlap(known.tokens),
        Bands(known.tokens, is_wrapped=True),
        Bands(known.tokens, is_wrapped=False),
        Lsh(sketches),
        Ensemble(sketches),
        Tested(known.tokens),
        whole,
    ]
    scores, returned = [], dict[int, Answer]()
    for one, answers in measured(several, known):
        scores.append(one)
        if (one.method, one.question) == (whole.name, RETURNED):
            returned = answers
    whole.store.close()
    wrong = list(errors(known, returned))
    for metric in SIMILAR_METRICS:
        print(f"\n{metric.value}, recall / precision\n", *table(scores, metric), sep="\n")
    print("\nestimates\n", *errors_table(wrong), sep="\n")
    if not is_quick:
        write_scores(RESULTS / "accuracy.csv", scores, len(known.documents))
        write_errors(RESULTS / "accuracy-errors.csv", wrong, len(known.documents))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--quick", action="store_true", help="a tenth of the documents, nothing recorded")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the store is put and stays")
    arguments = parser.parse_args()
    try:
        if arguments.keep:
            run(arguments.corpus, arguments.keep, is_quick=arguments.quick)
        else:
            with tempfile.TemporaryDirectory(prefix="whorl-accuracy") as made:
                run(arguments.corpus, Path(made), is_quick=arguments.quick)
    except CorpusError as error:
        sys.exit(f"accuracy: {error}")


if __name__ == "__main__":
    main()
