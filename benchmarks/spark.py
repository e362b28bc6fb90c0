"""Measures bytes and CPU seconds per document of each step of the duplicate search on Spark.

    python benchmarks/spark.py [FILE] [--documents N] [--words N] [--template SHARE] [--whole] [--new SHARE]

Spark runs here, with two workers. Seconds are the processor time of its processes, so other work hardly counts; Spark
is started, and the loops are compiled, beforehand on a few documents. Bytes come from Spark's own event log. `whorl
duplicates` does the same work in one process, and the results are compared. At the end comes the estimate of
docs/spark.md for a billion such documents.

--new lets a random share of the documents arrive on a second day. The cost of both days with a state is compared with
the cost of the second day with the first day's documents as a reference.

--words cuts short texts out of the file (`duplicates_texts.short_texts`). --template puts one text of 400 words in
front of a share of the documents, which by itself does not make them duplicates.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from duplicates_texts import short_texts
from whorl.duplicates import parse_pair_options
from whorl.duplicates.options import DuplicatesOptions
from whorl.duplicates.prefix_lengths import JoinOptions
from whorl.duplicates.run import FILES_SCHEME
from whorl.duplicates.sketching import Sketching
from whorl.duplicates.spark.clusters import components
from whorl.duplicates.spark.compare_sketches import verify_candidates
from whorl.duplicates.spark.prefix_filter import find_candidates
from whorl.duplicates.spark.read_files import parts_of, read
from whorl.duplicates.spark.run import SETTINGS, run
from whorl.duplicates.spark.sketch_documents import load_documents
from whorl.operations import DuplicatesOperation

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks" / "data" / "main.jsonl"
WARM, TEMPLATE = 300, 400
BILLION = 10**9
#: Assumed price of one core with 4 GB in a large cloud, rented for a while: dollars an hour.
CORE_HOUR = 0.04


def processor_seconds() -> tuple[float, float]:
    """Return the processor time of this process and its descendants, and Java's part."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    java: set[int] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name, _, content = (folder / "stat").read_text().rpartition(")")
            except OSError:
                continue
            fields = content.split()
            if name.endswith("(java"):
                java.add(int(folder.name))
            parents[int(folder.name)] = int(fields[1])
            # Its own time, and that of its children that ended.
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    total, of_java = (sum(ticks[pid] for pid in pids) / os.sysconf("SC_CLK_TCK") for pids in (ours, ours & java))
    return total, of_java


def events(log: Path, kind: str) -> list[dict[str, Any]]:
    """Return the events of Spark's log."""
    files = (file for file in log.rglob("*") if file.is_file())
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    begin = f'{{"Event":"SparkListener{kind}"'
    return [json.loads(line) for line in lines if line.startswith(begin) and line.endswith("}")]


def shuffled(log: Path) -> int:
    """Return the bytes that were written for other tasks so far, compressed as on the network."""
    shuffle_metrics = (
        (event.get("Task Metrics") or {}).get("Shuffle Write Metrics", {}) for event in events(log, "TaskEnd")
    )
    return sum(metrics.get("Shuffle Bytes Written", 0) for metrics in shuffle_metrics)


def stages(log: Path) -> int:
    """Return the number of completed stages."""
    return len(events(log, "StageCompleted"))


def session(log: Path, master: str = "local[2]") -> SparkSession:
    """Start Spark, or connect to a running Spark."""
    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master).appName("benchmark")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    made.sparkContext.pythonExec = sys.executable
    return made


class Steps:
    """Measures steps one after the other."""

    def __init__(self, log: Path, documents: int) -> None:
        self._log, self._documents = log, documents
        self.seconds: dict[str, float] = {}
        self.begin()

    def begin(self) -> None:
        self._seconds, self._bytes, self._stages = processor_seconds(), shuffled(self._log), stages(self._log)

    def end(self, name: str) -> None:
        """End a step, and print its cost."""
        # Executors log their results a moment later.
        time.sleep(1)
        took, of_java = (now - then for now, then in zip(processor_seconds(), self._seconds, strict=True))
        self.seconds[name] = took
        per_document = (shuffled(self._log) - self._bytes) / self._documents
        print(
            f"{name:<13}{took:>8.1f} s ({of_java:.1f} of Java)  {took / self._documents * 1000:>7.3f} ms, "
            f"{per_document:>8,.0f} bytes shuffled,{stages(self._log) - self._stages:>4} stages",
            flush=True,
        )
        self.begin()


