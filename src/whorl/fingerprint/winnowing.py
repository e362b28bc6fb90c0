"""Selects hashes of a text by winnowing, so that two texts with the same run of words share at least one hash.

Each run of `hashed_words` consecutive words has a hash. A window has `window` neighbouring hashes, which depend on
`run_words` = `window` + `hashed_words` - 1 consecutive words. Winnowing keeps the smallest hash of each window. So two
texts with the same `run_words` consecutive words keep the same hash from these words.

Winnowing keeps the fraction 2 / (window + 1) of the hashes of a random text.

Source: Schleimer, Wilkerson, Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import chunks, sort_distinct
from whorl.errors import ParameterError, SchemeMismatchError, require_int
from whorl.fingerprint.fingerprint_texts import Outputs, hash_texts
from whorl.fingerprint.shingling import JoinedWords, Scheme
from whorl.fingerprint.words.tokenizer import fold_apostrophes, without_line_end_hyphens
from whorl.request_context import require_time

Numbers = npt.NDArray[np.uint64]
_T = TypeVar("_T", bound=np.generic)

_NAME = re.compile(r"passages[12]-t(\d{1,3})-k(\d{1,3})-b(\d\d)", re.ASCII)
#: Smallest `run_words` of a store, which finds every shared run of at least this number of words.
SHORTEST_RUN = 8
#: A single hash of this number of bits is enough evidence of a shared passage: with ten million stored hashes, only one
#: text in hundreds has a false match.
PROOF_BITS = 40
#: Marker that is stored with the passage hashes of a document if words of the document are broken at line ends.
BROKEN_WORDS = 0
#: Multipliers of two polynomial hashes: the hash of a word combines its UTF-16 units, and the hash of a run combines
#: its words. Multipliers are odd, so that no bit is lost.
_OF_LETTERS, _OF_WORDS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_BLANKS = np.array([0x20], "<u2")
#: Number of bytes of words to hash between two checks of the deadline. Hashing takes sixteen times this memory.
_BYTES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class PassageScheme:
    """Parameters of passage hashes, in addition to the token scheme. Hashes of different schemes cannot be compared.

    Args:
        run_words: Every shared run of this number of words or more is detected; 2 to 999.
        hashed_words: Number of words per hash, 1 to `run_words`. With a smaller number, texts keep fewer hashes, but
            common phrases match more documents.
        bits: Number of bits per hash, 24 to 48.

    Raises:
        ParameterError: A number is out of range.
    """

    run_words: int = 20
    hashed_words: int = 8
    bits: int = 32

    def __post_init__(self) -> None:
        for part, least, most in (("run_words", 2, 999), ("hashed_words", 1, self.run_words), ("bits", 24, 48)):
            if not least <= getattr(self, part) <= most:
                raise ParameterError(f"{part} of a passage scheme is {least} to {most}, got {getattr(self, part)}")

    @classmethod
    def for_runs(cls, words: int) -> Self:
        """Return the scheme that finds every shared run of `words` words, 8 to 20.

        >>> [PassageScheme.for_runs(words).name for words in (20, 12, 8)]
        ['passages2-t20-k8-b32', 'passages2-t12-k8-b32', 'passages2-t8-k6-b32']
        """
        words = require_int("passages", words)
        if not SHORTEST_RUN <= words <= cls().run_words:
            raise ParameterError(
                f"a store finds runs of {SHORTEST_RUN} to {cls().run_words} words for certain, got {words}"
            )
        return cls(words, 8 if words >= 12 else 6)

    @property
    def window(self) -> int:
        """Number of consecutive hashes in a window; winnowing keeps the smallest one."""
        return self.run_words - self.hashed_words + 1

    @property
    def name(self) -> str:
        """Name of the scheme in stores and output: `passages2-t20-k8-b32`."""
        return f"passages2-t{self.run_words}-k{self.hashed_words}-b{self.bits}"

    @classmethod
    def parse(cls, name: str) -> Self:
        """Parse the name of a scheme.

        A name that begins with `passages1` comes from a version that did not fold apostrophes; its parameters have the
        same meaning.
        """
        match = _NAME.fullmatch(name)
        if not match:
            raise ParameterError(f"there is no passage scheme {name!r:.80}; name one as {cls().name}")
        return cls(*map(int, match.groups()))

    def require(self, wanted: Self | None, store: str) -> None:
        if wanted is not None and wanted != self:
            raise SchemeMismatchError(
                f"{store} finds passages of {self.run_words} words, not of {wanted.run_words}; "
                f"use {self.run_words}, or index into a new store"
            )


def winnow(words: JoinedWords, scheme: PassageScheme) -> Numbers:
    """Return the hashes of a text that winnowing keeps, ascending and distinct; empty for a short text."""
    return sort_distinct(
        [_passage_hashes(_best_in_windows(np.minimum, run_hashes(words, scheme), scheme.window), scheme)]
    )


def stored_passage_hashes(text: str, words: JoinedWords, scheme: Scheme, passage_scheme: PassageScheme) -> Numbers:
    """Return the passage hashes that a store keeps for a document, as an ascending distinct uint64 array.

    If words are broken at line ends, the result includes BROKEN_WORDS, and the hashes of the text with these words
    joined. `words` are the words of `text` under `scheme`, the scheme of the document's tokens. The hashes come from
    the text with folded apostrophes.
    """
    words, rejoined = _versions(text, words, scheme)
    numbers = winnow(words, passage_scheme)
    if rejoined is None:
        return numbers
    return sort_distinct([np.array([BROKEN_WORDS], np.uint64), numbers, winnow(rejoined, passage_scheme)])


class PassagePlaces(NamedTuple):
    """Passage hashes of a document in the order of its words.

    Attributes:
        words: Number of words of the document.
        places: Index of the first word of each hashed run, ascending; int64 array of shape (n,).
        hashes: The hashes of `stored_passage_hashes`, with repetitions; uint64 array of shape (n,).
    """

    words: int
    places: npt.NDArray[np.int64]
    hashes: Numbers


def passage_places(text: str, words: JoinedWords, scheme: Scheme, passage_scheme: PassageScheme) -> PassagePlaces:
    """Return the hashes of `stored_passage_hashes`, which has the same arguments, with their places.

    Words that are broken at line ends count as two words. BROKEN_WORDS has the place 0.
    """
    words, rejoined = _versions(text, words, scheme)
    places, hashes = winnow_with_positions(words, passage_scheme)
    if rejoined is not None:
        more_places, more_hashes = winnow_with_positions(rejoined, passage_scheme)
        # Both versions have the same letters, so find the word with the same letters before it.
        own, joined = (version.starts // 2 - np.arange(version.starts.size) for version in (words, rejoined))
        more_places = np.searchsorted(own, joined[more_places], side="right") - 1
        places = np.concatenate(([0], places, more_places))
        hashes = np.concatenate((np.array([BROKEN_WORDS], np.uint64), hashes, more_hashes))
        order = np.lexsort((hashes, places))
        places, hashes = places[order], hashes[order]
        is_new = np.append(True, (places[1:] != places[:-1]) | (hashes[1:] != hashes[:-1]))
        places, hashes = places[is_new], hashes[is_new]
    return PassagePlaces(words.starts.size - 1, places, hashes)


def _versions(text: str, words: JoinedWords, scheme: Scheme) -> tuple[JoinedWords, JoinedWords | None]:
    """Return the words of a text with folded apostrophes; and also without breaks at line ends, if it has any."""
    folded = fold_apostrophes(text)
    whole = without_line_end_hyphens(folded)
    if folded != text:
        (words,) = _words_of([folded], scheme)
    if whole == folded:
        return words, None
    (rejoined,) = _words_of([whole], scheme)
    return words, rejoined


def _words_of(texts: Sequence[str], scheme: Scheme) -> Iterator[JoinedWords]:
    return (hashed.words for hashed in hash_texts(texts, scheme, Outputs.WORDS, workers=1))


def hashes_to_look_up(words: JoinedWords, scheme: PassageScheme) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """Return the hashes to look up for a text, and a range of words for each hash.

    Each run of `hashed_words` words has a hash. A stored document that shares a run of `run_words` words with the text
    has at least one of these hashes. A document that shares a shorter run may have some of them too.

    Returns:
        Hashes in text order, uint64 array of shape (n,), and a half-open range of words for each hash, int64 array of
        shape (n, 2). The range covers all windows that have the hash as their smallest hash. It is empty if there is
        no such window. A store keeps the hash for each document that contains all words of one of these windows.

        There is one exception. If a document has words that are broken at line ends, the store keeps the hashes of two
        versions: with all of these words joined, and with all of them broken. A window in neither version may lack a
        stored hash.
    """
    if len(words.starts) - 1 < scheme.hashed_words:
        return np.empty(0, np.uint64), np.empty((0, 2), np.int64)
    hashes = hashes_of_runs(word_hashes([words]), scheme.hashed_words)
    places = np.arange(hashes.size)
    smallest = _best_in_windows(lambda a, b: np.where(hashes[b] < hashes[a], b, a), places, scheme.window)
    # The smallest hash of a window never precedes the smallest hash of an earlier window. So `smallest` ascends.
    first, end = np.searchsorted(smallest, places), np.searchsorted(smallest, places, side="right")
    return _passage_hashes(hashes, scheme), np.stack(
        (first, np.where(end > first, end - 1 + scheme.run_words, first)), axis=1
    )


def winnow_with_positions(words: JoinedWords, scheme: PassageScheme) -> tuple[npt.NDArray[np.int64], Numbers]:
    """Return the positions and the values of the hashes that `winnow` keeps, including repetitions.

    A position is the index of the first word of the run that was hashed. The positions are an ascending int64 array of
    shape (n,), and the values are a uint64 array of the same shape.
    """
    hashes = run_hashes(words, scheme)
    is_window = np.ones(max(0, hashes.size - scheme.window + 1), np.bool_)
    places = window_minima(hashes, is_window)
    return places, _passage_hashes(hashes[places], scheme)


def window_minima(hashes: Numbers, is_window: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the positions of the smallest hashes of all windows, as an ascending int64 array.

    Args:
        hashes: Hashes of the word runs of one or several texts, concatenated; uint64 array.
        is_window: Mask of the positions where a window starts; False if the window would span two texts.
    """
    if not is_window.size:
        return np.empty(0, np.int64)
    window = hashes.size - is_window.size + 1
    smallest = np.where(is_window, _best_in_windows(np.minimum, hashes, window), np.uint64(0))
    # A hash is the minimum of a window if and only if it equals the largest minimum of all windows that contain it. So
    # compute this largest minimum for each hash.
    padding = np.zeros(window - 1, np.uint64)
    around = _best_in_windows(np.maximum, np.concatenate((padding, smallest, padding)), window)
    return np.flatnonzero(around == hashes)


