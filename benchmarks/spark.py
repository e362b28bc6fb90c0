"""What the search for duplicates on Spark takes of a document: bytes, rows and seconds of a processor, step by step.

    python benchmarks/spark.py [FILE] [--documents N]

Spark runs here, with two workers. Seconds are those that its processes spent on the processor, so that what else the
machine does hardly counts; starting Spark, and compiling the loops, is done before on a few documents. Bytes are those
of Spark's own event log. What comes last is the arithmetic of docs/spark.md for a billion such documents.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from whorl.duplicates import ask_pairs
from whorl.duplicates.gathering import FILES_SCHEME
from whorl.duplicates.schedule import rounds
from whorl.duplicates.spark.candidates import hash_rows, join_candidates
from whorl.duplicates.spark.components import components
from whorl.duplicates.spark.documents import gathered, read
from whorl.duplicates.spark.frames import settled
from whorl.duplicates.spark.verify import verified_pairs
from whorl.fingerprint.compiled.kernel import DEFAULT_SCHEME

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks" / "data" / "main.jsonl"
WARM = 300
BILLION = 10**9
#: Assumed: dollars for an hour of one core with 4 GB, of a large cloud, rented for a while.
CORE_HOUR = 0.04


def processor_seconds() -> float:
    """Return what this process and all that came of it have spent on the processor, as Linux tells it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            # Its own, and those of its children that ended.
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[each] for each in ours) / os.sysconf("SC_CLK_TCK")


def shuffled(log: Path) -> int:
    """Return the bytes that were written for other tasks so far, as they go over the network: compressed."""
    total = 0
    for file in log.rglob("*"):
        if file.is_file():
            for line in file.read_text(encoding="utf-8").splitlines():
                if line.startswith('{"Event":"SparkListenerTaskEnd"') and line.endswith("}"):
                    metrics = json.loads(line).get("Task Metrics") or {}
                    total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def session(log: Path) -> SparkSession:
    """Start Spark."""
    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.files.maxPartitionBytes": "16m",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    made.sparkContext.pythonExec = sys.executable
    return made


class Steps:
    """Steps that are measured, one after the other."""

    def __init__(self, log: Path, documents: int) -> None:
        self._log, self._documents = log, documents
        self._seconds, self._bytes = processor_seconds(), shuffled(log)
        self.seconds: dict[str, float] = {}

    def end(self, name: str) -> None:
        """End a step, and say what it took."""
        seconds, sent = processor_seconds(), shuffled(self._log)
        took = seconds - self._seconds
        self.seconds[name] = took
        per_document = (sent - self._bytes) / self._documents
        print(
            f"{name:<13}{took:>8.1f} s  {took / self._documents * 1000:>7.2f} ms, {per_document:>8,.0f} bytes shuffled"
        )
        self._seconds, self._bytes = seconds, sent


def search(texts: DataFrame, steps: Steps | None, told: Counter[str]) -> None:
    """Carry out a search, step by step."""
    question = ask_pairs("jaccard", 80, 95)
    given = gathered(texts, DEFAULT_SCHEME, FILES_SCHEME)
    documents = given.documents
    if steps:
        steps.end("sketches")
        row = documents.agg(
            f.count("*"), f.sum("size"), f.sum(f.length("hashes")), f.max(f.length("hashes"))
        ).collect()[0]
        told["compared"], told["shingles"], told["bytes"] = row[0], row[1], row[2]
        first = rounds(question, row[3] // 5)[0]
        told["rows"] = hash_rows(documents, FILES_SCHEME, first).count()
        steps.end("(counting)")
    met = settled(join_candidates(documents, FILES_SCHEME, question).pairs)
    if steps:
        steps.end("candidates")
        told["candidates"] = met.count()
    pairs = settled(verified_pairs(met, documents, FILES_SCHEME, question))
    if steps:
        steps.end("verification")
        told["pairs"] = pairs.count()
    components(pairs).count()
    if steps:
        steps.end("components")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=DATA, help="JSON lines with id and text")
    parser.add_argument("--documents", type=int, help="how many of them, spread over the file; all without it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(Path(folder))
        lines = options.file.read_text(encoding="utf-8").splitlines(keepends=True)
        step = max(1, len(lines) // (options.documents or len(lines)))
        for name, some in (("warm", lines[:: max(1, len(lines) // WARM)]), ("all", lines[::step])):
            (Path(folder) / f"{name}.jsonl").write_text("".join(some), encoding="utf-8")
        search(read(spark, [f"{folder}/warm.jsonl"]), None, Counter())
        count = len(lines[::step])
        print(f"{count:,} documents of {options.file.name}; for each of them:")
        steps, told = Steps(Path(folder), count), Counter[str]()
        search(read(spark, [f"{folder}/all.jsonl"]), steps, told)
        spark.stop()
    each = {name: told[name] / told["compared"] for name in told}
    print(
        f"{each['shingles']:,.0f} shingles, {each['bytes']:,.0f} bytes of sketch, {each['rows']:.1f} hashes looked at"
    )
    print(f"{each['candidates']:.2f} candidates, {each['pairs']:.2f} pairs")
    seconds = sum(took for name, took in steps.seconds.items() if not name.startswith("("))
    hours = seconds / count * BILLION / 3600
    print(
        f"{count / seconds:,.0f} documents a second of one core; a billion: {hours:,.0f} core-hours, "
        f"{hours * CORE_HOUR:,.0f} dollars at {CORE_HOUR} an hour"
    )


if __name__ == "__main__":
    main()
