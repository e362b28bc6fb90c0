"""Measures clusters of documents that share a frame, with and without common text.

    python benchmarks/boilerplate.py [--only NAME,…] [--line 1%] [--thresholds 80,50] [--csv FILE]
    python benchmarks/boilerplate.py --cost [CORPUS.jsonl]

    javadoc     pages of Debian's openjdk-17-doc, every fifth; the frame is everything except <main>
    posix       man pages of POSIX, from benchmarks/corpus.py; the frame is everything except five sections
    copyright   this machine's /usr/share/doc/*/copyright that programs can read; the frame is the texts of licences
    forms       3,000 made from 30 templates, a tenth of them near-copies of others; the frame is the template

Documents belong together if they are in one connected component of pairs whose parts outside the frame are similar:
their shingles reach the same threshold. Precision: of the pairs of documents in one found cluster, the share that
belong together. Recall: of the pairs that belong together, the share in one found cluster. `--cost` measures the time
for a corpus with and without boilerplate, in turns, as the fastest of three, and the size of the stored hashes.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus import DEFAULT_DIRECTORY, Corpus, Downloads, deb_members, decode
from corpus_texts import texts
from whorl import Document, duplicates_among, parse_boilerplate_options, parse_pair_options
from whorl.duplicates.options import DuplicatesOptions
from whorl.ingest.extraction.extract_text import html_text

MACHINE = Path("/usr/share/doc")
#: Only every n-th page of javadoc is used.
STEP = 5
#: Sections of POSIX pages outside the frame; most of the other sections say "None.".
_SUBJECT = ("SYNOPSIS", "DESCRIPTION", "OPTIONS", "OPERANDS", "RETURN VALUE")
_TEMPLATES, _FORMS = 30, 3_000


class Framed(NamedTuple):
    """A document: its id, its text, and the part of the text outside the frame."""

    id: str
    whole: str
    own: str


def pages(package: str, content: Callable[[str], str], step: int = 1) -> Iterator[Framed]:
    """Yield the pages of a Debian package.

    Args:
        content: Returns the part of a page outside the frame.
        step: Use every n-th page.
    """
    fetched = Downloads(DEFAULT_DIRECTORY / ".cache").fetch(Corpus(package, "debian", (package,), lambda _: iter(())))
    pattern = re.compile(r"\.html(?:\.[a-z.-]+)?$")
    for archive in fetched:
        members = sorted((match.string, content) for match, content in deb_members(archive, pattern))
        for name, raw in members[::step]:
            markup = decode(raw)
            yield Framed(name, html_text(markup), html_text(content(markup)))


def between(begin: str, end: str) -> Callable[[str], str]:
    """Return a function that cuts out the text between two patterns; empty if the first does not match."""

    def part(text: str) -> str:
        first = re.search(begin, text)
        if not first:
            return ""
        last = re.search(end, text[first.end() :])
        return text[first.end() : first.end() + last.start()] if last else text[first.end() :]

    return part


def posix() -> Iterator[Framed]:
    for name, text in texts(DEFAULT_DIRECTORY / "man.jsonl"):
        if name.endswith("posix"):
            sections = re.split(r"(?m)^(?=[A-Z][A-Z /]+$)", text)
            own = [section for section in sections if section.startswith(_SUBJECT)]
            yield Framed(name, text, "".join(own))


def copyrights() -> Iterator[Framed]:
    """Yield this machine's machine-readable copyright files."""
    for file in sorted(MACHINE.glob("*/copyright")):
        text = decode(file.read_bytes())
        if not text.startswith("Format:"):
            continue
        own, is_licence = [], False
        for line in text.splitlines():
            if not line.startswith((" ", "\t")):
                is_licence = line.startswith("License:")
            if not is_licence:
                own.append(line)
        yield Framed(str(file), text, "\n".join(own))


def forms() -> Iterator[Framed]:
    """Yield forms: templates filled in with words of real texts. Some are slightly changed copies of other forms."""
    chance = random.Random(11)
    words = [word for _, text in texts(DEFAULT_DIRECTORY / "spdx.jsonl") for word in text.split()]

    def phrase(count: int) -> list[str]:
        at = chance.randrange(len(words) - count)
        return words[at : at + count]

    templates = [[phrase(chance.randrange(60, 200)) for _ in range(chance.randrange(4, 9))] for _ in range(_TEMPLATES)]
    made: list[tuple[int, int, list[list[str]]]] = []
    for number in range(_FORMS):
        if made and chance.random() < 0.1:
            first, which, filled = chance.choice(made)
            filled = [list(slots) for slots in filled]
            filled[chance.randrange(len(filled))][-1] = chance.choice(words)
        else:
            first, which = number, chance.randrange(_TEMPLATES)
            filled = [[chance.choice(words) for _ in range(chance.randrange(3, 9))] for _ in templates[which]]
        made.append((first, which, filled))
    for number, (first, which, filled) in enumerate(made):
        parts = zip(templates[which], filled, strict=True)
        whole = " ".join(word for printed, written in parts for word in (*printed, *written))
        yield Framed(f"form {number}", whole, " ".join(f"copy{first}of{part}" for part in range(9)))


