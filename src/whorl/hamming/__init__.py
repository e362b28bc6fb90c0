"""Finds 64-bit codes (SimHash fingerprints) that differ in at most a given number of bits (a Hamming distance).

docs/hamming.md has examples.

HammingIndex    an updatable set of codes that finds the codes near a query
find_pairs      returns all pairs of near codes
stream_pairs    yields the pairs in batches, for more pairs than fit in memory
find_clusters   returns the connected components of the pairs
Groups          groups of codes (results of several queries, or clusters), as arrays
FirstMatches    the smallest match of each query, if it has a match
"""

from typing import TYPE_CHECKING

from whorl.lazy_exports import lazily

if TYPE_CHECKING:
    from whorl.hamming.groups import Groups as Groups
    from whorl.hamming.index import FirstMatches as FirstMatches
    from whorl.hamming.index import HammingIndex as HammingIndex
    from whorl.hamming.pairs import find_clusters as find_clusters
    from whorl.hamming.pairs import find_pairs as find_pairs
    from whorl.hamming.pairs import stream_pairs as stream_pairs

__getattr__, __all__ = lazily(__name__)
