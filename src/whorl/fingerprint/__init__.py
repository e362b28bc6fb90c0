"""Turns texts into words, shingles, hashes, MinHash signatures and sketches.

This package does not depend on stores or servers. A token is the smallest hash in one bucket of a MinHash signature.
The package exports four functions:

    fingerprint          returns the tokens of one text as an array of numbers
    fingerprints         returns the tokens of many texts as one array, using all processors
    signatures_of        yields the tokens of many texts, one array for each text
    sized_signatures_of  yields the same tokens with all 128 bits, and the number of distinct shingles
"""

from typing import TYPE_CHECKING

from whorl.lazy_exports import lazily

if TYPE_CHECKING:
    from whorl.fingerprint.fingerprint_texts import fingerprint as fingerprint
    from whorl.fingerprint.fingerprint_texts import fingerprints as fingerprints
    from whorl.fingerprint.fingerprint_texts import signatures_of as signatures_of
    from whorl.fingerprint.fingerprint_texts import sized_signatures_of as sized_signatures_of

__getattr__, __all__ = lazily(__name__)
