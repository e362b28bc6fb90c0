"""Pure: text to words, shingles, hashes, signatures; thresholds to numbers.

fingerprint          the tokens of one text, as an array of numbers
fingerprints         those of many texts, on all processors, as one array
signatures_of        the same as a stream: one array after the other
sized_signatures_of  a stream of all 128 bits of each token, with the number of distinct shingles
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl.fingerprint.batch import fingerprint, fingerprints, signatures_of, sized_signatures_of

__all__ = ["fingerprint", "fingerprints", "signatures_of", "sized_signatures_of"]


def __getattr__(name: str) -> Any:
    """Import these names when they are asked for: few commands need what they import (threads, processes)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from whorl.fingerprint import batch

    return getattr(batch, name)
