"""Measures the CPU time of small commands, and of a Python that does nothing.

The store of the last two commands has 1,000 documents of 200 words.

    python benchmarks/startup.py [--rounds N] [--before FOLDER]

The commands take turns, so other load on the machine affects all of them; with --before, also those of another
checkout of whorl. Prints the medians in seconds, and the difference to Python alone. The first round warms up and does
not count.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from whorl import Document, open_store

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
DOCUMENTS, DOCUMENT_WORDS = 1_000, 200


def cpu_seconds(command: list[str], checkout: Path, bytecode: Path) -> float:
    """Return the CPU time of a process.

    Args:
        checkout: Checkout of whorl that the command imports.
        bytecode: Folder for compiled modules, as in an installation.
    """
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_store(folder: Path, draw: random.Random) -> None:
    """Make a store; each document shares half of its words with its predecessor."""
    half: list[str] = []
    with open_store(folder) as store:
        documents = []
        for number in range(DOCUMENTS):
            words = half + [f"word{draw.randrange(20_000)}" for _ in range(DOCUMENT_WORDS - len(half))]
            half = words[DOCUMENT_WORDS // 2 :]
            documents.append(Document(f"d{number}", " ".join(words)))
        store.index(documents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--before", type=Path, help="another checkout of whorl, whose commands take turns")
    options = parser.parse_args()
    rounds, checkouts = options.rounds, {"": Path(__file__).parents[1]}
    if options.before:
        checkouts["before"] = options.before
    draw = random.Random(5)
    whorl = str(Path(sysconfig.get_path("scripts")) / "whorl")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("text.txt", "other.txt")]
        for file in files:
            text = " ".join(f"{draw.choice(WORDS)} word{draw.randrange(2000)}" for _ in range(SIZE // 8))
            file.write_text(text[:SIZE])
        store = Path(folder) / "store"
        make_store(store, draw)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "whorl --help": [whorl, "--help"],
            "whorl fingerprint": [whorl, "fingerprint", str(files[0])],
            "whorl compare": [whorl, "compare", *map(str, files)],
            "whorl search": [whorl, "search", "word7", "--store", str(store)],
            "whorl similar": [whorl, "similar", "d7", "--store", str(store)],
        }
        taken: dict[tuple[str, str], list[float]] = {(name, which): [] for name in commands for which in checkouts}
        for number in range(rounds + 1):
            for name, which in taken:
                seconds = cpu_seconds(commands[name], checkouts[which], Path(folder))
                if number:
                    taken[name, which].append(seconds)
    python = statistics.median(taken["python -c pass", ""])
    for names, seconds_of_all in taken.items():
        median, name = statistics.median(seconds_of_all), " ".join(names)
        print(f"{name:25} {median:.3f} s (median of {rounds}), {median - python:.3f} s more than Python alone")


if __name__ == "__main__":
    main()
