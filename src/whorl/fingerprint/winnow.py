"""Winnowed passages: numbers of a text such that two texts with the same run of words have one of them in common.

Every `hashed_words` words in a row have a hash. Of each `window` of neighbouring hashes the smallest is kept, which
depends on the words under the window and on nothing else: who has the same `run_words` words in a row, in whatever
text, at whatever line wrapping, keeps the same number of them. Of a text of random words 2 / (window + 1) of the hashes
are kept, since the smallest of a window is mostly that of the next one too.

Source: Schleimer, Wilkerson, Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from whorl.arrays import sorted_distinct
from whorl.errors import ParameterError
from whorl.fingerprint.hashing import JoinedWords

Numbers = npt.NDArray[np.uint64]

_NAME = re.compile(r"passages1-t(\d{1,3})-k(\d{1,3})-b(\d\d)", re.ASCII)
#: Odd, so that no bit of what they are multiplied with is lost: the golden ratio's and another of no pattern.
_OF_LETTERS, _OF_WORDS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_BLANK = 0x20


@dataclass(frozen=True, slots=True)
class PassageScheme:
    """What the numbers of passages depend on beside the words; those of different schemes cannot be compared.

    Args:
        run_words: Words of a run that is met with certainty, 2 to 999.
        hashed_words: Words under one hash, 1 to `run_words`. With fewer, fewer numbers are kept, and more documents
            meet in phrases that everybody uses.
        bits: Of a number, 24 to 48.

    Raises:
        ParameterError: A number is out of its range.
    """

    run_words: int = 20
    hashed_words: int = 8
    bits: int = 32

    def __post_init__(self) -> None:
        for part, least, most in (("run_words", 2, 999), ("hashed_words", 1, self.run_words), ("bits", 24, 48)):
            if not least <= getattr(self, part) <= most:
                raise ParameterError(f"{part} of a passage scheme is {least} to {most}, got {getattr(self, part)}")

    @property
    def window(self) -> int:
        """Hashes in a row of which one is kept."""
        return self.run_words - self.hashed_words + 1

    @property
    def name(self) -> str:
        """The scheme in one word, as stored and shown: `passages1-t20-k8-b32`."""
        return f"passages1-t{self.run_words}-k{self.hashed_words}-b{self.bits}"

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the scheme of a name.

        Raises:
            ParameterError: There is no such scheme.
        """
        found = _NAME.fullmatch(name)
        if not found:
            raise ParameterError(f"there is no passage scheme {name!r}; name one as {cls().name}")
        return cls(*map(int, found.groups()))


def winnowed(words: JoinedWords, scheme: PassageScheme) -> Numbers:
    """Return the numbers of a text's passages: sorted distinct uint64 array, empty where it has no run of that length.

    Args:
        words: The folded words of the text.
        scheme: How long a run is, and what is kept of it.
    """
    return sorted_distinct([_smallest(words, scheme)])


def winnowed_in_order(words: JoinedWords, scheme: PassageScheme) -> Numbers:
    """Return what `winnowed` does, in the order in which the passages stand in the text."""
    numbers, firsts = np.unique(_smallest(words, scheme), return_index=True)
    return numbers[np.argsort(firsts)]


def kept_places(words: JoinedWords, scheme: PassageScheme) -> tuple[npt.NDArray[np.int64], Numbers]:
    """Return where the hashes stand that `winnowed` keeps, and their numbers, also those that are there before.

    Returns:
        The first word under each, ascending int64 array of shape (n,); and its number, uint64 array of shape (n,).
    """
    hashes = run_hashes(words, scheme)
    smallest = _across(np.minimum, hashes, scheme.window)
    # A hash is kept if the largest of what is kept around it is it: none is larger, as each window kept its smallest.
    padding = np.zeros(scheme.window - 1, np.uint64)
    around = _across(np.maximum, np.concatenate((padding, smallest, padding)), scheme.window)
    places = np.flatnonzero(around == hashes) if hashes.size else np.empty(0, np.int64)
    return places, _numbers(hashes[places], scheme)


def _smallest(words: JoinedWords, scheme: PassageScheme) -> Numbers:
    """Return the number of the smallest hash of each window, in the order of the text."""
    return _numbers(_across(np.minimum, run_hashes(words, scheme), scheme.window), scheme)


def _across(best: np.ufunc, hashes: Numbers, window: int) -> Numbers:
    """Return the smallest or the largest of each window; empty where there are fewer hashes than one has."""
    width = 1
    while width < window:
        # The best of a window is the better one of two windows that lie across it.
        step = min(width, window - width)
        hashes = best(hashes[:-step], hashes[step:])
        width += step
    return hashes


def _numbers(hashes: Numbers, scheme: PassageScheme) -> Numbers:
    # Not the upper bits: the smallest hashes have few of those to tell them apart.
    return hashes & np.uint64((1 << scheme.bits) - 1)


def run_hashes(words: JoinedWords, scheme: PassageScheme) -> Numbers:
    """Return a hash of each `hashed_words` words in a row of a text.

    Returns:
        uint64 array of shape (words - hashed_words + 1,) in the order of the text; empty where it has not
        `run_words` words.
    """
    count = len(words.starts) - 1
    if count < scheme.run_words:
        return np.empty(0, np.uint64)
    units = np.append(words.encoded.view("<u2"), np.uint16(_BLANK)).astype(np.uint64)
    starts = words.starts // 2
    of_words = _mixed(_polynomials(units[: starts[-1]], starts[:-1], np.diff(starts)))
    places = count - scheme.hashed_words + 1
    hashes = of_words[:places].copy()
    for at in range(1, scheme.hashed_words):
        hashes *= _OF_WORDS
        hashes += of_words[at : at + places]
    return _mixed(hashes)


def _polynomials(units: Numbers, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Numbers:
    """Return of each word the sum of its units times ascending powers of one number, modulo 2**64."""
    powers = np.full(int(lengths.max()), _OF_LETTERS)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    within = np.arange(units.size) - np.repeat(starts, lengths)
    sums: Numbers = np.add.reduceat(units * powers[within], starts)
    return sums


def _mixed(numbers: Numbers) -> Numbers:
    """Return numbers whose every bit depends on every bit of those given: the last steps of murmur3's 64 bits."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        numbers = (numbers ^ numbers >> np.uint64(33)) * np.uint64(factor)
    return numbers ^ numbers >> np.uint64(33)
