"""SimHash: a text as one 64-bit code, near codes for near texts.

whorl's own scheme, ``simhash1-icu74`` (or with another word-break profile), takes as features the folded words of a
text and its pairs of neighbouring words, in any script, hashed by murmur3. A pair has 4 votes each time it occurs. A
word that occurs n times has 4 * n ** 0.75 votes, rounded: that holds back the words which all texts of a language have.
Why so, measured: docs/decisions/0012-simhash-features.md. The other schemes are those of `simhash_published`.

>>> a = simhash("Whoever finds this text may keep it, and whoever keeps it may read it.")
>>> b = simhash("Whoever finds this text may keep it, and whoever keeps it may burn it.")
>>> distance(a, b) < 16, distance(a, simhash("Beat the eggs with the sugar until the mixture is pale.")) > 16
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, tee, zip_longest

import numpy as np
import numpy.typing as npt

from whorl.arrays import chunks
from whorl.errors import ParameterError
from whorl.fingerprint.compiled import kernel
from whorl.fingerprint.compiled.first_use import kernel_if_ready
from whorl.fingerprint.hashing import JoinedWords, join
from whorl.fingerprint.scheme import Scheme
from whorl.fingerprint.simhash import published
from whorl.fingerprint.simhash.codes import CodesLike, as_code, as_codes
from whorl.fingerprint.simhash.voting import Hashes, Tally, elect, tally
from whorl.fingerprint.words.shingles import joined_words, murmur_pieces, murmur_together, pieces
from whorl.fingerprint.words.tokenizer import DEFAULT_PROFILE, PROFILES

DEFAULT_SCHEME = f"simhash1-{DEFAULT_PROFILE}"
#: Votes of a feature that occurs once: enough for the damped ones to be told apart when they are rounded.
_VOTES = 4
#: Texts of so many characters together are read in one go; a longer one goes alone, piece by piece.
_TOGETHER = 1 << 16
_MOST_VOTES = 1 << 53
#: After so many characters of texts that are not ASCII, numba is imported if it is there (half a second or more).
LARGE = 1_000_000

_PUBLISHED: dict[str, Callable[[Sequence[str]], Hashes]] = {
    "simhash-py-0.4": published.md5_of_four_words,
    "simhash-py-0.1": published.rolling_unicode_words,
    "simhash-cpp-0.1": published.rolling_ascii_words,
    "simhash-1e0ng-2": published.md5_of_four_characters,
}
_OWN = {f"simhash1-{profile}": profile for profile in PROFILES}
#: The names of all schemes, whorl's own first.
SCHEMES = (*_OWN, *_PUBLISHED)


def simhash(text: str, scheme: str = DEFAULT_SCHEME) -> int:
    """Return the 64-bit code of a text.

    Args:
        text: Any text.
        scheme: A name out of `SCHEMES`, or a word-break profile alone for whorl's own scheme under it.

    Returns:
        0 to 2**64 - 1; 0 for a text without a word, under simhash-py-0.4 for one of fewer than four (but not under
        simhash-1e0ng-2).

    Raises:
        ParameterError: There is no such scheme.
    """
    return int(_coder(scheme)([text])[0])


def simhashes(texts: Iterable[str], scheme: str = DEFAULT_SCHEME) -> Hashes:
    """Return the codes of many texts: what `simhash` gives for each, in less time.

    Args:
        texts: Any number of texts, taken one after the other.
        scheme: As for `simhash`.

    Returns:
        uint64 array of shape (texts,).

    Raises:
        ParameterError: There is no such scheme, or one text instead of several.
    """
    return np.fromiter(simhashes_of(texts, scheme), np.uint64)


def simhashes_of(texts: Iterable[str], scheme: str = DEFAULT_SCHEME) -> Iterator[int]:
    """Return the codes of many texts as a stream: what `simhash` gives for each, in order.

    Args:
        texts: Any number of texts; they are taken as codes are, some 65,536 characters at a time.
        scheme: As for `simhash`.

    Raises:
        ParameterError: There is no such scheme, or one text instead of several.
    """
    if isinstance(texts, str):
        raise ParameterError("this is one text, not several; give a list of it")
    coder = _coder(scheme)
    return chain.from_iterable(coder(some).tolist() for some in chunks(texts, len, _TOGETHER))


def combine(hashes: CodesLike, weights: npt.ArrayLike | None = None) -> int:
    """Return the code of hashes: a bit is set that more votes are for than against. simhash-py 0.4's ``compute``.

    Args:
        hashes: Numbers from 0 to 2**64 - 1. One that comes twice votes twice.
        weights: The votes of each, integers from 0 on, 2**53 of them at most; one each if None.

    Raises:
        CodeTypeError: A hash is not a whole number.
        CodeRangeError: One is not from 0 to 2**64 - 1.
        ParameterError: A weight is outside its range, or there are not as many of them as hashes.

    >>> hex(combine([0xABCD, 0xBCDE, 0xCDEF]))
    '0xadcf'
    """
    numbers = as_codes(hashes, "hashes")
    if weights is None:
        return int(elect(tally(numbers, [numbers.size]))[0])
    votes = np.asarray(weights)
    if votes.shape != numbers.shape:
        raise ParameterError(f"every hash has one weight, got {numbers.size} hashes and weights of shape {votes.shape}")
    if votes.size and (votes.dtype.kind not in "iu" or votes.min() < 0 or votes.sum(dtype=np.float64) > _MOST_VOTES):
        raise ParameterError("weights are integers from 0 on, 2**53 at most together")
    return int(elect(tally(numbers, [numbers.size], votes))[0])


def distance(a: int, b: int) -> int:
    """Return how many bits of two codes differ, 0 to 64.

    Raises:
        CodeTypeError: One is not a whole number.
        CodeRangeError: One is not from 0 to 2**64 - 1.

    >>> distance(0b1010, 0b0110)
    2
    """
    return (as_code(a) ^ as_code(b)).bit_count()


def named(scheme: str) -> str:
    """Return the whole name of a scheme.

    Args:
        scheme: A whole name, or a word-break profile alone.

    Raises:
        ParameterError: There is no such scheme.

    >>> named("icu77")
    'simhash1-icu77'
    """
    whole = f"simhash1-{scheme}" if scheme in PROFILES else scheme
    if whole not in SCHEMES:
        raise ParameterError(f"there is no SimHash scheme {scheme!r}; there are {', '.join(SCHEMES)}")
    return whole


def _coder(scheme: str) -> Callable[[Sequence[str]], Hashes]:
    """Return what makes codes of a batch of texts, at least one."""
    whole = named(scheme)
    return _WordCodes(_OWN[whole]) if whole in _OWN else _PUBLISHED[whole]


class _WordCodes:
    """Whorl's own scheme, for one run through texts."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        self._reader: kernel.Kernel | None = None
        self._left = _TOGETHER if kernel.is_loaded() else LARGE

    def __call__(self, texts: Sequence[str]) -> Hashes:
        """Return the codes of texts."""
        reader = None if all(map(str.isascii, texts)) else self._compiled(texts)
        if len(texts) == 1:
            # A long text is never there as a whole.
            read = (piece for _, piece in reader.word_pieces(texts)) if reader else pieces(texts[0], self.profile)
            return elect(_votes_of_one(read))
        if not reader:
            return elect(_votes_of_each([joined_words(text, self.profile) for text in texts]))
        joined = [join([])] * len(texts)
        for number, piece in reader.word_pieces(texts):
            joined[number] = joined[number].followed_by(piece)
        return elect(_votes_of_each(joined))

    def _compiled(self, texts: Sequence[str]) -> kernel.Kernel | None:
        """Return what reads these texts and those to come, once there have been so many that it is worth a start."""
        self._left -= sum(map(len, texts))
        if self._left < 0 and not self._reader:
            self._reader = kernel_if_ready(Scheme(self.profile, shingle_size=1))
        return self._reader


