"""Pure: text to words, shingles, hashes, signatures; thresholds to numbers.

fingerprint          the tokens of one text, as an array of numbers
fingerprints         those of many texts, on all processors, as one array
signatures_of        the same as a stream: one array after the other
sized_signatures_of  a stream of all 128 bits of each token, with the number of distinct shingles
"""

from typing import TYPE_CHECKING

from whorl.exports import lazily

if TYPE_CHECKING:
    from whorl.fingerprint.batch import fingerprint, fingerprints, signatures_of, sized_signatures_of

#: Few commands need what these import (threads, processes).
__all__ = ["fingerprint", "fingerprints", "signatures_of", "sized_signatures_of"]


__getattr__ = lazily(__name__, dict.fromkeys(__all__, "batch"))
