"""Counts exactly what a million documents share with two hundred sources.

Words are those of whorl's plain route, which `identity.py` compares with Lucene's. Everything else is computed here:
five words are a shingle, known by 64 bits mixed from the words' numbers; an inverted list has the sources of each
shingle; and the shared shingles of each document with each source are counted. One pass reads all documents without
storing their shingles.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpus_texts import texts
from duplicates_truth import SHINGLE, Hashes, Numbers, mixed
from whorl.arrays_and_batches import indices_of_ranges
from whorl.fingerprint.words.tokenizer import tokens

#: Sources are among the first documents, so that they exist at every size.
FIRST, SOURCES, SEED = 10_000, 200, 7
#: Documents counted in one batch, after the first batch of FIRST documents.
AT_ONCE = 10_000
#: Smallest share of a source; documents that share less are not kept.
LEAST = 0.5


@dataclass(frozen=True, slots=True)
class Truth:
    """Exact overlaps of sources with a collection; arrays are int64.

    Args:
        ids: Ids of all documents, in order.
        text_bytes: UTF-8 bytes of each document's text; shape (documents,).
        sizes: Distinct shingles of each document; shape (documents,).
        sources: Document numbers of the sources; shape (sources,).
        owners: Source number of each pair that shares half of its source; shape (pairs,).
        places: Document number of the other document; shape (pairs,).
        shared: Shared shingles; shape (pairs,).
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
            source: Its number among the sources.
            metric: "jaccard" or "a_in_b".
            percent: At least 100 * LEAST.
            documents: Consider only this many documents, the first ones.
        """
        own = self.owners == source
        places, shared = self.places[own], self.shared[own]
        at = int(self.sources[source])
        whole = np.full(places.size, self.sizes[at])
        if metric == "jaccard":
            whole += self.sizes[places] - shared
        is_right = (100 * shared >= percent * whole) & (places != at) & (places < documents)
        return {self.ids[place] for place in places[is_right].tolist()}


def truth_of(path: Path, cache: Path, progress: Callable[[int], None] = lambda done: None) -> Truth:
    """Return the truth about a file's documents, from a cache file if it exists."""
    if not cache.exists():
        partial = cache.with_suffix(".partial.npz")
        np.savez(partial, allow_pickle=False, **_counted(path, progress))
        partial.replace(cache)
    ids = [document_id for document_id, _ in texts(path)]
    with np.load(cache) as arrays:
        return Truth(ids, *(arrays[name] for name in ("text_bytes", "sizes", "sources", "owners", "places", "shared")))


def _counted(path: Path, progress: Callable[[int], None]) -> dict[str, npt.NDArray[np.int64]]:
    known: dict[str, int] = {}
    remaining = (text for _, text in texts(path))
    text_bytes, sizes, pairs = list[Numbers](), list[Numbers](), list[Numbers]()
    sources = inverted = None
    done = 0
    # The first batch has all documents that can be sources.
    most = FIRST
    while batch := list(islice(remaining, most)):
        places, hashes = shingles(batch, known)
        sizes.append(np.bincount(places, minlength=len(batch)))
        text_bytes.append(np.array([len(text.encode()) for text in batch], np.int64))
        if inverted is None:
            sources = np.array(random.Random(SEED).sample(range(len(batch)), min(SOURCES, len(batch))), np.int64)
            inverted = _Inverted(sources, places, hashes)
        pairs.append(inverted.pairs(places, hashes) + np.array([[0], [done], [0]]))
        done, most = done + len(batch), AT_ONCE
        if done % 100_000 == 0:
            progress(done)
    if sources is None:
        raise SystemExit(f"{path} has no documents")
    owners, others, shared = np.concatenate(pairs, axis=1)
    return {
        "text_bytes": np.concatenate(text_bytes), "sizes": np.concatenate(sizes), "sources": sources,
        "owners": owners, "places": others, "shared": shared,
    }  # fmt: skip


def shingles(batch: Sequence[str], known: dict[str, int]) -> tuple[Numbers, Hashes]:
    """Return the distinct shingles of texts as text number and 64-bit hash, both ascending.

    Args:
        batch: The texts.
        known: Numbers of words; new words are added. Texts that are compared need the same numbers.
    """
    words = [[known.setdefault(word, len(known) + 1) for word in tokens(text)] for text in batch]
    numbers = np.array(list(chain.from_iterable(words)), np.uint64)
    places = np.repeat(np.arange(len(batch)), [len(numbers_of_text) for numbers_of_text in words])
    count = max(0, numbers.size - SHINGLE + 1)
    hashes = np.zeros(count, np.uint64)
    for at in range(SHINGLE):
        hashes = mixed(hashes ^ mixed(numbers[at : at + count]))
    is_within = places[:count] == places[numbers.size - count :]
    places, hashes = places[:count][is_within], hashes[is_within]
    order = np.lexsort((hashes, places))
    places, hashes = places[order], hashes[order]
    is_first = np.ones(places.size, np.bool_)
    is_first[1:] = (places[1:] != places[:-1]) | (hashes[1:] != hashes[:-1])
    return places[is_first], hashes[is_first]


class _Inverted:
    """Inverted list of the sources' shingles.

    Args:
        sources: Document numbers of the sources.
        places: Document number of each shingle, the sources among them.
        hashes: The shingles.
    """

    def __init__(self, sources: Numbers, places: Numbers, hashes: Hashes) -> None:
        own = [hashes[places == source] for source in sources]
        self._sizes = np.array([hashes.size for hashes in own], np.int64)
        everything, owners = np.concatenate(own), np.repeat(np.arange(sources.size), self._sizes)
        order = np.argsort(everything, kind="stable")
        self._hashes, self._owners = everything[order], owners[order]

    def pairs(self, places: Numbers, hashes: Hashes) -> Numbers:
        """Return the pairs of a source and a text that share enough: int64 array of shape (3, pairs), as in `Truth`."""
        begins, ends = (np.searchsorted(self._hashes, hashes, side=side) for side in ("left", "right"))
        at = np.flatnonzero(ends > begins)
        owners = self._owners[indices_of_ranges(begins[at], (ends - begins)[at])]
        pair_codes, shared = np.unique(owners << 32 | np.repeat(places[at], (ends - begins)[at]), return_counts=True)
        sources = pair_codes >> 32
        enough = shared >= LEAST * self._sizes[sources]
        return np.stack([sources[enough], pair_codes[enough] & 0xFFFFFFFF, shared[enough]])
