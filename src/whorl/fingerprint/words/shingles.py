"""The words of a text, piece by piece, and murmur's hashes of their shingles: by numpy where a piece is ASCII.

What comes out is what `text.tokens` and `hashing.murmur_halves` say; only the time differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.hashing import JoinedWords, join
from whorl.fingerprint.murmur import murmur3_x64_128
from whorl.fingerprint.words import tokenizer as plain
from whorl.fingerprint.words.ascii import ascii_words

#: Lucene's buffers in a piece: about a million characters, so that memory does not grow with the text.
_BUFFERS_IN_PIECE = 256


def pieces(text: str, profile: str = plain.DEFAULT_PROFILE) -> Iterator[JoinedWords]:
    """Yield the folded words of a text in order, in pieces that end where one of Lucene's buffers does.

    Raises:
        ParameterError: There is no such profile.
    """
    segmenter = plain.segmenter_of(profile)
    for is_ascii, buffers in groupby(plain.buffers(text), str.isascii):
        while some := list(islice(buffers, _BUFFERS_IN_PIECE)):
            # Put together again, they are cut at the same places.
            yield ascii_words("".join(some), profile) if is_ascii else join(list(chain(*map(segmenter.words, some))))


def word_list(read: Iterable[JoinedWords]) -> list[str]:
    """Return the words of pieces, lone surrogates replaced by U+FFFD."""
    return list(chain.from_iterable(piece.words() for piece in read))


def murmur_pieces(read: Iterable[JoinedWords], size: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Yield murmur's two halves of every shingle of a text, in text order.

    Args:
        read: The pieces of the text.
        size: Words in a shingle, at least 1.

    Returns:
        uint64 arrays of shape (shingles, 2), as `hashing.murmur_halves` returns them.
    """
    before = join([])
    for piece in read:
        words = before.followed_by(piece)
        starts = words.starts
        if len(starts) > size:
            yield murmur3_x64_128(words.encoded, starts[:-size], starts[size:] - 2)
        before = words.last(size - 1)


def sorted_distinct(parts: Iterable[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    """Return the different numbers of some uint64 arrays, ascending; takes 16 bytes a number.

    Sorting is many times as fast as the hash table that `np.unique` has become.
    """
    everything = np.concatenate([np.empty(0, np.uint64), *parts])
    everything.sort()
    return ascending_distinct(everything)


def ascending_distinct(ascending: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the different numbers of an ascending array, which it may be itself."""
    is_new = np.ones(ascending.size, np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_new[1:])
    return ascending if is_new.all() else ascending[is_new]


def distinct(halves: Iterable[npt.NDArray[np.uint64]]) -> int:
    """Return how many different shingles have hashes with these halves.

    Two shingles of n share a half by chance in n * n / 2 ** 65 of texts. Takes 24 bytes a shingle.

    Args:
        halves: uint64 arrays of shape (shingles,), all of them first halves or all second ones.
    """
    return sorted_distinct(halves).size
