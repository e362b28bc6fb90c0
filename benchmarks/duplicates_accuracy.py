"""Measures how many near-duplicate pairs of real text whorl finds, and how many of its pairs are correct.

    python benchmarks/duplicates_accuracy.py [FOLDER] [--corpora spdx,rfc,man,main] [--documents N] [--solr]

For each corpus, both metrics, and 50, 80 and 90 %, it checks the pairs of `duplicates_among` (files, with complete sets
of shingles for all but the largest documents) and of `duplicates_in` an embedded store (sketches, and texts where these
leave doubt), and with --solr of a Solr that it starts. The true pairs are counted on all of whorl's shingles, see
`duplicates_truth.py`. The requested recall is 95 %, the command's default. Nothing is timed. Results:
results/duplicates-accuracy.csv (not with --documents).
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from duplicates_processes import say
from duplicates_truth import Judged, Overlaps, codes, judged, lines_of, truth_of
from engine_solr import own_solr
from whorl import Document, Store, open_store
from whorl.duplicates import duplicates_among, duplicates_in, parse_pair_options
from whorl.duplicates.options import DuplicatesOptions, PairOptions
from whorl.duplicates.results import Duplicates
from whorl.ingest.files import documents_in

HERE = Path(__file__).resolve().parent
CORPORA = ("spdx", "rfc", "man", "main")
METRICS = ("jaccard", "containment")
PERCENTS = (50, 80, 90)
FIELDS = (
    "corpus", "source", "metric", "threshold", "pairs", "found", "right", "recall", "precision", "clusters",
)  # fmt: skip

#: Number of documents to index between two progress lines.
_AT_ONCE = 2_000

Search = Callable[[PairOptions], AbstractContextManager[Duplicates]]


@contextmanager
def sources(corpus: Path, folder: Path, *, solr: bool) -> Iterator[dict[str, Search]]:
    """Yield the searches of a file of documents by name; each keeps its stores for the next question."""
    with ExitStack() as opened:
        searches: dict[str, Search] = {"files": partial(_among, corpus, folder / "files")}
        stores = {"embedded": opened.enter_context(open_store(folder / "store"))}
        if solr:
            stores["solr"] = opened.enter_context(open_store(opened.enter_context(own_solr(folder / "solr")).url))
        for name, store in stores.items():
            fill(store, list(documents_in(corpus, _refuse)), name)
            searches[name] = partial(_in_store, store, folder / f"{name}-state")
        yield searches


def _in_store(store: Store, state: Path, question: PairOptions) -> AbstractContextManager[Duplicates]:
    return duplicates_in(store.engine, DuplicatesOptions(question, state=state))


def _among(corpus: Path, state: Path, question: PairOptions) -> AbstractContextManager[Duplicates]:
    return duplicates_among(documents_in(corpus, _refuse), DuplicatesOptions(question, state=state))


def _refuse(problem: object) -> None:
    raise SystemExit(str(problem))


def fill(store: Store, documents: list[Document], name: str) -> None:
    for at in range(0, len(documents), _AT_ONCE):
        say(f"{name}: {at:,} of {len(documents):,} documents")
        store.index(documents[at : at + _AT_ONCE])


def compared(duplicates: Duplicates, places: dict[str, int], right: Overlaps, metric: str, percent: int) -> Judged:
    """Compare the result's pairs with the true pairs."""
    place_pairs = [(places[pair.a.id], places[pair.b.id]) for pair in duplicates.pairs()]
    table = np.array(place_pairs, np.int64).reshape(-1, 2)
    pairs = codes(table[:, 0], table[:, 1])
    if pairs.size != len(place_pairs):
        raise SystemExit(f"of {len(place_pairs)} pairs {len(place_pairs) - pairs.size} were reported twice")
    return judged(pairs, right.above(metric, percent))


def rows_of(name: str, corpus: Path, folder: Path, cache: Path, *, solr: bool) -> Iterator[dict[str, object]]:
    right = truth_of(corpus, "whorl", cache, say)
    with corpus.open(encoding="utf-8") as lines:
        places = {json.loads(line)["id"]: number for number, line in enumerate(lines)}
    with sources(corpus, folder, solr=solr) as searches:
        for source, search in searches.items():
            for metric in METRICS:
                for percent in PERCENTS:
                    say(f"{name}, {source}, {metric}, {percent} %")
                    with search(parse_pair_options(metric, percent, 95)) as duplicates:
                        comparison = compared(duplicates, places, right, metric, percent)
                        figures = (
                            name, source, metric, percent, comparison.right, comparison.found, comparison.hits,
                            f"{comparison.recall:.4f}", f"{comparison.precision:.4f}",
                            sum(1 for _ in duplicates.clusters()),
                        )  # fmt: skip
                    yield dict(zip(FIELDS, figures, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE / "data", help="where the corpora are")
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--documents", type=int, help="take so many of each, from all over; records nothing")
    parser.add_argument("--solr", action="store_true", help="search a real Solr, too")
    parser.add_argument("--kept", type=Path, default=HERE / "data" / "duplicates-truth", help="for what was counted")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "duplicates-accuracy.csv")
    arguments = parser.parse_args()
    rows = []
    print(*FIELDS, sep="\t")
    for name in arguments.corpora.split(","):
        with tempfile.TemporaryDirectory(prefix="duplicates-accuracy-") as made:
            folder = Path(made)
            corpus = lines_of(arguments.folder / f"{name}.jsonl", arguments.documents, folder / "part.jsonl")
            for row in rows_of(name, corpus, folder, arguments.kept, solr=arguments.solr):
                print(*row.values(), sep="\t", flush=True)
                rows.append(row)
    if not arguments.documents:
        with arguments.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
