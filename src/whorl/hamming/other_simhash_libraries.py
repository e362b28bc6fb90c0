r"""Computes features and hashes exactly as other SimHash libraries do, so that stored codes stay usable.

===============  ============================  ========================  ================================
scheme           words                         hash of a feature         features
===============  ============================  ========================  ================================
simhash-py-0.4   split at ``\W+``              MD5, its first 8 bytes,   four words, joined by a blank
                                               the highest first
simhash-py-0.1   split at ``\W+``,             lookup3                   a rolling hash of three words
                 empty ones left out
simhash-cpp-0.1  runs of ``[A-Za-z]``          lookup3                   a rolling hash of three words
simhash-1e0ng-2  no words                      MD5, its last 8 bytes,    four characters
                                               the highest first
===============  ============================  ========================  ================================

simhash-1e0ng-2 takes the characters from the letters, digits and underscores of the text in lower case.

All schemes count each occurrence of a feature, and leave a bit unset on a tie. The two schemes with lookup3 store the
bits in reverse order. In simhash-py 0.4, the caller chooses words and features. This module uses the words and features
of that library's tests; `shingle`, `unsigned_hash` and `codes_from_votes` make codes from other features.

Sources: Bob Jenkins, lookup3.c (May 2006, public domain), the function hashlittle2. It adds a string to three 32-bit
    numbers, twelve bytes at a time, and mixes the numbers after each block. This module processes strings with equal
    numbers of blocks together. seomoz/simhash-py 0.4.0 and 0.1.1, seomoz/simhash-cpp v0.1.0 (all MIT), 1e0ng/simhash
    2.1.2 (MIT).
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import md5
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from whorl.errors import CodeTypeError, ParameterError
from whorl.fingerprint.shingling import well_formed
from whorl.hamming.votes import Hashes, codes_from_votes, count_votes

#: Number of words in a rolling hash.
_ROLLED = 3
_SEPARATORS = re.compile(r"\W+")
_LETTERS = re.compile("[A-Za-z]+")
_NOT_SPACED = re.compile("[\\w\u4e00-\u9fcc]+")

_Token = TypeVar("_Token")


def shingle(tokens: Iterable[_Token], window: int = 4) -> Iterator[list[_Token]]:
    """Yield every window of tokens, like ``shingle`` of simhash-py 0.4.

    Raises:
        ParameterError: The window is less than 1.

    >>> list(shingle("to be or not".split(), 3))
    [['to', 'be', 'or'], ['be', 'or', 'not']]
    """
    if window < 1:
        raise ParameterError(f"Window size must be positive, got {window}")
    return _windows(tokens, window)


def _windows(tokens: Iterable[_Token], size: int) -> Iterator[list[_Token]]:
    last: deque[_Token] = deque(maxlen=size)
    for token in tokens:
        last.append(token)
        if len(last) == size:
            yield list(last)


def unsigned_hash(raw: bytes) -> int:
    """Return the first 8 bytes of MD5 as a big-endian number, like ``unsigned_hash`` of simhash-py 0.4.

    Raises:
        CodeTypeError: The value is not bytes.

    >>> hex(unsigned_hash(b""))
    '0xd41d8cd98f00b204'
    """
    if not isinstance(raw, bytes):
        raise CodeTypeError(f"unsigned_hash takes bytes, got {raw!r}; a text's are text.encode()")
    return int.from_bytes(_md5(raw)[:8], "big")


def hash_fp(numbers: Iterable[int]) -> int:
    """Return the code of a list of numbers, like ``hash_fp`` of simhash-py 0.1.

    Raises:
        ParameterError: A number is out of range.
    """
    try:
        raw = [number.to_bytes(8, "little", signed=True) for number in numbers]
    except OverflowError:
        raise ParameterError("the numbers are 64-bit integers with a sign: -2**63 to 2**63 - 1") from None
    return int(_rolling([raw])[0])


def md5_of_four_words(texts: Sequence[str]) -> Hashes:
    phrases = [list(map(" ".join, _windows(_SEPARATORS.split(well_formed(text)), 4))) for text in texts]
    raw = b"".join([_md5(phrase.encode())[:8] for phrase in chain.from_iterable(phrases)])
    return codes_from_votes(count_votes(np.frombuffer(raw, ">u8").astype(np.uint64), list(map(len, phrases))))


def rolling_unicode_words(texts: Sequence[str]) -> Hashes:
    return _rolling([[word.encode() for word in _SEPARATORS.split(well_formed(text)) if word] for text in texts])


def rolling_ascii_words(texts: Sequence[str]) -> Hashes:
    """Compute codes as simhash-cpp 0.1 does.

    The original reads past the end of a text that ends in a letter, but this function does not.
    """
    return _rolling([[word.encode() for word in _LETTERS.findall(text)] for text in texts])


def md5_of_four_characters(texts: Sequence[str]) -> Hashes:
    counts = []
    for text in texts:
        content = "".join(_NOT_SPACED.findall(well_formed(text).lower()))
        # A text of fewer than four characters is one feature.
        counts.append(Counter(content[at : at + 4] for at in range(max(1, len(content) - 3))))
    raw = b"".join([_md5(feature.encode())[8:] for feature in chain.from_iterable(counts)])
    weights = [weight for count in counts for weight in count.values()]
    return codes_from_votes(count_votes(np.frombuffer(raw, ">u8").astype(np.uint64), list(map(len, counts)), weights))


def _md5(raw: bytes) -> bytes:
    return md5(raw, usedforsecurity=False).digest()


def _rolling(words: Sequence[Sequence[bytes]]) -> Hashes:
    sizes = np.array([len(text_words) for text_words in words], np.int64)
    numbers: dict[bytes, int] = {}
    order = [numbers.setdefault(word, len(numbers)) for word in chain.from_iterable(words)]
    hashes = lookup3(list(numbers))[np.array(order, np.intp)]
    index = np.arange(hashes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rolled = hashes.copy()
    # A feature is the XOR of the hashes of a word and of up to two words before it, each rotated left by its distance
    # from the word, in bits.
    for back in range(1, min(_ROLLED, hashes.size)):
        earlier = hashes[:-back]
        turned = (earlier << np.uint64(back)) | (earlier >> np.uint64(64 - back))
        rolled[back:] ^= np.where(index[back:] >= back, turned, np.uint64(0))
    return codes_from_votes(count_votes(rolled, sizes)[:, ::-1])


_BLOCK_BYTES = 12
_START = 0xDEADBEEF
_MOST = 0xFFFFFFFF
#: Mixing steps of lookup3.c: the indices of two numbers, and the rotation of the second number in bits.
_MIX = ((0, 2, 4), (1, 0, 6), (2, 1, 8), (0, 2, 16), (1, 0, 19), (2, 1, 4))
_FINAL = ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24))

_Halves = npt.NDArray[np.uint32]


def lookup3(strings: Sequence[bytes], primary: int = 0, secondary: int = 0) -> npt.NDArray[np.uint64]:
    """Return the 64-bit hash of each string: hashlittle2's ``*pc`` in the high half, ``*pb`` in the low half.

    `primary` and `secondary` are hashlittle2's initial values of ``*pc`` and ``*pb``.

    >>> f"{lookup3([b'Four score and seven years ago'])[0]:016x}"
    '17770551ce7226e6'
    """
    lengths = np.array([len(string) for string in strings], np.int64)
    # The last block gets only the final mixing, even if it is complete.
    blocks = (lengths + _BLOCK_BYTES - 1) // _BLOCK_BYTES
    hashes = np.empty(len(strings), np.uint64)
    for count in np.unique(blocks).tolist():
        indices = np.flatnonzero(blocks == count)
        raw = b"".join([strings[index].ljust(count * _BLOCK_BYTES, b"\0") for index in indices.tolist()])
        words = np.frombuffer(raw, "<u4").astype(np.uint32).reshape(indices.size, count, 3)
        state = np.empty((3, indices.size), np.uint32)
        state[:] = ((lengths[indices] + (_START + primary)) & _MOST).astype(np.uint32)
        state[2] += np.uint32(secondary)
        for block in range(count):
            state += words[:, block].T
            (_finish if block == count - 1 else _mix)(state)
        hashes[indices] = (state[2].astype(np.uint64) << np.uint64(32)) | state[1]
    return hashes


def _rotate(halves: _Halves, bits: int) -> _Halves:
    return (halves << np.uint32(bits)) | (halves >> np.uint32(32 - bits))


def _mix(state: _Halves) -> None:
    """Apply ``mix`` of lookup3.c to the three numbers of each string, in place; `state` has shape (3, strings)."""
    for to, by, bits in _MIX:
        state[to] -= state[by]
        state[to] ^= _rotate(state[by], bits)
        state[by] += state[3 - to - by]


def _finish(state: _Halves) -> None:
    """Apply ``final`` of lookup3.c to the three numbers of each string, in place; `state` has shape (3, strings)."""
    for to, by, bits in _FINAL:
        state[to] ^= state[by]
        state[to] -= _rotate(state[by], bits)
