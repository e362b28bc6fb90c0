"""Generates any number of realistic texts with known near-copies.

Documents are words of real text, in pieces of 3,000 bytes. Scripts without spaces are left out, since words are
replaced; white space becomes a blank. A hundred thousand documents need more pieces than the corpus has, and real
pieces resemble each other in unplanned ways. So every document has three of ten words replaced by random words of the
collection: a sixth of the 5-word shingles stay, and two documents from one piece share 3 % of theirs. A tenth of the
documents are near-copies of an earlier one, with 1 to 10 % of the words edited in runs of up to eleven: replaced, left
out, or inserted.

A document depends only on its number and the seed, so it can be generated again at any time and need not be stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from duplicates_truth import Numbers, shingle_sets

PIECE_BYTES = 3_000
#: Pieces with fewer words are in a script without spaces, or are tables.
LEAST_WORDS = 250
#: Largest mean word length of a short text, in characters.
_LETTERS = 9
REPLACED, COPIED = 0.3, 0.1
LEAST_EDITED, MOST_EDITED, LONGEST_EDIT = 0.01, 0.1, 11
#: Number of documents whose shingles are compared in one batch.
_AT_ONCE = 2_000


def pieces(corpus: Path) -> list[str]:
    texts = []
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            words: list[str] = []
            size = 0
            for word in json.loads(line)["text"].split():
                words.append(word)
                size += len(word.encode()) + 1
                if size >= PIECE_BYTES:
                    if len(words) >= LEAST_WORDS:
                        texts.append(" ".join(words))
                    words, size = [], 0
    return texts


class Texts:
    """Documents by number.

    Args:
        real: Pieces of real text.
        seed: Other seeds give other documents.
    """

    def __init__(self, real: list[str], seed: int = 5) -> None:
        self._real, self._seed = real, seed
        #: Words with their repeats, so that rare words stay rare.
        self._vocabulary = np.array(
            [word for at in range(0, len(real), max(1, len(real) // 2_000)) for word in real[at].split()], np.object_
        )

    def source(self, number: int) -> int | None:
        """Return the original of a near-copy; None for any other document."""
        chance = self._chance(number)
        if number == 0 or chance.random() >= COPIED:
            return None
        source = int(chance.integers(number))
        # A copy of a copy would differ too much from the original.
        origin = self.source(source)
        return source if origin is None else origin

    def text(self, number: int) -> str:
        source = self.source(number)
        if source is None:
            return " ".join(self._made(number))
        return " ".join(self.edited(self._made(source), number))

    def edited(self, words: list[str], number: int) -> list[str]:
        """Edit words as the near-copy of this number does."""
        return self._edited(words, np.random.default_rng([self._seed, number, 2]))

    def _chance(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, number])

    def _made(self, number: int) -> list[str]:
        """Return the words of a document that is not a copy."""
        chance = np.random.default_rng([self._seed, number, 1])
        words = self._real[number % len(self._real)].split()
        for at, word in zip(
            np.flatnonzero(chance.random(len(words)) < REPLACED).tolist(), self._drawn(chance, len(words)), strict=False
        ):
            words[at] = word
        return words

    def _drawn(self, chance: np.random.Generator, count: int) -> list[str]:
        drawn: list[str] = self._vocabulary[chance.integers(self._vocabulary.size, size=count)].tolist()
        return drawn

    def _edited(self, words: list[str], chance: np.random.Generator) -> list[str]:
        """Replace, leave out or insert runs of words."""
        left = max(1, round(len(words) * chance.uniform(LEAST_EDITED, MOST_EDITED)))
        while left > 0:
            length = min(left, int(chance.integers(1, LONGEST_EDIT + 1)))
            at, kind = int(chance.integers(len(words) - length)), int(chance.integers(3))
            words[at : at + (0 if kind == 1 else length)] = [] if kind == 2 else self._drawn(chance, length)
            left -= length
        return words


def short_texts(corpus: Path, words: int, count: int, seed: int = 5) -> Iterator[str]:
    """Yield texts of equal length, cut from all parts of a corpus; a tenth are edited copies of others.

    Similar passages of real text stay. Pieces without blanks between words are left out. Copies are edited as those of
    `Texts`: 1 to 10 % of the words, in runs of up to eleven.

    Args:
        corpus: JSON lines.
        words: Words of a text.
        count: Number of texts; at most the number of pieces.
        seed: Other seeds give other copies.
    """
    real = []
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            there = json.loads(line)["text"].split()
            cut = (there[at : at + words] for at in range(0, len(there) - words + 1, words))
            real += [" ".join(piece) for piece in cut if sum(map(len, piece)) <= _LETTERS * words]
    taken = [real[at * len(real) // count] for at in range(count)]
    texts = Texts(taken, seed)
    for number, piece in enumerate(taken):
        source = texts.source(number)
        yield piece if source is None else " ".join(texts.edited(taken[source].split(), number))


def families(texts: Texts, count: int) -> list[list[int]]:
    """Return the groups of an original and its copies, in ascending order."""
    copies: dict[int, list[int]] = {}
    for number in range(count):
        if (source := texts.source(number)) is not None:
            copies.setdefault(source, [source]).append(number)
    return [copies[source] for source in sorted(copies)]


class Planted(NamedTuple):
    """Pairs of documents of one family, with their similarities; arrays of shape (pairs,)."""

    a: Numbers
    b: Numbers
    jaccard: npt.NDArray[np.float64]


def planted(texts: Texts, count: int, progress: Callable[[int], None] = lambda done: None) -> Planted:
    """Return all pairs within families, compared on whorl's shingles."""
    pairs: list[tuple[int, int, float]] = []
    waiting: list[list[int]] = []
    for family in families(texts, count):
        waiting.append(family)
        if sum(map(len, waiting)) >= _AT_ONCE:
            pairs += _compared(texts, waiting)
            waiting = []
            progress(len(pairs))
    pairs += _compared(texts, waiting)
    table = np.array(pairs, np.float64).reshape(-1, 3)
    return Planted(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2])


