"""Measures size and accuracy of sketches for several schemes, and the bytes that a store needs for a document.

    python benchmarks/accuracy_schemes.py [CORPUS_FOLDER] [--quick]

The documents are those of `accuracy.py`. For each scheme it measures the bytes of a document's sketch and of its tokens
in an index without other fields, the number of documents that are kept whole, the containment error by the ratio of
sizes, and recall and precision of `contains 50 %` at recall 95 from sketches alone, without reading texts. Alfresco's
512 tokens, in hexadecimal without leading zeros, serve as a comparison. Recorded in results/accuracy-schemes.csv.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import tantivy

from accuracy import LEAST_SHARED, MOST_PAIRS, RESULTS, Collection, collection, say
from accuracy_documents import QUICK, SEED, Amounts
from accuracy_measures import Pair, errors_of, score_of
from accuracy_methods import Answer, Question
from accuracy_truth import Postings
from corpus import DEFAULT_DIRECTORY, CorpusError
from whorl.arrays_and_batches import ascending_distinct
from whorl.fingerprint.sketch.frac_minhash import (
    Sketch,
    SketchScheme,
    compare,
    encode,
    lookup_numbers,
    sketch_of_distinct,
)
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.statistics.overlap_estimates import estimate
from whorl.search.similar.options import SimilarCriteria
from whorl.search.similar.sketch_plan import make_plan

CHOSEN = SketchScheme()
SCHEMES = (
    SketchScheme(k=512),
    CHOSEN,
    SketchScheme(k=2048),
    SketchScheme(floor_level=2),
    SketchScheme(floor_level=4),
    SketchScheme(cap=4096),
    SketchScheme(cap=65536),
    SketchScheme(lookup_k=64),
    SketchScheme(lookup_k=256),
    SketchScheme(lookup_k=1024),
    SketchScheme(bits=24),
    SketchScheme(bits=32),
    SketchScheme(bits=40),
)
QUESTION = Question(Metric.A_IN_B, 50, 95)
#: Only every n-th source of accuracy.py is used.
EVERY = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """Size and accuracy of a scheme; the columns' names are in `main`.

    Args:
        scheme: Name of the scheme.
        hashes: Mean number of hashes of a sketch. The next three numbers are also means per document.
        tokens: Number of hashes of a sketch that are in the index.
        sketch_bytes: Bytes of a sketch in the record.
        index_bytes: Bytes of the tokens in an index without other fields.
        share_of_text: Bytes of record and index, as a share of the text's bytes in UTF-8.
        whole: Share of the documents whose sketch has all hashes.
        error_3_to_30: Mean absolute containment error in points, for sizes that differ 3 to 30 times.
        error_from_100: The same for sizes that differ 100 times or more.
        recall: Recall of `QUESTION`.
        precision: Precision of `QUESTION`.
        false_hits: Documents in a million that share a token with the source but no shingle.
    """

    scheme: str
    hashes: float
    tokens: float
    sketch_bytes: float
    index_bytes: float
    share_of_text: float
    whole: float
    error_3_to_30: float
    error_from_100: float
    recall: float
    precision: float
    false_hits: float


class Sampled:
    """Search on sketches in memory: look-ups, then a judgement, without reading texts."""

    def __init__(self, known: Collection, sketches: Sequence[Sketch]) -> None:
        self._sketches = sketches
        self.postings = Postings(map(lookup_numbers, sketches))
        self._largest = int(known.truth.sizes.max())

    def answers(self, source: int, question: Question) -> Answer:
        own = self._sketches[source]
        threshold, recall = Fraction(question.threshold, 100), Fraction(question.recall, 100)
        plan = make_plan(own, SimilarCriteria(question.metric, threshold, recall), largest_size=self._largest)
        passing = []
        for branch in plan.branches:
            tokens = branch.tokens
            shared = self.postings.shared(ascending_distinct(own.hashes[tokens.start : tokens.stop]))
            shared[source] = 0
            at = np.flatnonzero(shared)
            sizes = np.array([self._sketches[hit].size for hit in at.tolist()], dtype=np.int64)
            is_own = (sizes >= branch.smallest_size) & (sizes <= (branch.largest_size or self._largest))
            passing += at[is_own & (shared[at] >= branch.min_should_match)].tolist()
        is_kept = plan.is_hit(compare(own, [self._sketches[number] for number in passing]))
        return Answer(
            frozenset(np.array(passing, np.int64)[is_kept].tolist()), plan.look_up_count, candidates=len(passing)
        )


def cost_of(scheme: SketchScheme, known: Collection, text_bytes: float) -> Cost:
    sketches = [sketch_of_distinct(signature.hashes, scheme) for signature in known.hashed]
    record_bytes = statistics.mean(len(encode(sketch)) for sketch in sketches)
    index = index_size(sketches) / len(sketches)
    search = Sampled(known, sketches)
    pairs, answers = [], []
    hits_in_all = false_hits = 0
    rng = np.random.default_rng(SEED)
    for source in known.sources[::EVERY]:
        overlaps, size = known.truth.overlaps(source), int(known.truth.sizes[source])
        shared = search.postings.shared(lookup_numbers(sketches[source]))
        shared[source] = 0
        hits_in_all += int(shared.sum())
        false_hits += int(shared[overlaps == 0].sum())
        true = known.truth.hits(source, overlaps, QUESTION.metric, QUESTION.threshold)
        answers.append((search.answers(source, QUESTION), true))
        at = np.flatnonzero(overlaps >= LEAST_SHARED * size)
        hits = rng.permutation(at)[:MOST_PAIRS].tolist()
        estimates = estimate(sketches[source], [sketches[hit] for hit in hits])
        both = zip(hits, estimates, strict=True)
        pairs += [Pair(size, int(known.truth.sizes[hit]), int(overlaps[hit]), estimate) for hit, estimate in both]
    measured = score_of("", QUESTION, answers)
    errors = {row.least: row.containment for row in errors_of("", pairs) if row.least > 1}
    return Cost(
        scheme.name,
        statistics.mean(sketch.hashes.size for sketch in sketches),
        statistics.mean(lookup_numbers(sketch).size for sketch in sketches),
        record_bytes,
        index,
        (record_bytes + index) / text_bytes,
        statistics.mean(sketch.is_complete for sketch in sketches),
        errors.get(3, 0.0),
        errors.get(100, 0.0),
        measured.recall,
        measured.precision,
        1e6 * false_hits / max(1, hits_in_all),
    )


def index_size(sketches: Sequence[Sketch]) -> int:
    """Return the bytes of an index with only the sketches' tokens, in the embedded engine's format."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("sketch", indexed=True)
    with tempfile.TemporaryDirectory(prefix="whorl-schemes") as folder:
        writer = tantivy.Index(builder.build(), folder).writer(200_000_000, num_threads=1)
        for sketch in sketches:
            document = tantivy.Document()
            for number in lookup_numbers(sketch).tolist():
                document.add_unsigned("sketch", number)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        return sum(file.stat().st_size for file in Path(folder).iterdir())


