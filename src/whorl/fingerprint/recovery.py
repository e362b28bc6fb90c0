"""A signature put together again from what an index gives back: its distinct tokens, in the index's order.

An index keeps each token once and forgets its bucket. The bucket stands in a token's first unit, and a token that
rotation repeated stands in its own bucket and in the run of empty buckets before it. What cannot be told: a first
unit that was half of a surrogate pair was written as U+FFFD, so those tokens (buckets 432 to 447 of 512, now and
then 511) have lost their order among themselves, and where they stand the repeats are not sure.

Source: MinHashFilter's rotation; UnicodeUtil.UTF16toUTF8.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from whorl.fingerprint.minhash import ALFRESCO_TOKEN, Signature
from whorl.fingerprint.scheme import Scheme

#: UTF-16 units that cannot stand alone; a token that begins with one is written with U+FFFD instead.
_SURROGATES = (0xD800, 0xDFFF)
_REPLACEMENT = "\ufffd"
_UNITS = 0x10000


def from_distinct(repeats: Mapping[str, int], scheme: Scheme, *, has_repeats: bool, order_matters: bool) -> Signature:
    """Return the signature whose distinct tokens an index gave.

    Args:
        repeats: How often each token stands in the signature, as far as the index knows.
        scheme: Of the collection.
        has_repeats: Whether the numbers are the signature's (an index made with rotation), or all 1.
        order_matters: Whether the caller cuts bands: a guessed order then makes the signature inexact, and else the
            tokens may come in any order.
    """
    if not repeats:
        return Signature(scheme, ())
    if scheme.hash_count > 1 or scheme.hash_set_size > 1:
        return _in_order_of_terms(repeats, scheme, has_repeats=has_repeats, order_matters=order_matters)
    counts_known = has_repeats and sum(repeats.values()) == scheme.bucket_count
    if counts_known and not order_matters:
        return Signature(scheme, tuple(token for token, count in repeats.items() for _ in range(count)))
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
    return Signature(scheme, (*ordered[behind:], *ordered[:behind]), is_exact)


def _in_order_of_terms(
    repeats: Mapping[str, int], scheme: Scheme, *, has_repeats: bool, order_matters: bool
) -> Signature:
    """Return the signature of a scheme whose buckets do not keep one token each: it is in the order of the units."""
    counts_known = scheme.hash_set_size > 1 or (
        has_repeats and sum(repeats.values()) == scheme.hash_count * scheme.bucket_count
    )
    order_known = not order_matters or not any(_REPLACEMENT in token for token in repeats)
    ordered = sorted(repeats, key=lambda token: token.encode("utf-16-be"))
    tokens = tuple(token for token in ordered for _ in range(repeats[token]))
    return Signature(scheme, tokens, is_exact=counts_known and order_known)


def _bucket(token: str, bucket_count: int) -> int | None:
    """Return the bucket that a token's first unit names, or None where the unit cannot be read."""
    if ALFRESCO_TOKEN.fullmatch(token):
        # With a leading zero gone somewhere the units' borders are unknown.
        return int(token[:4], 16) * bucket_count // _UNITS if len(token) == 32 else None
    if token[0] == _REPLACEMENT:
        return None
    return int.from_bytes(token[0].encode("utf-16-be")[:2], "big") * bucket_count // _UNITS


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
    """Return the buckets that a token with a lost first unit can be from, the likeliest first."""
    if ALFRESCO_TOKEN.fullmatch(token):
        # The first unit has four digits unless it is the one that lost a zero.
        return [int(token[:digits], 16) * bucket_count // _UNITS for digits in (4, 3, 2, 1)]
    first, last = (unit * bucket_count // _UNITS for unit in _SURROGATES)
    return [*range(first, last + 1), bucket_count - 1]


def _runs(buckets: list[int], placed: list[str], bucket_count: int) -> dict[str, int]:
    """Return how often rotation repeats each token: for its own bucket and for the empty ones before it."""
    borders = pairwise([buckets[-1] - bucket_count, *buckets])
    return {token: max(1, after - before) for token, (before, after) in zip(placed, borders, strict=True)}
