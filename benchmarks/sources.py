"""Composes texts of passages from documents with near-copies, and checks that `sources` shows every origin.

    python benchmarks/sources.py [--documents 8000 | --licences] [--texts 1000] [--words N] [--header] [--broken]
                                 [--plain] [--csv FILE] [--each FILE]

Documents are texts found on this machine: licences, sources of manual pages, documentation and code of Python packages.
Long ones are cut into pieces of about 2,000 characters. Families are 500 copies of one document, each with 1 to 12
words replaced. A text has passages of 20 to 60 words from 2 to 15 documents; a third of the passages come from
families. Half of the texts have shuffled words between the passages.

The truth is found by brute force over all runs of 20 words of all documents. It compares runs by weighted sums of word
numbers, not by the hashes that a store keeps. An origin counts if one of the runs of its passage is in no other
document. It is *shown* if it is among the sources, and *covered* if the sources have its passage except two words.
*Words lost* are the words of a text in a run of 20 words of any document that are in no source. All limits are the
default ones.

Then it asks for the sources of the first million characters of all texts together. `--header` puts the same 150 words
at the start of every other document and of each text. `--plain` does the same in a store that keeps no passages;
`--each` writes a line for each text, to compare two runs. `--licences` takes the licences that `licences.py` downloads
as documents, which are one family. `--words` gives each text as many passages as it needs for this number of words.
`--broken` breaks words of the documents by hyphens at the ends of lines; the truth is that of the unbroken documents.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from licences import data_folder, rules
from line_report import Line, report
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.winnowing import PassageScheme

RUN = 20
FAMILIES, COPIES = 8, 500
#: Number of words that may be missing at the ends of a passage whose origin is not shown.
SPARED = 2
#: Number of words of the common header, and number of characters of the long text.
HEADER_WORDS, LONG = 150, 1_000_000
_PLACES = (
    ("/usr/share/common-licenses", "*"),
    (sys.prefix, "**/*LICEN[SC]E*"),
    ("/usr/share/man/man1", "*.gz"),
    ("/usr/share/man/man8", "*.gz"),
    (sys.prefix, "**/*.rst"),
    (sys.prefix, "**/*.md"),
    (sys.prefix, "**/*.txt"),
    (sys.prefix, "**/*.py"),
    ("/usr/share/doc", "**/*.gz"),
    ("/usr/share/doc", "**/copyright"),
    (sys.base_prefix, "lib/python3*/**/*.py"),
)
_PIECE = 2_000
_NUMBERS = np.uint64(0x9E3779B97F4A7C15)

Runs = npt.NDArray[np.uint64]


class Made(NamedTuple):
    """A text, and the document id, start and end (in words) of each passage in it."""

    text: str
    parts: list[tuple[str, int, int]]


class Truth:
    """Runs of words as numbers, made without the hashes that are tested."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._factors = np.random.default_rng(3).integers(1 << 62, size=RUN, dtype=np.uint64) | np.uint64(1)

    def runs(self, words: Iterable[str]) -> Runs:
        """Return a number for each run of words."""
        numbers = np.array([self._numbers.setdefault(word, len(self._numbers) + 1) for word in words], np.uint64)
        numbers *= _NUMBERS
        numbers ^= numbers >> np.uint64(31)
        count = max(0, numbers.size - RUN + 1)
        total = np.zeros(count, np.uint64)
        for at, factor in enumerate(self._factors):
            total += numbers[at : at + count] * factor
        return total


