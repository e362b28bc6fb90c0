"""Runs all benchmarks, one after the other, draws the pictures, and lists which recorded results changed.

    python benchmarks/bench_all.py [--only bench-parsing,startup.txt] [--except bench-million] [--changes]

Runs every `bench-…` target of the Makefile, the `prove-…` targets that record figures, and the commands below,
which takes a night or two; a step that fails is reported and the next one runs. The output of each step is in
benchmarks/data/bench-all/STEP.log. Then compares the CSV files in benchmarks/results
with the last commit: lists rows whose numbers differ by more than a tenth, and rows that are new or gone. Of other
files it says only that they differ. --changes only compares.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
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

#: Targets of the Makefile that record figures, in addition to the benchmarks.
PROOFS = (
    "fuzz",
    *(f"prove-{name}" for name in ["bombs", "engines", "flips", "kills", "quotations", "servers", "sources"]),
)
#: Arguments of `similar.py` for collections other than that of `make bench-similar`.
_SIMILAR_57000 = "--documents 57000 --sources 20 --rounds 5 --segments 15,1 --solr-only"
_SIMILAR_MILLION = "--million data/million --documents 1000000 --sources 40 --rounds 5 --thresholds 50,80,90"
_SIMILAR_PARAGRAPHS = "--documents 60000 --sources 20 --rounds 3 --warm 15 --thresholds 50,80,90 --solr-only"
#: Recorded files, and the script with its arguments, in the folder benchmarks, that renews each of them.
COMMANDS = {
    "copies.csv": "copies.py --csv results/copies.csv",
    "duplicates-lines.csv": "duplicates_scaling.py --lines data/million/documents.jsonl --rounds 1",
    "million-embedded.csv": "million.py --engines embedded --only-last --out results/million-embedded.csv",
    "million-pages.txt": "million_pages.py",
    "similar-57000.csv": f"similar.py {_SIMILAR_57000} --out results/similar-57000.csv",
    "similar-million.csv": f"similar.py {_SIMILAR_MILLION} --out results/similar-million.csv",
    "similar-paragraphs.csv": f"similar.py data/million/documents.jsonl {_SIMILAR_PARAGRAPHS}"
    " --out results/similar-paragraphs.csv",
    "solr-bytes.csv": "solr_bytes.py",
}
#: The same for scripts that print their figures: the file gets their output.
PRINTING_COMMANDS = {
    "boilerplate-cost.txt": "boilerplate.py --cost",
    "fingerprint.txt": "fingerprint.py --rounds 7",
    "identity.txt": "identity.py data",
    "identity-opensearch.txt": "identity_opensearch.py data",
    "passage-sizes.txt": "passage_sizes.py",
    "service-costs.txt": "service_costs.py --rounds 15 --requests 100",
    "short-texts.txt": "short_texts.py",
    "spark.txt": "spark.py --documents 1000000 --words 60 --whole",
    "startup.txt": "startup.py --rounds 15",
}
#: Recorded files that no step renews, and the reason.
KEPT = {
    "busy": "runs on a busy machine, beside the records of a quiet one",
    "queries-beside.csv": "compares with another version, and its store",
    "similar-costs.txt": "constants of plans, measured in a Solr of many segments that `similar.py --keep` has filled",
}
#: Recorded files that a target of the Makefile renews, by target.
RENEWED = {
    "bench-accuracy": ("accuracy.csv", "accuracy-errors.csv", "accuracy-schemes.csv"),
    "bench-boilerplate": ("boilerplate.csv",),
    "bench-calibration": ("calibration.csv",),
    "bench-contamination": ("contamination.csv",),
    "bench-duplicates": (
        *("duplicates.csv", "duplicates-short.csv", "duplicates-short-clusters.csv", "duplicates-pieces.csv"),
        *("duplicates-descriptions.csv", "duplicates-installed.csv"),
    ),
    "bench-duplicates-accuracy": ("duplicates-accuracy.csv",),
    "bench-duplicates-scaling": ("duplicates-scaling.csv", "duplicates-boilerplate.csv"),
    "bench-engines": ("engines.csv",),
    "bench-gate": ("gate.csv",),
    "bench-hamming": ("hamming.csv", "hamming_commands.csv"),
    "bench-indexing": ("indexing.csv", "server-indexing.csv"),
    "bench-licences": ("licences.csv",),
    "bench-load": (
        *("load-solr.csv", "load-solr.txt"),
        *("throughput-embedded.csv", "throughput-opensearch.csv", "throughput-solr.csv"),
    ),
    "bench-memory": ("memory.txt",),
    "bench-million": ("million.csv",),
    "bench-opensearch": ("opensearch.csv", "opensearch-index.csv"),
    "bench-parsing": ("parsing.txt",),
    "bench-passages": ("passages.csv",),
    "bench-queries": ("queries.csv",),
    "bench-similar": ("similar.csv",),
    "bench-simhash-quality": ("simhash-quality.csv", "simhash-speed.txt"),
    "bench-sizes": ("index-sizes.csv",),
    "bench-uploads": ("uploads.csv",),
    "fuzz": ("fuzz.txt", "fuzz-files.txt", "fuzz-requests.txt"),
    "prove-bombs": ("bombs.csv",),
    "prove-engines": ("same-answers.txt",),
    "prove-flips": ("flips.txt",),
    "prove-kills": ("kills.txt",),
    "prove-quotations": ("quotations.csv",),
    "prove-servers": ("servers.csv",),
    "prove-sources": ("sources.csv",),
}
#: Benchmarks that only print their figures, and are in `PRINTING_COMMANDS`.
ONLY_PRINTING = {"bench-service", "bench-spark", "bench-startup"}

#: The measured numbers of each row by column. A row is identified by its texts and conditions, and by a number if
#: several rows have the same texts and conditions.
Table = Mapping[tuple[str, int], Mapping[str, float]]


def steps() -> list[str]:
    """Return the names of all steps: benchmarks in the order of the Makefile, proofs, and files of commands."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    benchmarks = re.findall(r"^(bench-[a-z-]+):", makefile, re.MULTILINE)
    left_out = {"bench-all", *ONLY_PRINTING}
    return [*(target for target in benchmarks if target not in left_out), *PROOFS, *COMMANDS, *PRINTING_COMMANDS]


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


