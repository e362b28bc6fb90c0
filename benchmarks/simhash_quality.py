"""Measures how well SimHash codes distinguish near-duplicates from other texts, and the cost of a code.

    python benchmarks/simhash_quality.py [DATA] [--quick] [--only quality,speed]    or: make bench-simhash-quality

Quality, on the texts of all corpora that `benchmarks/corpus.py` makes, from fixed seeds:

- similar pairs: 3,000 sources with every other document, by their exact Jaccard similarity over 5-word shingles;
- edited copies of 1,000 documents: 1 to 20 % of the words replaced, left out or added, a tenth cut out in one piece,
  all in capitals, accents decomposed; documents in Latin script and others apart;
- unrelated pairs: 1,000 of the sources with every document that shares less than a tenth of the shingles.

A row of the CSV file has the mean distance of the pairs; the share of them within 3, 6, 8 and 10 bits (for unrelated
pairs, the number in a million); the share within `limit`, the largest distance that at most one unrelated pair in a
million has; and the probability that such a pair is nearer than an unrelated one (the area under the ROC curve). Rows
that begin with `design:` are designs that were tried for whorl's own scheme, each with four hash functions.

Speed: `benchmarks/simhash_speed.py`, compared with the libraries themselves; it also checks that their codes equal
whorl's.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import random
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from accuracy_truth import Hashed, Postings, hashed
from corpus import CORPORA, DEFAULT_DIRECTORY
from simhash_designs import COLUMNS, Codes, codes_of
from simhash_speed import compare
from whorl.fingerprint.words.tokenizer import tokens, tokens_and_spans

#: With another seed, the sources and edits and so the figures differ.
SEED = 12
SOURCES, UNRELATED_SOURCES, EDITED = 3_000, 1_000, 1_000
#: Minimum number of words of a document, and maximum number of characters of an edited text; the rest is cut off.
FEWEST_WORDS, MOST_CHARACTERS = 20, 20_000
#: Similar pairs by Jaccard similarity. Pairs with equal shingles would be no test.
BANDS = ((0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0))
UNRELATED_BELOW = 0.1
DISTANCES = (3, 6, 8, 10)
HEADINGS = ("way", "pairs", "count", "mean", *(f"within_{most}" for most in DISTANCES), "limit", "within_limit", "auc")


@dataclass(slots=True)
class Pairs:
    """Pairs of texts of one kind, as positions of the texts."""

    first: list[int] = field(default_factory=list)
    second: list[int] = field(default_factory=list)


def corpora(folder: Path, step: int) -> list[str]:
    """Return every n-th text of all corpora."""
    texts = []
    for name in CORPORA:
        with (folder / f"{name}.jsonl").open(encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for place, line in enumerate(lines) if place % step == 0]
    return texts


def edits(text: str, others: Sequence[str], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield kinds of edits with an edited copy of a text; new words come from `others`."""
    for percent in (1, 5, 10, 20):
        yield f"{percent} % edited", edited(text, percent / 100, others, rng)
    start = rng.randrange(max(1, len(text) * 9 // 10))
    yield "10 % cut out", text[:start] + text[start + len(text) // 10 :]
    yield "capitals", text.upper()
    yield "decomposed", unicodedata.normalize("NFD", text)


def edited(text: str, rate: float, others: Sequence[str], rng: random.Random) -> str:
    """Return a text with a share of its words replaced, left out, or followed by a new word."""
    parts, done = [], 0
    for start, end in tokens_and_spans(text)[1].tolist():
        parts.append(text[done:start])
        chance = rng.random() / rate
        parts.append("" if 1 / 3 <= chance < 2 / 3 else rng.choice(others) if chance < 1 / 3 else text[start:end])
        parts.append(f" {rng.choice(others)}" if 2 / 3 <= chance < 1 else "")
        done = end
    return "".join([*parts, text[done:]])


def is_latin(text: str) -> bool:
    """Check that most letters at the beginning of a text are Latin."""
    letters = re.findall(r"[^\W\d_]", text[:2_000])
    return sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters) * 2 > len(letters)


def edited_copies(texts: list[str], sources: Iterable[int], rng: random.Random) -> dict[str, Pairs]:
    """Append edited copies to texts, and return the pairs of texts and copies."""
    pairs_by_kind: dict[str, Pairs] = {}
    for source in sources:
        text = texts[source][:MOST_CHARACTERS]
        others = tokens(texts[rng.randrange(len(texts))][:MOST_CHARACTERS]) or ["word"]
        script = "Latin" if is_latin(text) else "other scripts"
        texts.append(text)
        original = len(texts) - 1
        for kind, copy in edits(text, others, rng):
            texts.append(copy)
            pairs = pairs_by_kind.setdefault(f"{kind}, {script}", Pairs())
            pairs.first.append(original)
            pairs.second.append(len(texts) - 1)
    return pairs_by_kind


class Similarities:
    """Exact similarities of documents."""

    def __init__(self, documents: Sequence[Hashed]) -> None:
        self._documents = documents
        self._postings = Postings(document.hashes for document in documents)
        self._sizes = np.array([document.hashes.size for document in documents])
        self.is_long_enough = self._sizes > FEWEST_WORDS - 5

    def of(self, source: int) -> npt.NDArray[np.float64]:
        """Return the Jaccard similarity of a document with every document, itself included."""
        shared = self._postings.shared(self._documents[source].hashes)
        either = np.maximum(1, self._sizes[source] + self._sizes - shared)
        shares: npt.NDArray[np.float64] = shared / either
        return shares


def similar_pairs(similarities: Similarities, sources: Iterable[int]) -> dict[str, Pairs]:
    """Return the pairs of sources with all documents in each band of similarity."""
    pairs_by_band = {f"similar by {low:.0%} to {high:.0%}": Pairs() for low, high in BANDS}
    for source in sources:
        of_each = similarities.of(source) * similarities.is_long_enough
        for (low, high), pairs in zip(BANDS, pairs_by_band.values(), strict=True):
            near = np.flatnonzero((low <= of_each) & (of_each < high)).tolist()
            pairs.first += [source] * len(near)
            pairs.second += near
    return pairs_by_band


def histogram(table: Codes, pairs: Pairs) -> npt.NDArray[np.int64]:
    """Return the number of pairs by distance, of shape (columns, 65)."""
    return _counted(np.bitwise_count(table[pairs.first] ^ table[pairs.second]))


def unrelated_histogram(table: Codes, similarities: Similarities, sources: Iterable[int]) -> npt.NDArray[np.int64]:
    """Return the number of unrelated pairs by distance, of shape (columns, 65)."""
    counts = np.zeros((table.shape[1], 65), np.int64)
    for source in sources:
        others = (similarities.of(source) < UNRELATED_BELOW) & similarities.is_long_enough
        counts += _counted(np.bitwise_count(table[: others.size][others] ^ table[source]))
    return counts


def _counted(distances: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    columns = distances.shape[1]
    places = distances.astype(np.int64) + 65 * np.arange(columns)
    return np.bincount(places.ravel(), minlength=65 * columns).reshape(columns, 65)


def rows(of_each: dict[str, npt.NDArray[np.int64]], unrelated: npt.NDArray[np.int64]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the file from the histograms of each kind of pairs."""
    for way, columns in COLUMNS.items():
        far = unrelated[columns].sum(axis=0)
        share = np.cumsum(far) / far.sum()
        limit = int(np.searchsorted(share, 1e-6, "right")) - 1
        yield (way, "unrelated, of a million", *_row(far, limit, 1e6), "")
        for kind, counts in of_each.items():
            near = counts[columns].sum(axis=0)
            nearer = near @ (1 - share + far / far.sum() / 2) / max(1, near.sum())
            yield (way, kind, *_row(near, limit, 1), f"{nearer:.6f}")


def _row(counts: npt.NDArray[np.int64], limit: int, scale: float) -> list[object]:
    count = int(counts.sum())
    within = np.append(np.cumsum(counts), 0) / max(1, count) * scale
    digits = 2 if scale > 1 else 4
    at = [f"{within[most]:.{digits}f}" for most in DISTANCES]
    mean = counts @ np.arange(65) / max(1, count)
    return [count, f"{mean:.2f}", *at, limit, f"{within[limit]:.{digits}f}"]


def quality(folder: Path, step: int, output: Path | None) -> None:
    """Measure, print the rows of the schemes, and record all."""
    rng = random.Random(SEED)
    texts = corpora(folder, step)
    count = len(texts)
    sources = rng.sample(range(count), min(count, SOURCES // step))
    copies = edited_copies(texts, sources[: EDITED // step], rng)
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        table = np.array(pool.map(codes_of, texts, chunksize=16))
        similarities = Similarities(pool.map(hashed, texts[:count], chunksize=16))
    sources = [source for source in sources if similarities.is_long_enough[source]]
    kinds = similar_pairs(similarities, sources) | copies
    of_each = {kind: histogram(table, pairs) for kind, pairs in kinds.items() if pairs.first}
    lines = list(rows(of_each, unrelated_histogram(table, similarities, sources[: UNRELATED_SOURCES // step])))
    print(*HEADINGS, sep="\t")
    for line in lines:
        print(*line, sep="\t")
    if output:
        with output.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADINGS, *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_DIRECTORY)
    parser.add_argument("--quick", action="store_true", help="a tenth of the texts; nothing is recorded")
    parser.add_argument("--only", default="quality,speed")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    if "quality" in options.only:
        output = None if options.quick else options.results / "simhash-quality.csv"
        quality(options.folder, 10 if options.quick else 1, output)
    if "speed" in options.only:
        comparison = compare(options.folder, rounds=2 if options.quick else 7)
        print(comparison)
        if not options.quick:
            (options.results / "simhash-speed.txt").write_text(f"{comparison}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
