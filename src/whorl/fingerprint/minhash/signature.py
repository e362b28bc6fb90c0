"""A document's tokens: made from its text, or put together again from what an index gives back.

An index keeps each token once and forgets its bucket. The bucket stands in a token's first unit (and, where the number
of buckets is no power of two, now and then in its second), and a token that rotation repeated stands in its own bucket
and in the run of empty buckets before it. What cannot be told: a unit that was half of a surrogate pair was written as
U+FFFD, so tokens that begin with one (buckets 432 to 447 of 512, now and then 511) have lost their order among
themselves, and where they stand the repeats are not sure.

Source: MinHashFilter's rotation; UnicodeUtil.UTF16toUTF8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError
from whorl.fingerprint.minhash.buckets import Buckets, buckets_of
from whorl.fingerprint.minhash.codec import ALFRESCO_LENGTHS, ALFRESCO_TOKEN, Spelling, as_kept, integers, read, spell
from whorl.fingerprint.minhash.minima import bucket_of, text_minima
from whorl.fingerprint.scheme import Scheme

#: UTF-16 units that cannot stand alone; a token that begins with one is written with U+FFFD instead.
_SURROGATES = (0xD800, 0xDFFF)
_REPLACEMENT = "\ufffd"
_LOST = 0xFFFD
#: The largest top half of a hash whose first unit Alfresco writes with fewer than four digits.
_UNPADDED = 0x0FFF_FFFF
#: Of Alfresco's digits, and by how many bits each of the first sixteen is moved to make a number of them.
_BASE, _WORD = 16, np.arange(60, -1, -4, dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """A document's tokens, in the order in which Lucene gives them.

    Args:
        scheme: What the tokens depend on.
        hashes: One token a bucket (`scheme.bucket_count` of them) in the order of the buckets, empty ones filled by
            rotation, or what other schemes keep; none for a text of fewer words than one shingle. uint64 array of
            shape (tokens,), the top 64 bits of each; or of several columns as `codec.read` returns them for `spelling`.
        spelling: How the index that they are compared with spells tokens, and so loses parts of some, here as there;
            None where nothing is lost.
        is_exact: False where an index could not tell the order or the repeats of some tokens.
    """

    scheme: Scheme
    hashes: npt.NDArray[np.uint64]
    spelling: Spelling | None = None
    is_exact: bool = True

    def __len__(self) -> int:
        return len(self.hashes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signature):
            return NotImplemented
        mine, theirs = ((each.scheme, each.spelling, each.is_exact) for each in (self, other))
        return mine == theirs and np.array_equal(self.hashes, other.hashes)

    def __hash__(self) -> int:
        return hash((self.scheme, self.hashes.tobytes()))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens as the index spells them; as Lucene's four UTF-16 units where there is none."""
        return spell(self.hashes, self.spelling or Spelling.UNITS_4)

    @property
    def integers(self) -> tuple[int, ...]:
        """The tokens as integers, which are equal where the tokens are."""
        return integers(self.hashes)


def sign(text: str, scheme: Scheme, spelling: Spelling | None = None) -> Signature:
    """Return the signature of a text.

    Args:
        text: Any text.
        scheme: What the tokens depend on.
        spelling: Of the index that it is to be compared with, None for one that holds numbers.
    """
    return signature_of(text_minima(text, scheme), scheme, spelling)


def signature_of(minima: npt.NDArray[np.uint64], scheme: Scheme, spelling: Spelling | None = None) -> Signature:
    """Return the signature of a text by its tokens.

    Args:
        minima: uint64 array of shape (tokens, 2): high and low half of each, as `text_minima` returns them.
        scheme: As in `sign`.
        spelling: As in `sign`.
    """
    if spelling is None:
        return Signature(scheme, minima[:, 0])
    return Signature(scheme, as_kept(minima, spelling), spelling)


def shared_tokens(source: Signature, other: Signature) -> int:
    """Return how many of the source's tokens the other signature holds, repeats in the source counted.

    Raises:
        SchemeMismatchError: The signatures were made under different schemes.
    """
    source.scheme.require(other.scheme)
    held = frozenset(other.integers)
    return sum(token in held for token in source.integers)


