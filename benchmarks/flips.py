"""Flips single bits in the files of an embedded store: answers must stay the same or become errors.

Each time, one bit of a copied store is flipped, and the store answers queries of every kind. Half of the bits are
spread over all files, half are random.

    make prove-flips
    .venv/bin/python benchmarks/flips.py --flips 60     # a short one
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from whorl import Document, Store, open_store
from whorl.duplicates import duplicates_in, parse_pair_options
from whorl.errors import WhorlError

SEED = 20
_DOCUMENTS = 160
_QUERIES = ("id:d*", "copper", "kind:even", "size:[10 TO 90]", '"copper of"', "kind:odd AND NOT copper", "title:t1*")


class Flip(NamedTuple):
    """A bit of a file."""

    file: str
    bit: int


def build(folder: Path) -> None:
    """Make a store with deleted and replaced documents, several token segments and both parts of the index."""
    chance = random.Random(SEED)
    words = ["copper", "of", *("".join(chance.choices("abcdefghijklmno", k=5)) for _ in range(400))]
    texts = [" ".join(chance.choices(words, k=120)) for _ in range(_DOCUMENTS // 4)]

    def document(number: int, salt: str = "") -> Document:
        text = f"{texts[number % len(texts)]} {salt} {' '.join(chance.choices(words, k=10))}"
        properties = {"kind": ("even", "odd")[number % 2], "size": number, "title": f"t{number}", "DBID": 1000 + number}
        return Document(f"d{number}", text, f"name {number}", properties)

    with open_store(folder, passages=True) as store:
        store.index([document(number) for number in range(_DOCUMENTS)])
        store.delete([f"d{number}" for number in range(0, _DOCUMENTS, 40)])
    with open_store(folder) as store:
        store.index([document(number, "again") for number in range(5, 25)])
        store.delete(["d7", "d90"])


def answers(folder: Path) -> tuple[Any, list[str]]:
    """Return the store's answers to many queries as JSON values, and all warnings."""
    with open_store(folder, create=False) as store:
        return _answers(store)


def _answers(store: Store) -> tuple[Any, list[str]]:
    answers: dict[str, Any] = {}
    warnings: list[str] = []
    every = [f"d{number}" for number in range(_DOCUMENTS)]
    for query in (*_QUERIES, *(f'FINGERPRINT:"{name}"_20' for name in every[::16]), "FINGERPRINT:1011"):
        page = store.search(query, rows=1000)
        answers[query] = [page.total, [(hit.id, hit.name, hit.score) for hit in page.hits]]
        warnings += page.warnings
    for name in every[1::20]:
        similar = store.similar(name, metric="jaccard", threshold=10, rows=100)
        sources = store.sources(name)
        answers[f"similar {name}"] = [(candidate.hit.id, candidate.hit.score) for candidate in similar.found]
        answers[f"sources {name}"] = [(source.id, source.words) for source in sources.sources]
        warnings += [*similar.warnings, *sources.warnings]
    with duplicates_in(store.engine, parse_pair_options("jaccard", 60, 95)) as duplicates:
        answers["clusters"] = sorted(
            [member.id for member in cluster.members] for cluster in duplicates.clusters(complete=True)
        )
    stored = store.documents(every)
    answers["documents"] = {name: [one.name, {**one.properties}] for name, one in sorted(stored.items())}
    answers["texts"] = dict(sorted(store.engine.texts(every).items()))
    answers["count"] = [store.count(), store.count("kind:odd")]
    answers["fields"] = sorted(store.engine.fields().known)
    answers["resolved"] = dict(
        sorted(store.engine.resolve([str(1000 + number) for number in range(_DOCUMENTS)]).items())
    )
    return json.loads(json.dumps(answers)), warnings


def flips(folder: Path, count: int) -> Iterator[Flip]:
    """Yield bits of all files: half of them spread evenly over each file in turn, the others random."""
    chance = random.Random(SEED)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    sizes = {str(path.relative_to(folder)): 8 * path.stat().st_size for path in files}
    rounds = -(-(count - count // 2) // len(sizes))
    even = [
        Flip(name, (2 * at + 1) * size // (2 * rounds) + chance.randrange(8) * (size > 64) - 4 * (size > 64))
        for at in range(rounds)
        for name, size in sizes.items()
    ]
    yield from even[: count - count // 2]
    for _ in range(count // 2):
        [name] = chance.choices(list(sizes), [size**0.5 for size in sizes.values()])
        yield Flip(name, chance.randrange(sizes[name]))


def outcome(folder: Path, copy: Path, flip: Flip, expected: Any) -> str:
    """Flip a bit in a copy of a store, query it, and return "same", "error", "warning" or "wrong"."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    path = copy / flip.file
    raw = bytearray(path.read_bytes())
    raw[flip.bit // 8] ^= 1 << flip.bit % 8
    path.write_bytes(raw)
    try:
        actual, warnings = answers(copy)
    except WhorlError:
        return "error"
    if actual == expected[0]:
        return "same"
    return "warning" if warnings != expected[1] else "wrong"


def main() -> None:
    """Flip bits, compare answers, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "flips.txt")
    arguments = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    wrong: list[Flip] = []
    with tempfile.TemporaryDirectory() as place:
        folder, copy = Path(place) / "store", Path(place) / "copy"
        build(folder)
        expected = answers(folder)
        for flip in list(flips(folder, arguments.flips)):
            result = outcome(folder, copy, flip, expected)
            counts.setdefault(Path(flip.file).suffix or Path(flip.file).name, Counter())[result] += 1
            if result == "wrong":
                wrong.append(flip)
    lines = [f"{arguments.flips} times one flipped bit in a file of an embedded store of {_DOCUMENTS} documents", ""]
    lines.append(f"{'files':14}{'same answers':>14}{'error':>8}{'warning':>9}{'wrong':>7}")
    total = sum(counts.values(), Counter())
    for name, outcomes in [*sorted(counts.items()), ("all", total)]:
        lines.append(f"{name:14}{outcomes['same']:14}{outcomes['error']:8}{outcomes['warning']:9}{outcomes['wrong']:7}")
    lines += [f"wrong: bit {flip.bit} of {flip.file}" for flip in wrong]
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(*lines, sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
