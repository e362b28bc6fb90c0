"""Measures `similar` for sources with thousands of copies, in an embedded store, and compares it with another version.

    python benchmarks/copies.py [--other CHECKOUT] [--folder FOLDER] [--rounds 7] [--csv FILE]

The store has 20,000 texts without a copy, and families of near-copies and of equal texts, of 60 and of 1,000 words;
all words are random. A near-copy has up to a tenth of the words of its family's text replaced, in runs of up to
eight. Each search runs in a process that has loaded the compiled loops, as in a service. Prints the median processor
time of the best hits of ten sources of each kind, and its ratio to the time for sources without a copy. With
--other, the versions answer in turns, so other load affects both; every answer, with all hits, estimates and totals,
must be the same, or the exit status is 1.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from whorl import Document, open_store

HERE = Path(__file__).resolve().parent
THRESHOLDS, SOURCES = (50, 80, 90), 10
SINGLE, WORDS, LONGEST_RUN, MOST_REPLACED = 20_000, 50_000, 8, 0.1
#: Words of a text, number of copies, and whether they are equal.
FAMILIES = (
    *((60, count, is_equal) for count in (30, 500, 5_000) for is_equal in (False, True)),
    *((1_000, count, is_equal) for count in (30, 500, 2_000) for is_equal in (False, True)),
)

_ASKED = """
import gc, hashlib, json, sys, time
from whorl import open_store
from whorl.fingerprint.compiled.kernel import Kernel
from whorl.search.similar import sketch_plan
from whorl.search.similar import find_similar
kept = [each for each in (getattr(find_similar, "_plan", None), sketch_plan._branches) if hasattr(each, "cache_clear")]
Kernel()
with open_store(sys.argv[1], create=False) as store:
    gc.disable()
    for line in sys.stdin:
        name, threshold, rows = json.loads(line)
        for each in kept:
            each.cache_clear()
        begin = time.process_time()
        page = store.similar(name, metric="jaccard", threshold=threshold, rows=rows)
        taken = 1000 * (time.process_time() - begin)
        answer = repr((page.total, page.is_total_exact, page.candidates, page.warnings, page.found)).encode()
        print(json.dumps([taken, page.total, hashlib.sha256(answer).hexdigest()]), flush=True)
"""


def documents() -> Iterator[Document]:
    """Yield the texts without copies, and the families; an id is the name of the family and a number."""
    chance = random.Random(5)

    def words(count: int) -> list[str]:
        return [f"w{chance.randrange(WORDS)}" for _ in range(count)]

    for number in range(SINGLE):
        yield Document(f"single-{number}", " ".join(words(60)))
    for length, count, is_equal in FAMILIES:
        text = words(length)
        for number in range(count):
            copy = list(text)
            left = 0 if is_equal else chance.randrange(round(MOST_REPLACED * length) + 1)
            while left > 0:
                run = min(left, chance.randint(1, LONGEST_RUN))
                at = chance.randrange(length - run + 1)
                copy[at : at + run] = words(run)
                left -= run
            yield Document(f"{family(length, count, is_equal)}-{number}", " ".join(copy))


def family(length: int, count: int, is_equal: bool) -> str:
    return f"{count} {'equal' if is_equal else 'near'} of {length}"


class Version:
    """A version of whorl in a process of its own."""

    def __init__(self, checkout: Path, store: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        command, pipe = [sys.executable, "-c", _ASKED, str(store)], subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def ask(self, name: str, threshold: int, rows: int = 10) -> tuple[float, int, str]:
        """Return the processor time of a search in milliseconds, the total, and a digest of the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, threshold, rows]), file=self.process.stdin, flush=True)
        taken, total, answer = json.loads(self.process.stdout.readline())
        return taken, total, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, help="checkout of another version, which can read the store")
    parser.add_argument("--folder", type=Path, default=HERE / "data" / "copies.whorl")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    with open_store(options.folder) as store:
        store.index(documents(), batch=2_000)
    versions = {"this": Version(HERE.parent, options.folder)}
    if options.other:
        versions["other"] = Version(options.other, options.folder)
    rows, differing, singles = [], 0, dict[tuple[str, int], float]()
    kinds = {"single": SINGLE} | {family(*kind): kind[1] for kind in FAMILIES}
    for (kind, count), threshold in product(kinds.items(), THRESHOLDS):
        sources = [f"{kind}-{number}" for number in range(0, count, count // SOURCES)][:SOURCES]
        pages = [[version.ask(name, threshold, 10_000)[1:] for name in sources] for version in versions.values()]
        differing += any(page != pages[0] for page in pages)
        total = round(statistics.mean(total for total, _ in pages[0]))
        times: dict[str, list[float]] = {name: [] for name in versions}
        for name in sources:
            runs = [{which: one.ask(name, threshold) for which, one in versions.items()} for _ in range(options.rounds)]
            differing += any(len({answer for _, _, answer in answers.values()}) > 1 for answers in runs)
            for which in versions:
                times[which].append(statistics.median(answers[which][0] for answers in runs))
        for which, taken in times.items():
            value = statistics.median(taken)
            single = singles.setdefault((which, threshold), value)
            rows.append([which, kind, threshold, total, f"{value:.3f}", f"{value / single:.1f}"])
            print(
                f"{which:6} {kind:20} {threshold} % {total:>6,} hits {value:8.2f} ms {value / single:6.1f}", flush=True
            )
    if options.csv:
        with options.csv.open("w", newline="") as file:
            head = ["version", "sources", "threshold", "hits", "ms CPU", "times as long as a source without a copy"]
            csv.writer(file, lineterminator="\n").writerows([head, *rows])
    for version in versions.values():
        version.process.kill()
    print("all answers are the same" if not differing else f"{differing} answers differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
