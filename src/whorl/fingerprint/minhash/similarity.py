"""How much two signatures share."""

from __future__ import annotations

from whorl.fingerprint.minhash.minima import Signature


def shared_tokens(source: Signature, other: Signature) -> int:
    """Return how many of the source's tokens the other signature holds, repeats in the source counted.

    Raises:
        SchemeMismatchError: The signatures were made under different schemes.
    """
    source.scheme.require(other.scheme)
    held = frozenset(other.tokens)
    return sum(token in held for token in source.tokens)
