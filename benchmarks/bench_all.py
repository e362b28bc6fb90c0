"""Runs all benchmarks, one after the other, draws the pictures, and lists which recorded results changed.

    python benchmarks/bench_all.py [--only bench-parsing,bench-startup] [--except bench-million] [--changes]

Runs every `bench-…` target of the Makefile, which takes a night; a target that fails is reported and the next one runs.
The output of each target is in benchmarks/data/bench-all/TARGET.log. Then compares the CSV files in benchmarks/results
with the last commit: lists rows whose numbers differ by more than a tenth, and rows that are new or gone. Of other
files it says only that they differ. --changes only compares.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT, RESULTS, LOGS = HERE.parent, HERE / "results", HERE / "data" / "bench-all"
#: Smaller differences between two runs are noise of the machine.
TOLERANCE = 0.1

#: Columns with numbers that are conditions of a measurement, not results.
CONDITIONS = {
    *("threshold", "wanted", "documents", "codes", "workers", "segments"),
    *("source_size", "hit_size", "phases", "hashes"),
}
#: Columns with the date, the load and the versions of a measurement.
CIRCUMSTANCES = {"date", "load", "version", "whorl", "python", "tantivy", "solr"}

#: The measured numbers of each row by column. A row is identified by its texts and conditions, and by a number if
#: several rows have the same texts and conditions.
Table = Mapping[tuple[str, int], Mapping[str, float]]


def targets() -> list[str]:
    """Return the benchmark targets of the Makefile, in its order."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return [target for target in re.findall(r"^(bench-[a-z-]+):", makefile, re.MULTILINE) if target != "bench-all"]


def table(text: str) -> Table:
    """Read a CSV file of results."""
    runs: dict[tuple[str, int], dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        columns = [column for column in row if column not in CIRCUMSTANCES]
        measured = {
            column: number
            for column in columns
            if column not in CONDITIONS and (number := _number(row[column])) is not None
        }
        key = ", ".join(row[column] for column in columns if column not in measured and row[column])
        runs[key, sum(1 for other, _ in runs if other == key)] = measured
    return runs


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def changes(before: Table, after: Table) -> Iterator[str]:
    """Describe the rows that differ by more than the tolerance, one line each."""
    for key, measured in after.items():
        if key not in before:
            yield f"new: {key[0]}"
            continue
        for column, value in measured.items():
            old = before[key].get(column)
            if old is not None and abs(value - old) > TOLERANCE * max(abs(old), abs(value)):
                ratio = f" ({value / old:.2f} times)" if old else ""
                yield f"{key[0]}: {column} {old:g} -> {value:g}{ratio}"
    for key in before:
        if key not in after:
            yield f"gone: {key[0]}"


def changed_results() -> Iterator[str]:
    """Compare all results with the last commit: numbers of CSV files, and whether other files differ."""
    for path in sorted(path for path in RESULTS.iterdir() if path.is_file()):
        show = ["git", "show", f"HEAD:./{path.relative_to(HERE)}"]
        before = subprocess.run(show, cwd=HERE, capture_output=True, text=True, check=False).stdout
        after = path.read_text(encoding="utf-8")
        if path.suffix != ".csv":
            if before != after:
                yield f"{path.name} differs"
        elif lines := list(changes(table(before), table(after))):
            yield f"{path.name}:"
            yield from (f"  {line}" for line in lines)


def run(target: str) -> str:
    """Run a target of the Makefile; return how it ended."""
    LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with (LOGS / f"{target}.log").open("wb") as log:
        status = subprocess.run(
            ["make", target], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False
        ).returncode
    took = f"{(time.monotonic() - begin) / 60:.1f} minutes"
    return f"{target}: {took}" if status == 0 else f"{target}: failed after {took}, see {log.name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="targets to run, separated by commas")
    parser.add_argument("--except", dest="left_out", default="", help="targets to leave out, separated by commas")
    parser.add_argument("--changes", action="store_true", help="run nothing; compare the results with the last commit")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else targets()
    left_out = set(filter(None, arguments.left_out.split(",")))
    if unknown := sorted({*wanted, *left_out} - set(targets())):
        parser.error(f"unknown: {', '.join(unknown)}; the targets are {', '.join(targets())}")
    failed = False
    for target in () if arguments.changes else (target for target in wanted if target not in left_out):
        print(ended := run(target), flush=True)
        failed |= ": failed after" in ended
    if not arguments.changes:
        subprocess.run(["make", "pictures"], cwd=ROOT, check=True)
    print("\n".join(changed_results()) or "No recorded result differs from the last commit by more than a tenth.")
    sys.exit(failed)


if __name__ == "__main__":
    main()