SETS: dict[str, Callable[[], Iterator[Framed]]] = {
    "javadoc": lambda: pages("openjdk-17-doc", between(r"<main[^>]*>", r"</main>"), STEP),
    "posix": posix,
    "copyright": copyrights,
    "forms": forms,
}


def labels_of(documents: Sequence[Document], threshold: str, line: str | None) -> tuple[np.ndarray, float]:
    """Return the cluster of each document, and the seconds of the search.

    Args:
        threshold: In percent.
        line: Ignore text that is more common than this; None ignores nothing.
    """
    place = {document.id: at for at, document in enumerate(documents)}
    labels, began = np.arange(len(documents)), time.perf_counter()
    common = None if line is None else parse_boilerplate_options(line, ignore_common=True)
    with duplicates_among(
        documents, DuplicatesOptions(parse_pair_options("jaccard", threshold, 100), common=common, spanning_only=True)
    ) as duplicates:
        for cluster in duplicates.clusters():
            there = [place[member.id] for member in cluster.members]
            labels[there] = min(there)
    return labels, time.perf_counter() - began


def pairs_in(*labels: np.ndarray) -> int:
    """Return the number of pairs of documents that have equal labels in each of the given arrays."""
    _, counts = np.unique(np.stack(labels), axis=1, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())


def measured(name: str, thresholds: Sequence[str], lines: Sequence[str]) -> Iterator[list[object]]:
    """Yield a row for a set and threshold with all text, and one for each limit of common text."""
    made = list(SETS[name]())
    documents = [Document(document.id, document.whole) for document in made]
    parts = [Document(document.id, document.own) for document in made]
    labels_of(documents[:50], "80", None)
    for threshold in thresholds:
        right, _ = labels_of(parts, threshold, None)
        for line in (None, *lines):
            labels, seconds = labels_of(documents, threshold, line)
            together, wanted, both = pairs_in(labels), pairs_in(right), pairs_in(labels, right)
            sizes = np.unique(labels, return_counts=True)[1]
            clusters, largest = int((sizes > 1).sum()), int(sizes.max(initial=0))
            shares = f"{both / together if together else 1:.3f}", f"{both / wanted if wanted else 1:.3f}"
            counts = clusters, largest, together
            yield [name, threshold, len(made), wanted, line or "nothing", *counts, *shares, f"{seconds:.1f}"]


def cost(corpus: Path) -> None:
    """Print the cost of ignoring common text in a corpus."""
    documents = [Document(name, text) for name, text in texts(corpus)]
    labels_of(documents[:50], "80", None)
    rounds = [[labels_of(documents, "80", line)[1] for line in (None, "1%")] for _ in range(3)]
    plain, without = (min(seconds) for seconds in zip(*rounds, strict=True))
    common = parse_boilerplate_options("1%", ignore_common=True)
    with duplicates_among(
        documents, DuplicatesOptions(parse_pair_options("jaccard", "80", 100), common=common, spanning_only=True)
    ) as duplicates:
        residual = duplicates.residual
        assert residual is not None
        left_bytes = residual.sketches.hashes.nbytes
    size = sum(len(document.text.encode()) for document in documents)
    print(f"{len(documents):,} documents, {size / 1e6:,.0f} MB: {plain:.1f} s, without what is common {without:.1f} s")
    print(
        f"{residual.shingles:,} shingles are common, {residual.share:.1%} of all text; "
        f"{left_bytes / 1e6:,.0f} MB of hashes are left"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SETS), help="sets, by name")
    parser.add_argument("--line", default="1%", help="above what is common, several with commas between them")
    parser.add_argument("--thresholds", default="80,50", help="in percent")
    parser.add_argument("--cost", nargs="?", type=Path, const=DEFAULT_DIRECTORY / "main.jsonl", metavar="CORPUS.jsonl")
    parser.add_argument("--csv", type=Path, help="where the figures are written, too")
    arguments = parser.parse_args()
    if arguments.cost:
        cost(arguments.cost)
        return
    heads = (
        *("set", "threshold", "documents", "alike", "left out", "clusters", "largest", "pairs"),
        *("precision", "recall", "seconds"),
    )
    rows: list[Sequence[object]] = [heads]
    print("  ".join(f"{head:>10}" for head in heads))
    for name in arguments.only.split(","):
        for row in measured(name, arguments.thresholds.split(","), arguments.line.split(",")):
            rows.append(row)
            print("  ".join(f"{value!s:>10}" for value in row), flush=True)
    if arguments.csv:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