def run(step: str) -> str:
    """Run a step; return how it ended."""
    LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    arguments = {**COMMANDS, **PRINTING_COMMANDS}.get(step, "").split()
    command, folder = ([sys.executable, *arguments], HERE) if arguments else (["make", step], ROOT)
    with (LOGS / f"{step}.log").open("wb") as log:
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.PIPE if step in PRINTING_COMMANDS else log, stderr=log, check=False
        )
        log.write(done.stdout or b"")
    took = f"{(time.monotonic() - begin) / 60:.1f} minutes"
    if done.returncode:
        return f"{step}: failed after {took}, see {log.name}"
    if step in PRINTING_COMMANDS:
        date, load = f"{datetime.now(tz=UTC):%Y-%m-%d}", f"{os.getloadavg()[2]:.1f}"
        heading = f"# python benchmarks/{PRINTING_COMMANDS[step]}, {date}, load average {load}\n"
        (RESULTS / step).write_bytes(heading.encode() + done.stdout)
    return f"{step}: {took}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="steps to run, separated by commas")
    parser.add_argument("--except", dest="left_out", default="", help="steps to leave out, separated by commas")
    parser.add_argument("--changes", action="store_true", help="run nothing; compare the results with the last commit")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else steps()
    left_out = set(filter(None, arguments.left_out.split(",")))
    if unknown := sorted({*wanted, *left_out} - set(steps())):
        parser.error(f"unknown: {', '.join(unknown)}; the steps are {', '.join(steps())}")
    failed = False
    for step in () if arguments.changes else (step for step in wanted if step not in left_out):
        print(ended := run(step), flush=True)
        failed |= ": failed after" in ended
    if not arguments.changes:
        subprocess.run(["make", "pictures"], cwd=ROOT, check=True)
    print("\n".join(changed_results()) or "No recorded result differs from the last commit by more than a tenth.")
    sys.exit(failed)


if __name__ == "__main__":
    main()
