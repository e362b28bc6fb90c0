"""Lucene's MinHashFilter: shingles to bucket minima, and the tokens they become in an index.

Source: org.apache.lucene.analysis.minhash.MinHashFilter (identical in Lucene 8, 9 and 10) for hashCount 1 and
hashSetSize 1, the only parameters that Solr's documentation, Alfresco and this package use for documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Self

import mmh3
import numpy as np
import numpy.typing as npt

from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.text import DEFAULT_PROFILE, PROFILES, tokens

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
#: Lucene folds the hash number into every hash (combineOrdered), also when there is only number 0.
_MULTIPLIER = np.uint64(37)
_NUMBER_0 = np.frombuffer(mmh3.mmh3_x64_128_digest(b"\0\0\0\0", 0), dtype="<u8")


@dataclass(frozen=True, slots=True)
class Scheme:
    """Everything that a signature depends on; signatures of different schemes cannot be compared.

    Args:
        profile: Word-break profile: the ICU tables that split the text into words.
        shingle_size: Words in a shingle.
        bucket_count: Buckets of the hash space, each keeping its smallest hash.
        version: Of the arithmetic; a change to it is a new version beside the old one.
    """

    profile: str = DEFAULT_PROFILE
    shingle_size: int = 5
    bucket_count: int = 512
    version: int = 1

    @property
    def name(self) -> str:
        """The scheme in one word, as stored and shown: `minhash1-icu74-w5-b512`."""
        return f"minhash{self.version}-{self.profile}-w{self.shingle_size}-b{self.bucket_count}"

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the scheme of a name: a whole one, or the word-break profile alone.

        Raises:
            ParameterError: There is no such scheme.
        """
        whole = re.fullmatch(r"minhash1-(\w+)-w([1-9]\d{0,2})-b([1-9]\d{0,4})", name)
        profile = whole[1] if whole else name
        if profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise ParameterError(f"there is no scheme {name!r}; name {known}, or a whole one as {cls().name}")
        return cls(profile, int(whole[2]), int(whole[3])) if whole else cls(profile)

    def require(self, other: Scheme) -> None:
        """Raise SchemeMismatchError, naming every differing part, unless both schemes are equal."""
        parts = ("profile", "shingle_size", "bucket_count", "version")
        differing = [part for part in parts if getattr(self, part) != getattr(other, part)]
        if differing:
            told = ", ".join(f"{part} ({getattr(self, part)} and {getattr(other, part)})" for part in differing)
            raise SchemeMismatchError(f"signatures differ in {told}; make both under one scheme")


@dataclass(frozen=True, slots=True)
class Signature:
    """A document's tokens as Lucene spells them, in bucket order, empty buckets filled by rotation.

    Args:
        scheme: What the tokens depend on.
        tokens: One token a bucket (`scheme.bucket_count` of them), or none for a text of fewer words than one
            shingle. A token is text of four UTF-16 units, lone surrogates replaced by U+FFFD, as in the index;
            an existing collection may hold other spellings (sixteen bytes, Alfresco's hex).
        is_exact: False where an index could not tell the order or the repeats of some tokens.
    """

    scheme: Scheme
    tokens: tuple[str, ...]
    is_exact: bool = True


def minima(words: Sequence[str], scheme: Scheme) -> npt.NDArray[np.uint64]:
    """Return the high halves of each bucket's smallest hash: the 64 bits that are kept and compared.

    Args:
        words: The folded words of a text, in order.
        scheme: Shingle size and bucket count.

    Returns:
        uint64 array of shape (bucket_count,), or (0,) when there are fewer words than one shingle.
    """
    return full_minima(words, scheme)[:, 0]


