"""Puts passages of real texts into others, and counts how many are found by passages, sketches and `similar`.

    python benchmarks/passages.py [CORPUS.jsonl] [--passages 12000] [--hosts 3000] [--sources 300] [--csv FILE]
    python benchmarks/passages.py [CORPUS.jsonl] --design

Passages of 20 to 200 words are cut from texts of the corpus and inserted into other texts, at any word boundary and
with another line width. These hosts are indexed in a store with passages and in one without; the origins are not. Then
each origin is searched for hosts that have a passage of it, as `whorl sources` does: with certainty
(`find_passage_candidates`), and without (`find_candidates`: sketches, window by window). The reference is `whorl
similar --metric a_in_b --threshold 50` with each passage alone: its best case, since users do not know the passage. A
passage is missed if the hits lack its host. The search does not promise to find a passage whose hashes all occur in
more than `CROWDED_ABOVE` documents, and reports it (`crowded`); missed passages of this kind are counted separately. So
more than 10,000 passages are inserted, to have 10,000 with a promise.

`--design` counts the pairs among 500 texts that share a number, for each number of words under a hash: see
docs/decisions/0027-find-passages-by-winnowing.md.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from corpus_texts import texts
from line_report import Line, report
from whorl import Document, Store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare_texts import words_of
from whorl.fingerprint.shingling import JoinedWords, pieces
from whorl.fingerprint.winnowing import PassageScheme, run_hashes, winnow
from whorl.search.attribution.candidates import CROWDED_ABOVE, find_candidates, find_passage_candidates

HERE = Path(__file__).resolve().parent
SCHEME = PassageScheme()
SHORTEST, LONGEST = 20, 200
#: Lower bounds of the lengths for which recall is reported.
LENGTHS = (20, 30, 50, 100, 201)
RECALL = Fraction(95, 100)


class Passage(NamedTuple):
    """A piece of a text, and the id of its host."""

    text: str
    words: int
    host: str


def cut(chance: random.Random, text: str, many: int) -> Iterator[tuple[str, int]]:
    """Yield pieces of a text with another line width, and the number of words in each."""
    of_text = words_of(text)
    made = 0
    while made < many:
        words = chance.randint(SHORTEST, LONGEST)
        start = chance.randrange(len(of_text.words) - words)
        piece = text[of_text.spans[start, 0] : of_text.spans[start + words - 1, 1]].split()
        width = chance.randint(3, 15)
        wrapped = "\n".join(" ".join(piece[at : at + width]) for at in range(0, len(piece), width))
        # Letters cut out of a Chinese line may form other words.
        if words_of(wrapped).words == of_text.words[start : start + words]:
            made += 1
            yield wrapped, words


def planted(
    chance: random.Random, sources: Sequence[str], hosts: dict[str, str], many: int
) -> list[tuple[str, list[Passage]]]:
    """Insert passages of each source into hosts, and return them by source."""
    names, made = list(hosts), []
    pieces: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, text in enumerate(sources):
        own = []
        for piece, words in cut(chance, text, many * (number + 1) // len(sources) - many * number // len(sources)):
            host = chance.choice(names)
            pieces[host].append((chance.randrange(hosts[host].count(" ") + 2), piece))
            own.append(Passage(piece, words, host))
        made.append((text, own))
    for host, own_pieces in pieces.items():
        # Insert all passages of a host at once, so that none splits another.
        parts = hosts[host].split(" ")
        for place, piece in sorted(own_pieces, reverse=True):
            parts.insert(place, f"\n{piece}\n")
        hosts[host] = " ".join(parts)
    return made


def indexed(folder: Path, documents: Sequence[Document], passages: PassageScheme | None) -> tuple[Store, float, int]:
    """Index documents; return the store, milliseconds of processor time a document, and bytes of the token segments."""
    store = Store(EmbeddedEngine(folder, passages=passages))
    begin = time.process_time()
    store.index(documents)
    taken = (time.process_time() - begin) * 1000 / len(documents)
    store.close()
    size = sum(file.stat().st_size for file in (folder / "index" / "tokens").iterdir())
    return Store(EmbeddedEngine(folder)), taken, size


def covered(returned: Iterable[str], own: Sequence[Passage]) -> list[bool]:
    """Return for each passage whether its document is found."""
    ids = set(returned)
    return [passage.host in ids for passage in own]


def is_followed(store: Store, passage: Passage) -> bool:
    """Check if a passage has a hash that occurs in at most `CROWDED_ABOVE` documents."""
    numbers = winnow(JoinedWords.concatenate(pieces(passage.text, store.engine.scheme.profile)), SCHEME).tolist()
    return min(store.engine.passage_counts(numbers)) <= CROWDED_ABOVE


def recalls(what: str, words: Sequence[int], is_met: Sequence[bool]) -> Iterator[Line]:
    """Yield the number of missed passages, and the recall by length."""
    yield f"{what}: missed", float(is_met.count(False)), f"of {len(is_met):,}"
    for least, beyond in pairwise(LENGTHS):
        in_range = [is_hit for own, is_hit in zip(words, is_met, strict=True) if least <= own < beyond]
        if in_range:
            yield (
                f"{what}: {least} to {beyond - 1} words",
                100 * sum(in_range) / len(in_range),
                f"% of {len(in_range):,}",
            )


def measured(corpus: Path, many: int, host_count: int, source_count: int) -> Iterator[Line]:
    """Insert, index, search and count."""
    chance = random.Random(20)
    long_enough = ((name, text) for name, text in texts(corpus) if len(text.split()) > 2 * LONGEST)
    chosen = list(islice(long_enough, source_count + host_count))
    sources, hosts = [text for _, text in chosen[:source_count]], dict(chosen[source_count:])
    made = planted(chance, sources, hosts, many)
    documents = [Document(name, text) for name, text in hosts.items()]
    text_bytes = sum(len(text.encode()) for text in hosts.values())
    with tempfile.TemporaryDirectory() as folder:
        warm, *_ = indexed(Path(folder) / "warm", documents[:200], None)
        warm.close()
        plain, plain_ms, plain_bytes = indexed(Path(folder) / "plain", documents, None)
        store, kept_ms, kept_bytes = indexed(Path(folder) / "kept", documents, SCHEME)
        yield "documents", len(documents), ""
        yield "text", text_bytes / len(documents), "bytes a document"
        yield "indexing without passages", plain_ms, "ms CPU a document"
        yield "indexing with passages", kept_ms, "ms CPU a document"
        yield "passages", (kept_bytes - plain_bytes) / len(documents), "bytes a document"
        yield "passages", 100 * (kept_bytes - plain_bytes) / text_bytes, "% of the text"
        words, is_promised = [], []
        certain: list[bool] = []
        by_sketch: list[bool] = []
        alone: list[bool] = []
        took: dict[str, list[float]] = defaultdict(list)
        candidates = 0
        for text, own in made:
            of_text = words_of(text)
            begin = time.process_time()
            passage_candidates = find_passage_candidates(store.engine, SCHEME, of_text, 8, left_out=None)
            took["with certainty"].append((time.process_time() - begin) * 1000)
            ids = {own for group in passage_candidates.groups for own in group.ids}
            candidates += len(ids)
            certain += covered(ids, own)
            is_promised += [is_followed(store, passage) for passage in own]
            begin = time.process_time()
            whole = np.array([[0, len(of_text.words)]])
            sketched = find_candidates(plain.engine, text, of_text, whole, RECALL, min_words=8, left_out=None)
            took["by sketches"].append((time.process_time() - begin) * 1000)
            by_sketch += covered(sketched.ids, own)
            for passage in own:
                begin = time.process_time()
                hits = plain.similar(source=passage.text, metric="a_in_b", threshold=50, rows=1000).found
                took["similar, each passage alone"].append((time.process_time() - begin) * 1000)
                alone += covered((one.hit.id for one in hits), [passage])
            words += [passage.words for passage in own]
        plain.close()
        store.close()
    for what, wanted in (("with certainty", True), ("in too many documents", False)):
        some_words = [word_count for word_count, promised in zip(words, is_promised, strict=True) if promised is wanted]
        some_met = [is_hit for is_hit, promised in zip(certain, is_promised, strict=True) if promised is wanted]
        yield from recalls(what, some_words, some_met)
    either = [one or other for one, other in zip(certain, by_sketch, strict=True)]
    yield from recalls("by both, as `whorl sources` does", words, either)
    yield "with certainty: candidates", candidates / len(made), "a text"
    yield from recalls("by sketches", words, by_sketch)
    yield from recalls("similar, each passage alone", words, alone)
    for what, times in took.items():
        yield what, sum(times) / len(times), "ms CPU a question"


def designed(corpus: Path) -> Iterator[Line]:
    """Count the pairs that share a number, for each number of words under a hash."""
    samples = [JoinedWords.concatenate(pieces(text, "icu74")) for _, text in islice(texts(corpus), 500)]

    def pairs(of_each: Iterable[Iterable[int]]) -> set[tuple[int, int]]:
        owners = defaultdict(list)
        for at, numbers in enumerate(of_each):
            for number in numbers:
                owners[number].append(at)
        return {(a, b) for own in owners.values() for a in own for b in own if a != b}

    wanted = pairs(
        set(run_hashes(words, PassageScheme(SCHEME.run_words, SCHEME.run_words)).tolist()) for words in samples
    )
    yield f"pairs with {SCHEME.run_words} words in a row", len(wanted), ""
    for hashed_words in (5, 6, 8, 10, 12):
        samples_hashes = [winnow(words, PassageScheme(SCHEME.run_words, hashed_words)).tolist() for words in samples]
        met_pairs = pairs(samples_hashes)
        yield f"k = {hashed_words}", sum(map(len, samples_hashes)) / len(samples_hashes), "numbers a document"
        yield f"k = {hashed_words}", len(met_pairs), "pairs"
        yield f"k = {hashed_words}", len(wanted - met_pairs), "pairs missed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, default=HERE / "data" / "main.jsonl")
    parser.add_argument("--passages", type=int, default=12_000)
    parser.add_argument("--hosts", type=int, default=3_000)
    parser.add_argument("--sources", type=int, default=300)
    parser.add_argument("--design", action="store_true")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    measure = measured(options.corpus, options.passages, options.hosts, options.sources)
    report(designed(options.corpus) if options.design else measure, options.csv, width=55)


if __name__ == "__main__":
    main()