def _best_in_windows(
    best: Callable[[npt.NDArray[_T], npt.NDArray[_T]], npt.NDArray[_T]], elements: npt.NDArray[_T], window: int
) -> npt.NDArray[_T]:
    """Return the best element of each window of `window` elements; an empty array if there are fewer elements.

    `best` takes two arrays of the same shape, and returns the better element at each position; ties go to the first
    array.
    """
    width = 1
    while width < window:
        # Two shorter windows cover each window; the better of their best elements is the best of the window.
        require_time()
        step = min(width, window - width)
        elements = best(elements[:-step], elements[step:])
        width += step
    return elements


def _passage_hashes(hashes: Numbers, scheme: PassageScheme) -> Numbers:
    # Keep the lower bits, because the upper bits of the hashes that winnowing selects hardly differ.
    return hashes & np.uint64((1 << scheme.bits) - 1)


def run_hashes(words: JoinedWords, scheme: PassageScheme) -> Numbers:
    """Return a hash of each run of `hashed_words` consecutive words of a text, in text order.

    The result is a uint64 array of shape (words - hashed_words + 1,); empty for fewer than `run_words` words.
    """
    count = len(words.starts) - 1
    if count < scheme.run_words:
        return np.empty(0, np.uint64)
    return hashes_of_runs(word_hashes([words]), scheme.hashed_words)