def search(spark: SparkSession, path: str, steps: Steps | None) -> None:
    """Search for duplicates, step by step."""
    texts, question = read(spark, [path]), parse_pair_options("jaccard", 80, 95)
    sketching = Sketching(DuplicatesOptions(), FILES_SCHEME)
    documents = load_documents(texts, sketching, parts_of(texts))
    if steps:
        steps.end("sketches")
    frames = [candidate.pairs for candidate in find_candidates(documents, JoinOptions(question))]
    if steps:
        steps.end("candidates")
    pairs = documents.cache.materialise(verify_candidates(reduce(DataFrame.unionByName, frames), documents, question))
    pair_count = pairs.count()
    if steps:
        steps.end("verification")
    components(pairs, documents.cache).count()
    if steps:
        steps.end("components")
        candidates = [sum(len(row.receivers) // 8 for row in frame.select("receivers").collect()) for frame in frames]
        count = documents.documents
        average = f"{sum(candidates) / count:.2f} candidates, {pair_count / count:.2f} pairs a document"
        print(f"{average}; rounds: {len(frames)}")
    documents.cache.release()


def whole(spark: SparkSession, path: str, folder: Path, steps: Steps, count: int) -> None:
    """Run the whole command on Spark and in one process, and compare the results."""
    local = in_one_process(path, folder)
    steps.end("one process")
    began = time.monotonic()
    run([path], DuplicatesOperation(output=str(folder / "spark")), spark)
    took = time.monotonic() - began
    steps.end("Spark")
    same = clusters_in([local]) == clusters_in((folder / "spark").glob("*.json"))
    ratio = steps.seconds["Spark"] / steps.seconds["one process"]
    print(f"{took:.1f} s by the clock; {ratio:.2f} times the CPU of one process; the same clusters: {same}")
    hours = steps.seconds["Spark"] / count * BILLION / 3600
    print(
        f"{count / steps.seconds['Spark']:,.0f} documents a second of one core; a billion: {hours:,.0f} core-hours, "
        f"{hours * CORE_HOUR:,.0f} dollars at {CORE_HOUR} an hour"
    )


def in_one_process(path: str, folder: Path, *options: str) -> Path:
    """Return the file of clusters that `whorl duplicates` writes."""
    local = folder / "local.jsonl"
    whorl = str(Path(sys.executable).parent / "whorl")
    command = [whorl, "duplicates", path, "--format", "json", "-o", str(local), "--workers", "1", *options]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return local


def two_days(spark: SparkSession, path: str, folder: Path, steps: Steps, share: float) -> None:
    """Compare documents of a second day with those of the first."""
    chance, days = random.Random(1), [folder / "first.jsonl", folder / "second.jsonl"]
    with open(path, encoding="utf-8") as lines, days[0].open("w") as first, days[1].open("w") as second:
        for line in lines:
            (second if chance.random() < share else first).write(line)
    state, local_state = (str(folder / name) for name in ("seen on Spark", "seen in one process"))
    for day, number in zip(days, ("first", "second"), strict=True):
        run([str(day)], DuplicatesOperation(output=str(folder / number), state=state, new=True), spark)
        steps.end(f"{number} day")
    size = sum(path.stat().st_size for path in Path(state).rglob("*.parquet"))
    reference = folder / "with a reference"
    run([str(days[1])], DuplicatesOperation(output=str(reference), reference=(str(days[0]),)), spark)
    steps.end("by reference")
    for day in days:
        local = in_one_process(str(day), folder, "--state", local_state, "--new")
    same = clusters_in([local]) == clusters_in((folder / "second").glob("*.json"))
    print(f"a state of {size / 1e6:.1f} MB; the clusters of the second day are those of one process: {same}")


def clusters_in(files: Iterable[Path]) -> set[frozenset[str]]:
    """Return the ids of the members of each cluster."""
    lines = (json.loads(line) for file in files for line in file.open(encoding="utf-8"))
    return {frozenset(member["id"] for member in row["members"]) for row in lines}


def main() -> None:
    parser = asking(__doc__)
    parser.add_argument("--whole", action="store_true", help="only the whole command, not step by step before")
    parser.add_argument("--new", type=float, default=0, help="share of the documents that come on a second day")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").mkdir()
        spark = session(folder / "log")
        count = write_texts(options, folder / "all.jsonl")
        with (folder / "all.jsonl").open(encoding="utf-8") as lines:
            (folder / "warm.jsonl").write_text("".join(islice(lines, WARM)), encoding="utf-8")
        search(spark, f"{folder}/warm.jsonl", None)
        kind = f"texts of {options.words} words of" if options.words else "documents of"
        print(f"{count:,} {kind} {options.file.name}; for each of them:")
        steps = Steps(folder / "log", count)
        if not (options.whole or options.new):
            search(spark, f"{folder}/all.jsonl", steps)
        steps.begin()
        if options.new:
            two_days(spark, f"{folder}/all.jsonl", folder, steps, options.new)
        else:
            whole(spark, f"{folder}/all.jsonl", folder, steps, count)
        spark.stop()


def asking(what: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that select the texts."""
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=DATA, help="JSON lines with id and text")
    parser.add_argument("--documents", type=int, help="how many of them, spread over the file; all without it")
    parser.add_argument("--words", type=int, help="cut texts of so many words out of them")
    parser.add_argument("--template", type=float, default=0, help="share of them that one text is put in front of")
    return parser


def write_texts(options: argparse.Namespace, path: Path) -> int:
    """Write the texts as JSON lines, and return their number."""
    texts: Iterable[tuple[str, str]]
    if options.words:
        texts = (
            (f"{at:08}", text) for at, text in enumerate(short_texts(options.file, options.words, options.documents))
        )
    else:
        lines = options.file.read_text(encoding="utf-8").splitlines()
        step = max(1, len(lines) // (options.documents or len(lines)))
        rows = map(json.loads, lines[::step])
        # Sort by id, the only order on Spark.
        texts = sorted((row["id"], row["text"]) for row in rows)
    template = " ".join(f"template{at}" for at in range(TEMPLATE))
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for count, (document_id, text) in enumerate(texts, start=1):
            has_it = count * options.template % 1 < options.template
            out.write(json.dumps({"id": document_id, "text": f"{template} {text}" if has_it else text}) + "\n")
    return count


if __name__ == "__main__":
    main()
