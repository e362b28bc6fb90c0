"""Short texts fingerprinted together, with numpy alone: half of what one takes by itself is starting numpy's loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from whorl.fingerprint.hashing import JoinedWords, join, numbered
from whorl.fingerprint.minhash.minima import bucket_of, minima_of
from whorl.fingerprint.murmur import murmur3_x64_128
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.words.shingles import pieces

_Pairs = npt.NDArray[np.uint64]


def words_of_each(texts: Sequence[str], profile: str) -> list[JoinedWords]:
    """Return the folded words of each text.

    Raises:
        ParameterError: There is no such profile.
    """
    return [reduce(JoinedWords.followed_by, pieces(text, profile), join([])) for text in texts]


def murmur_of_each(texts: Sequence[str], scheme: Scheme) -> list[_Pairs]:
    """Return murmur's two halves of every shingle of each text, in text order.

    Takes about 100 bytes for each character of the texts together.

    Args:
        texts: At least one.
        scheme: Profile and shingle size.

    Returns:
        A uint64 array of shape (shingles, 2) for each text, as `hashing.murmur_halves` returns them.

    Raises:
        ParameterError: There is no such profile.
    """
    murmur, counts = murmur_together(words_of_each(texts, scheme.profile), scheme.shingle_size)
    return np.split(murmur, list(accumulate(counts[:-1])))


def murmur_together(joined: Sequence[JoinedWords], size: int) -> tuple[_Pairs, list[int]]:
    """Return murmur's two halves of every shingle of some texts, one text after the other, and how many each has.

    Args:
        joined: The words of each text, at least one text.
        size: Words in a shingle, at least 1.
    """
    counts = [max(0, len(words.starts) - size) for words in joined]
    # All words in one buffer; no shingle reaches from one text into the next.
    offsets = accumulate((len(words.encoded) for words in joined[:-1]), initial=0)
    placed = list(zip(joined, counts, offsets, strict=True))
    starts = np.concatenate([words.starts[:count] + offset for words, count, offset in placed])
    ends = np.concatenate([words.starts[size:] + (offset - 2) for words, _, offset in placed])
    return murmur3_x64_128(np.concatenate([words.encoded for words in joined]), starts, ends), counts


def minima_of_each(murmur: Sequence[_Pairs], scheme: Scheme) -> list[_Pairs]:
    """Return what `minhash.minima_of` returns for each text.

    Args:
        murmur: At least one array, as `murmur_of_each` returns them.
        scheme: What the tokens depend on.
    """
    if not scheme.fills_every_bucket:
        return [minima_of([each], scheme) for each in murmur]
    counts, shape = [len(each) for each in murmur], (len(murmur), scheme.bucket_count)
    high, low = numbered(np.concatenate(murmur), 0)
    buckets = bucket_of(high, scheme.bucket_count)
    buckets += np.repeat(np.arange(len(murmur)) * scheme.bucket_count, counts)
    smallest = np.full((2, len(murmur) * scheme.bucket_count), np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(smallest[0], buckets, high)
    best = np.flatnonzero(high == smallest[0, buckets])
    np.minimum.at(smallest[1], buckets[best], low[best])
    is_filled = np.zeros(shape, np.bool_)
    is_filled.ravel()[buckets] = True
    # Each bucket takes the next filled one of its text, wrapping round: where that stands among all that are filled.
    before = is_filled.cumsum().reshape(shape) - is_filled
    ends = is_filled.sum(axis=1).cumsum()[:, None]
    begins = np.concatenate(([[0]], ends[:-1]))
    filled = np.append(np.flatnonzero(is_filled), 0)
    minima = np.stack((smallest[0], smallest[1]), axis=1)[filled[np.where(before < ends, before, begins)]]
    return [each if count else each[:0] for each, count in zip(minima, counts, strict=True)]
