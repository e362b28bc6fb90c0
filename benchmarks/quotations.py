"""Verifies quotations made from real texts, and counts correct verdicts.

    python benchmarks/quotations.py [--documents 8000] [--quotations 20000] [--csv FILE] [--wrong FILE]

Documents are those of `sources.py`: texts on this machine, and families of 500 copies of one document. A quotation has
8 to 60 words and a named source. Its kind is the change that was made to it, and determines the right verdict. A
verdict that differs is checked by a plain search through all texts: a quotation counts as exact if its words stand in a
document in this order, whatever the change was, and as misattributed if that is not the named document.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sources import collection, wrapped
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.search.quotations.cited_sources import NamedSource
from whorl.search.quotations.results import Quotation, Verdict
from whorl.search.quotations.verify_quotations import verify_quotations

#: Signs that a kind of change replaces.
_SIGN = re.compile(r"\d\.\d|\d%|[<>]|\$(?=\d)|(?<= )-(?=\d)")
_ELLIPSES = (" ... ", " [...] ", " … ", " . . . ")
_VERB = re.compile(r"\b(is|are|may|can|will|must|shall|be|to)\b")
Change = Callable[[random.Random, str], str | None]


class Part(NamedTuple):
    """Words of a document, with the words of the whole document."""

    source: str
    quote: str
    start: int
    words: list[str]


class Case(NamedTuple):
    """A generated quotation with its right verdict."""

    kind: str
    right: Verdict
    quote: str
    source: str


def replaced(pattern: str | re.Pattern[str], change: Callable[[random.Random, str], str]) -> Change:
    """Return the text with one match of a pattern changed, chosen at random; None if no match changes."""

    def apply(chance: random.Random, quote: str) -> str | None:
        places = [*re.finditer(pattern, quote)]
        if not places:
            return None
        place = chance.choice(places)
        changed = quote[: place.start()] + change(chance, place[0]) + quote[place.end() :]
        return None if plain(changed) == plain(quote) and _SIGN.search(quote) is None else changed

    return apply


def without_sign(_: random.Random, sign: str) -> str:
    """Return another sign, or a number without its sign."""
    return {"<": ">", ">": "<"}.get(sign, sign.strip("%$-").replace(".", ""))


def recased(chance: random.Random, quote: str) -> str:
    return quote.upper() if chance.random() < 0.5 else quote.title()


def typeset(_: random.Random, quote: str) -> str:
    """Return a quotation with typographic marks and a changed first letter."""
    curly = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", quote).replace("'", "\u2019").replace("--", "\u2014")
    return f"[{curly[0]}]{curly[1:]}" if curly[:2].isalpha() else curly


def shuffled(chance: random.Random, quote: str) -> str:
    words = quote.split()
    chance.shuffle(words)
    return " ".join(words)


def chopped(chance: random.Random, quote: str) -> str:
    """Return pieces of three words in another order, each with a word that is in no document."""
    words = quote.split()
    parts = [" ".join([*words[at : at + 3], f"zq{chance.randrange(10**6)}"]) for at in range(0, len(words), 3)]
    chance.shuffle(parts)
    return " ".join(parts)


def other_word(chance: random.Random, _: str) -> str:
    """Return a word that is in no document."""
    return f"qz{chance.randrange(10**6)}"


_WORD_CHANGED = replaced(r"\b[A-Za-z]{4,}\b", other_word)
_NUMBER_CHANGED = replaced(r"\d+", lambda chance, number: str(int(number) + chance.randint(1, 9)))
_NOT_INSERTED = replaced(_VERB, lambda _, verb: f"{verb} not")
#: Changes of one part of a document, by kind.
CHANGES: dict[str, tuple[Verdict, Change]] = {
    "plain": (Verdict.EXACT, lambda _, quote: quote),
    "re-wrapped and hyphenated": (Verdict.EXACT, wrapped),
    "re-cased": (Verdict.EXACT, recased),
    "typographic marks": (Verdict.EXACT, typeset),
    "one word changed": (Verdict.EDITED, _WORD_CHANGED),
    "a number changed": (Verdict.EDITED, _NUMBER_CHANGED),
    "not inserted": (Verdict.EDITED, _NOT_INSERTED),
    "a sign changed": (Verdict.EDITED, replaced(_SIGN, without_sign)),
    "wrong source": (Verdict.MISATTRIBUTED, lambda _, quote: quote),
    "wrong source, one word changed": (Verdict.MISATTRIBUTED, _WORD_CHANGED),
    "shuffled words": (Verdict.ABSENT, shuffled),
    "pieces of three words": (Verdict.ABSENT, chopped),
}
STITCHED = ("ellipsis", "two sources", "two parts of one source")


def plain(text: str) -> str:
    """Return the letters and digits of a text, as words."""
    return " ".join(re.findall(r"[^\W_]+", text.replace("-\n", "").casefold()))


class Maker:
    """Makes quotations from documents.

    Args:
        documents: Texts by id.
        chance: Source of randomness.
    """

    def __init__(self, documents: dict[str, str], chance: random.Random) -> None:
        self._documents, self._chance = documents, chance
        self._names = [name for name, text in documents.items() if text.isascii() and len(text.split()) > 120]

    def cases(self, count: int) -> Iterator[Case]:
        """Yield quotations of all kinds in turn."""
        kinds = [*CHANGES, *STITCHED]
        for number in range(count):
            yield self._case(kinds[number % len(kinds)])

    def _case(self, kind: str) -> Case:
        while True:
            part = self._part(8, 60)
            case = self._changed(kind, part) if kind in CHANGES else self._stitched(kind, part)
            if case is not None:
                return case

    def _changed(self, kind: str, part: Part) -> Case | None:
        right, change = CHANGES[kind]
        quote, source = change(self._chance, part.quote), part.source
        if kind.startswith("wrong"):
            source = self._chance.choice(self._names)
            if quote is None or plain(part.quote) in plain(self._documents[source]):
                return None
        return None if quote is None else Case(kind, right, quote, source)

    def _stitched(self, kind: str, part: Part) -> Case | None:
        words, end = part.quote.split(), part.start + len(part.quote.split())
        if kind == "ellipsis":
            gap, half = self._chance.randint(4, 25), len(words) // 2
            remaining = part.words[part.start + half + gap : end + gap]
            quote = " ".join(words[:half]) + self._chance.choice(_ELLIPSES) + " ".join(remaining)
            return Case(kind, Verdict.STITCHED, quote, part.source) if len(remaining) > 2 else None
        if kind == "two sources":
            other = self._part(8, 30)
            quote = f"{' '.join(words[:30])} {other.quote}"
            return None if other.source == part.source else Case(kind, Verdict.STITCHED, quote, part.source)
        start = self._chance.randrange(len(part.words) - 12)
        if abs(start - part.start) < len(words) + 30:
            return None
        return Case(kind, Verdict.STITCHED, f"{part.quote} {' '.join(part.words[start : start + 12])}", part.source)

    def _part(self, least: int, most: int) -> Part:
        """Return a run of words from a document, mostly letters."""
        while True:
            source = self._chance.choice(self._names)
            text = self._documents[source]
            places = [*re.finditer(r"\S+", text)]
            count = self._chance.randint(least, most)
            start = self._chance.randrange(len(places) - count - 30)
            quote = text[places[start].start() : places[start + count - 1].end()]
            around = text[places[start].start() : places[min(len(places) - 1, start + count + 29)].end()]
            letters = sum(map(str.isalpha, quote))
            is_plain = letters > 0.6 * len(quote) and not re.search(r"\.\s?\.|\[", around)
            if is_plain and len(plain(quote).split()) >= least:
                return Part(source, quote, start, text.split())


def measured(many: int, count: int, wrong: Path | None) -> Iterator[tuple[str, str, int]]:
    """Yield kind, verdict and number of the verdicts, and print the cost."""
    chance = random.Random(31)
    documents, _ = collection(chance, many)
    words = {name: f" {plain(text)} " for name, text in documents.items()}
    tables: defaultdict[str, Counter[str]] = defaultdict(Counter)
    took, falsely_exact, listed = list[float](), 0, list[tuple[str, ...]]()
    with tempfile.TemporaryDirectory() as folder, Store(EmbeddedEngine(Path(folder) / "store")) as store:
        store.index(Document(name, text) for name, text in documents.items())
        for case in Maker(documents, chance).cases(count):
            begin = time.process_time()
            quotation = Quotation(case.quote, None, (NamedSource(case.source, (case.source,)),))
            (verified,) = verify_quotations(store.engine, store.references, "", [quotation]).quotations
            took.append((time.process_time() - begin) * 1000)
            verdict, right = verified.verdict, case.right
            if verdict is not right:
                # A changed quotation may stand in another document.
                quote = f" {plain(case.quote)} "
                having = (
                    [name for name, text in words.items() if quote in text] if case.kind != "a sign changed" else []
                )
                if having and right is not Verdict.EXACT:
                    right = Verdict.EXACT if case.source in having else Verdict.MISATTRIBUTED
                if verdict is not right:
                    listed.append((case.kind, right.value, verdict.value, case.source, case.quote))
                    falsely_exact += verdict is Verdict.EXACT
            tables[f"{case.kind}, {case.right.value}"]["right" if verdict is right else verdict.value] += 1
    if wrong:
        with wrong.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(listed)
    print(f"{len(documents):,} documents, {count:,} quotations", file=sys.stderr)
    shares = np.percentile(took[1:], [50, 99])
    print(f"CPU ms: mean {np.mean(took[1:]):.1f}, median {shares[0]:.1f}, p99 {shares[1]:.0f}", file=sys.stderr)
    print(f"right {count - len(listed):,}, falsely exact {falsely_exact}", file=sys.stderr)
    for kind, verdicts in tables.items():
        for name, number in verdicts.most_common():
            yield kind, name, number


def main() -> None:
    """Make quotations, verify them, and print the verdicts by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=8_000)
    parser.add_argument("--quotations", type=int, default=20_000)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--wrong", type=Path)
    options = parser.parse_args()
    rows = [*measured(options.documents, options.quotations, options.wrong)]
    for kind, verdict, number in rows:
        print(f"{kind:48} {verdict:14} {number:7,}")
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([("kind", "verdict", "quotations"), *rows])


if __name__ == "__main__":
    main()