def full_minima(words: Sequence[str], scheme: Scheme) -> npt.NDArray[np.uint64]:
    """Return each bucket's smallest hash, empty buckets filled from the next one that is not.

    Args:
        words: The folded words of a text, in order.
        scheme: Shingle size and bucket count.

    Returns:
        uint64 array of shape (bucket_count, 2): the high half of Lucene's 128-bit hash, whose top bits are the
        bucket, and the low half; or of shape (0, 2) when there are fewer words than one shingle.

    Source: MinHashFilter.incrementToken and its `withRotation` branch.
    """
    size = scheme.shingle_size
    if len(words) < size:
        return np.empty((0, 2), dtype=np.uint64)
    # All words encoded once; a shingle is a slice of that, from the start of one word to the end of another.
    encoded = java_utf16(" ".join(words))
    starts = _starts(words, len(encoded))
    digest = mmh3.mmh3_x64_128_digest
    raw = b"".join([digest(encoded[at : end - 2], 0) for at, end in zip(starts, starts[size:], strict=False)])
    # murmur's second half leads: it decides the bucket and the order, the first half breaks ties.
    hashes = (np.frombuffer(raw, dtype="<u8").reshape(-1, 2) * _MULTIPLIER + _NUMBER_0)[:, ::-1]
    high, low = hashes[:, 0], hashes[:, 1]
    bucket_size = -(-(1 << 32) // scheme.bucket_count)
    buckets = ((high >> np.uint64(32)) // np.uint64(bucket_size)).astype(np.intp)
    smallest = np.full((scheme.bucket_count, 2), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest[:, 0], buckets, high)
    is_smallest = high == smallest[buckets, 0]
    np.minimum.at(smallest[:, 1], buckets[is_smallest], low[is_smallest])
    return rotate(smallest, np.unique(buckets))


def _starts(words: Sequence[str], encoded_bytes: int) -> list[int]:
    """Return where each word starts in the words joined by blanks, in bytes of UTF-16, and where one more would."""
    characters = list(accumulate((len(word) + 1 for word in words), initial=0))
    if 2 * (characters[-1] - 1) == encoded_bytes:
        return [2 * at for at in characters]
    # Some character is a surrogate pair.
    sizes = (len(word.encode("utf-16-le", "surrogatepass")) + 2 for word in words)
    return list(accumulate(sizes, initial=0))


def rotate(smallest: npt.NDArray[np.uint64], filled: npt.NDArray[np.intp]) -> npt.NDArray[np.uint64]:
    """Give every empty bucket the value of the next filled one, wrapping round.

    Args:
        smallest: uint64 array of shape (buckets, halves).
        filled: The numbers of the filled buckets, ascending, at least one.
    """
    following = filled[np.searchsorted(filled, np.arange(len(smallest))) % filled.size]
    return smallest[following]


def java_utf16(text: str) -> bytes:
    """Encode as Java's UTF-16LE encoder does: no byte-order mark, U+FFFD for each lone surrogate."""
    try:
        return text.encode("utf-16-le")
    except UnicodeEncodeError:
        return well_formed(text).encode("utf-16-le")


def well_formed(text: str) -> str:
    """Join surrogate pairs and replace each lone surrogate by U+FFFD, as every UTF-8 writer of Lucene does."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _LONE_SURROGATE.sub("\ufffd", joined)


#: Alfresco's spelling of a token: eight units of up to four digits, of which few begin with zeros.
ALFRESCO_TOKEN = re.compile(r"[0-9a-f]{20,32}")


class Spelling(Enum):
    """How an index writes a token."""

    UNITS_4 = "64-bit tokens, four UTF-16 units"
    UNITS_8 = "128-bit tokens, eight UTF-16 units"
    HEX = "Alfresco's hexadecimal, units without leading zeros"


def spell(hashes: npt.NDArray[np.uint64], spelling: Spelling = Spelling.UNITS_4) -> tuple[str, ...]:
    """Write hashes as tokens.

    Args:
        hashes: uint64 array of shape (n, 2), or (n,) where only high halves are written.
        spelling: UNITS_4 is MinHashFilter's term cut by TruncateTokenFilter(prefixLength=4), UNITS_8 the whole
            term, both with U+FFFD for lone surrogates as the index holds them (UnicodeUtil.UTF16toUTF8); HEX is
            what Alfresco stores (SolrInformationServer: Integer.toHexString of each unit).
    """
    if not len(hashes):
        return ()
    halves = hashes[:, :1] if hashes.ndim == 2 and spelling is Spelling.UNITS_4 else hashes
    if spelling is Spelling.HEX:
        units = halves.astype(">u8").view(">u2").reshape(len(halves), -1)
        return tuple("".join(f"{unit:x}" for unit in row) for row in units.tolist())
    raw = halves.astype(">u8").tobytes()
    size = len(raw) // len(halves)
    # Token by token: a high surrogate that ends one token must not pair with the next token's first unit.
    cut = (raw[at : at + size].decode("utf-16-be", "surrogatepass") for at in range(0, len(raw), size))
    return tuple(_LONE_SURROGATE.sub("\ufffd", token) for token in cut)


def token_text(hashes: npt.NDArray[np.uint64]) -> tuple[str, ...]:
    """Write the high halves of hashes as the four-unit tokens of an index.

    Args:
        hashes: uint64 array of shape (n,), as `minima` returns it.
    """
    return spell(hashes)


def token_number(token: str) -> int:
    r"""Return a four-unit token's 64 bits as an integer, U+FFFD where a unit was lost.

    >>> hex(token_number("ab\U0001f600"))
    '0x610062d83dde00'
    """
    return int.from_bytes(token.encode("utf-16-be"), "big")


def sign(text: str, scheme: Scheme, spelling: Spelling = Spelling.UNITS_4) -> Signature:
    """Return the signature of a text, its tokens written as an index writes them."""
    return Signature(scheme, spell(full_minima(tokens(text, scheme.profile), scheme), spelling))