def _compared(texts: Texts, several: list[list[int]]) -> Iterable[tuple[int, int, float]]:
    numbers = [number for family in several for number in family]
    known = dict(zip(numbers, shingle_sets(map(texts.text, numbers), "whorl"), strict=True))
    for family in several:
        for a, b in combinations(family, 2):
            shared = int(np.intersect1d(known[a], known[b], assume_unique=True).size)
            yield a, b, shared / (known[a].size + known[b].size - shared)


def write(texts: Iterable[str], path: Path, progress: Callable[[int], None] = lambda done: None) -> None:
    """Write texts as JSON lines with their numbers as ids."""
    with path.open("w", encoding="utf-8") as out:
        for number, text in enumerate(texts):
            out.write(json.dumps({"id": str(number), "text": text}, ensure_ascii=False) + "\n")
            if number % 50_000 == 0:
                progress(number)


#: Kinds of shared boilerplate.
BOILERPLATE = ("one phrase", "60 % boilerplate", "all alike")
FAMILIES = ("60 words, one differs", "300 words, one differs", "one text", "too short")
_WORDS = 200


def boilerplate(kind: str, count: int, seed: int = 5) -> Iterator[str]:
    """Yield documents of 200 artificial words that share boilerplate.

    Args:
        kind: "one phrase": all share a single shingle. "60 % boilerplate": all share the first 120 words, and no two
            are duplicates. "all alike": any two differ in two words, and all are duplicates.
        count: Number of documents.
        seed: Other seeds give other documents.
    """
    chance = np.random.default_rng(seed)
    common = _invented(chance, _WORDS)
    for _ in range(count):
        words = _invented(chance, _WORDS)
        if kind == "one phrase":
            words[90:95] = common[:5]
        elif kind == "60 % boilerplate":
            words[:120] = common[:120]
        elif kind == "all alike":
            at = int(chance.integers(_WORDS))
            words = [*common[:at], words[0], *common[at + 1 :]]
        else:
            raise ValueError(f"no kind {kind!r}; there are {', '.join(BOILERPLATE)}")
        yield " ".join(words)


def near_copies(kind: str, count: int) -> Iterator[str]:
    """Yield a family of texts.

    Args:
        kind: One of FAMILIES. "N words, one differs": any two differ in the middle word. "one text": all are equal.
            "too short": no text has a shingle.
        count: Number of texts.
    """
    if kind not in FAMILIES:
        raise ValueError(f"no kind {kind!r}; there are {', '.join(FAMILIES)}")
    length = int(kind.split()[0]) if kind[0].isdigit() else 60
    common = [f"word{at:x}" for at in range(length)]
    for number in range(count):
        if kind == "too short":
            yield f"only {number} words"
        elif kind == "one text":
            yield " ".join(common)
        else:
            yield " ".join([*common[: length // 2], f"other{number:x}", *common[length // 2 + 1 :]])


def _invented(chance: np.random.Generator, count: int) -> list[str]:
    return [f"word{number:x}" for number in chance.integers(50_000, size=count).tolist()]
