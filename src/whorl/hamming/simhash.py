"""Computes the SimHash of a text: a 64-bit code that differs in few bits between similar texts.

whorl's own scheme is ``simhash1-icu74``; another word-break profile may replace icu74. The features are the folded
words of a text and the pairs of neighbouring words, hashed by murmur3. A pair has 4 votes per occurrence. A word that
occurs n times has 4 * n ** 0.75 votes, rounded, so that the common words of a language have less weight.
docs/decisions/0012-simhash-of-words-and-word-pairs.md has the measurements for this choice.
`other_simhash_libraries.py` has the schemes of published libraries.

>>> a = simhash("The finder of this text may keep it, and the keeper may read it in bed.")
>>> b = simhash("The finder of this text may keep it, and the keeper may burn it in bed.")
>>> distance(a, b) < 16, distance(a, simhash("Beat the eggs with the sugar until the mixture is pale.")) > 16
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import chunks
from whorl.errors import ParameterError, require_text, texts_only
from whorl.fingerprint.fingerprint_texts import hash_in_batches
from whorl.fingerprint.shingling import Scheme, hash_of_number
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, PROFILES
from whorl.hamming import other_simhash_libraries
from whorl.hamming.codes import BITS, CodesLike, as_code, as_codes
from whorl.hamming.votes import Hashes, Tally, codes_from_votes, count_votes

DEFAULT_SCHEME = f"simhash1-{DEFAULT_PROFILE}"
#: Votes of a feature that occurs once. This number is high enough to keep weights distinct after rounding.
_VOTES = 4
#: Maximum length of a batch of texts, in characters; a longer text is a batch of its own, and its word pairs are
#: counted in portions of at most this number.
_TOGETHER = 1 << 16
_MOST_VOTES = 1 << 53
#: Factor that reverses Lucene's multiplication of murmur hashes by 37, modulo 2**64.
_INVERSE_OF_37 = np.uint64(pow(37, -1, 1 << 64))

_PUBLISHED: dict[str, Callable[[Sequence[str]], Hashes]] = {
    "simhash-py-0.4": other_simhash_libraries.md5_of_four_words,
    "simhash-py-0.1": other_simhash_libraries.rolling_unicode_words,
    "simhash-cpp-0.1": other_simhash_libraries.rolling_ascii_words,
    "simhash-1e0ng-2": other_simhash_libraries.md5_of_four_characters,
}
_OWN = {f"simhash1-{profile}": profile for profile in PROFILES}
#: Names of all schemes, whorl's own first.
SCHEMES = (*_OWN, *_PUBLISHED)


def simhash(text: str, scheme: str = DEFAULT_SCHEME) -> int:
    """Return the 64-bit code of a text.

    Args:
        scheme: A name from `SCHEMES`, or the name of a word-break profile for whorl's own scheme.

    Returns:
        0 to 2**64 - 1. The code is 0 for a text without words (except under simhash-1e0ng-2), and for a text of fewer
        than four words under simhash-py-0.4.

    Raises:
        ParameterError: The scheme does not exist.
    """
    require_text("the argument of simhash", text, "simhashes reads several texts")
    return int(_coder(scheme)([text])[0])


def simhashes(texts: Iterable[str], scheme: str = DEFAULT_SCHEME) -> Hashes:
    """Return the codes of many texts as a uint64 array, faster than calling `simhash` for each text.

    Raises:
        ParameterError: As in `simhashes_of`.
    """
    return np.fromiter(simhashes_of(texts, scheme), np.uint64)


def simhashes_of(texts: Iterable[str], scheme: str = DEFAULT_SCHEME) -> Iterator[int]:
    """Yield the codes of many texts, in order. Texts are read lazily, about 65,536 characters at a time.

    Raises:
        ParameterError: The scheme does not exist, or `texts` is a single text or a table, or has an item of another
            type.
    """
    coder = _coder(scheme)
    return chain.from_iterable(coder(batch).tolist() for batch in chunks(texts_only(texts), len, _TOGETHER))


def combine(hashes: CodesLike, weights: npt.ArrayLike | None = None) -> int:
    """Combine hashes into a code, like ``compute`` of simhash-py 0.4.

    Args:
        hashes: Numbers from 0 to 2**64 - 1. A number that occurs twice votes twice.
        weights: Number of votes of each hash, at least 0, and in total at most 2**53; None for one vote each.

    Raises:
        CodeTypeError: A hash is not an integer.
        CodeRangeError: A hash is not in the range 0 to 2**64 - 1.
        ParameterError: A weight is out of range, or the numbers of weights and hashes differ.

    >>> hex(combine([0xABCD, 0xBCDE, 0xCDEF]))
    '0xadcf'
    """
    numbers = as_codes(hashes, "hashes")
    votes = np.ones(numbers.size, np.int64) if weights is None else np.asarray(weights)
    if votes.shape != numbers.shape:
        raise ParameterError(f"every hash has one weight, got {numbers.size} hashes and weights of shape {votes.shape}")
    if votes.size and (votes.dtype.kind not in "iu" or votes.min() < 0 or votes.sum(dtype=np.float64) > _MOST_VOTES):
        raise ParameterError("weights are integers from 0 on, 2**53 at most together")
    return int(codes_from_votes(count_votes(numbers, [numbers.size], votes))[0])


def distance(a: int, b: int) -> int:
    """Return the Hamming distance of two codes, 0 to 64.

    Raises:
        CodeTypeError: A code is not an integer.
        CodeRangeError: A code is not in the range 0 to 2**64 - 1.

    >>> distance(0b1010, 0b0110)
    2
    """
    return (as_code(a) ^ as_code(b)).bit_count()


def full_scheme_name(scheme: str) -> str:
    """Return the full name of a scheme.

    >>> full_scheme_name("icu77")
    'simhash1-icu77'
    """
    whole = f"simhash1-{scheme}" if scheme in PROFILES else scheme
    if whole not in SCHEMES:
        raise ParameterError(f"there is no SimHash scheme {scheme!r:.80}; there are {', '.join(SCHEMES)}")
    return whole


def _coder(scheme: str) -> Callable[[Sequence[str]], Hashes]:
    whole = full_scheme_name(scheme)
    return partial(_word_codes, _OWN[whole]) if whole in _OWN else _PUBLISHED[whole]


def _word_codes(profile: str, texts: Sequence[str]) -> Hashes:
    pairs, sizes = _murmur_hashes(texts, Scheme(profile, shingle_size=2))
    if len(texts) == 1:
        # Count the pairs of a long text in portions, to limit the memory.
        portions = (pairs[at : at + _TOGETHER] for at in range(0, pairs.size, _TOGETHER))
        votes = sum((count_votes(own, [own.size]) for own in portions), np.zeros((1, BITS), np.int64))
    else:
        votes = count_votes(pairs, sizes)
    return codes_from_votes(_VOTES * votes + _damped_votes(*_murmur_hashes(texts, Scheme(profile, shingle_size=1))))


def _murmur_hashes(texts: Sequence[str], scheme: Scheme) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """Return the first halves of the murmur hashes of all shingles, and the number of shingles of each text."""
    ((hashes, sizes),) = hash_in_batches([texts], scheme, in_order=True, half=1)
    # Reverse Lucene's change of the hashes (`lucene_hashes`).
    return (hashes - hash_of_number(0)[0]) * _INVERSE_OF_37, sizes


def _damped_votes(hashes: Hashes, sizes: npt.NDArray[np.int64]) -> Tally:
    """Return the SimHash votes of each text's words. A word's votes grow more slowly than its frequency.

    The hashes are grouped by text; this function sorts them in place.
    """
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    is_first = np.ones(hashes.size + 1, np.bool_)
    for start, end in pairwise(bounds.tolist()):
        hashes[start:end].sort()
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:-1])
    is_first[bounds] = True
    indices = np.flatnonzero(is_first)
    roots = np.sqrt(np.diff(indices))
    # Compute the power 3/4 with square roots, which give the same result on all platforms.
    weights = np.rint(_VOTES * roots * np.sqrt(roots))
    return count_votes(hashes[indices[:-1]], np.diff(np.searchsorted(indices, bounds)), weights)
