"""Exact search for 64-bit codes (SimHash fingerprints) within a Hamming distance; docs/hamming.md has examples.

HammingIndex    a dynamic set of codes that finds the codes near a query
find_pairs      all pairs of near codes
stream_pairs    the same as a stream, for more pairs than fit in memory
find_clusters   the connected components of these pairs
Groups          codes in groups, as arrays
FirstMatches    the smallest match of each of many queries, if one exists
"""

from typing import TYPE_CHECKING

from whorl.exports import lazily

if TYPE_CHECKING:
    from whorl.hamming.codes import Groups
    from whorl.hamming.index import FirstMatches, HammingIndex
    from whorl.hamming.pairs import find_clusters, find_pairs, stream_pairs

__all__ = ["FirstMatches", "Groups", "HammingIndex", "find_clusters", "find_pairs", "stream_pairs"]

__getattr__ = lazily(
    __name__,
    {
        "FirstMatches": "index",
        "Groups": "codes",
        "HammingIndex": "index",
        "find_clusters": "pairs",
        "find_pairs": "pairs",
        "stream_pairs": "pairs",
    },
)
