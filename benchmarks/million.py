"""Measures stores of a million real documents: indexing, size and searches.

    python benchmarks/million.py [--documents 1000000] [--engines embedded,solr,solr-sketch,solr-backfill,cloud]
        [--folder FOLDER] [--out FILE.csv] [--only-last]
    python benchmarks/million.py --faults [--engines embedded,solr] ...
    python benchmarks/million.py --report [--out FILE.csv]

`million_texts.py` writes the documents, and runs first if they are missing. A store grows to ten thousand, a
hundred thousand, and all documents; with --only-last, at once to all. At each size these are measured:

- *indexing*: the process of `whorl index`, from start to end. Documents a second, processor time and peak memory, also
  the server's. During the last tenth (except at the first size) the queries run at the same time.
- *bytes*: the files of the store by content, as a share of the text in UTF-8.
- *queries*: two hundred sources. Each is searched once with a page of ten hits, for the times, and once with one of ten
  thousand, to compare the hits with all shingles of all documents (`million_truth.py`): recall and precision of all
  pairs, and the mean recall of the sources that have hits.
- *duplicates*: the process of `whorl duplicates` at 80 %.
- *backfill*: for a Solr that another program filled, the process of `whorl solr backfill`, after a process that was
  interrupted by a kill of Solr.

Each step's figures are appended to the results file when it ends, and recorded steps are skipped: run it again to
continue, delete lines to repeat a step. Stores stay in the folder, except a cloud, which begins empty and is measured
only at the last size.

--faults kills writers and Solr during indexing (`million_faults.py`). --report prints Markdown tables, with the growth
of the figures as exponents.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

import million_faults
import million_texts
from corpus import DEFAULT_DIRECTORY
from duplicates_processes import WHORL, say
from duplicates_scaling import growth
from million_stores import ENGINES, Place, place, ran
from million_truth import FIRST, Truth, truth_of
from whorl import Store, open_store
from whorl.engine.solr.client import SolrClient

HERE = Path(__file__).resolve().parent
SIZES = (10_000, 100_000)
#: Rows of a page that has room for all hits.
MOST_ROWS = 10_000
#: Number of documents per request if they are sent without whorl.
_AT_ONCE = 256
#: Attempts of a command that Solr refuses while it replays its log, and the pause between them.
_MOST_RUNS, _BETWEEN_SECONDS = 60, 5

Row = tuple[str, int, str, float, str]


class Figures:
    """The results file: engine, documents, step, value, unit."""

    HEAD = ("engine", "documents", "what", "value", "unit")

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[Row] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                for row in islice(csv.reader(file), 1, None):
                    self.rows.append((row[0], int(row[1]), row[2], float(row[3]), row[4]))

    def has(self, engine: str, documents: int, step: str) -> bool:
        """Check if a step is recorded, by the beginning of its lines."""
        return any(row[:2] == (engine, documents) and row[2].startswith(step) for row in self.rows)

    def add(self, engine: str, documents: int, results: Sequence[tuple[str, float, str]]) -> None:
        """Append the figures of a step."""
        is_new = not self._path.exists()
        rows = [(engine, documents, what, value, unit) for what, value, unit in results]
        with self._path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(self.HEAD)
            writer.writerows([*row[:3], f"{row[3]:.6g}", row[4]] for row in rows)
        self.rows += rows
        for row in rows:
            print(*row[:3], f"{row[3]:.4g}", row[4], sep="  ", flush=True)


class Question(NamedTuple):
    """A kind of query about a source.

    Args:
        ask: Returns the ids on a page of the given size.
        metric: Metric of the threshold, "" if nothing is promised.
        percent: The threshold.
        needs_minhash: Whether the store needs MINHASH tokens.
    """

    ask: Callable[[Store, str, int], list[str]]
    metric: str = ""
    percent: int = 0
    needs_minhash: bool = False


def _similar(metric: str, percent: int) -> Question:
    def ask(store: Store, source: str, rows: int) -> list[str]:
        return [similar.hit.id for similar in store.similar(source, metric=metric, threshold=percent, rows=rows).found]

    return Question(ask, metric, percent)


def _stock(suffix: str, percent: int = 0) -> Question:
    def ask(store: Store, source: str, rows: int) -> list[str]:
        quoted = re.sub(r'[\\"_]', r"\\\g<0>", source)
        return [hit.id for hit in store.search(f'FINGERPRINT:"{quoted}"{suffix}', rows=rows).hits]

    return Question(ask, "jaccard" if percent else "", percent, needs_minhash=True)


QUESTIONS: Mapping[str, Question] = {
    "similar 50": _similar("jaccard", 50),
    "similar 80": _similar("jaccard", 80),
    "contains 50": _similar("a_in_b", 50),
    "FINGERPRINT:id": _stock(""),
    "FINGERPRINT:id_50": _stock("_50", 50),
    "FINGERPRINT:id_80": _stock("_80", 80),
    "FINGERPRINT:id_80_90": _stock("_80_90", 80),
}
#: Queries that run in turns while documents are indexed.
MEANWHILE = ("similar 50", "FINGERPRINT:id_50")


def questions(engine: str) -> dict[str, Question]:
    return {
        name: question for name, question in QUESTIONS.items() if engine != "solr-sketch" or not question.needs_minhash
    }


def portion(documents: Path, first: int, end: int) -> Path:
    """Write some of the documents to a separate file."""
    path = documents.with_name(f"portion-{first}-{end}.jsonl")
    with documents.open("rb") as lines, path.open("wb") as file:
        file.writelines(islice(lines, first, end))
    return path


def percentiles(what: str, seconds: Sequence[float]) -> list[tuple[str, float, str]]:
    """Return the median and the 99th percentile of times."""
    return [(f"{what} p{at}", 1000 * float(np.percentile(seconds, at)), "ms") for at in (50, 99)]


def index(
    where: Place,
    documents: Path,
    first: int,
    end: int,
    meanwhile: Callable[[], object] | None = None,
) -> list[tuple[str, float, str]]:
    """Index some of the documents in a separate process, and return the cost."""
    path = portion(documents, first, end)
    try:
        server = where.server_seconds()
        command = [*WHORL, "index", str(path), "--store", where.url]
        took = ran(command, meanwhile) if meanwhile else ran(command)
        count = end - first
        results = [
            ("documents", count / took.wall, "a second"),
            ("whorl", 1000 * took.cpu / count, "ms CPU a document"),
            ("memory", took.peak, "MB"),
            ("memory without files", took.anonymous, "MB"),
        ]
        if where.server is not None:
            results += [("server", 1000 * (where.server_seconds() - server) / count, "ms CPU a document"),
                     ("server memory without files", where.server_megabytes(), "MB")]  # fmt: skip
        return results
    finally:
        path.unlink()


class Asker:
    """Queries one source after the other, and records the times."""

    def __init__(self, where: Place, store: Store, sources: Sequence[str], names: Sequence[str]) -> None:
        self._where, self._store, self._sources, self._names = where, store, sources, names
        self.seconds: dict[str, list[float]] = {name: [] for name in names}
        self.cpu: dict[str, list[float]] = {name: [] for name in names}
        self.server: dict[str, float] = dict.fromkeys(names, 0.0)
        self._turn = 0

    def ask(self) -> None:
        """Send the next query about the next source."""
        turn, which = divmod(self._turn, len(self._names))
        name = self._names[which]
        server = self._where.server_seconds()
        begun, cpu = time.perf_counter(), time.process_time()
        QUESTIONS[name].ask(self._store, self._sources[turn % len(self._sources)], 10)
        self.seconds[name].append(time.perf_counter() - begun)
        self.cpu[name].append(time.process_time() - cpu)
        self.server[name] += self._where.server_seconds() - server
        self._turn += 1

    def ask_all(self) -> None:
        """Send every query about every source."""
        for _ in range(len(self._names) * len(self._sources)):
            self.ask()


def query_figures(where: Place, store: Store, engine: str, truth: Truth, size: int) -> Iterator[tuple[str, float, str]]:
    """Yield the times of the queries, and the accuracy of the answers."""
    sources, several = [truth.ids[place] for place in truth.sources.tolist()], questions(engine)
    # Warm up first: caches are filled, and Java compiles code after some thousand runs.
    ready = sources[-3:] if where.server is None else _others(truth)
    Asker(where, store, ready, list(several)).ask_all()
    asker = Asker(where, store, sources, list(several))
    asker.ask_all()
    for name, question in several.items():
        yield from percentiles(f"{name}:", asker.seconds[name])
        yield from percentiles(f"{name}: CPU", asker.cpu[name])
        if where.server is not None:
            # The server's clock ticks a hundred times a second, too coarse for percentiles.
            yield f"{name}: server CPU", 1000 * asker.server[name] / len(sources), "ms a question"
        if not question.metric:
            continue
        good = returned = true = 0
        recalls = []
        for number, source in enumerate(sources):
            answer = set(question.ask(store, source, MOST_ROWS)) - {source}
            right = truth.right(number, question.metric, question.percent, size)
            good, returned, true = good + len(answer & right), returned + len(answer), true + len(right)
            if right:
                recalls.append(len(answer & right) / len(right))
        yield f"{name}: true hits", true, "pairs"
        yield f"{name}: recall", 100 * good / true if true else 100, "%"
        yield f"{name}: mean recall", 100 * float(np.mean(recalls)) if recalls else 100, "%"
        yield f"{name}: precision", 100 * good / returned if returned else 100, "%"


def _others(truth: Truth) -> list[str]:
    """Return as many documents as there are sources. They exist at each size, and none is a source."""
    sources = set(truth.sources.tolist())
    return [truth.ids[at] for at in range(FIRST) if at not in sources][: len(sources)]


def duplicates(where: Place, truth: Truth, size: int, folder: Path) -> list[tuple[str, float, str]]:
    """Find all duplicates of a store in a separate process, and return the cost."""
    out, server = folder / "clusters.jsonl", where.server_seconds()
    took = ran([*WHORL, "duplicates", "--store", where.url, "--threshold", "80", "-o", str(out)])
    server = where.server_seconds() - server
    label: dict[str, int] = {}
    with out.open(encoding="utf-8") as lines:
        clusters = 0
        for number, line in enumerate(lines):
            label.update((member["id"], number) for member in json.loads(line)["members"])
            clusters = number + 1
    pairs = [
        (truth.ids[int(place)], other)
        for number, place in enumerate(truth.sources)
        for other in truth.right(number, "jaccard", 80, size)
    ]
    together = sum(a in label and label[a] == label.get(b) for a, b in pairs)
    out.unlink()
    return [
        ("duplicates: wall", took.wall, "s"),
        ("duplicates: CPU", took.cpu, "s"),
        *([("duplicates: server CPU", server, "s")] if where.server is not None else []),
        ("duplicates: memory", took.peak, "MB"),
        ("duplicates: clusters", clusters, "clusters"),
        ("duplicates: in clusters", len(label), "documents"),
        ("duplicates: recall of the sources' pairs", 100 * together / len(pairs) if pairs else 100, "%"),
    ]


def measure(engine: str, documents: Path, truth: Truth, sizes: Sequence[int], figures: Figures) -> None:
    """Grow the store of an engine, and measure it at each size."""
    folder = documents.parent
    with place(engine, folder) as where:
        for before, size in zip((0, *sizes), sizes, strict=False):
            if not figures.has(engine, size, "indexing"):
                with open_store(where.url) as store:
                    if not before <= store.count() < size:
                        raise SystemExit(
                            f"{where.url} has {store.count():,} documents, and {before:,} were measured last: delete "
                            f"what the results say of {engine}, and the folder {where.folder}"
                        )
                begins = size - (size // 10 if size > FIRST else 0)
                results = index(where, documents, before, begins)
                if size > FIRST:
                    with open_store(where.url) as store:
                        sources = [truth.ids[at] for at in truth.sources.tolist()]
                        asked_about = [name for name in MEANWHILE if name in questions(engine)]
                        asker = Asker(where, store, sources, asked_about)
                        index(where, documents, begins, size, asker.ask)
                    for name, seconds in asker.seconds.items():
                        results += percentiles(f"{name} meanwhile:", seconds)
                figures.add(engine, size, [(f"indexing: {what}", value, unit) for what, value, unit in results])
            if not figures.has(engine, size, "bytes"):
                text_bytes, held = int(truth.text_bytes[:size].sum()), where.bytes()
                results = [(what, 100 * value / text_bytes, "% of the text") for what, value in held.items()]
                results += [("all", 100 * sum(held.values()) / text_bytes, "% of the text"),
                         ("all", sum(held.values()) / size, "a document"),
                         ("text", text_bytes / size, "a document")]  # fmt: skip
                figures.add(engine, size, [(f"bytes: {what}", value, unit) for what, value, unit in results])
            if not figures.has(engine, size, "similar"):
                with open_store(where.url) as store:
                    count = store.count()
                    if count != size:
                        raise SystemExit(f"{where.url} has {count:,} documents, not {size:,}")
                    figures.add(engine, size, list(query_figures(where, store, engine, truth, size)))
            if not figures.has(engine, size, "duplicates"):
                figures.add(engine, size, duplicates(where, truth, size, folder))


def backfill(documents: Path, size: int, figures: Figures) -> None:
    """Send documents to a Solr without whorl, and add sketches afterwards, interrupted by one kill."""
    engine = "solr-backfill"
    folder = documents.parent
    if not figures.has(engine, size, "plain"):
        shutil.rmtree(folder / engine, ignore_errors=True)
        with place(engine, folder) as where:
            figures.add(engine, size, _plain(where, documents, size))
    if not figures.has(engine, size, "killed"):
        results = million_faults.backfill_killed(engine, documents)
        figures.add(engine, size, [(f"killed: {what}", value, unit) for what, value, unit in results])
    if not figures.has(engine, size, "backfill"):
        with place(engine, folder) as where:
            figures.add(engine, size, _backfilled(where))


def _plain(where: Place, documents: Path, size: int) -> list[tuple[str, float, str]]:
    """Send documents without whorl, and return the cost."""
    begun, server = time.perf_counter(), where.server_seconds()
    with closing(SolrClient(where.url)) as client, documents.open(encoding="utf-8") as lines:
        remaining = map(json.loads, islice(lines, size))
        while batch := list(islice(remaining, _AT_ONCE)):
            client.post("update", [{"id": document["id"], "content": document["text"]} for document in batch])
        client.commit()
    return [
        ("plain: documents", size / (time.perf_counter() - begun), "a second"),
        ("plain: server", 1000 * (where.server_seconds() - server) / size, "ms CPU a document"),
    ]


def _backfilled(where: Place) -> list[tuple[str, float, str]]:
    """Add the missing sketches of documents, and return the cost."""
    for run in range(1, _MOST_RUNS + 1):
        count, server = million_faults.left(where.url), where.server_seconds()
        try:
            took = ran([*WHORL, "solr", "backfill", where.url])
        except SystemExit as refusal:
            # Solr refuses atomic updates while it replays its log.
            say(str(refusal))
            time.sleep(_BETWEEN_SECONDS)
            continue
        return [
            ("backfill: runs until one ends well", run, "runs"),
            ("backfill: given a sketch by that", count, "documents"),
            ("backfill: wall", took.wall, "s"),
            ("backfill: documents", count / took.wall, "a second"),
            ("backfill: whorl", 1000 * took.cpu / count, "ms CPU a document"),
            ("backfill: server", 1000 * (where.server_seconds() - server) / count, "ms CPU a document"),
            ("backfill: memory", took.peak, "MB"),
            ("backfill: server memory without files", where.server_megabytes(), "MB"),
            ("backfill: without a sketch then", million_faults.left(where.url), "documents"),
        ]
    raise SystemExit(f"no backfill of {where.url} ended well")


def report(figures: Figures) -> Iterator[str]:
    """Yield a Markdown table for each engine: the figures at each size, and the exponent of their growth."""
    for engine in dict.fromkeys(row[0] for row in figures.rows):
        own = [row for row in figures.rows if row[0] == engine]
        sizes = sorted({row[1] for row in own})
        yield f"\n## {engine}\n\n| | {' | '.join(f'{size:,}' for size in sizes)} | exponent |"
        yield "|" + "---|" * (len(sizes) + 2)
        for what, unit in dict.fromkeys((row[2], row[4]) for row in own):
            values = {row[1]: row[3] for row in own if (row[2], row[4]) == (what, unit)}
            cells = [f"{values[size]:,.3g}" if size in values else "" for size in sizes]
            grows = len(values) > 1 and min(values.values()) > 0
            exponent = f"{growth(list(values), list(values.values())):.2f}" if grows else ""
            yield f"| {what}, {unit} | {' | '.join(cells)} | {exponent} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--folder", type=Path, default=DEFAULT_DIRECTORY / "million", help="for documents and stores")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "million.csv")
    parser.add_argument("--only-last", action="store_true", help="measure only at the last size")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--report", action="store_true")
    asked_for = parser.parse_args()
    figures = Figures(asked_for.out)
    if asked_for.report:
        print(*report(figures), sep="\n")
        return
    engines = asked_for.engines.split(",")
    if unknown := set(engines) - set(ENGINES):
        parser.error(f"no engine {min(unknown)!r}; there are {', '.join(ENGINES)}")
    documents = asked_for.folder / "documents.jsonl"
    if not documents.exists():
        million_texts.main([str(documents)])
    count = asked_for.documents
    truth = truth_of(documents, asked_for.folder / "truth.npz", lambda done: say(f"truth: {done:,} documents"))
    least = min(FIRST, len(truth.ids))
    if not least <= count <= len(truth.ids):
        sys.exit(f"--documents is {least:,} to {len(truth.ids):,} (the sources are among the first), got {count:,}")
    if asked_for.faults:
        for engine in engines:
            if not figures.has(engine, count, "faults"):
                figures.add(engine, count, million_faults.faults(engine, documents, count))
        return
    for engine in engines:
        if engine == "solr-backfill":
            backfill(documents, count, figures)
        else:
            before = () if engine == "cloud" or asked_for.only_last else (size for size in SIZES if size < count)
            measure(engine, documents, truth, [*before, count], figures)


if __name__ == "__main__":
    main()
