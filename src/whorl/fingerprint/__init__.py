"""Fingerprints of texts: words, shingles, hashes, MinHash signatures, sketches, and SimHash codes.

All functions are pure; four of them are exported here:

    fingerprint          the tokens of one text, as an array of numbers
    fingerprints         the tokens of many texts, on all processors, as one array
    signatures_of        the tokens of many texts as a stream of arrays
    sized_signatures_of  a stream of all 128 bits of each token, with the number of distinct shingles
"""

from typing import TYPE_CHECKING

from whorl.exports import lazily

if TYPE_CHECKING:
    from whorl.fingerprint.batch import fingerprint, fingerprints, signatures_of, sized_signatures_of

#: Imported lazily, because few commands need their libraries (threads, processes).
__all__ = ["fingerprint", "fingerprints", "signatures_of", "sized_signatures_of"]


__getattr__ = lazily(__name__, dict.fromkeys(__all__, "batch"))