def alfresco_bytes(known: Collection) -> float:
    """Return the mean bytes of a document's tokens in Alfresco's format: 512 tokens, with the repeats from rotation.

    A token is eight 16-bit units in hexadecimal without leading zeros. Only the high half's units are counted; the low
    half's have the same distribution.
    """
    total = 0
    for minima in known.tokens.minima:
        units = minima[:, None] >> np.arange(0, 64, 16, dtype=np.uint64) & np.uint64(0xFFFF)
        total += int((1 + (units > 0xF).astype(int) + (units > 0xFF) + (units > 0xFFF)).sum()) * 2
    return total / len(known.documents)


def table(costs: Sequence[Cost]) -> Iterator[str]:
    """Yield a Markdown table."""
    yield "| scheme | hashes | tokens | sketch | index | of text | whole | error 3 to 30 | 100 on | C >= 50 | false |"
    yield f"|{'---|' * 11}"
    for c in costs:
        yield (
            f"| {c.scheme} | {c.hashes:.0f} | {c.tokens:.0f} | {c.sketch_bytes:,.0f} | {c.index_bytes:,.0f} "
            f"| {100 * c.share_of_text:.0f} % | {100 * c.whole:.0f} % | {c.error_3_to_30:.2f} | {c.error_from_100:.2f} "
            f"| {100 * c.recall:.1f} / {100 * c.precision:.1f} | {c.false_hits:.1f} |"
        )


def run(folder: Path, *, is_quick: bool) -> None:
    """Measure and print; record the figures unless it is the quick run."""
    known = collection(folder, QUICK if is_quick else Amounts())
    text_bytes = statistics.mean(len(document.text.encode()) for document in known.documents)
    costs = []
    for scheme in SCHEMES:
        costs.append(cost_of(scheme, known, text_bytes))
        say(f"{costs[-1]}")
    stored = alfresco_bytes(known)
    print(*table(costs), sep="\n")
    print(f"\ntext: {text_bytes:,.0f} bytes a document")
    print(f"Alfresco's stored tokens: {stored:,.0f} bytes a document, {100 * stored / text_bytes:.0f} % of the text")
    if not is_quick:
        with (RESULTS / "accuracy-schemes.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            names = [field.name for field in fields(Cost)]
            writer.writerow([*names, "text_bytes", "alfresco_bytes"])
            for cost in costs:
                values = (getattr(cost, name) for name in names)
                short = (f"{value:.5g}" if isinstance(value, float) else value for value in values)
                writer.writerow([*short, f"{text_bytes:.5g}", f"{stored:.5g}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--quick", action="store_true", help="a tenth of the documents, nothing recorded")
    arguments = parser.parse_args()
    try:
        run(arguments.corpus, is_quick=arguments.quick)
    except CorpusError as error:
        sys.exit(f"accuracy: {error}")


if __name__ == "__main__":
    main()
