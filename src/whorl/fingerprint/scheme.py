"""Token scheme: the parameters of MinHash signatures, and the name of a set of parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Self

from whorl.errors import ParameterError, SchemeMismatchError
from whorl.fingerprint.words.tokenizer import CHARACTERS, DEFAULT_PROFILE, PROFILES

#: Format of `Scheme.name`. The last three parts are left out for the defaults of Lucene's filter.
_NAME = re.compile(r"minhash1-(\w+)-w(\d{1,3})-b(\d{1,5})(?:-h(\d{1,4}))?(?:-s(\d{1,5}))?(-unrotated)?", re.ASCII)
#: Largest values of the parameters: far above practical values, but small enough to keep a signature in memory.
_LARGEST = {"shingle_size": 999, "bucket_count": 65536, "hash_count": 1024, "hash_set_size": 65536}


@dataclass(frozen=True, slots=True)
class Scheme:
    """All parameters of a signature. Signatures of different schemes cannot be compared.

    Args:
        profile: Word-break profile (the ICU tables that split the text into words), or CHARACTERS.
        shingle_size: Number of words, or of characters, per shingle, 1 to 999.
        bucket_count: Number of buckets of the hash space, 1 to 65536; Lucene's bucketCount.
        hash_count: Number of hash functions, each with separate buckets, 1 to 1024; Lucene's hashCount.
        hash_set_size: Number of smallest hashes kept per bucket, 1 to 65536; Lucene's hashSetSize.
        rotation: Whether an empty bucket repeats the token of the next filled bucket; Lucene's withRotation. Always
            True if rotation has no effect (one bucket, or several hashes per bucket).
        version: Version of the arithmetic. A change of the arithmetic gets a new version, and old versions stay
            available.

    Raises:
        ParameterError: A number is out of range.
    """

    profile: str = DEFAULT_PROFILE
    shingle_size: int = 5
    bucket_count: int = 512
    hash_count: int = 1
    hash_set_size: int = 1
    rotation: bool = True
    version: int = 1

    def __post_init__(self) -> None:
        for part, largest in _LARGEST.items():
            value = getattr(self, part)
            if type(value) is not int:
                raise ParameterError(f"{part.replace('_', ' ')} is a whole number, got {value!r:.40}")
            if not 1 <= value <= largest:
                raise ParameterError(f"{part.replace('_', ' ')} is 1 to {largest}, got {value}")
        if self.bucket_count == 1 or self.hash_set_size > 1:
            object.__setattr__(self, "rotation", True)

    @property
    def fills_every_bucket(self) -> bool:
        """Whether a signature has exactly one token for each bucket, in order, as bands and kernels require."""
        return self.hash_count == 1 and self.hash_set_size == 1 and self.rotation

    @property
    def unit(self) -> str:
        """Unit of a shingle: "words" or "characters"."""
        return CHARACTERS if self.profile == CHARACTERS else "words"

    @property
    def name(self) -> str:
        """Name of the scheme, as stored and shown: `minhash1-icu74-w5-b512`."""
        more = f"-h{self.hash_count}" if self.hash_count > 1 else ""
        more += f"-s{self.hash_set_size}" if self.hash_set_size > 1 else ""
        more += "" if self.rotation else "-unrotated"
        return f"minhash{self.version}-{self.profile}-{self.unit[0]}{self.shingle_size}-b{self.bucket_count}{more}"

    @classmethod
    def named(cls, name: str) -> Self:
        """Parse a scheme name: a full name, or the word-break profile alone.

        >>> Scheme.named("minhash1-icu77-w5-b1-s512").hash_set_size
        512
        """
        whole = _NAME.fullmatch(name)
        profile = whole[1] if whole else name
        if profile not in PROFILES:
            known = ", ".join(PROFILES)
            raise ParameterError(
                f"there is no scheme {name!r:.80}; name {known}, or a whole one as {cls().name}, with -h2 for two hash "
                "functions, -s3 for three hashes in a bucket, -unrotated for empty buckets left empty"
            )
        if not whole:
            return cls(profile)
        words, buckets, functions, set_size = (int(part) if part else 1 for part in whole.groups()[1:5])
        return cls(profile, words, buckets, functions, set_size, rotation=not whole[6])

    def require(self, other: Scheme) -> None:
        """Raise SchemeMismatchError, listing the differing parameters, unless both schemes are equal."""
        if differences := differing_fields(self, other):
            raise SchemeMismatchError(f"signatures differ in {differences}; make both under one scheme")


def differing_fields(one: Any, other: Any) -> str:
    """Return text that lists the fields that differ between two dataclass objects, each with both values."""
    names = [field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)]
    return ", ".join(f"{name} ({getattr(one, name)} and {getattr(other, name)})" for name in names)
