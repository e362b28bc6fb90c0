"""Measures the CPU time of `parse` for typical queries, and of the first query of a process.

    python benchmarks/parsing.py [--rounds N] [--output FILE]          or: make bench-parsing

A figure is the fastest of the rounds, each with many repetitions; the start-up is the median of new processes.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

from whorl import parse

UUID = "2d5d2e4b-0f6c-4a53-9c6f-3f0f0d1a9b70"
QUERIES = {
    "a word": "lease",
    "a fingerprint": "FINGERPRINT:1234_20_80",
    "a fingerprint among conditions": f"FINGERPRINT:{UUID}_70_90 AND TYPE:'cm:content' AND NOT draft",
    "words and signs": '+lease -draft rent "the landlord keeps"~2 contra*',
    "fields and ranges": "cm:name:(annual OR report) AND cm:created:[NOW/DAY-1DAY TO *] AND size:1..9",
    "proximity, fuzzy, boosts": "(big *(3) apple)^2 OR roam~0.8 OR =cm:title:exact^0.5",
    "1 KB of conditions": " OR ".join(
        f'(cm:name:word{number}* AND NOT "some words {number}"^2)' for number in range(22)
    ),
    "1 KB of words": " ".join(f"word{number:03}" for number in range(128)),
}
_FIRST = """
import time
begin = time.process_time()
from whorl import parse
imported = time.process_time()
parse("lease")
print(imported - begin, time.process_time() - imported)
"""


def microseconds(query: str, *, strict: bool, rounds: int) -> float:
    parse(query, strict=strict)
    fastest = float("inf")
    for _ in range(rounds):
        count = 0
        begin = time.process_time()
        while (spent := time.process_time() - begin) < 0.1:
            parse(query, strict=strict)
            count += 1
        fastest = min(fastest, spent / count)
    return 1e6 * fastest


def first(rounds: int) -> tuple[float, float]:
    """Return the processor time of importing the parser and of a process's first query, in milliseconds."""
    command = [sys.executable, "-c", _FIRST]
    outputs = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(rounds)
    ]
    imports, queries = zip(*outputs, strict=True)
    return 1000 * statistics.median(map(float, imports)), 1000 * statistics.median(map(float, queries))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "parsing.txt")
    options = parser.parse_args()
    imports, query = first(options.rounds)
    lines = [
        f"Python {platform.python_version()}, {platform.machine()}",
        f"importing the parser {imports:.0f} ms, the first query of a process (the grammar's tables) {query:.0f} ms",
        "",
        f"{'microseconds':32} {'characters':>10} {'whorl':>8} {'strict':>8}",
    ]
    for name, text in QUERIES.items():
        ours, theirs = (microseconds(text, strict=strict, rounds=options.rounds) for strict in (False, True))
        lines.append(f"{name:32} {len(text):10,} {ours:8,.0f} {theirs:8,.0f}")
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
