"""Winnowed passages: numbers of a text such that two texts with the same run of words have one of them in common.

Every `hashed_words` words in a row have a hash. Of each `window` of neighbouring hashes the smallest is kept, which
depends on the words under the window and on nothing else: who has the same `run_words` words in a row, in whatever
text, at whatever line wrapping, keeps the same number of them. Of a text of random words 2 / (window + 1) of the hashes
are kept, since the smallest of a window is mostly that of the next one too.

Source: Schleimer, Wilkerson, Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from whorl.arrays import chunks, sorted_distinct
from whorl.errors import ParameterError
from whorl.fingerprint.hashing import JoinedWords

Numbers = npt.NDArray[np.uint64]

_NAME = re.compile(r"passages1-t(\d{1,3})-k(\d{1,3})-b(\d\d)", re.ASCII)
#: Odd, so that no bit of what they are multiplied with is lost: the golden ratio's and another of no pattern.
_OF_LETTERS, _OF_WORDS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_BLANKS = np.array([0x20], "<u2")
#: Of words that are hashed at once; meanwhile they take sixteen times the room.
_BYTES_AT_ONCE = 1 << 21


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
    is_window = np.ones(max(0, hashes.size - scheme.window + 1), np.bool_)
    places = kept_of(hashes, is_window)
    return places, _numbers(hashes[places], scheme)


def kept_of(hashes: Numbers, is_window: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the places of the hashes that are the smallest of a window; ascending int64 array.

    Args:
        hashes: Those of runs of words, of one text or of several, one after the other; uint64 array.
        is_window: Whether the neighbours that begin at a place are a window, and not of two texts; bool array, shorter
            than the hashes by one less than a window has.
    """
    if not is_window.size:
        return np.empty(0, np.int64)
    window = hashes.size - is_window.size + 1
    smallest = np.where(is_window, _across(np.minimum, hashes, window), np.uint64(0))
    # A hash is kept if the largest of what is kept around it is it: none is larger, as each window kept its smallest.
    padding = np.zeros(window - 1, np.uint64)
    around = _across(np.maximum, np.concatenate((padding, smallest, padding)), window)
    return np.flatnonzero(around == hashes)


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
    return hashes_of_runs(word_hashes([words]), scheme.hashed_words)


def word_hashes(texts: Sequence[JoinedWords]) -> Numbers:
    """Return a hash of each word of some texts, one text after the other; uint64 array of shape (words,)."""
    counted = (words for words in texts if len(words.starts) > 1)
    portions = chunks(counted, lambda words: words.encoded.size, _BYTES_AT_ONCE)
    return np.concatenate([np.empty(0, np.uint64), *map(_hashes_of_some, portions)])


def _hashes_of_some(texts: Sequence[JoinedWords]) -> Numbers:
    # What stands in front of a blank is what a word ends with, the last one of a text too.
    units = np.concatenate([part for words in texts for part in (words.encoded.view("<u2"), _BLANKS)])
    lengths = np.concatenate([np.diff(words.starts) // 2 for words in texts])
    return mixed(_polynomials(units.astype(np.uint64), np.cumsum(lengths) - lengths, lengths))


def hashes_of_runs(of_words: Numbers, count: int) -> Numbers:
    """Return a hash of each `count` words in a row, by the hashes of words; uint64 array of shape (words - count + 1,).

    Args:
        of_words: As `word_hashes` returns them, no fewer than `count`.
        count: Of words in a run.
    """
    places = of_words.size - count + 1
    hashes = of_words[:places].copy()
    for at in range(1, count):
        hashes *= _OF_WORDS
        hashes += of_words[at : at + places]
    return mixed(hashes)


def _polynomials(units: Numbers, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Numbers:
    """Return of each word the sum of its units times ascending powers of one number, modulo 2**64."""
    powers = np.full(int(lengths.max()), _OF_LETTERS)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    within = np.arange(units.size) - np.repeat(starts, lengths)
    sums: Numbers = np.add.reduceat(units * powers[within], starts)
    return sums


def mixed(numbers: Numbers) -> Numbers:
    """Return numbers whose every bit depends on every bit of those given: the last steps of murmur3's 64 bits."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        numbers = (numbers ^ numbers >> np.uint64(33)) * np.uint64(factor)
    return numbers ^ numbers >> np.uint64(33)
