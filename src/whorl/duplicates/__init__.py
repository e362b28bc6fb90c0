"""Near-duplicates: all pairs and clusters of a store, or of documents that are in none.

duplicates_among  those among documents that need be in no store
duplicates_in     those in a store
passages_among    exact passages that stand in several places of documents
ask_pairs         the question: a metric, a threshold and a recall
ask_common        what is taken for common, and told apart or ignored
Keep              which document of a cluster is kept
superfluous       the members of clusters that could be deleted
with_words        what the versions of a cluster add and lose, in words
write_ids         clusters written into a store
"""

from typing import TYPE_CHECKING

from whorl.exports import lazily

if TYPE_CHECKING:
    from whorl.duplicates.common import ask_common
    from whorl.duplicates.gathering import duplicates_among, duplicates_in
    from whorl.duplicates.keep import Keep
    from whorl.duplicates.marking import write_ids
    from whorl.duplicates.passages import passages_among
    from whorl.duplicates.question import ask_pairs
    from whorl.duplicates.result import superfluous, with_words

__all__ = [
    "Keep",
    "ask_common",
    "ask_pairs",
    "duplicates_among",
    "duplicates_in",
    "passages_among",
    "superfluous",
    "with_words",
    "write_ids",
]

__getattr__ = lazily(
    __name__,
    {
        "Keep": "keep",
        "ask_common": "common",
        "ask_pairs": "question",
        "duplicates_among": "gathering",
        "duplicates_in": "gathering",
        "passages_among": "passages",
        "superfluous": "result",
        "with_words": "result",
        "write_ids": "marking",
    },
)