def pieces() -> Iterator[str]:
    """Yield texts of this machine."""
    yielded = set[str]()
    for folder, pattern in _PLACES:
        for path in sorted(Path(folder).glob(pattern)):
            if not path.is_file() or path.stat().st_size > 1_000_000:
                continue
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            text = raw.decode("utf-8", "replace")
            paragraphs, length = list[str](), 0
            for paragraph in [*text.split("\n\n"), ""]:
                paragraphs.append(paragraph)
                length += len(paragraph)
                if length > _PIECE or (not paragraph and length > _PIECE // 4):
                    piece = "\n\n".join(paragraphs)
                    if piece not in yielded:
                        yielded.add(piece)
                        yield piece[: 20 * _PIECE]
                    paragraphs, length = [], 0


def with_header(documents: dict[str, str], header: str) -> dict[str, str]:
    """Put a header at the start of every other document."""
    return {name: f"{header}\n{text}" if number % 2 else text for number, (name, text) in enumerate(documents.items())}


def wrapped(chance: random.Random, quote: str) -> str:
    """Return a text in short lines, with some words hyphenated at their ends."""
    lines, line = list[str](), ""
    for word in quote.split():
        if len(line) > 50 and len(word) > 7 and word.isalpha():
            half = len(word) // 2
            lines.append(f"{line} {word[:half]}-")
            line = word[half:]
        elif len(line) > chance.randint(40, 70):
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n  ".join([*lines, line])


def collection(chance: random.Random, many: int) -> tuple[dict[str, str], list[list[str]]]:
    """Return documents by id, and the ids of each family."""
    pieces_read = list(islice(pieces(), many))
    chance.shuffle(pieces_read)
    documents = {f"piece {number:05}": text for number, text in enumerate(pieces_read)}
    vocabulary = sorted(
        {word for text in pieces_read[:500] for word in text.split() if word.isalpha() and len(word) > 4}
    )
    families = []
    long = [text for text in pieces_read if 250 < len(text.split()) < 2_500]
    for number, base in enumerate(chance.sample(long, FAMILIES)):
        family = []
        for copy in range(COPIES):
            words = base.split(" ")
            for _ in range(chance.randint(1, 12)):
                words[chance.randrange(len(words))] = f"{chance.choice(vocabulary)}{chance.randrange(1_000)}"
            family.append(f"family {number} copy {copy:03}")
            documents[family[-1]] = " ".join(words)
        families.append(family)
    return documents, families


def licences() -> tuple[dict[str, str], list[list[str]]]:
    """Return the texts of licences by id, and one family with all of them."""
    collection_rules = rules(data_folder(Path(__file__).resolve().parent / "data" / "licences"))
    documents = {rule.name: rule.text for rule in collection_rules if rule.kind == "licence"}
    return documents, [list(documents)]


def made(
    chance: random.Random, documents: dict[str, str], families: list[list[str]], least_words: int | None = None
) -> Made:
    """Return a text of passages; with `least_words`, it has as many as it needs for this number of words."""
    # Take two thirds of the passages from documents outside families, if there are any.
    related = {name for family in families for name in family}
    names = [name for name in documents if name not in related] or list(documents)
    with_filler = chance.random() < 0.5
    several = chance.sample(families, min(len(families), chance.randint(1, 3)))
    texts, origins = list[str](), list[tuple[str, int] | None]()
    wanted, used = chance.randint(2, 15), set[str]()
    while len(used) < wanted if least_words is None else len(" ".join(texts).split()) < least_words:
        name = chance.choice(chance.choice(several)) if chance.random() < 1 / 3 else chance.choice(names)
        of_text = words_of(documents[name])
        words = chance.randint(RUN, 60)
        if name in used or len(of_text.words) <= words:
            continue
        start = chance.randrange(len(of_text.words) - words)
        piece = " ".join(documents[name][of_text.spans[start, 0] : of_text.spans[start + words - 1, 1]].split())
        # Letters cut out of a text without blanks may be split into other words.
        if words_of(piece).words == of_text.words[start : start + words]:
            used.add(name)
            texts.append(piece)
            origins.append((name, words))
            if with_filler:
                filler = piece.split()
                chance.shuffle(filler)
                texts.append(" ".join(filler[: chance.randint(3, 20)]))
                origins.append(None)
    parts, at = list[tuple[str, int, int]](), 0
    for text, origin in zip(texts, origins, strict=True):
        count = len(words_of(text).words)
        if origin:
            parts.append((origin[0], at, at + count))
        at += count
    return Made("\n".join(texts), parts)


def measured(options: argparse.Namespace) -> Iterator[Line]:
    """Make a store and texts, ask for their sources, and count."""
    chance, text_count, each_file, plain = random.Random(23), options.texts, options.each, options.plain
    documents, families = licences() if options.licences else collection(chance, options.documents)
    yield "documents", len(documents), ""
    yield "text of the documents", sum(map(len, documents.values())) / 1e6, "million characters"
    samples = [made(chance, documents, families, options.words) for _ in range(text_count)]
    if options.header:
        header = " ".join(f"header{chance.randrange(10**9)}" for _ in range(HEADER_WORDS))
        documents = with_header(documents, header)
        samples = [
            Made(f"{header}\n{text}", [(name, start + HEADER_WORDS, end + HEADER_WORDS) for name, start, end in parts])
            for text, parts in samples
        ]
    truth = Truth()
    own = [truth.runs(words_of(document.text).words) for document in samples]
    wanted = np.unique(np.concatenate(own))
    #: Number of documents that have each run, and one of them.
    counts, owners = np.zeros(wanted.size, np.int64), np.zeros(wanted.size, np.int64)
    names = list(documents)
    for number, text in enumerate(documents.values()):
        runs = np.unique(truth.runs(words_of(text).words))
        places = np.searchsorted(wanted, runs)
        places = places[wanted[np.minimum(places, wanted.size - 1)] == runs]
        counts[places] += 1
        owners[places] = number
    number_of = {name: number for number, name in enumerate(names)}
    with tempfile.TemporaryDirectory() as folder:
        with Store(EmbeddedEngine(Path(folder) / "store", passages=None if plain else PassageScheme())) as store:
            store.index(
                Document(name, wrapped(chance, text) if options.broken else text) for name, text in documents.items()
            )
        with Store(EmbeddedEngine(Path(folder) / "store")) as store:
            store.sources(source=samples[0].text)
            took, read, shown_sources, unread = list[float](), list[int](), list[int](), 0
            origins = shown = covered = missed = lost = texts_lost = 0
            rows = []
            for (text, parts), runs in zip(samples, own, strict=True):
                begin = time.process_time()
                attribution = store.sources(source=text)
                took.append((time.process_time() - begin) * 1000)
                read.append(attribution.read)
                shown_sources.append(len(attribution.sources))
                unread += attribution.unread > 0
                spans = words_of(text).spans
                has = np.zeros(len(spans), np.bool_)
                for source in attribution.sources:
                    for passage in source.passages:
                        has |= (spans[:, 0] >= passage.a[0]) & (spans[:, 1] <= passage.a[1])
                places = np.searchsorted(wanted, runs)
                is_there = np.zeros(len(spans), np.bool_)
                for start in np.flatnonzero(counts[places]).tolist():
                    is_there[start : start + RUN] = True
                lost += int(np.count_nonzero(is_there & ~has))
                texts_lost += bool((is_there & ~has).any())
                ids = {source.id for source in attribution.sources}
                for name, start, end in parts:
                    own_runs = places[start : end - RUN + 1]
                    if not ((counts[own_runs] == 1) & (owners[own_runs] == number_of[name])).any():
                        continue
                    origins += 1
                    if name in ids:
                        shown += 1
                    elif np.count_nonzero(~has[start:end]) <= SPARED:
                        covered += 1
                    else:
                        missed += 1
                rows.append(
                    [
                        attribution.words,
                        attribution.covered_words,
                        len(attribution.sources),
                        attribution.read,
                        round(took[-1], 2),
                    ]
                )
            begin = time.process_time()
            attribution = store.sources(source="\n".join(document.text for document in samples)[:LONG])
            long_took, long_found = time.process_time() - begin, attribution
    if each_file:
        with each_file.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([["words", "covered", "sources", "read", "ms"], *rows])
    yield "texts", text_count, f"of at least {options.words} words" if options.words else "of 2 to 15 documents"
    yield "origins with a run of their own", origins, ""
    yield "origins shown", shown, ""
    yield "origins covered by others", covered, f"but for {SPARED} words"
    yield "origins missed", missed, ""
    yield "words in a run of 20 and in no source", lost, f"in {texts_lost} texts"
    yield "texts with candidates left unread", unread, ""
    yield "words of a text", statistics.mean(row[0] for row in rows), "mean"
    yield "words in sources", sum(row[1] for row in rows), "all texts"
    yield "sources of a text", statistics.mean(shown_sources), "mean"
    yield "documents read for a text", statistics.mean(read), "mean"
    yield "documents read for a text", max(read), "most"
    yield "a question", statistics.median(took), "ms CPU, median"
    yield "a question", statistics.quantiles(took, n=100)[98], "ms CPU, 99th of 100"
    yield "a long text", len(long_found.content), "characters"
    yield "sources of the long text", len(long_found.sources), f"{long_found.unread} candidates left unread"
    yield "the long text", long_took, "s CPU"


def main() -> None:
    """Measure, print and record; exit with an error if an origin is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=8_000)
    parser.add_argument("--licences", action="store_true")
    parser.add_argument("--texts", type=int, default=1_000)
    parser.add_argument("--words", type=int)
    parser.add_argument("--header", action="store_true")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--each", type=Path)
    options = parser.parse_args()
    lines = report(measured(options), options.csv)
    # Words at the ends of passages that documents break can be missed.
    if not (options.plain or options.broken) and any(
        name.endswith(("missed", "no source")) and value for name, value, _ in lines
    ):
        sys.exit("origins or words are missing")


if __name__ == "__main__":
    main()
