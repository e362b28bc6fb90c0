"""Words of texts and the murmur hashes of their shingles, with numpy.

A long text is read piece by piece; short texts are hashed together, because starting numpy's loops takes half of the
time of a short text. The results equal those of `tokenizer.tokens` and MurmurHash3.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, chain, groupby, islice

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.shingling import JoinedWords, join, murmur3_x64_128
from whorl.fingerprint.words import tokenizer as plain
from whorl.fingerprint.words.ascii import ascii_words

_BLANKS = re.compile(r"\s+")
#: Characters per piece if every character is a word.
_CHARACTERS_IN_PIECE = 1 << 18
#: Lucene's buffers per piece: about a million characters, so that memory does not grow with the text.
_BUFFERS_IN_PIECE = 256


def pieces(text: str, profile: str = plain.DEFAULT_PROFILE) -> Iterator[JoinedWords]:
    """Yield the folded words of a text in order, in pieces that end at the end of one of Lucene's buffers.

    With CHARACTERS as the profile, yield the characters instead: case-folded, in Unicode's form NFKC, with one blank
    for each run of white space.

    Raises:
        ParameterError: The profile does not exist.
    """
    if profile == plain.CHARACTERS:
        folded = _BLANKS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
        for at in range(0, len(folded), _CHARACTERS_IN_PIECE):
            yield join(folded[at : at + _CHARACTERS_IN_PIECE])
        return
    segmenter = plain.segmenter_of(profile)
    for is_ascii, buffers in groupby(plain.buffers(text), str.isascii):
        while some := list(islice(buffers, _BUFFERS_IN_PIECE)):
            # Joined buffers are cut at the same positions again.
            yield ascii_words("".join(some), profile) if is_ascii else join(list(chain(*map(segmenter.words, some))))


def murmur_pieces(read: Iterable[JoinedWords], size: int) -> Iterator[npt.NDArray[np.uint64]]:
    """Yield murmur's two halves of every shingle of a text, in text order.

    Args:
        read: TextBuffer of the text.
        size: Words per shingle, at least 1.

    Returns:
        uint64 arrays of shape (shingles, 2), as `hashing.murmur3_x64_128` returns them.
    """
    before = join([])
    for piece in read:
        words = before.followed_by(piece)
        starts = words.starts
        if len(starts) > size:
            yield murmur3_x64_128(words.encoded, starts[:-size], starts[size:] - 2)
        before = words.last(size - 1)


def joined_words(text: str, profile: str) -> JoinedWords:
    """Return the folded words of a text, all at once.

    Raises:
        ParameterError: The profile does not exist.
    """
    return reduce(JoinedWords.followed_by, pieces(text, profile), join([]))


def murmur_together(joined: Sequence[JoinedWords], size: int) -> tuple[npt.NDArray[np.uint64], list[int]]:
    """Return murmur's two halves of every shingle of several texts, concatenated, and the number of each text.

    Args:
        joined: Words of each text, at least one text.
        size: Words per shingle, at least 1.
    """
    counts = [max(0, len(words.starts) - size) for words in joined]
    # All words are in one buffer, but no shingle crosses the border of two texts.
    offsets = accumulate((len(words.encoded) for words in joined[:-1]), initial=0)
    placed = list(zip(joined, counts, offsets, strict=True))
    starts = np.concatenate([words.starts[:count] + offset for words, count, offset in placed])
    ends = np.concatenate([words.starts[size:] + (offset - 2) for words, _, offset in placed])
    return murmur3_x64_128(np.concatenate([words.encoded for words in joined]), starts, ends), counts