def word_hashes(texts: Sequence[JoinedWords]) -> Numbers:
    """Return a hash of each word of several texts, concatenated; uint64 array of shape (words,)."""
    portions = chunks(chain.from_iterable(map(_pieces, texts)), lambda words: words.encoded.size, _BYTES_AT_ONCE)
    return np.concatenate([np.empty(0, np.uint64), *map(_hashes_of_portion, portions)])


def _pieces(words: JoinedWords) -> Iterator[JoinedWords]:
    """Cut the words of a text into pieces of at most `_BYTES_AT_ONCE` bytes; a longer word is a piece of its own."""
    starts, first = words.starts, 0
    while first < starts.size - 1:
        end = int(np.searchsorted(starts, starts[first] + _BYTES_AT_ONCE, side="right")) - 1
        end = max(end, first + 1)
        yield JoinedWords(words.encoded[starts[first] : starts[end] - 2], starts[first : end + 1] - starts[first])
        first = end


def _hashes_of_portion(texts: Sequence[JoinedWords]) -> Numbers:
    require_time()
    # A word's hash includes the blank after the word, so add a blank after the last word of each text.
    units = np.concatenate([part for words in texts for part in (words.encoded.view("<u2"), _BLANKS)])
    lengths = np.concatenate([np.diff(words.starts) // 2 for words in texts])
    return mix_bits(_polynomials(units.astype(np.uint64), np.cumsum(lengths) - lengths, lengths))


def hashes_of_runs(of_words: Numbers, count: int) -> Numbers:
    """Return a hash of each run of `count` words; uint64 array of shape (words - count + 1,).

    `of_words` has at least `count` word hashes, from `word_hashes`.
    """
    places = of_words.size - count + 1
    hashes = of_words[:places].copy()
    for at in range(1, count):
        require_time()
        hashes *= _OF_WORDS
        hashes += of_words[at : at + places]
    return mix_bits(hashes)


def _polynomials(units: Numbers, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Numbers:
    """Return a polynomial hash of each word: the sum of its units times powers of `_OF_LETTERS`, modulo 2**64."""
    powers = np.full(int(lengths.max()), _OF_LETTERS)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    require_time()
    within = np.arange(units.size) - np.repeat(starts, lengths)
    require_time()
    sums: Numbers = np.add.reduceat(units * powers[within], starts)
    return sums


def mix_bits(numbers: Numbers) -> Numbers:
    """Mix the bits of each number with the finaliser of 64-bit murmur3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        numbers = (numbers ^ numbers >> np.uint64(33)) * np.uint64(factor)
    return numbers ^ numbers >> np.uint64(33)