def _votes_of_each(joined: Sequence[JoinedWords]) -> Tally:
    """Return the votes of texts, given by their words, at least one text."""
    pairs, counts = murmur_together(joined, 2)
    words, sizes = murmur_together(joined, 1)
    return _VOTES * tally(pairs[:, 0], counts) + _damped_votes(words[:, 0].copy(), sizes)


def _votes_of_one(read: Iterable[JoinedWords]) -> Tally:
    """Return the votes of one text, given piece by piece; takes 16 bytes a word."""
    votes, words = np.zeros((1, 64), np.int64), [np.empty(0, np.uint64)]
    for_words, for_pairs = tee(read)
    for some, pairs in zip_longest(murmur_pieces(for_words, 1), murmur_pieces(for_pairs, 2)):
        words.append(some[:, 0])
        if pairs is not None:
            votes += _VOTES * tally(pairs[:, 0], [len(pairs)])
    hashes = np.concatenate(words)
    return votes + _damped_votes(hashes, [hashes.size])


def _damped_votes(hashes: Hashes, sizes: Sequence[int]) -> Tally:
    """Return the votes of words, each counted once with a weight that grows more slowly than it occurs.

    Args:
        hashes: Those of the words of the first text, then those of the second, and so on; sorted by this.
        sizes: How many words each text has.
    """
    bounds = np.cumsum([0, *sizes])
    is_first = np.ones(hashes.size + 1, np.bool_)
    for start, end in zip(bounds.tolist(), bounds[1:].tolist(), strict=False):
        hashes[start:end].sort()
    np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:-1])
    is_first[bounds] = True
    places = np.flatnonzero(is_first)
    roots = np.sqrt(np.diff(places))
    # Only square roots, which are the same everywhere; no value lies half way between two integers.
    weights = np.rint(_VOTES * roots * np.sqrt(roots))
    return tally(hashes[places[:-1]], np.diff(np.searchsorted(places, bounds)), weights)
