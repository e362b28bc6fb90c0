"""What documents have of two hundred sources, counted on all shingles of all documents.

Words are those of whorl's plain route, which `identity.py` holds against Lucene's; everything after them is done here:
five words are known by 64 bits mixed from the words' numbers, an inverted list says which source has them, and what a
document shares with each is counted. One pass takes all documents, whose shingles are not kept.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from duplicates_truth import Hashes, Numbers, shingles_of
from whorl.fingerprint.words.tokenizer import tokens

#: Sources are drawn from the first so many documents, so that they are there at every size.
FIRST, SOURCES, SEED = 10_000, 200, 7
#: Documents that share less of a source are not kept.
LEAST = 0.5


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of a collection; arrays are int64.

    Args:
        ids: Of all documents, in their order.
        text_bytes: Of each document's text in UTF-8; shape (documents,).
        sizes: Distinct shingles of each document; shape (documents,).
        sources: The places of the sources; shape (sources,).
        owners: Of each pair that shares half of its source, which source; shape (pairs,).
        places: The other document; shape (pairs,).
        shared: The shingles that both have; shape (pairs,).
    """

    ids: Sequence[str]
    text_bytes: Numbers
    sizes: Numbers
    sources: Numbers
    owners: Numbers
    places: Numbers
    shared: Numbers

    def right(self, source: int, metric: str, percent: int, documents: int) -> set[str]:
        """Return the ids of the other documents that reach a threshold.

        Args:
            source: Its place among the sources.
            metric: "jaccard" or "a_in_b".
            percent: At least 100 * LEAST.
            documents: How many of the documents there are, the first ones.
        """
        own = self.owners == source
        places, shared = self.places[own], self.shared[own]
        at = int(self.sources[source])
        whole = np.full(places.size, self.sizes[at])
        if metric == "jaccard":
            whole += self.sizes[places] - shared
        is_right = (100 * shared >= percent * whole) & (places != at) & (places < documents)
        return {self.ids[place] for place in places[is_right].tolist()}


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield ids and texts of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            yield told["id"], told["text"]


def truth_of(path: Path, kept: Path, progress: Callable[[int], None] = lambda done: None) -> Truth:
    """Return what is known of the documents of a file, from another file if it was counted before."""
    if not kept.exists():
        partial = kept.with_suffix(".partial.npz")
        np.savez(partial, allow_pickle=False, **_counted(path, progress))
        partial.replace(kept)
    ids = [document_id for document_id, _ in texts(path)]
    with np.load(kept) as found:
        return Truth(ids, *(found[name] for name in ("text_bytes", "sizes", "sources", "owners", "places", "shared")))


def _counted(path: Path, progress: Callable[[int], None]) -> dict[str, npt.NDArray[np.int64]]:
    known: dict[str, int] = {}

    def measured(some: Iterator[tuple[str, str]]) -> Iterator[tuple[int, Hashes]]:
        for _, text in some:
            yield len(text.encode()), shingles_of(tokens(text), known)

    remaining = texts(path)
    first = list(measured(islice(remaining, FIRST)))
    sources = random.Random(SEED).sample(range(len(first)), min(SOURCES, len(first)))
    # An inverted list: all shingles of the sources, each with the sources that have it.
    everything = np.concatenate([first[place][1] for place in sources])
    owners = np.repeat(np.arange(len(sources)), [first[place][1].size for place in sources])
    order = np.argsort(everything, kind="stable")
    everything, owners = everything[order], owners[order]
    own_sizes = np.bincount(owners, minlength=len(sources))
    text_bytes, sizes, pairs = [], [], []
    for place, (size, hashes) in enumerate(chain(first, measured(remaining))):
        text_bytes.append(size)
        sizes.append(hashes.size)
        begins, ends = np.searchsorted(everything, hashes), np.searchsorted(everything, hashes, side="right")
        is_met = ends > begins
        if is_met.any():
            met = np.concatenate([owners[begin:end] for begin, end in zip(begins[is_met], ends[is_met], strict=True)])
            shared = np.bincount(met, minlength=len(sources))
            enough = np.flatnonzero((shared >= LEAST * own_sizes) & (own_sizes > 0))
            pairs += [(source, place, int(shared[source])) for source in enough.tolist()]
        if place % 100_000 == 0:
            progress(place)
    table = np.array(pairs, np.int64).reshape(-1, 3)
    return {
        "text_bytes": np.array(text_bytes, np.int64),
        "sizes": np.array(sizes, np.int64),
        "sources": np.array(sources, np.int64),
        "owners": table[:, 0],
        "places": table[:, 1],
        "shared": table[:, 2],
    }
