"""Finds the true pairs of near-duplicates by counting all shingles.

A library is judged by its own five-word shingles, so its definition of a word does not count against it:

    whorl        Lucene's words, folded, as whorl hashes them
    whitespace   text.lower().split()
    punctuation  lower case, between ASCII white space and punctuation: gaoya's
    nonword      lower case, between any two characters that are no word characters, empty ones too: text-dedup's

An inverted list has the documents of each shingle. A shingle is known by 64 bits of a hash: among a corpus's 30
million, two collide once in 40,000 corpora.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from whorl.fingerprint.fingerprint_texts import hash_texts

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

SHINGLE = 5
#: Pairs that share less of the smaller document are not kept: no threshold is below 50 %.
LEAST_PERCENT = 50
_VERSION = 1
_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)} \t\n\r\f]+")
_NONWORD = re.compile(r"\W")


def _punctuation(text: str) -> list[str]:
    return [word for word in _PUNCTUATION.split(text.lower()) if word]


#: Definitions that split the text at a pattern.
SPLIT: dict[str, Callable[[str], list[str]]] = {
    "whitespace": lambda text: text.lower().split(),
    "punctuation": _punctuation,
    "nonword": lambda text: _NONWORD.split(text.lower()),
}
DEFINITIONS = ("whorl", *SPLIT)


def shingle_sets(texts: Iterable[str], definition: str) -> Iterator[Hashes]:
    """Yield the 64-bit hashes of each text's distinct shingles, ascending.

    Args:
        texts: Read one by one.
        definition: One of DEFINITIONS.
    """
    if definition == "whorl":
        yield from (signature.hashes for signature in hash_texts(texts))
        return
    split, known = SPLIT[definition], dict[str, int]()
    for text in texts:
        words = np.array([known.setdefault(word, len(known) + 1) for word in split(text)], np.uint64)
        count = max(0, words.size - SHINGLE + 1)
        hashes = np.zeros(count, np.uint64)
        for at in range(SHINGLE):
            hashes = mixed(hashes ^ mixed(words[at : at + count]))
        yield np.unique(hashes)


def mixed(numbers: Hashes) -> Hashes:
    """Mix the bits of numbers by the last step of splitmix64, a bijection."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs that share half of the smaller document or more; int64 arrays of shape (pairs,).

    Args:
        a: Number of the first document.
        b: Number of the second document, larger than `a`.
        shared: Number of shared shingles.
        sizes: Shingles of each document; int64 array of shape (documents,).
    """

    a: Numbers
    b: Numbers
    shared: Numbers
    sizes: Numbers

    def above(self, metric: str, percent: int) -> Numbers:
        """Return the pairs that reach a threshold, in the encoding of `codes`.

        Args:
            metric: "jaccard" (shared by all shingles of both) or "containment" (shared by those of the smaller one).
            percent: At least LEAST_PERCENT.
        """
        if percent < LEAST_PERCENT:
            raise ValueError(f"pairs below {LEAST_PERCENT} percent were not counted, got {percent}")
        sizes_a, sizes_b = self.sizes[self.a], self.sizes[self.b]
        whole = sizes_a + sizes_b - self.shared if metric == "jaccard" else np.minimum(sizes_a, sizes_b)
        is_above = 100 * self.shared >= percent * whole
        return codes(self.a[is_above], self.b[is_above])


def codes(a: Numbers, b: Numbers) -> Numbers:
    """Encode each pair as one number, whatever the order of its documents; ascending and distinct."""
    return np.unique(np.minimum(a, b) << 32 | np.maximum(a, b))


def documents_of(pairs: Numbers) -> Numbers:
    """Return the documents in pairs, given in the encoding of `codes`."""
    return np.unique(np.concatenate([pairs >> 32, pairs & 0xFFFFFFFF]))


def counted(sets: Sequence[Hashes], progress: Callable[[int], None] = lambda done: None) -> Overlaps:
    """Count the shared shingles of all pairs in a collection.

    Args:
        sets: Distinct shingles of each document.
        progress: Called with the number of finished documents.
    """
    sizes = np.array([members.size for members in sets], np.int64)
    everything = np.concatenate([np.empty(0, np.uint64), *sets])
    owners = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
    order = np.argsort(everything, kind="stable")
    ascending, owners = everything[order], owners[order]
    is_first = np.append(True, ascending[1:] != ascending[:-1])[: ascending.size]
    groups = np.empty(order.size, np.int64)
    groups[order] = np.cumsum(is_first) - 1
    bounds = np.append(np.flatnonzero(is_first), order.size)
    starts = np.cumsum(sizes) - sizes
    counts, touched = np.zeros(sizes.size, np.int64), np.empty(sizes.size, np.int64)
    portions: list[tuple[Numbers, Numbers, Numbers]] = []
    for one, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        number = _COUNT(groups[start : start + size], bounds, owners, one, counts, touched)
        others = np.sort(touched[:number])
        shared = counts[others]
        counts[others] = 0
        is_kept = 100 * shared >= LEAST_PERCENT * np.minimum(sizes[others], size)
        others, shared = others[is_kept], shared[is_kept]
        portions.append((np.full(others.size, one), others, shared))
        if one % 1000 == 0:
            progress(one)
    nothing = np.empty(0, np.int64)
    a, b, shared = (np.concatenate([nothing, *parts]) for parts in zip((nothing,) * 3, *portions, strict=True))
    return Overlaps(a, b, shared, sizes)


def _count(groups: Any, bounds: Any, owners: Any, one: int, counts: Any, touched: Any) -> int:
    """Count the shingles that later documents share with document `one`; write these documents to `touched`.

    Return the number of these documents.
    """
    number = 0
    for group in groups:
        place = bounds[group + 1] - 1
        # The documents of a shingle are ascending.
        while place >= bounds[group] and owners[place] > one:
            other = owners[place]
            if counts[other] == 0:
                touched[number] = other
                number += 1
            counts[other] += 1
            place -= 1
    return number


_COUNT: Any = njit(nogil=True)(_count)


def truth_of(
    corpus: Path, definition: str, cache: Path, progress: Callable[[str], None] = lambda message: None
) -> Overlaps:
    """Return the overlaps of all pairs in a file, from the cache if an earlier run left them.

    Args:
        corpus: JSON lines; documents are known by their line numbers from 0.
        definition: One of DEFINITIONS.
        cache: Cache folder; entries are identified by the bytes of the file.
        progress: Called with a description of each step.
    """
    digest = hashlib.blake2b(f"{_VERSION} {definition}\n".encode(), digest_size=12)
    with corpus.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    path = cache / f"{digest.hexdigest()}.npz"
    if path.exists():
        with np.load(path) as arrays:
            return Overlaps(arrays["a"], arrays["b"], arrays["shared"], arrays["sizes"])
    progress(f"words as {definition} has them")
    with corpus.open("rb") as lines:
        sets = list(shingle_sets((json.loads(line)["text"] for line in lines), definition))
    overlaps = counted(sets, lambda done: progress(f"counting what is shared, {definition}: {done:,}"))
    cache.mkdir(parents=True, exist_ok=True)
    np.savez(path, a=overlaps.a, b=overlaps.b, shared=overlaps.shared, sizes=overlaps.sizes)
    return overlaps


@dataclass(frozen=True, slots=True)
class Judged:
    """Comparison of an answer with the truth.

    Args:
        found: Size of the answer.
        right: Size of the truth.
        hits: Number in both.
    """

    found: int
    right: int
    hits: int

    @property
    def recall(self) -> float:
        """Return the recall; 1 if the truth is empty."""
        return self.hits / self.right if self.right else 1.0

    @property
    def precision(self) -> float:
        """Return the precision; 1 if the answer is empty."""
        return self.hits / self.found if self.found else 1.0


def judged(returned: Numbers, right: Numbers) -> Judged:
    """Compare an answer with the truth; both are ascending and distinct."""
    return Judged(returned.size, right.size, int(np.intersect1d(returned, right, assume_unique=True).size))


def lines_of(corpus: Path, most: int | None, target: Path) -> Path:
    """Return a file with documents from all parts of another: the file itself, or `most` of them written to `target`.

    It takes every n-th document, so that all kinds occur.
    """
    if most is None:
        return corpus
    with corpus.open("rb") as lines:
        count = sum(1 for _ in lines)
    if count <= most:
        return corpus
    chosen = {end * count // most for _, end in pairwise(range(most + 1))}
    with corpus.open("rb") as lines, target.open("wb") as out:
        out.writelines(line for number, line in enumerate(lines, start=1) if number in chosen)
    return target
