"""Time the whole process of `whorl fingerprint FILE` on a text of 20 KB, and of a Python that does nothing.

    python benchmarks/startup.py [--rounds N]

The processes take turns, so that what else the machine does befalls both; printed are the medians in seconds and their
difference. Files are read once before, so that they come from memory.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "that",
    "is",
    "was",
    "for",
    "with",
    "as",
    "by",
    "on",
    "not",
    "he",
    "be",
    "at",
    "from",
    "this",
    "or",
    "have",
    "an",
    "they",
    "which",
    "you",
]
SIZE = 20_000


def seconds(command: list[str]) -> float:
    """Return the duration of a process."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    draw = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        text = " ".join(f"{draw.choice(WORDS)} word{draw.randrange(2000)}" for _ in range(SIZE // 8))
        file.write_text(text[:SIZE])
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "whorl fingerprint": [str(Path(sysconfig.get_path("scripts")) / "whorl"), "fingerprint", str(file)],
        }
        for command in commands.values():
            seconds(command)
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                taken[name].append(seconds(command))
    medians = {name: statistics.median(each) for name, each in taken.items()}
    for name, median in medians.items():
        print(f"{name:18} {median:.3f} s (median of {rounds})")
    print(f"{'more':18} {medians['whorl fingerprint'] - medians['python -c pass']:.3f} s for a text of {SIZE:,} bytes")


if __name__ == "__main__":
    main()
