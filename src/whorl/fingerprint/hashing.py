"""Shingles to Lucene's 128-bit hashes.

Source: org.apache.lucene.analysis.minhash.MinHashFilter (identical in Lucene 8, 9 and 10): MurmurHash3_x64_128 with
seed 0 of the shingle's UTF-16LE bytes, combined with the hash of the hash function's number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise

import mmh3
import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MULTIPLIER = np.uint64(37)
_BLANK = np.uint16(0x20)
_ENCODED_BLANK = np.array([0x20, 0], np.uint8)


@dataclass(frozen=True, slots=True)
class JoinedWords:
    """Folded words, joined by single blanks, in UTF-16LE.

    Args:
        encoded: uint8 array of shape (bytes,), U+FFFD for each lone surrogate.
        starts: int64 array of shape (words + 1,): where each word starts, in bytes, and where one more would. A word
            ends 2 bytes, a blank, before the next one starts.
    """

    encoded: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]

    def words(self) -> list[str]:
        """Return the words one by one."""
        text = self.encoded.tobytes().decode("utf-16-le")
        if text.count(" ") == len(self.starts) - 2:
            return text.split(" ")
        raw, ends = self.encoded.tobytes(), self.starts.tolist()
        return [raw[start : end - 2].decode("utf-16-le") for start, end in pairwise(ends)]

    def followed_by(self, others: JoinedWords) -> JoinedWords:
        """Return these words and others after them."""
        if len(self.starts) == 1 or len(others.starts) == 1:
            return others if len(self.starts) == 1 else self
        encoded = np.concatenate((self.encoded, _ENCODED_BLANK, others.encoded))
        return JoinedWords(encoded, np.concatenate((self.starts[:-1], others.starts + self.starts[-1])))

    def last(self, count: int) -> JoinedWords:
        """Return the last `count` words, or all where there are fewer."""
        starts = self.starts[-count - 1 :]
        return JoinedWords(self.encoded[starts[0] :], starts - starts[0])


def join(words: Sequence[str]) -> JoinedWords:
    """Join words."""
    # All words encoded once; a shingle is a slice of that, from the start of one word to the end of another.
    encoded = java_utf16(" ".join(words))
    return JoinedWords(np.frombuffer(encoded, np.uint8), _starts(words, encoded))


def murmur_halves(words: Sequence[str], size: int) -> npt.NDArray[np.uint64]:
    """Return murmur's two halves, h1 and h2, of every shingle, in text order, repeats included.

    Args:
        words: The folded words of a text, in order.
        size: Words in a shingle, at least 1.

    Returns:
        uint64 array of shape (shingles, 2); no rows for fewer words than one shingle.

    Raises:
        ParameterError: The size is less than 1.
    """
    if size < 1:
        raise ParameterError(f"a shingle holds at least 1 word, got size {size}")
    if len(words) < size:
        return np.empty((0, 2), dtype=np.uint64)
    joined = join(words)
    encoded, starts = joined.encoded.tobytes(), joined.starts.tolist()
    digest = mmh3.mmh3_x64_128_digest
    raw = b"".join([digest(encoded[at : end - 2], 0) for at, end in zip(starts, starts[size:], strict=False)])
    return np.frombuffer(raw, dtype="<u8").reshape(-1, 2)


def numbered(murmur: npt.NDArray[np.uint64], number: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the hashes that one of several hash functions makes of murmur's halves.

    Lucene folds the number into every hash (combineOrdered), also when there is only number 0.

    Returns:
        Two uint64 arrays of shape (shingles,): the half that leads, whose top bits are the bucket, and the half that
        breaks ties.
    """
    first, second = hash_of_number(number).tolist()
    high, low = murmur[:, 1] * _MULTIPLIER, murmur[:, 0] * _MULTIPLIER
    high += np.uint64(second)
    low += np.uint64(first)
    return high, low


@cache
def hash_of_number(number: int) -> npt.NDArray[np.uint64]:
    """Return murmur's halves of a hash function's number, in four bytes, the highest first."""
    return np.frombuffer(mmh3.mmh3_x64_128_digest(number.to_bytes(4, "big"), 0), dtype="<u8")


def _starts(words: Sequence[str], encoded: bytes) -> npt.NDArray[np.int64]:
    """Return where each word starts in the words joined by blanks, in bytes of UTF-16, and where one more would."""
    if not words:
        return np.zeros(1, np.int64)
    blanks = np.flatnonzero(np.frombuffer(encoded, "<u2") == _BLANK)
    if len(blanks) == len(words) - 1:
        return np.concatenate(([0], 2 * (blanks + 1), [len(encoded) + 2]))
    # Folding has put blanks into a word, as it does with some Arabic ligatures.
    sizes = (len(java_utf16(word)) + 2 for word in words)
    return np.fromiter(accumulate(sizes, initial=0), np.int64, len(words) + 1)


def java_utf16(text: str) -> bytes:
    """Encode as Java's UTF-16LE encoder does: no byte-order mark, U+FFFD for each lone surrogate."""
    try:
        return text.encode("utf-16-le")
    except UnicodeEncodeError:
        return well_formed(text).encode("utf-16-le")


def well_formed(text: str) -> str:
    """Join surrogate pairs and replace each lone surrogate by U+FFFD, as every UTF-8 writer of Lucene does."""
    # Nearly every text is so already, which is told much sooner than made.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return LONE_SURROGATE.sub("\ufffd", joined)