def from_distinct(
    repeats: Mapping[str, int], scheme: Scheme, spelling: Spelling, *, has_repeats: bool, order_matters: bool
) -> Signature:
    """Return the signature whose distinct tokens an index gave.

    Args:
        repeats: How often each token stands in the signature, as far as the index knows.
        scheme: Of the collection.
        spelling: Of the tokens.
        has_repeats: Whether the numbers are the signature's (an index made with rotation), or all 1.
        order_matters: Whether the caller cuts bands: a guessed order then makes the signature inexact, and else the
            tokens may come in any order.
    """
    tokens, is_exact = _in_order(repeats, scheme, has_repeats=has_repeats, order_matters=order_matters)
    return Signature(scheme, read(tokens, spelling), spelling, is_exact)


def smallest_in_buckets(tokens: Iterable[str], scheme: Scheme) -> list[str]:
    """Return the tokens of a whole text, of those of its parts: the smallest of each bucket.

    A token whose bucket is lost is kept, and so are all of a scheme that keeps several in a bucket.
    """
    if not scheme.fills_every_bucket:
        return list(tokens)
    smallest: dict[int | str, str] = {}
    for token in sorted(tokens, key=_raw):
        bucket = _bucket(token, scheme.bucket_count)
        smallest.setdefault(token if bucket is None else bucket, token)
    return list(smallest.values())


