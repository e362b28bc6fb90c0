"""Exact search for 64-bit codes (SimHash fingerprints) within a Hamming distance; docs/hamming.md has examples.

HammingIndex    a set of codes to insert into, remove from and ask what lies near a query
find_pairs      all pairs of a set of codes that lie near each other
stream_pairs    the same piece by piece, for more than fit in memory
find_clusters   the groups that such pairs connect
Groups          codes in groups, as arrays
FirstMatches    whether each of many queries has a match, and the smallest
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
