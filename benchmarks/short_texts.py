"""Counts how many of the true hits `similar --metric a_in_b` finds for short texts in long documents.

    python benchmarks/short_texts.py [--texts 215] [--threshold 30]

The texts are rules of 6 to 40 words from the package licensedcode-data. The documents are its licences, as
`licences.py` downloads them. A hit has at least the threshold of a text's shingles, counted on sets of words.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from licences import data_folder, rules
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.words.tokenizer import tokens

HERE = Path(__file__).resolve().parent
SHORTEST, LONGEST = 6, 40


def shingles(text: str) -> set[tuple[str, ...]]:
    words = tokens(text)
    return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}


def main() -> None:
    """Search for each text, and print how many of the true hits are found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=215)
    parser.add_argument("--threshold", type=int, default=30)
    options = parser.parse_args()
    collection = list(rules(data_folder(HERE / "data" / "licences")))
    licences = {rule.name: rule.text for rule in collection if rule.kind == "licence"}
    others = [rule.text for rule in collection if rule.kind != "licence"]
    random.Random(5).shuffle(others)
    short = (text for text in others if SHORTEST <= len(tokens(text)) <= LONGEST)
    holders: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for name, text in licences.items():
        for shingle in shingles(text):
            holders[shingle].add(name)
    true = right = wrong = 0
    with tempfile.TemporaryDirectory() as folder, Store(EmbeddedEngine(Path(folder) / "store")) as store:
        store.index(Document(name, text) for name, text in licences.items())
        start = time.process_time()
        for _, text in zip(range(options.texts), short, strict=False):
            own = shingles(text)
            counts = Counter(name for shingle in own for name in holders.get(shingle, ()))
            hits = {name for name, count in counts.items() if 100 * count >= options.threshold * len(own)}
            page = store.similar(source=text, metric="a_in_b", threshold=options.threshold, rows=10_000)
            answered = {hit.hit.id for hit in page.found}
            true, right, wrong = true + len(hits), right + len(hits & answered), wrong + len(answered - hits)
        taken = (time.process_time() - start) * 1_000 / options.texts
    print(f"{len(licences):,} documents, {options.texts:,} texts, {taken:.1f} ms CPU each")
    print(f"{right:,} of {true:,} hits found, {wrong:,} documents found that are no hits")


if __name__ == "__main__":
    main()