def bucket_of_each(signature: Signature) -> npt.NDArray[np.int64]:
    """Return the bucket that each token names, -1 where it cannot be read; int64 array of shape (tokens,)."""
    count = signature.scheme.bucket_count
    if signature.spelling is Spelling.HEX:
        return _alfresco(signature)[0]
    top, width = _words(signature) >> np.uint64(32), np.uint64(-(-(1 << 32) // count))
    buckets = (top // width).astype(np.int64)
    if signature.spelling is None:
        return buckets
    # A unit that was lost can have been any surrogate, of which the lowest is the farthest from what stands for it.
    farthest = np.where(top & np.uint64(0xFFFF) == _LOST, top - np.uint64(_LOST - _SURROGATES[0]), top)
    is_sure = (top >> np.uint64(16) != _LOST) & (farthest // width == top // width)
    return np.where(is_sure, buckets, -1)


def _alfresco(signature: Signature) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], bool]:
    """Return the buckets of Alfresco's tokens, -1 where one cannot be read; their top 64 bits; and whether all is read.

    Of a whole list in order the places tell the buckets, and these where the first unit ends. Else it is taken to have
    four letters, as it has but in one token of sixteen, those of the buckets below `_UNPADDED`: what is read of these
    belongs to the next unit. They show where they come to lie in a bucket that has a token of its own, and else do
    little harm, since one token is read alike in every document. Later units are read as if no zero were gone.
    """
    count, letters = signature.scheme.bucket_count, _letters(signature)
    digits, lengths = _digits(letters), (letters != 0).sum(axis=1)
    is_token = (lengths >= ALFRESCO_LENGTHS[0]) & (digits < _BASE).all(axis=1)
    words = (np.minimum(digits, _BASE - 1)[:, : _WORD.size].astype(np.uint64) << _WORD).sum(axis=1, dtype=np.uint64)
    if is_token.all() and len(signature) == count:
        own = _ends_of_runs(letters)
        # A first unit of fewer letters: the zeros that are gone are put before it.
        padded = [words >> np.uint64(4 * zeros) for zeros in range(4)]
        fits = [bucket_of(each, count) == own for each in padded]
        if np.logical_or.reduce(fits).all():
            return own, np.select(fits, padded), True
    buckets = bucket_of(words, count).astype(np.int64)
    buckets[~is_token | np.isin(buckets, _buckets_between(0, _UNPADDED, count))] = -1
    # Whole tokens are certain; of the others, the more zeros are gone, the likelier is the first unit's among them.
    order = np.lexsort((words, -lengths, buckets))
    taken, first = np.unique(buckets[order], return_index=True)
    is_best = words[order[first]][np.searchsorted(taken, buckets)] == words
    return np.where(is_best, buckets, -1), words, False


def _ends_of_runs(letters: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return for each token of a whole list the bucket that it is from: where the run of its repeats ends."""
    places = np.arange(len(letters))
    ends = np.flatnonzero((letters != np.roll(letters, -1, axis=0)).any(axis=1))
    # The last run may go on at the beginning; of one token alone the bucket is not known.
    return ends[np.searchsorted(ends, places) % ends.size] if ends.size else np.full(len(letters), -1)


def buckets_from(signature: Signature) -> Buckets:
    """Return the buckets of a signature, of which an index may have lost some.

    A bucket whose tokens an index writes so that they cannot be read for sure (from half of a surrogate pair on, or
    without leading zeros) counts as unknown in every document, or those that are read would not be a fair choice; a
    later unit that was lost is U+FFFD in every document.

    Raises:
        ParameterError: The scheme does not keep one hash in each bucket.
    """
    scheme, count = signature.scheme, signature.scheme.bucket_count
    if not scheme.fills_every_bucket:
        raise ParameterError(f"documents under {scheme.name} have no buckets of one hash each to be compared by")
    # An empty bucket holds what cannot be its own: where the next one starts.
    minima = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(-(-(1 << 32) // count)) << np.uint64(32)
    is_known = np.ones(count, dtype=np.bool_)
    if signature.spelling is Spelling.HEX:
        buckets, words, is_known[_buckets_between(0, _UNPADDED, count)] = _alfresco(signature)
    else:
        buckets, words = bucket_of_each(signature), _words(signature)
    is_read = buckets >= 0
    minima[buckets[is_read]] = words[is_read]
    if signature.spelling in (Spelling.UNITS_4, Spelling.UNITS_8):
        is_known[_buckets_between(_SURROGATES[0] << 16, (_SURROGATES[1] << 16) + 0xFFFF, count)] = False
        for token in set(spell(signature.hashes[~is_read], signature.spelling)):
            is_known[_possible(token, count)] = False
    return buckets_of(minima, is_known)


def _words(signature: Signature) -> npt.NDArray[np.uint64]:
    """Return the top 64 bits of each token of UTF-16 units."""
    return signature.hashes if signature.hashes.ndim == 1 else signature.hashes[:, 0]


def _letters(signature: Signature) -> npt.NDArray[np.uint8]:
    """Return the letters of Alfresco's tokens in ASCII, 0 behind the last; uint8 array of shape (tokens, 32)."""
    return signature.hashes.astype(">u8").view(np.uint8).reshape(len(signature), -1)


def _digits(letters: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the digits that letters of ASCII stand for, 0 behind the last letter, `_BASE` or more for any other."""
    is_letter = letters >= ord("a")
    return np.where(letters == 0, 0, letters - np.where(is_letter, ord("a") - 10, ord("0"))).astype(np.uint8)


def _in_order(
    repeats: Mapping[str, int], scheme: Scheme, *, has_repeats: bool, order_matters: bool
) -> tuple[tuple[str, ...], bool]:
    """Return the tokens in order with their repeats, and whether that is certain."""
    if not repeats:
        return (), True
    if scheme.hash_count > 1 or scheme.hash_set_size > 1:
        return _in_order_of_terms(repeats, scheme, has_repeats=has_repeats, order_matters=order_matters)
    counts_known = has_repeats and sum(repeats.values()) == scheme.bucket_count
    if counts_known and not order_matters:
        return tuple(token for token, count in repeats.items() for _ in range(count)), True
    known, unsure = {}, []
    for token in repeats:
        bucket = _bucket(token, scheme.bucket_count)
        if bucket is None:
            unsure.append(token)
        else:
            known[token] = bucket
    buckets = known | _guessed(unsure, set(known.values()), scheme.bucket_count)
    placed = sorted(repeats, key=lambda token: (buckets[token], token))
    if not counts_known:
        repeats = _runs([buckets[token] for token in placed], placed, scheme.bucket_count)
    # Several values of one field make a signature each, so that a bucket holds several tokens.
    is_one_signature = len(set(buckets.values())) == len(buckets)
    is_whole = len(repeats) == scheme.bucket_count and not order_matters
    is_exact = is_one_signature and (not unsure or is_whole)
    ordered = [token for token in placed for _ in range(repeats[token])]
    # The buckets behind the last filled one are empty and repeat the first token: rotation wraps round.
    behind = max(0, repeats[placed[0]] - buckets[placed[0]] - 1)
    return (*ordered[behind:], *ordered[:behind]), is_exact


def _in_order_of_terms(
    repeats: Mapping[str, int], scheme: Scheme, *, has_repeats: bool, order_matters: bool
) -> tuple[tuple[str, ...], bool]:
    """Do the same for a scheme whose buckets do not keep one token each: the order is that of the units."""
    has_all_units = not any(_REPLACEMENT in token for token in repeats)
    if scheme.hash_set_size > 1:
        # No token repeats another, but of four units two are the function's number, and the others may be lost.
        counts_known = has_repeats or has_all_units or scheme.hash_count == 1
    else:
        counts_known = has_repeats and sum(repeats.values()) == scheme.hash_count * scheme.bucket_count
    is_exact = counts_known and (not order_matters or has_all_units)
    placed = sorted(repeats, key=_raw)
    if scheme.hash_set_size > 1 or not is_exact or not order_matters:
        return tuple(token for token in placed for _ in range(repeats[token])), is_exact
    tokens: list[str] = []
    # Each hash function has buckets of its own, and rotation wraps round in them; its number is in the first two units.
    for _, group in groupby(placed, key=lambda token: _raw(token)[:4]):
        same = list(group)
        ordered = [token for token in same for _ in range(repeats[token])]
        first_bucket = _bucket_of_bits(int.from_bytes(_raw(same[0])[4:8], "big"), scheme.bucket_count)
        behind = max(0, repeats[same[0]] - first_bucket - 1)
        tokens += [*ordered[behind:], *ordered[:behind]]
    return tuple(tokens), is_exact


def _raw(token: str) -> bytes:
    return token.encode("utf-16-be")


def _bucket_of_bits(bits: int, bucket_count: int) -> int:
    """Return the bucket of a hash by its top 32 bits, as `minhash.bucket_of` does."""
    return bits // -(-(1 << 32) // bucket_count)


def _buckets_between(first: int, last: int, bucket_count: int) -> range:
    """Return the buckets of hashes whose top 32 bits are in a range, both ends included."""
    return range(_bucket_of_bits(first, bucket_count), _bucket_of_bits(last, bucket_count) + 1)


def _bucket(token: str, bucket_count: int) -> int | None:
    """Return the bucket that a token's first units name, or None where they cannot be read."""
    if ALFRESCO_TOKEN.fullmatch(token):
        # With a leading zero gone somewhere the units' borders are unknown.
        return _bucket_of_bits(int(token[:8], 16), bucket_count) if len(token) == 32 else None
    if token.startswith(_REPLACEMENT):
        return None
    possible = _possible(token, bucket_count)
    return possible[0] if len(possible) == 1 else None


def _guessed(tokens: list[str], taken: set[int], bucket_count: int) -> dict[str, int]:
    """Place tokens whose bucket is lost, each in a free bucket: one it can be from, as long as there are any."""
    free = dict.fromkeys(bucket for bucket in range(bucket_count) if bucket not in taken)
    guessed = {}
    for token in sorted(tokens):
        possible = _possible(token, bucket_count)
        guessed[token] = next((bucket for bucket in possible if bucket in free), next(iter(free), bucket_count - 1))
        free.pop(guessed[token], None)
    return guessed


def _possible(token: str, bucket_count: int) -> list[int]:
    """Return the buckets that a token with lost units can be from, the likeliest first."""
    if ALFRESCO_TOKEN.fullmatch(token):
        # The first unit has four digits unless it is the one that lost a zero.
        return [_bucket_of_bits(int(token[:digits], 16) << 16, bucket_count) for digits in (4, 3, 2, 1)]
    first, second = (int.from_bytes(_raw(token)[at : at + 2], "big") for at in (0, 2))
    lowest, highest = _SURROGATES
    if first == _LOST:
        surrogates = _buckets_between(lowest << 16, (highest << 16) + 0xFFFF, bucket_count)
        return [*surrogates, *_buckets_between(_LOST << 16, (_LOST << 16) + 0xFFFF, bucket_count)]
    bits = first << 16
    is_lost = second == _LOST
    return [*_buckets_between(bits + (lowest if is_lost else second), bits + second, bucket_count)]


def _runs(buckets: list[int], placed: list[str], bucket_count: int) -> dict[str, int]:
    """Return how often rotation repeats each token: for its own bucket and for the empty ones before it."""
    borders = pairwise([buckets[-1] - bucket_count, *buckets])
    return {token: max(1, after - before) for token, (before, after) in zip(placed, borders, strict=True)}
