"""Turns texts into words, shingles, hashes, MinHash signatures and sketches.

All functions are pure; four of them are exported here:

    fingerprint          the tokens of one text, as an array of numbers
    fingerprints         the tokens of many texts, on all processors, as one array
    signatures_of        the tokens of many texts as a stream of arrays
    sized_signatures_of  a stream of all 128 bits of each token, with the number of distinct shingles
"""

from typing import TYPE_CHECKING

from whorl.exports import lazily

if TYPE_CHECKING:
    from whorl.fingerprint.batch import fingerprint as fingerprint
    from whorl.fingerprint.batch import fingerprints as fingerprints
    from whorl.fingerprint.batch import signatures_of as signatures_of
    from whorl.fingerprint.batch import sized_signatures_of as sized_signatures_of

__getattr__, __all__ = lazily(__name__)
